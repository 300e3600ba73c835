"""Krippendorff's alpha with distances between values."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np

from bboxqa.agreement.estimators import (
    NO_PAIR,
    NO_VARIATION,
    OK,
    ROUNDING,
    Estimator,
    SumTable,
    clustered_error,
    clusters_of,
    undefined,
)
from bboxqa.agreement.nominal import nominal_estimator
from bboxqa.agreement.unit_counts import UnitCounts, coincidences_of, value_pairs
from bboxqa.core.arrays import MOST_VALUES, FloatArray, IndexArray, sum_by
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name

LEVELS = ("nominal", "ordinal", "interval", "ratio")

Distance = Callable[[FloatArray, FloatArray], FloatArray]
"""(N,) and (N,) values → (N,) distances δ, 0 for equal values, symmetric."""

SET_LEVELS = ("masi", "jaccard")


class SetDistance(msgspec.Struct, frozen=True, eq=False):
    """A distance of sets of labels, by the codes of K sets."""

    name: str
    between: FloatArray
    """(K, K)."""

    def __call__(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the distances of (N,) and (N,) codes."""
        found: FloatArray = self.between[left.astype(np.int64), right.astype(np.int64)]
        return found


def set_distance(name: str, values: Sequence[str]) -> SetDistance:
    """Return a distance of sets of labels; ConfigError if no value is a set.

    Jaccard's is the share of the labels of both that one of them lacks. MASI (Passonneau 2006) is
    1 − share in common · m, where m is 1 for equal sets, 2/3 where one holds the other, 1/3 where
    they overlap, and 0 else. Two empty sets are equal.
    """
    from scipy.sparse import csr_array

    from bboxqa.model.ratings import set_of

    sets = [set_of(each) for each in values]
    if not any(sets):
        raise ConfigError(f"level {name}: no value is a list of labels, such as ['cat', 'dog']")
    if len(sets) > MOST_VALUES:
        raise ConfigError(
            f"level {name}: {len(sets):,} different sets are too many, since each is compared with "
            f"each (at most {MOST_VALUES:,})"
        )
    held = [
        frozenset({value}) if each is None else each
        for each, value in zip(sets, values, strict=True)
    ]
    known = {label: place for place, label in enumerate(sorted(frozenset().union(*held)))}
    row = np.repeat(np.arange(len(held)), [len(each) for each in held])
    column = np.array([known[label] for each in held for label in each], np.int64)
    of_set = csr_array((np.ones(len(row)), (row, column)), (len(held), max(len(known), 1)))
    both, size = (of_set @ of_set.T).toarray(), of_set.sum(axis=1)
    either = size[:, None] + size - both
    share = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    if name == "masi":
        is_part = both == np.minimum(size[:, None], size)
        share *= np.where(both == either, 1, np.where(is_part, 2 / 3, 1 / 3))
    return SetDistance(name, 1 - share)


# Differences of larger numbers may overflow.
_LARGE = 1e307


def centred(numbers: FloatArray, marginal: FloatArray) -> tuple[FloatArray, float]:
    """Return interval data, in rising order, relative to their median, and their unit.

    Numbers far from 0 keep their digits: a value that occurs is subtracted before the division,
    and the unit is a power of two. Values that do not occur are 0.
    """
    occurring = marginal > 0
    largest = float(np.abs(numbers[occurring]).max(initial=0))
    # Scale down: differences near the float maximum overflow.
    shrunk = 0.25 if largest > _LARGE else 1.0
    number = np.where(occurring, numbers, 0) * shrunk
    middle = np.searchsorted(np.cumsum(marginal), marginal.sum() / 2)
    place = np.where(occurring, number - number[middle], 0)
    exponent = int(np.frexp(np.abs(place).max(initial=0))[1])
    with np.errstate(over="ignore"):
        return np.ldexp(place, -exponent), float(np.ldexp(1 / shrunk, exponent))


def midranks(marginal: FloatArray) -> FloatArray:
    """Return the mean rank of each value among all pairable ones, (K, B), centred at 0.

    Krippendorff's ordinal metric is the squared difference of two of these.
    """
    ranks: FloatArray = np.cumsum(marginal, axis=0) - marginal / 2 - marginal.sum(0) / 2
    return ranks


# Distances computed at a time.
_CHUNK = 1 << 22


class FixedDistances(msgspec.Struct, frozen=True):
    """The distances δ of pairs of K values, and sums of these (δ² in Krippendorff's papers)."""

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


def pairwise_distances(distance: str | Distance, numbers: FloatArray) -> FixedDistances:
    """Return ((c − k) / (c + k))² of ratio data, or the user's distances, checked."""
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
    # Raise ConfigError if a function is not a distance for up to 200 of the numbers.
    some = np.arange(min(len(numbers), 200))
    row, column = numbers[np.repeat(some, len(some))], numbers[np.tile(some, len(some))]
    found = np.asarray(distance(row, column), np.float64)
    if found.shape != row.shape:
        raise ConfigError(f"distance function returned shape {found.shape}; expected {row.shape}")
    square = found.reshape(len(some), len(some))
    is_sound = (square >= 0).all() and np.isfinite(square).all() and not np.diagonal(square).any()
    if not (is_sound and np.allclose(square, square.T, rtol=1e-12, atol=0)):
        raise ConfigError(
            "distance function: expected a finite distance of 0 or more for each pair of values, "
            "the same in both orders, and 0 for equal ones"
        )
    return FixedDistances(lambda c, k: np.asarray(distance(numbers[c], numbers[k])), len(numbers))


def _ratio(left: FloatArray, right: FloatArray) -> FloatArray:
    # The minimum avoids 0 / 0 for two zeros.
    total = np.maximum(left + right, np.finfo(np.float64).tiny)
    quotient: FloatArray = (left - right) / total
    return quotient * quotient


def pairable_marginal(counts: UnitCounts) -> FloatArray:
    """Return how often each value occurs in units of two ratings or more, (K,) float64."""
    entry = counts.size[counts.unit] >= 2
    amount = counts.weight[counts.unit] * counts.count * entry
    return sum_by(counts.value, amount, counts.n_values)


def alpha(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> Estimator:
    """Return Krippendorff's alpha (2011); ConfigError if the level does not suit the values.

    `numbers` are the values in rising order. `observed` and `expected` are D_o and D_e. The
    standard error is linearised with distances and ranks taken as given (Gwet 2014, ch. 6).
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
            between = 2 * (n * second - first**2)
            return _of_parts(n, within, np.where(between > ROUNDING * n * second, between, 0))

        mean = float(marginal @ place) / total
        mean_to = (place - mean) ** 2 + float(marginal @ (place - mean) ** 2) / total
        return _estimator(counts, unlike, mean_to, marginal, table, evaluate, unit * unit)
    return _pairwise(counts, marginal, pairwise_distances(level, numbers))


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
    """Return the term of each unit in n D_o, (U,): Σ_{i≠j} δ(x_i, x_j) / (m − 1) over m ratings."""
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
    """Return alpha from the disagreement of each unit and the mean distance of each value."""
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
