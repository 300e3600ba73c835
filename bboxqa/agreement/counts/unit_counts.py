"""Counts of values by unit."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, frozen_arrays, run_starts
from bboxqa.model.reliability import Cell, ReliabilityData


@frozen_arrays
class UnitCounts:
    """E distinct values of U units."""

    unit: IndexArray
    """(E,) int64. Sorted."""
    value: IndexArray
    """(E,) int64. Sorted within a unit."""
    count: FloatArray
    """(E,) float64. How many ratings of the unit have the value; 1 or more."""
    size: FloatArray
    """(U,) float64. The number of ratings of each unit."""
    group: IntArray
    """(U,) int32. The cluster of each unit."""
    weight: FloatArray
    """(U,) float64. The weight: the number of equal units that it stands for."""
    n_values: int
    n_groups: int


def unit_counts(data: ReliabilityData, missing: str = "ignore") -> UnitCounts:
    """Count the values of each unit.

    A missing annotation counts as one more value, the last, if `missing` is "category"; it is left
    out if it is "ignore".

    Examples
    --------
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> counted = unit_counts(from_table(np.array([[0, 1], [0, -1]]), np.ones((2, 2), bool), 2))
    >>> counted.value, counted.count, counted.size
    (array([0, 1]), array([2., 1.]), array([2., 1.]))
    """
    unit, value = data.unit, data.value.astype(np.int64)
    is_missing = data.state == Cell.MISSING
    n_values = data.n_values
    if missing == "category":
        value = np.where(is_missing, n_values, value)
        n_values += 1
    elif is_missing.any():
        unit, value = unit[~is_missing], value[~is_missing]
    size = np.bincount(unit, minlength=len(data.group)).astype(np.float64)
    key = unit * n_values + value
    key.sort(kind="stable")
    starts = run_starts(key)
    unit, value = np.divmod(key[starts], max(n_values, 1))
    weight = np.ones(len(data.group)) if data.weight is None else data.weight.astype(np.float64)
    return UnitCounts(
        unit=unit,
        value=value,
        count=np.diff(np.append(starts, len(key))).astype(np.float64),
        size=size,
        group=data.group,
        weight=weight,
        n_values=n_values,
        n_groups=data.n_groups,
    )


def without_missing(counts: UnitCounts) -> UnitCounts:
    """Return the counts of `unit_counts` for "ignore" from those for "category".

    Examples
    --------
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> table = from_table(np.array([[0, 1], [0, -1]]), np.ones((2, 2), bool), 2)
    >>> without_missing(unit_counts(table, "category")).size
    array([2., 1.])
    """
    is_missing = counts.value == counts.n_values - 1
    drawn = np.flatnonzero(~is_missing)
    n_missing = np.bincount(
        counts.unit[is_missing], counts.count[is_missing], minlength=len(counts.size)
    )
    return replace(
        counts,
        unit=counts.unit[drawn],
        value=counts.value[drawn],
        count=counts.count[drawn],
        size=counts.size - n_missing,
        n_values=counts.n_values - 1,
    )
