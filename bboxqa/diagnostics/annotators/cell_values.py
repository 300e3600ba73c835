"""The values in the unit of each cell of reliability data."""

import numpy as np

from bboxqa.agreement.counts.unit_counts import UnitCounts
from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays, rows
from bboxqa.model.reliability import Cell, ReliabilityData


@frozen_arrays
class CellValues:
    """E rows: a cell, and a value that occurs in its unit.

    A missing annotation is the value ``n_values - 1``, if it counts as a value.
    """

    cell: IndexArray
    """(E,) int64. Sorted; a row of the reliability data."""
    own: IndexArray
    """(E,) int64. The value of the cell."""
    value: IndexArray
    """(E,) int64."""
    count: FloatArray
    """(E,) float64. How many cells of the unit have the value; 1 or more."""
    n_others: FloatArray
    """(E,) float64. How many of them are other cells."""


def cell_values(data: ReliabilityData, counts: UnitCounts, cells: IndexArray) -> CellValues:
    """Return all values in the units of some cells, sorted by cell, then value."""
    unit = data.unit[cells]
    starts = np.searchsorted(counts.unit, unit)
    stops = np.searchsorted(counts.unit, unit, side="right")
    entry, _ = rows(starts, stops)
    cell = np.repeat(cells, stops - starts)
    drawn = data.state[cell] == Cell.CATEGORY
    own = np.where(drawn, data.value[cell], counts.n_values - 1).astype(np.int64)
    value, count = counts.value[entry], counts.count[entry]
    return CellValues(cell, own, value, count, count - (value == own))
