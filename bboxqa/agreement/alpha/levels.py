"""Krippendorff's alpha at every level of measurement, ready to be resampled.

alpha = 1 − D_o / D_e with D_o = Σ_ck o_ck δ_ck / n and D_e = Σ_ck n_c n_k δ_ck / (n (n − 1)),
o_ck the coincidences of values c and k within units, n_c the pairable values c, n their number
(Krippendorff 2011, "Computing Krippendorff's alpha-reliability"). Neither sum needs a table of
values × values for nominal, interval and ordinal data.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from bboxqa.agreement.alpha.distances import LEVELS, Distance, centred, midranks
from bboxqa.agreement.alpha.fixed_distances import FixedDistances, pairwise_distances
from bboxqa.agreement.alpha.nominal_estimator import nominal_estimator
from bboxqa.agreement.alpha.value_pairs import value_pairs
from bboxqa.agreement.counts.coincidences import coincidences_of
from bboxqa.agreement.counts.unit_counts import UnitCounts
from bboxqa.agreement.uncertainty.estimator import (
    NO_PAIR,
    NO_VARIATION,
    OK,
    ROUNDING,
    Estimator,
    clustered_error,
    clusters_of,
    undefined,
)
from bboxqa.agreement.uncertainty.sum_table import SumTable
from bboxqa.core.arrays import FloatArray, sum_by
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name


def pairable_marginal(counts: UnitCounts) -> FloatArray:
    """Return how often each value occurs in units of two ratings or more, (K,) float64."""
    entry = counts.size[counts.unit] >= 2
    amount = counts.weight[counts.unit] * counts.count * entry
    return sum_by(counts.value, amount, counts.n_values)


def alpha(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> Estimator:
    """Return Krippendorff's alpha [1]_.

    Raises ConfigError if the level is not known, or its values are not numbers.

    Parameters
    ----------
    counts : UnitCounts
        Counts of U units in G clusters.
    level : {"nominal", "ordinal", "interval", "ratio"} or callable
        A callable is a distance: (N,), (N,) values → (N,) distances, 0 for equal values,
        symmetric.
    numbers : (K,) float64, optional
        The values as numbers, in rising order; not needed for nominal and ordinal data.

    Returns
    -------
    Estimator
        `observed` and `expected` are D_o and D_e. The standard error is linearised with the
        distances, and for ordinal data the ranks, taken as given (Gwet 2014, ch. 6).

    References
    ----------
    .. [1] K. Krippendorff (2011), Computing Krippendorff's alpha-reliability, University of
           Pennsylvania.

    Examples
    --------
    >>> from bboxqa.agreement.counts.unit_counts import unit_counts
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> table = from_table(np.array([[0, 1, 2], [0, 2, 2]]), np.ones((2, 3), bool), 3)
    >>> counted = unit_counts(table)
    >>> round(alpha(counted).value, 4)
    0.5455
    >>> round(alpha(counted, "interval", np.arange(3.0)).value, 4)
    0.8276
    """
    if not callable(level) and level not in LEVELS:
        raise ConfigError(f"level {unknown_name(level, LEVELS)}")
    if counts.n_values == 0:
        return undefined(NO_PAIR)
    if level == "nominal":
        return nominal_estimator(coincidences_of(counts))
    if level != "ordinal" and numbers is None:
        raise ConfigError(f"level {level}: some values are not numbers; expected numbers only")
    marginal = pairable_marginal(counts)
    if marginal.sum() == 0:
        return undefined(NO_PAIR)
    if numbers is None or level == "ordinal":
        return _ordinal(counts, marginal)
    if level == "interval":
        return _interval(counts, marginal, numbers)
    return _pairwise(counts, marginal, pairwise_distances(level, numbers))


def _interval(counts: UnitCounts, marginal: FloatArray, numbers: FloatArray) -> Estimator:
    total = marginal.sum()
    place, unit = centred(numbers, marginal)
    unlike = _unit_disagreement(counts, place)
    count = counts.count * (counts.size[counts.unit] >= 2) * counts.weight[counts.unit]
    n_units = len(counts.size)
    parts = [
        sum_by(counts.unit, count, n_units),
        sum_by(counts.unit, count * place[counts.value], n_units),
        sum_by(counts.unit, count * place[counts.value] ** 2, n_units),
        counts.weight * unlike,
    ]

    @SumTable
    def table() -> Any:
        return np.stack([sum_by(counts.group, part, counts.n_groups) for part in parts])

    def evaluate(column: FloatArray) -> FloatArray:
        n, first, second, within = column
        with np.errstate(divide="ignore", invalid="ignore"):
            between = 2 * (n * second - first**2)
            result: FloatArray = 1 - within * (n - 1) / between
        return np.where(between > ROUNDING * n * second, result, np.nan)

    mean = float(marginal @ place) / total
    mean_to = (place - mean) ** 2 + float(marginal @ (place - mean) ** 2) / total
    return _estimator(counts, unlike, mean_to, marginal, table, evaluate, unit * unit)


def _ordinal(counts: UnitCounts, marginal: FloatArray) -> Estimator:
    """Return alpha of interval data of mid-ranks; resamples have other ranks."""
    rank = midranks(marginal[:, None])[:, 0]
    pairs = cache(lambda: value_pairs(counts))

    def evaluate(column: FloatArray) -> FloatArray:
        each, together = column[: counts.n_values], column[counts.n_values :]
        ranks = midranks(each)
        within = (together * (ranks[pairs().first] - ranks[pairs().second]) ** 2).sum(0)
        return _of_parts(each.sum(0), within, 2 * each.sum(0) * (each * ranks**2).sum(0))

    unlike = _unit_disagreement(counts, rank)
    mean_to = rank**2 + float(marginal @ rank**2) / marginal.sum()
    table = SumTable(lambda: pairs().sums(counts))
    return _estimator(counts, unlike, mean_to, marginal, table, evaluate)


def _pairwise(counts: UnitCounts, marginal: FloatArray, distances: FixedDistances) -> Estimator:
    """Return alpha of a distance without a shorter form: of ratio data, or the user's own."""
    pairs = value_pairs(counts)
    apart = distances.between(pairs.first, pairs.second)

    def evaluate(column: FloatArray) -> FloatArray:
        each, together = column[: counts.n_values], column[counts.n_values :]
        between = (each * distances.mean_to(each)).sum(0)
        return _of_parts(each.sum(0), apart @ together, between)

    unlike = sum_by(pairs.unit, pairs.amount * apart[pairs.pair], len(counts.size))
    mean_to = distances.mean_to(marginal[:, None])[:, 0] / marginal.sum()
    table = SumTable(lambda: pairs.sums(counts))
    return _estimator(counts, unlike, mean_to, marginal, table, evaluate)


