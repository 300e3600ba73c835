"""Coefficients that correct the agreement of all annotators for chance."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from bboxqa.agreement.estimators import (
    NO_ERROR,
    NO_PAIR,
    NO_VARIATION,
    OK,
    ROUNDING,
    Estimator,
    SumTable,
    clustered_error,
    clusters_of,
    table_of,
    undefined,
)
from bboxqa.agreement.intervals import fisher_interval
from bboxqa.agreement.unit_counts import UnitCounts, unit_counts
from bboxqa.core.arrays import MOST_VALUES, FloatArray, FrozenArrays, compact, sum_by
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name
from bboxqa.model.units import Cell, ReliabilityData

Expectation = Literal["none", "fleiss", "uniform", "gwet"]
"""Models of chance: none (percent agreement); annotators draw values from the common distribution
(Fleiss 1971; Scott 1955 for two annotators); all values are equally likely (Brennan and Prediger
1981; Randolph 2005); only hard units are answered by chance (Gwet 2008)."""


def unit_agreement(counts: UnitCounts, weights: FloatArray | None = None) -> FloatArray:
    """Return the share of pairs of ratings that agree, of each unit, (U,).

    It is 0 for units with fewer than two ratings. The (K, K) weights are the agreement of unequal
    values.
    """
    size = counts.size
    if weights is None:
        alike = sum_by(counts.unit, counts.count * (counts.count - 1), len(size))
    else:
        # In chunks: a dense table of units × values would be large, and mostly 0.
        alike = np.zeros(len(size))
        step = max(1, (1 << 22) // counts.n_values)
        for start in range(0, len(size), step):
            stop = min(start + step, len(size))
            part = slice(*np.searchsorted(counts.unit, [start, stop]))
            dense = np.zeros((stop - start, counts.n_values))
            dense[counts.unit[part] - start, counts.value[part]] = counts.count[part]
            own = dense * np.diagonal(weights)
            alike[start:stop] = ((dense @ weights) * dense - own).sum(1)
    return alike / np.maximum(size * (size - 1), 1)


def _expected(
    kind: Expectation, share: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the agreement expected by chance, (B,), and half its slope by share, (K, B)."""
    n_values = len(share)
    if kind == "fleiss":
        slope = share if weights is None else (weights + weights.T) @ share / 2
        return (share * slope).sum(0), slope
    total = float(n_values) if weights is None else float(weights.sum())
    if kind == "gwet":
        factor = total / (n_values * (n_values - 1)) if n_values > 1 else np.nan
        return factor * (share * (1 - share)).sum(0), factor * (1 - 2 * share) / 2
    constant = 0.0 if kind == "none" else total / n_values**2
    return np.full(share.shape[1], constant), np.zeros(share.shape)


