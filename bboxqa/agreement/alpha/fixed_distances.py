"""Distances that do not depend on the other values: nominal, interval, ratio and user-defined.

Nominal and interval data have short forms, for any number of different values; the others compare
each two values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from bboxqa.agreement.alpha.distances import Distance, Metric, centred, pairwise_metric
from bboxqa.agreement.counts.unit_counts import UnitCounts
from bboxqa.core.arrays import FloatArray, IndexArray, rows, run_starts, sum_by
from bboxqa.core.errors import ConfigError

# Numbers held at a time.
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FixedDistances:
    """Sums of the distances δ of each two of K values.

    Attributes
    ----------
    between : callable
        (N,) and (N,) codes → (N,) distances.
    mean_to : callable
        (K, B) amounts of the values → (K, B), Σ_k a_k δ(c, k).
    spread : callable
        (N,) columns, (N,) codes, (N,) amounts, each code once in a column, and the number of
        columns B → (B,), Σ_ck a_c a_k δ(c, k).
    to_unit : callable
        Counts of E values of units → (E,), the distances of each value to all ratings of its unit.
    """

    between: Callable[[IndexArray, IndexArray], FloatArray]
    mean_to: Callable[[FloatArray], FloatArray]
    spread: Callable[[IndexArray, IndexArray, FloatArray, int], FloatArray]
    to_unit: Callable[[UnitCounts], FloatArray]


def fixed_distances(
    level: str | Distance, numbers: FloatArray | None, marginal: FloatArray
) -> FixedDistances:
    """Return the distances of a level.

    Parameters
    ----------
    level : {"nominal", "interval", "ratio"} or callable
    numbers : (K,) float64, optional
        The values in rising order; not needed for nominal data.
    marginal : (K,) float64
        How often each value occurs among those compared. Distances of interval data are scaled by
        these, and are 0 for values that do not occur.

    Raises
    ------
    ConfigError
        If there are no numbers, or as `pairwise_metric`.

    Examples
    --------
    >>> distances = fixed_distances("nominal", None, np.ones(3))
    >>> distances.mean_to(np.array([[1.0], [2.0], [4.0]])).ravel()
    array([6., 5., 3.])
    """
    if level == "nominal":
        return FixedDistances(_nominal, _nominal_mean_to, _nominal_spread, _nominal_to_unit)
    if numbers is None:
        raise ConfigError(f"level {level}: some values are not numbers; expected numbers only")
    if level == "interval":
        place = centred(numbers, marginal)[0]
        return FixedDistances(
            lambda c, k: np.square(place[c] - place[k]),
            partial(_interval_mean_to, place),
            partial(_interval_spread, place),
            partial(_interval_to_unit, place),
        )
    metric = pairwise_metric(level, numbers)
    return FixedDistances(
        metric.between,
        metric.mean_to,
        partial(_tabled_spread, metric, len(numbers)),
        partial(_tabled_to_unit, metric),
    )


def _nominal(c: IndexArray, k: IndexArray) -> FloatArray:
    unlike: FloatArray = (c != k).astype(np.float64)
    return unlike


def _nominal_mean_to(amount: FloatArray) -> FloatArray:
    result: FloatArray = amount.sum(0) - amount
    return result


def _nominal_spread(
    column: IndexArray, value: IndexArray, amount: FloatArray, n_columns: int
) -> FloatArray:
    del value
    total = sum_by(column, amount, n_columns)
    return total * total - sum_by(column, amount * amount, n_columns)


def _nominal_to_unit(counts: UnitCounts) -> FloatArray:
    result: FloatArray = counts.size[counts.unit] - counts.count
    return result


def _interval_mean_to(place: FloatArray, amount: FloatArray) -> FloatArray:
    # Relative to a value that occurs: the distance of a single value to itself is exactly 0.
    total = amount.sum(0)
    middle = np.argmax(np.cumsum(amount, axis=0) >= total / 2, axis=0)
    away = place[:, None] - place[middle]
    first, second = (amount * away).sum(0), (amount * away**2).sum(0)
    result: FloatArray = np.maximum(total * away**2 - 2 * first * away + second, 0)
    return result


def _interval_spread(
    place: FloatArray, column: IndexArray, value: IndexArray, amount: FloatArray, n_columns: int
) -> FloatArray:
    total = sum_by(column, amount, n_columns)
    mean = sum_by(column, amount * place[value], n_columns) / np.where(total > 0, total, 1)
    away = place[value] - mean[column]
    result: FloatArray = 2 * total * sum_by(column, amount * away**2, n_columns)
    return result


def _interval_to_unit(place: FloatArray, counts: UnitCounts) -> FloatArray:
    n_units, size = len(counts.size), counts.size
    mean = sum_by(counts.unit, counts.count * place[counts.value], n_units) / np.maximum(size, 1)
    away = (place[counts.value] - mean[counts.unit]) ** 2
    around = sum_by(counts.unit, counts.count * away, n_units)
    result: FloatArray = size[counts.unit] * away + around[counts.unit]
    return result


def _tabled_spread(
    metric: Metric,
    n_values: int,
    column: IndexArray,
    value: IndexArray,
    amount: FloatArray,
    n_columns: int,
) -> FloatArray:
    result = np.zeros(n_columns)
    step = max(1, _CHUNK // max(n_values, 1))
    for start in range(0, n_columns, step):
        here = np.flatnonzero((column >= start) & (column < start + step))
        dense = np.zeros((n_values, min(step, n_columns - start)))
        dense[value[here], column[here] - start] = amount[here]
        result[start : start + step] = (dense * metric.mean_to(dense)).sum(0)
    return result


def _tabled_to_unit(metric: Metric, counts: UnitCounts) -> FloatArray:
    starts = run_starts(counts.unit)
    length = np.diff(np.append(starts, len(counts.unit)))
    first, n_own = np.repeat(starts, length), np.repeat(length, length)
    result = np.zeros(len(counts.unit))
    part = np.cumsum(n_own) // _CHUNK
    for entries in filter(len, np.split(np.arange(len(part)), np.flatnonzero(np.diff(part)) + 1)):
        partner, offsets = rows(first[entries], first[entries] + n_own[entries])
        entry = np.repeat(entries, np.diff(offsets))
        away = metric.between(counts.value[entry], counts.value[partner])
        result[entries] = sum_by(entry - entries[0], counts.count[partner] * away, len(entries))
    return result
