"""Coincidences of values within units, the sufficient statistics of a nominal alpha."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bboxqa.agreement.counts.unit_counts import UnitCounts, unit_counts, without_missing
from bboxqa.core.arrays import FloatArray, IndexArray, radix_order, run_starts
from bboxqa.model.reliability import Coincidences, ReliabilityData


def coincidences(data: ReliabilityData, missing: str) -> Coincidences:
    """Count the coincidences of each value with itself, and all of its pairable values.

    A missing annotation counts as the last value if `missing` is "category", and not at all if it
    is "ignore".

    Examples
    --------
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> table = from_table(np.array([[0, 1], [0, -1]]), np.ones((2, 2), bool), 2)
    >>> counted = coincidences(table, "category")
    >>> counted.value, counted.marginal, counted.diagonal
    (array([0, 1, 2], dtype=int32), array([2., 1., 1.]), array([2., 0., 0.]))
    """
    return replace(coincidences_of(unit_counts(data, missing)), n_values=data.n_values + 1)


def coincidences_both_ways(data: ReliabilityData) -> tuple[Coincidences, Coincidences]:
    """Return the coincidences with missing annotations as a value, and without them.

    Examples
    --------
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> table = from_table(np.array([[0, 1], [0, -1]]), np.ones((2, 2), bool), 2)
    >>> [counted.value.tolist() for counted in coincidences_both_ways(table)]
    [[0, 1, 2], [0]]
    """
    counts = unit_counts(data, "category")
    with_missing, without = map(coincidences_of, (counts, without_missing(counts)))
    return with_missing, replace(without, n_values=data.n_values + 1)


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
    if len(starts) == 0:
        empty: FloatArray = np.zeros(0)
        none = np.zeros(0, np.int32)
        return Coincidences(none, none, empty, empty, counts.n_groups, n_values)
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


def join_coincidences(parts: Sequence[Coincidences]) -> Coincidences:
    """Return the coincidences of several parts together, which have the same values.

    The groups of the parts follow each other.
    """
    before = np.cumsum([0, *(part.n_groups for part in parts)]).astype(np.int32)
    return Coincidences(
        group=np.concatenate([p.group + n for p, n in zip(parts, before, strict=False)]),
        value=np.concatenate([part.value for part in parts]),
        marginal=np.concatenate([part.marginal for part in parts]),
        diagonal=np.concatenate([part.diagonal for part in parts]),
        n_groups=int(before[-1]),
        n_values=parts[0].n_values,
    )


def coincidence_matrix(data: ReliabilityData, missing: str) -> tuple[IndexArray, FloatArray]:
    """Return the values that occur in pairs, (K,) int64, and their coincidences o_ck, (K, K).

    The matrix is symmetric, and its sum is the number of pairable values. It needs memory for
    units × K; coefficients need only `coincidences`, which also explains `missing`.
    """
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