def chance_corrected(
    counts: UnitCounts, kind: Expectation, weights: FloatArray | None = None
) -> Estimator:
    """Return an agreement of any number of annotators, corrected for chance.

    The model of chance is that of Fleiss (1971, doi:10.1037/h0031619; Scott's pi for two
    annotators, doi:10.1086/266577), Brennan and Prediger (1981, doi:10.1177/001316448104100307),
    Gwet (2008, doi:10.1348/000711006X126600), or none. `weights`, (K, K), are those of
    `agreement_weights`.

    Units may have different numbers of ratings: each counts once in the observed agreement, if it
    has two or more, and once in the distribution of values, whatever their number (Gwet 2014,
    Handbook of Inter-Rater Reliability, eq. 2.11 and following). The standard error is linearised,
    with the number of units with two ratings taken as given.
    """
    weight, size, n_values = counts.weight, counts.size, counts.n_values
    paired, rated = weight * (size >= 2), weight * (size >= 1)
    if not paired.any():
        return undefined(NO_PAIR)
    agreement = unit_agreement(counts, weights)
    share = weight[counts.unit] * counts.count / size[counts.unit]

    @SumTable
    def table() -> Any:
        return table_of(
            np.concatenate([np.repeat(np.arange(3), len(size)), 3 + counts.value]),
            np.concatenate([counts.group, counts.group, counts.group, counts.group[counts.unit]]),
            np.concatenate([paired, paired * agreement, rated, share]),
            (3 + n_values, counts.n_groups),
        )

    def evaluate(column: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = column[3:] / column[2]
        return beyond_chance(column, _expected(kind, shares, weights)[0])

    shares = sum_by(counts.value, share, n_values)[:, None] / rated.sum()
    expected, slopes = _expected(kind, shares, weights)
    # The slope of p_e along a unit's shares, minus its mean over units.
    chance = sum_by(counts.unit, share * slopes[counts.value, 0], len(size))
    chance -= rated * float(shares[:, 0] @ slopes[:, 0])
    return linearised(
        counts, agreement, float(expected[0]), chance, float(rated.sum()), table, evaluate
    )


def beyond_chance(sums: FloatArray, expected: FloatArray) -> FloatArray:
    """Return (p_a − p_e) / (1 − p_e), (B,); p_a is the ratio of the first two rows of sums."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value: FloatArray = (sums[1] / sums[0] - expected) / (1 - expected)
    return np.where(expected < 1 - ROUNDING, value, np.nan)


def linearised(
    counts: UnitCounts,
    agreement: FloatArray,
    expected: float,
    chance: FloatArray,
    divisor: float,
    table: SumTable,
    evaluate: Callable[[FloatArray], FloatArray],
) -> Estimator:
    """Return (p_a − p_e) / (1 − p_e) with its linearised standard error."""
    paired, rated = counts.weight * (counts.size >= 2), counts.weight * (counts.size >= 1)
    observed = float((paired * agreement).sum() / paired.sum())
    if not expected < 1 - ROUNDING:
        return undefined(NO_VARIATION, observed, expected)
    value = (observed - expected) / (1 - expected)
    observing = paired * (agreement - expected) / paired.sum()
    observing -= rated * (observed - expected) / rated.sum()
    influence = (observing - 2 * (1 - value) * chance / divisor) / (1 - expected)
    clusters = clusters_of(counts.group, rated > 0)
    error = clustered_error(influence, counts.group, rated > 0, counts.n_groups)
    return Estimator(value, observed, expected, OK, table, evaluate, clusters, error)


class ValueKappas(FrozenArrays, frozen=True, eq=False):
    """A kappa of each of K values against all others."""

    kappa: FloatArray
    """(K,) float64. NaN where a value, or every other one, does not occur."""
    standard_error: FloatArray
    """(K,) float64. Linearised; NaN where kappa is, and where all agree on the value."""
    interval: FloatArray
    """(K, 2) float64. The 95 % interval of `fisher_interval`; NaN likewise, and where the value, or
    every other one, occurs in too few clusters."""


def fleiss_per_value(counts: UnitCounts) -> ValueKappas:
    """Return Fleiss' kappa of each value against all others (Fleiss 1971, eq. 17 and following).

    Units may have different numbers of ratings. Standard errors are those of `chance_corrected`
    with two values; those of Fleiss (1971) hold only where kappa is 0.
    """
    weight, size, n_values = counts.weight, counts.size, counts.n_values
    paired, rated = weight * (size >= 2), weight * (size >= 1)
    entry_size = size[counts.unit]
    split = counts.count * (entry_size - counts.count) / np.maximum(entry_size - 1, 1)
    of_entry = np.stack(
        [
            paired[counts.unit] * 2 * split / entry_size,
            weight[counts.unit] * counts.count / entry_size,
        ]
    )
    key = counts.group[counts.unit].astype(np.int64) * n_values + counts.value
    keys, place = compact(key, counts.n_groups * n_values)
    inside = np.stack([sum_by(place, part, len(keys)) for part in of_entry])
    cluster, value = np.divmod(keys, max(n_values, 1))
    every = np.stack([sum_by(counts.group, part, counts.n_groups) for part in (paired, rated)])
    total = every.sum(1)
    n_clusters = len(clusters_of(counts.group, rated > 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        unlike, share = (
            sum_by(value, part, n_values) / size for part, size in zip(inside, total, strict=True)
        )
        chance = 2 * share * (1 - share)
        kappa: FloatArray = 1 - unlike / chance
        # The slope of kappa along the share of unlike pairs and the share of the value.
        slope = np.stack([-1 / chance, 2 * (1 - 2 * share) * unlike / chance**2]) / total[:, None]
        moved = (slope[:, value] * inside).sum(0)
        # Every cluster also affects the means, even if the value does not occur in it.
        means = np.stack([np.full(n_values, -1 / total[0]), slope[1] * share + kappa / total[1]])
        squares = np.einsum("av,bv,ab->v", means, means, every @ every.T)
        squares += sum_by(
            value, moved * (moved - 2 * (means[:, value] * every[:, cluster]).sum(0)), n_values
        )
        error = np.sqrt(np.maximum(squares, 0) * n_clusters / (n_clusters - 1))
    known = chance > ROUNDING
    kappa[~known] = np.nan
    error[~known | (unlike <= ROUNDING) | (n_clusters < 2) | ~(error > NO_ERROR)] = np.nan
    # The interval of a rare or nearly constant value depends on the few clusters that differ.
    given = np.bincount(value, minlength=n_values)
    all_of_it = inside[1] >= every[1, cluster] - ROUNDING
    missing = n_clusters - np.bincount(value[all_of_it], minlength=n_values)
    freedom = np.minimum(np.minimum(given, missing), n_clusters) - 1
    interval = fisher_interval(kappa, error, freedom)
    return ValueKappas(kappa, error, interval)


def _expected_of_annotators(
    given: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the expected agreement, each annotator's shares, and half its slope along them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.nan_to_num(given / given.sum(1, keepdims=True))
    # In a resample an annotator may have no ratings; then only the others are compared.
    n_annotators = (given.sum(1) > 0).sum(0)
    others = share.sum(0) - share
    if weights is not None:
        others = np.einsum("kl,alb->akb", (weights + weights.T) / 2, others)
    slope = others / np.maximum(n_annotators * (n_annotators - 1), 1)
    return (share * slope).sum((0, 1)), share, slope


def conger_kappa(data: ReliabilityData, weights: FloatArray | None = None) -> Estimator:
    """Return Conger's kappa (1980, doi:10.1037/0033-2909.88.2.322), with the linearised error.

    With missing ratings, the distribution of each annotator is that of the units that they rated
    (Gwet 2014, Handbook of Inter-Rater Reliability, ch. 2). No annotator may be twice in a unit.
    """
    counts = unit_counts(data)
    drawn = np.flatnonzero(data.state == Cell.CATEGORY)
    unit, annotator = data.unit[drawn], data.annotator[drawn].astype(np.int64)
    value = data.value[drawn]
    present, annotator = np.unique(annotator, return_inverse=True)
    weight, size = counts.weight, counts.size
    paired = weight * (size >= 2)
    if not paired.any():
        return undefined(NO_PAIR)
    agreement = unit_agreement(counts, weights)
    shape = len(present), counts.n_values
    place = annotator * shape[1] + value

    @SumTable
    def table() -> Any:
        return table_of(
            np.concatenate([np.repeat(np.arange(2), len(size)), 2 + place]),
            np.concatenate([counts.group, counts.group, counts.group[unit]]),
            np.concatenate([paired, paired * agreement, weight[unit]]),
            (2 + shape[0] * shape[1], counts.n_groups),
        )

    def evaluate(column: FloatArray) -> FloatArray:
        return beyond_chance(
            column, _expected_of_annotators(column[2:].reshape(*shape, -1), weights)[0]
        )

    given = sum_by(place, weight[unit], shape[0] * shape[1]).reshape(*shape, 1)
    expected, share, slope = _expected_of_annotators(given, weights)
    # The slope along the rating's share of its annotator, minus its mean.
    centred = (slope - (share * slope).sum(1, keepdims=True))[annotator, value, 0]
    chance = sum_by(unit, weight[unit] * centred / given.sum(1)[annotator, 0], len(size))
    return linearised(counts, agreement, float(expected[0]), chance, 1.0, table, evaluate)


WEIGHTS = ("identity", "linear", "quadratic")


def agreement_weights(
    weights: str | Sequence[Sequence[float]] | FloatArray,
    n_values: int,
    numbers: FloatArray | None = None,
) -> FloatArray | None:
    """Return the agreement of each pair of values, (K, K) from 0 to 1; None for "identity".

    "linear" weights are 1 − |x_k − x_l| / (x_max − x_min), "quadratic" ones 1 − the square of that
    (Cohen 1968, doi:10.1037/h0026256), with x the values as numbers, or their ranks if some value
    is not a number. A matrix holds agreements with 1 on the diagonal, or disagreements with 0
    there, which are divided by the largest. Its rows are the values of the first annotator of a
    pair; coefficients that do not distinguish annotators use the mean of both directions. Raises
    ConfigError for other names, shapes and numbers.
    """
    if isinstance(weights, str):
        if weights not in WEIGHTS:
            raise ConfigError(f"weights {unknown_name(weights, WEIGHTS)}")
        if weights == "identity":
            return None
        if n_values > MOST_VALUES:
            raise ConfigError(
                f"weights: {n_values:,} different values are too many for {weights} weights "
                f"(at most {MOST_VALUES:,}); for measurements use Krippendorff's alpha of intervals"
            )
        place = np.arange(n_values, dtype=np.float64) if numbers is None else numbers
        distance = np.abs(place[:, None] - place)
        distance /= max(float(distance.max(initial=0)), np.finfo(np.float64).tiny)
        agreement: FloatArray = 1 - (distance if weights == "linear" else distance**2)
        return agreement
    try:
        own = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise ConfigError(
            f"weights are not numbers; expected {', '.join(WEIGHTS)}, or "
            f"{n_values} x {n_values} numbers"
        ) from None
    if own.shape != (n_values, n_values):
        found = " x ".join(map(str, own.shape)) or repr(weights)
        raise ConfigError(
            f"weights is {found}; expected {n_values} x {n_values}, one row per value"
        )
    if not np.isfinite(own).all() or (own < 0).any():
        raise ConfigError("weights: expected finite numbers, 0 or more")
    diagonal = np.diagonal(own)
    largest = float(own.max(initial=0))
    if (diagonal == 1).all() and largest <= 1:
        return own
    if (diagonal == 0).all() and largest > 0:
        own /= -largest
        own += 1
        return own
    raise ConfigError(
        "weights: expected agreements from 0 to 1 with 1 on the diagonal, "
        "or disagreements with 0 on the diagonal"
    )
