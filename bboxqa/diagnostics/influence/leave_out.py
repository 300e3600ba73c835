"""Alpha without one unit, annotator or value, which shows their influence.

Each is computed by subtracting the contribution of what is left out from the totals; for ordinal
data see `bboxqa.diagnostics.influence.leave_out_ranks`. Only if little remains, so that the
difference would have no significant digits, is the remainder counted again.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from bboxqa.agreement.alpha.levels import (
    Distance,
    FixedDistances,
    ValuePairs,
    alpha,
    fixed_distances,
    pairable_marginal,
    value_pairs,
)
from bboxqa.agreement.counts.unit_counts import UnitCounts, unit_counts
from bboxqa.agreement.uncertainty.estimator import ROUNDING
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, sum_by
from bboxqa.diagnostics.influence.leave_out_ranks import (
    ranked_without_annotators,
    ranked_without_units,
    ranked_without_values,
)
from bboxqa.diagnostics.influence.lost_ratings import RatingsWithout, Remainder, ratings_without
from bboxqa.model.reliability import ReliabilityData

# Remainders below this share of the whole are counted again.
_FEW = 1e-6


def alpha_without_units(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without each unit, (U,); NaN where it is then undefined.

    A weighted unit is left out with its whole weight. Level, numbers and errors are as for `alpha`.
    The time is linear in the values per unit for nominal and interval data, quadratic for others.
    """
    paired = counts.weight * (counts.size >= 2)
    if level == "ordinal":
        found = ranked_without_units(counts)
    else:
        found = _units(counts, fixed_distances(level, numbers, pairable_marginal(counts)))
    result, few = _alpha(found)
    for unit in np.flatnonzero(few & (paired > 0)):
        weight = counts.weight.copy()
        weight[unit] = 0
        result[unit] = alpha(replace(counts, weight=weight), level, numbers).value
    return result


def alpha_without_annotators(
    data: ReliabilityData,
    n_annotators: int,
    level: str | Distance = "nominal",
    numbers: FloatArray | None = None,
) -> FloatArray:
    """Return alpha without each annotator, (A,); NaN where it is then undefined.

    The difference to alpha of all annotators is the vitality of the annotator. Units with one
    remaining rating are no longer pairable. No annotator may be twice in a unit. Level, numbers and
    errors are as for `alpha`; the time for ordinal data is proportional to the number of annotators
    times that of pairs of values that coincide.
    """
    counts = unit_counts(data)
    marginal, lost = pairable_marginal(counts), ratings_without(data, counts, n_annotators)
    if level == "ordinal":
        found = ranked_without_annotators(counts, marginal, lost)
    else:
        found = _annotators(counts, marginal, lost, fixed_distances(level, numbers, marginal))
    result, few = _alpha(found)
    for out in np.flatnonzero(few):
        result[out] = _recounted(data, int(out), level, numbers)
    return result


