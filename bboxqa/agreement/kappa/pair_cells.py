"""Answers of two annotators counted by what both said, where most annotators rated most units.

Units on which the first says k and the second l are all alike: what one of them changes is worked
out once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, freeze
from bboxqa.model.reliability import ReliabilityData

__all__ = ["PairCells", "cell_chunks", "prefers_cells"]

# Of fewer answers than this, a pair takes longer by itself than among others.
_MANY = 2000
# Units of a pair that one of them did not rate take time, too.
_SHARED = 0.25
# So many different cells can be counted without sorting.
_CELLS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class PairCells:
    """What two annotators said of the units that both rated, each a cluster of its own.

    Attributes
    ----------
    first, second : int
        The annotators.
    left, right : (E,) int64
        Every two values that come together.
    times : (E,) float64
        On how many units.
    cell : (G,) int64
        Of each unit, what was said of it as a place among `n_cells`.
    place : (E,) int64
        The same of every two values; other cells are of units that one of them did not rate.
    n_cells : int
    """

    first: int
    second: int
    left: IndexArray
    right: IndexArray
    times: FloatArray
    cell: IndexArray
    place: IndexArray
    n_cells: int

    def __post_init__(self) -> None:
        freeze(self)


def prefers_cells(data: ReliabilityData, n_annotators: int) -> bool:
    """Return whether to count: many answers of each pair, few values, units that are drawn alone.

    Parameters
    ----------
    data : ReliabilityData
        Sorted by unit, then annotator.
    n_annotators : int
    """
    if not data.units_alone or (data.n_values + 1) ** 2 > min(_CELLS, data.n_groups):
        return False
    drawn = data.counted
    size = np.bincount(data.unit[drawn], minlength=data.n_groups)
    n_answers, n_pairs = (size * (size - 1)).sum() / 2, n_annotators * (n_annotators - 1) / 2
    if n_answers < n_pairs * max(_MANY, _SHARED * data.n_groups):
        return False
    unit, annotator = data.unit[drawn], data.annotator[drawn]
    return not ((unit[1:] == unit[:-1]) & (annotator[1:] == annotator[:-1])).any()


def cell_chunks(data: ReliabilityData, n_annotators: int) -> Iterator[PairCells]:
    """Yield what each two annotators said, counted.

    Parameters
    ----------
    data : ReliabilityData
        That `prefers_cells`.
    n_annotators : int

    Yields
    ------
    PairCells
        Of pairs that share a unit, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> table = from_table(np.array([[0, 1, 1], [0, 1, 1]]), np.ones((2, 3), bool), 2)
    >>> next(cell_chunks(table, 2)).times
    array([1., 2.])
    """
    drawn = data.counted
    width = data.n_values + 1
    codes = np.full((n_annotators, data.n_groups), data.n_values, np.int64)
    codes[data.annotator[drawn], data.group[data.unit[drawn]]] = data.value[drawn]
    said = np.arange(width**2)
    for first in range(n_annotators - 1):
        row = codes[first] * width
        for second in range(first + 1, n_annotators):
            cell = row + codes[second]
            times = np.bincount(cell, minlength=len(said))
            left, right = np.divmod(said, width)
            kept = np.flatnonzero((times > 0) & (left < width - 1) & (right < width - 1))
            if len(kept):
                yield PairCells(
                    first, second, left[kept], right[kept], times[kept].astype(np.float64), cell,
                    kept, len(said),
                )  # fmt: skip
