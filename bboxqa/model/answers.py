"""Which annotators answer alike, and whether two columns of a table are associated."""

from dataclasses import dataclass

from bboxqa.core.arrays import IndexArray, frozen_arrays
from bboxqa.model.table import Table


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of annotators by one method."""

    method: str
    n_groups: int
    """The number of groups with the largest silhouette."""
    silhouette: float
    status: str
    """Why the groups are not reliable, or "ok"."""


@dataclass(frozen=True, slots=True, eq=False)
class SimilarAnnotators:
    """How similarly the annotators of a table of ratings answer."""

    task: str | None
    pairs: Table
    """Pairs of annotators who share units, with n_shared, the share of equal answers and the
    cosine.
    """
    groups: Table
    """Annotators and their group under each method, counted from 1; 0 if there are no groups."""
    groupings: tuple[Grouping, ...]
    notes: tuple[str, ...]


@frozen_arrays
class ColumnAssociation:
    """A test of independence of two columns of a table."""

    columns: tuple[str, str]
    values: tuple[tuple[str, ...], tuple[str, ...]]
    """The R values of the first column and the C values of the second column."""
    counts: IndexArray
    """(R, C) int64. The number of rows with each combination of values."""
    statistic: float
    p_value: float
    degrees_of_freedom: int
    cramers_v: float
    interval: tuple[float, float]
    status: str
    sentence: str
    notes: tuple[str, ...]