def alpha_without_values(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without the row and the column of each value in the coincidence matrix, (K,).

    Confusions with the value no longer count, while the coincidences of the others stay
    ([1]_, ch. 12: leaving out a category). NaN where alpha is then undefined. Level, numbers and
    errors are as for `alpha`. Ordinal data are ranked again without each value, which takes K steps
    per pair of values that coincide; ratio data and user-defined distances take K³ steps.

    References
    ----------
    .. [1] K. Krippendorff (2022), Content analysis: an introduction to its methodology, 4th
           edition, SAGE, doi:10.4135/9781071878781.

    Examples
    --------
    >>> from bboxqa.agreement.counts.unit_counts import from_table
    >>> table = from_table(np.array([[0, 1, 1, 2], [0, 1, 0, 2]]), np.ones((2, 4), bool), 3)
    >>> alpha_without_values(unit_counts(table)).round(4)
    array([1.    , 1.    , 0.4444])
    """
    marginal, pairs = pairable_marginal(counts), value_pairs(counts)
    amount = sum_by(pairs.pair, pairs.amount * counts.weight[pairs.unit], len(pairs.first))
    if level == "ordinal":
        found = ranked_without_values(marginal, pairs, amount)
    else:
        found = _values(marginal, pairs, amount, partial(fixed_distances, level, numbers))
    # D_e is divided by n − 1.
    return np.where(found.total > 1 + ROUNDING, _alpha(found)[0], np.nan)


def _units(counts: UnitCounts, distances: FixedDistances) -> Remainder:
    n_units, size = len(counts.size), counts.size
    paired = counts.weight * (size >= 2)
    marginal = pairable_marginal(counts)
    mean_to = distances.mean_to(marginal[:, None])[:, 0]
    of_unit = sum_by(counts.unit, counts.count * distances.to_unit(counts), n_units)
    apart = paired * of_unit / np.maximum(size - 1, 1)
    own = sum_by(counts.unit, counts.count * mean_to[counts.value], n_units) * paired
    within, between = float(apart.sum()), float(marginal @ mean_to)
    return Remainder(
        total=float(marginal.sum()) - paired * size,
        within=within - apart,
        between=between - 2 * own + paired**2 * of_unit,
        whole=(within, between),
    )


def _annotators(
    counts: UnitCounts, marginal: FloatArray, lost: RatingsWithout, distances: FixedDistances
) -> Remainder:
    to_unit = distances.to_unit(counts)
    of_unit = sum_by(counts.unit, counts.count * to_unit, len(counts.size))
    within = float((counts.weight * of_unit / np.maximum(counts.size - 1, 1)).sum())
    change = lost.change(of_unit[lost.unit], to_unit[lost.entry])
    n_annotators = lost.n_annotators
    found = _expected(marginal, lost.who, lost.what, lost.amount, n_annotators, distances)
    left = within + sum_by(lost.annotator, change, n_annotators)
    return replace(found, within=left, whole=(within, found.whole[1]))


def _values(
    marginal: FloatArray,
    pairs: ValuePairs,
    amount: FloatArray,
    distances_of: Callable[[FloatArray], FixedDistances],
) -> Remainder:
    n_values, first, second = len(marginal), pairs.first, pairs.second
    distances = distances_of(marginal)
    apart = amount * distances.between(first, second)
    whole = float(apart.sum())
    within = whole - sum_by(first, apart, n_values) - sum_by(second, apart, n_values)
    each = np.arange(n_values)
    out = np.concatenate([each, first, second])
    other = np.concatenate([each, second, first])
    lost = np.concatenate([marginal, amount / 2, amount / 2])
    found = _expected(marginal, out, other, lost, n_values, distances)
    total, between = found.total.copy(), found.between.copy()
    for value in np.flatnonzero(_few(within, whole) | _few(between, found.whole[1])):
        own = out == value
        kept = marginal.copy()
        kept[other[own]] -= lost[own]
        # Coincidences are fractions: rounding may leave a residue where the difference is 0.
        kept[kept <= ROUNDING * marginal] = 0
        # Rounding depends on the largest distance, which may have been that of the removed value.
        left, stays = distances_of(kept), (first != value) & (second != value)
        within[value] = amount[stays] @ left.between(first[stays], second[stays])
        total[value] = kept.sum()
        between[value] = kept @ left.mean_to(kept[:, None])[:, 0]
    return Remainder(total, within, between, (whole, found.whole[1]))


def _expected(
    marginal: FloatArray,
    column: IndexArray,
    value: IndexArray,
    lost: FloatArray,
    n_columns: int,
    distances: FixedDistances,
) -> Remainder:
    """Return n and n (n − 1) D_e without the amounts that each column loses."""
    mean_to = distances.mean_to(marginal[:, None])[:, 0]
    whole = float(marginal @ mean_to)
    between = whole - 2 * sum_by(column, lost * mean_to[value], n_columns)
    between += distances.spread(column, value, lost, n_columns)
    total = float(marginal.sum()) - sum_by(column, lost, n_columns)
    return Remainder(total, np.zeros(n_columns), between, (0.0, whole))


def _recounted(
    data: ReliabilityData, out: int, level: str | Distance, numbers: FloatArray | None
) -> float:
    """Return alpha of the ratings of the other annotators."""
    kept = np.flatnonzero(data.annotator != out)
    return alpha(unit_counts(data.take(kept)), level, numbers).value


def _few(rest: FloatArray, whole: float) -> BoolArray:
    """Return (B,) bool: differences of sums that are too small to have significant digits."""
    result: BoolArray = rest < _FEW * whole
    return result


def _alpha(found: Remainder) -> tuple[FloatArray, BoolArray]:
    """Return 1 − D_o / D_e, and where the remainder has to be counted instead."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: FloatArray = 1 - found.within * (found.total - 1) / found.between
    few = _few(found.within, found.whole[0]) | _few(found.between, found.whole[1])
    return np.where(found.between > 0, result, np.nan), few
