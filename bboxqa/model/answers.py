"""Who answers like whom, and whether two columns of a table go together."""

from dataclasses import dataclass

from bboxqa.core.arrays import IndexArray, frozen_arrays
from bboxqa.model.table import Table


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of annotators by one method."""

    method: str
    n_groups: int
    """With the largest silhouette."""
    silhouette: float
    status: str
    """Why the groups are not reliable, or "ok"."""


@dataclass(frozen=True, slots=True, eq=False)
class SimilarAnnotators:
    """Which annotators of a table of ratings answer alike."""

    task: str | None
    pairs: Table
    """Pairs of annotators who share units: n_shared, the share of equal answers, the cosine."""
    groups: Table
    """Annotators, and their group by each method, from 1 on; 0 without groups."""
    groupings: tuple[Grouping, ...]
    notes: tuple[str, ...]


@frozen_arrays
class ColumnAssociation:
    """A test of independence of two columns of a table."""

    columns: tuple[str, str]
    values: tuple[tuple[str, ...], tuple[str, ...]]
    """The R values of the first, and the C values of the second."""
    counts: IndexArray
    """(R, C) int64. The rows with each two values."""
    statistic: float
    p_value: float
    degrees_of_freedom: int
    cramers_v: float
    interval: tuple[float, float]
    status: str
    sentence: str
    notes: tuple[str, ...]