def _of_parts(n: FloatArray, within: FloatArray, between: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        result: FloatArray = 1 - within * (n - 1) / between
    return np.where(between > 0, result, np.nan)


def _unit_disagreement(counts: UnitCounts, place: FloatArray) -> FloatArray:
    """Return the term of each unit in n D_o, (U,): Σ_{i≠j} δ(x_i, x_j) / (m − 1) over m ratings.

    It is 0 for units with fewer than two ratings. δ is the squared difference of the (K,) places of
    the values.
    """
    n_units, size = len(counts.size), counts.size
    # Deviations from the mean of the unit: differences of large squares would lose digits.
    mean = sum_by(counts.unit, counts.count * place[counts.value], n_units)
    mean /= np.maximum(size, 1)
    away = place[counts.value] - mean[counts.unit]
    unlike = 2 * size * sum_by(counts.unit, counts.count * away**2, n_units)
    return unlike / np.maximum(size - 1, 1) * (size >= 2)


def _estimator(
    counts: UnitCounts,
    unlike: FloatArray,
    mean_to: FloatArray,
    marginal: FloatArray,
    table: SumTable,
    evaluate: Callable[[FloatArray], FloatArray],
    scale: float = 1.0,
) -> Estimator:
    """Return alpha from the disagreement of each unit and the mean distance of each value.

    Both are in units of `scale`.
    """
    n_units, total = len(counts.size), float(marginal.sum())
    paired = counts.weight * (counts.size >= 2)
    # Rounding may leave a residue where all values are equal.
    chance = float(marginal @ mean_to) / total
    observed = float(paired @ unlike) / total
    if not chance > ROUNDING * float(mean_to[marginal > 0].max()):
        return undefined(NO_VARIATION, observed * scale, 0.0)
    expected = chance * total / (total - 1)
    size = paired * counts.size
    from_unit = sum_by(counts.unit, counts.count * mean_to[counts.value], n_units) * paired
    influence = -(paired * unlike - size * observed)
    influence += 2 * observed / chance * (from_unit - size * chance)
    influence /= total * chance
    error = clustered_error(influence, counts.group, paired > 0, counts.n_groups)
    value = 1 - observed / expected
    clusters = clusters_of(counts.group, paired > 0)
    # The unit may be infinite, and 0 times infinity is NaN.
    observed, expected = observed * scale if observed else 0.0, expected * scale
    return Estimator(value, observed, expected, OK, table, evaluate, clusters, error)
