"""Answers of two annotators, counted by the pair of values.

The effect of leaving out a unit is computed once for all units with the same two values. Used if
most annotators rated most units.
"""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays
from bboxqa.model.reliability import ReliabilityData

# With fewer answers, pairs are faster when processed together.
_MANY = 2000
# Smallest share of units that a pair must share, as the others take time as well.
_SHARED = 0.25
# Up to so many cells, counting needs no sorting.
_CELLS = 1 << 16


@frozen_arrays
class PairCells:
    """The values that two annotators gave to the units that both rated, each unit a cluster."""

    first: int
    second: int
    """The annotators."""
    left: IndexArray
    right: IndexArray
    """(E,) int64. The two values of each cell that occurs."""
    times: FloatArray
    """(E,) float64. The number of units in the cell."""
    cell: IndexArray
    """(G,) int64. The cell of each unit, 0 to ``n_cells - 1``."""
    place: IndexArray
    """(E,) int64. The number of each cell that occurs. Units in other cells were not rated by
    both."""
    n_cells: int


def prefers_cells(data: ReliabilityData, n_annotators: int) -> bool:
    """Return whether counting is faster: many answers per pair, few values, units as clusters."""
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
    """Yield the counted answers of each pair of annotators who share a unit, sorted."""
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
