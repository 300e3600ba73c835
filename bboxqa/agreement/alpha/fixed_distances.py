"""Distances that do not depend on the other values: nominal, interval, ratio and user-defined."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bboxqa.agreement.alpha.distances import Distance, centred
from bboxqa.agreement.counts.unit_counts import UnitCounts
from bboxqa.core.arrays import MOST_VALUES, FloatArray, IndexArray, rows, run_starts, sum_by
from bboxqa.core.errors import ConfigError

# Distances computed at a time.
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class FixedDistances:
    """The distances δ of pairs of K values, and sums of these (δ² in Krippendorff's papers).

    All pairs of values are compared, in chunks; subclasses for nominal and interval data use closed
    forms, for any number of different values.
    """

    between: Callable[[IndexArray, IndexArray], FloatArray]
    """(N,) and (N,) codes → (N,) distances."""
    n_values: int

    def mean_to(self, amount: FloatArray) -> FloatArray:
        """Return Σ_k a_k δ(c, k) from amounts of the values, (K, B) → (K, B)."""
        result = np.empty(amount.shape)
        codes = np.arange(self.n_values)
        step = max(1, _CHUNK // max(self.n_values, 1))
        for start in range(0, self.n_values, step):
            part = codes[start : start + step]
            row, column = np.repeat(part, self.n_values), np.tile(codes, len(part))
            result[part] = self.between(row, column).reshape(len(part), -1) @ amount
        return result

    def spread(
        self, column: IndexArray, value: IndexArray, amount: FloatArray, n_columns: int
    ) -> FloatArray:
        """Return Σ_ck a_c a_k δ(c, k) of each of B columns, (B,).

        Columns, codes and amounts are (N,), each code once in a column.
        """
        result = np.zeros(n_columns)
        step = max(1, _CHUNK // max(self.n_values, 1))
        for start in range(0, n_columns, step):
            here = np.flatnonzero((column >= start) & (column < start + step))
            dense = np.zeros((self.n_values, min(step, n_columns - start)))
            dense[value[here], column[here] - start] = amount[here]
            result[start : start + step] = (dense * self.mean_to(dense)).sum(0)
        return result

    def to_unit(self, counts: UnitCounts) -> FloatArray:
        """Return the distances of each value of a unit to all ratings of the unit, (E,)."""
        starts = run_starts(counts.unit)
        length = np.diff(np.append(starts, len(counts.unit)))
        first, n_own = np.repeat(starts, length), np.repeat(length, length)
        result = np.zeros(len(counts.unit))
        part = np.cumsum(n_own) // _CHUNK
        cuts = np.flatnonzero(np.diff(part)) + 1
        for entries in filter(len, np.split(np.arange(len(part)), cuts)):
            partner, offsets = rows(first[entries], first[entries] + n_own[entries])
            entry = np.repeat(entries, np.diff(offsets))
            away = counts.count[partner] * self.between(counts.value[entry], counts.value[partner])
            result[entries] = sum_by(entry - entries[0], away, len(entries))
        return result


class _Nominal(FixedDistances):
    """0 between equal values, else 1."""

    def mean_to(self, amount: FloatArray) -> FloatArray:
        result: FloatArray = amount.sum(0) - amount
        return result

    def spread(
        self, column: IndexArray, value: IndexArray, amount: FloatArray, n_columns: int
    ) -> FloatArray:
        del value
        total = sum_by(column, amount, n_columns)
        return total * total - sum_by(column, amount * amount, n_columns)

    def to_unit(self, counts: UnitCounts) -> FloatArray:
        result: FloatArray = counts.size[counts.unit] - counts.count
        return result


@dataclass(frozen=True, slots=True)
class _Interval(FixedDistances):
    """Squared differences of the (K,) places of values."""

    place: FloatArray

    def mean_to(self, amount: FloatArray) -> FloatArray:
        # Relative to a value that occurs, so that a single value has a distance of exactly 0.
        total = amount.sum(0)
        middle = np.argmax(np.cumsum(amount, axis=0) >= total / 2, axis=0)
        away = self.place[:, None] - self.place[middle]
        first, second = (amount * away).sum(0), (amount * away**2).sum(0)
        result: FloatArray = np.maximum(total * away**2 - 2 * first * away + second, 0)
        return result

    def spread(
        self, column: IndexArray, value: IndexArray, amount: FloatArray, n_columns: int
    ) -> FloatArray:
        place = self.place[value]
        total = sum_by(column, amount, n_columns)
        mean = sum_by(column, amount * place, n_columns) / np.where(total > 0, total, 1)
        away = place - mean[column]
        result: FloatArray = 2 * total * sum_by(column, amount * away**2, n_columns)
        return result

    def to_unit(self, counts: UnitCounts) -> FloatArray:
        n_units, size, place = len(counts.size), counts.size, self.place[counts.value]
        mean = sum_by(counts.unit, counts.count * place, n_units) / np.maximum(size, 1)
        away = (place - mean[counts.unit]) ** 2
        around = sum_by(counts.unit, counts.count * away, n_units)
        result: FloatArray = size[counts.unit] * away + around[counts.unit]
        return result


def fixed_distances(
    level: str | Distance, numbers: FloatArray | None, marginal: FloatArray
) -> FixedDistances:
    """Return the distances of a level.

    Raises ConfigError if there are no numbers, or as `pairwise_distances`.

    Parameters
    ----------
    level : {"nominal", "interval", "ratio"} or callable
    numbers : (K,) float64, optional
        The values in rising order; not needed for nominal data.
    marginal : (K,) float64
        How often each value occurs among those compared. Distances of interval data are scaled by
        these, and are 0 for values that do not occur.

    Examples
    --------
    >>> distances = fixed_distances("nominal", None, np.ones(3))
    >>> distances.mean_to(np.array([[1.0], [2.0], [4.0]])).ravel()
    array([6., 5., 3.])
    """
    if level == "nominal":
        return _Nominal(lambda c, k: (c != k).astype(np.float64), len(marginal))
    if numbers is None:
        raise ConfigError(f"level {level}: some values are not numbers; expected numbers only")
    if level == "interval":
        place = centred(numbers, marginal)[0]
        return _Interval(lambda c, k: np.square(place[c] - place[k]), len(place), place)
    return pairwise_distances(level, numbers)


def pairwise_distances(distance: str | Distance, numbers: FloatArray) -> FixedDistances:
    """Return the distances of ratio data, or those that the user defines.

    Raises ConfigError if ratio data are negative, or if a check of up to 200 values finds that the
    distance is not symmetric, not 0 for equal values, negative or not finite.

    Parameters
    ----------
    distance : "ratio" or callable
        ((c − k) / (c + k))² for ratio data (Krippendorff 2011); or (N,), (N,) values → (N,).
    numbers : (K,) float64

    Examples
    --------
    >>> distances = pairwise_distances("ratio", np.array([1.0, 3.0]))
    >>> distances.between(np.array([0]), np.array([1]))
    array([0.25])
    """
    if len(numbers) > MOST_VALUES:
        name = f"level {distance}" if isinstance(distance, str) else "distance function"
        raise ConfigError(
            f"{name}: {len(numbers):,} different values are too many, since each is compared with "
            f"each (at most {MOST_VALUES:,}); round them, or use level interval"
        )
    if isinstance(distance, str):
        if (numbers < 0).any():
            raise ConfigError(
                f"level ratio: a value is {numbers.min():g}; expected 0 or more; "
                "for values around 0 use level interval"
            )
        return FixedDistances(lambda c, k: _ratio(numbers[c], numbers[k]), len(numbers))
    _check_distance(distance, numbers)
    return FixedDistances(lambda c, k: np.asarray(distance(numbers[c], numbers[k])), len(numbers))


def _check_distance(distance: Distance, numbers: FloatArray) -> None:
    """Raise ConfigError if a function is not a distance for up to 200 of the numbers."""
    some = np.arange(min(len(numbers), 200))
    row, column = numbers[np.repeat(some, len(some))], numbers[np.tile(some, len(some))]
    found = np.asarray(distance(row, column), np.float64)
    if found.shape != row.shape:
        raise ConfigError(f"distance function returned shape {found.shape}; expected {row.shape}")
    square = found.reshape(len(some), len(some))
    if not np.isfinite(square).all() or (square < 0).any():
        raise ConfigError("distance function: expected finite distances of 0 or more")
    if np.diagonal(square).any() or not np.allclose(square, square.T, rtol=1e-12, atol=0):
        raise ConfigError(
            "distance function: expected 0 for equal values, and the same distance in both orders"
        )


def _ratio(left: FloatArray, right: FloatArray) -> FloatArray:
    # The minimum avoids 0 / 0 for two zeros.
    total = np.maximum(left + right, np.finfo(np.float64).tiny)
    quotient: FloatArray = (left - right) / total
    return quotient * quotient
