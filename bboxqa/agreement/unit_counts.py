"""Counts of the values of units: reliability data, counts by unit, and coincidences."""

from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import table_of
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    pairs_within,
    radix_order,
    rows,
    run_starts,
)
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import Cell, Coincidences, ReliabilityData, UnitTable


class UnitCounts(FrozenArrays, frozen=True, eq=False):
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
    """Count the values of units; "missing" is the last if it is a "category", else left out."""
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


def from_units(
    annotations: Annotations,
    units: UnitTable,
    assigned: BoolArray,
    n_categories: int,
    empty_images: IntArray | None = None,
) -> ReliabilityData:
    """Return the value of every unit by every assigned annotator, sorted by image."""
    image = units.image
    if empty_images is not None:
        image = np.concatenate([image, empty_images])
    asked_image, asked_annotator = np.nonzero(assigned)
    counts = np.bincount(asked_image, minlength=len(assigned))
    starts = np.cumsum(counts) - counts
    per_unit = counts[image]
    place, offsets = rows(starts[image], starts[image] + per_unit)
    unit = np.repeat(np.arange(len(image)), per_unit)
    annotator = asked_annotator[place].astype(np.int32)
    # The rank of each annotation's author among the annotators of its image.
    n_annotators = assigned.shape[1]
    author = np.searchsorted(
        asked_image * n_annotators + asked_annotator,
        annotations.image.astype(np.int64) * n_annotators + annotations.annotator,
    )
    cell = offsets[units.unit] + author - starts[annotations.image]
    value = np.zeros(len(unit), np.int32)
    value[cell] = annotations.category
    state = np.full(len(unit), Cell.MISSING, np.uint8)
    state[cell] = Cell.CATEGORY
    return ReliabilityData(
        unit, annotator, value, state, image, n_values=n_categories, n_groups=len(assigned)
    )


def from_table(values: IntArray, assigned: BoolArray, n_values: int) -> ReliabilityData:
    """Return data of a table, (A, U), of values or -1; each unit is a group of its own."""
    unit, annotator = np.nonzero(assigned.T)
    value = values.T[unit, annotator].astype(np.int32)
    return ReliabilityData(
        unit=unit,
        annotator=annotator.astype(np.int32),
        value=np.maximum(value, 0),
        state=np.where(value < 0, Cell.MISSING, Cell.CATEGORY).astype(np.uint8),
        group=np.arange(values.shape[1], dtype=np.int32),
        n_values=n_values,
        n_groups=values.shape[1],
    )


def coincidences(data: ReliabilityData, missing: str) -> Coincidences:
    """Count coincidences of each value with itself, and pairable values; "missing" is the last."""
    return replace(coincidences_of(unit_counts(data, missing)), n_values=data.n_values + 1)


def coincidences_of(counts: UnitCounts) -> Coincidences:
    """Return the coincidences of units whose values are counted.

    A unit with m ≥ 2 values, n_c of them c, adds n_c to the marginal of c and
    n_c (n_c − 1) / (m − 1) to its diagonal (Krippendorff 2011, step B). Time and memory grow with
    the number of ratings, not with units × categories.
    """
    n_values = counts.n_values
    paired = (counts.size >= 2) & (counts.weight > 0)
    keep = np.flatnonzero(paired[counts.unit])
    unit, value, count = counts.unit[keep], counts.value[keep], counts.count[keep]
    diagonal = count * (count - 1) / (counts.size[unit] - 1)
    key = counts.group[unit].astype(np.int64) * n_values + value
    if (counts.group[1:] >= counts.group[:-1]).all():
        # Nearly sorted keys are faster to compare.
        order = np.argsort(key, kind="stable")
    else:
        order = radix_order(key, counts.n_groups * n_values)
    starts = run_starts(key[order])
    first = key[order][starts]
    weight = counts.weight[unit]
    return Coincidences(
        group=(first // n_values).astype(np.int32),
        value=(first % n_values).astype(np.int32),
        marginal=np.add.reduceat((weight * count)[order], starts),
        diagonal=np.add.reduceat((weight * diagonal)[order], starts),
        n_groups=counts.n_groups,
        n_values=n_values,
    )


def coincidence_matrix(data: ReliabilityData, missing: str) -> tuple[IndexArray, FloatArray]:
    """Return the values that occur in pairs, (K,), and their coincidences o_ck, (K, K)."""
    counts = unit_counts(data, missing)
    keep = np.flatnonzero(counts.size[counts.unit] >= 2)
    unit, count = counts.unit[keep], counts.count[keep]
    values, code = np.unique(counts.value[keep], return_inverse=True)
    given = np.zeros((len(counts.size), len(values)))
    given[unit, code] = count
    share = counts.weight / np.maximum(counts.size - 1, 1)
    matrix = given.T @ (given * share[:, None])
    # No rating pairs with itself.
    np.fill_diagonal(matrix, np.diagonal(matrix) - given.T @ share)
    return values, matrix


class ValuePairs(FrozenArrays, frozen=True, eq=False):
    """E coincidences of two different values in a unit, of P pairs of values."""

    unit: IndexArray
    pair: IndexArray
    """(E,) int64. The unit, and the index of the pair of values."""
    amount: FloatArray
    """(E,) float64. o_ck + o_kc of the unit."""
    first: IndexArray
    second: IndexArray
    """(P,) int64. The values of each pair, ``first < second``."""

    def sums(self, counts: UnitCounts) -> Any:
        """Return the marginals above the coincidences of each cluster, (K + P, G)."""
        entry = np.flatnonzero(counts.size[counts.unit] >= 2)
        of = counts.unit[entry]
        weight = counts.weight
        return table_of(
            np.concatenate([counts.value[entry], counts.n_values + self.pair]),
            np.concatenate([counts.group[of], counts.group[self.unit]]),
            np.concatenate([weight[of] * counts.count[entry], weight[self.unit] * self.amount]),
            (counts.n_values + len(self.first), counts.n_groups),
        )


def value_pairs(counts: UnitCounts) -> ValuePairs:
    """Return all pairs of different values of each unit."""
    entry, partner = pairs_within(counts.unit)
    unit = counts.unit[entry]
    amount = 2 * counts.count[entry] * counts.count[partner] / (counts.size[unit] - 1)
    key = counts.value[entry] * counts.n_values + counts.value[partner]
    keys, pair = np.unique(key, return_inverse=True)
    first, second = np.divmod(keys, max(counts.n_values, 1))
    return ValuePairs(unit, pair, amount, first, second)
