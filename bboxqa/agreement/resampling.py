"""Bootstrap intervals, differences of two coefficients, and sizes of samples."""

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping
from functools import cache, lru_cache
from math import ceil, exp, floor, hypot, nan, sqrt
from statistics import NormalDist
from typing import TypeVar

import msgspec
import numpy as np

from bboxqa.agreement.estimators import (
    OK,
    ROUNDING,
    Estimator,
    Resampled,
    normal_share,
    t_quantile,
)
from bboxqa.core.arrays import ByteArray, FloatArray, IndexArray, Steps, listed_by
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import count

Name = TypeVar("Name", bound=Hashable)

LEVEL = 0.95
"""The share of replicates that an interval spans."""

# Replicates that are drawn at a time, and the most weights of these.
_CHUNK = 100
_WEIGHTS = 1 << 23
_DRAWS = 1 << 14
# Bytes of draws, of which three sets are kept, and of larger ones the last.
_KEPT, _KEPT_LAST = 100_000_000, 500_000_000
# Numbers of clusters below it have one table of how much wider their intervals are.
_TABLED = 1 << 8
# The smallest share of replicates that must be defined for an interval.
_DEFINED = 0.95
FEW_CLUSTERS = 10
"""With fewer clusters, even expanded intervals are somewhat too narrow."""


def covering_intervals(
    values: FloatArray,
    replicates: FloatArray,
    n_clusters: IndexArray,
    highest: float = 1.0,
    intervals: FloatArray | None = None,
) -> FloatArray:
    """Return intervals that contain their values, (K, 2), from replicates, (K, B).

    They are expanded percentile intervals (Hesterberg 2015, doi:10.1080/00031305.2015.1089789),
    which span the share `expanded_level` of the replicates, or the given `intervals`. Draws repeat
    some clusters and lack others, so that all replicates can lie on one side of the value. An
    interval that does not contain its value is shifted by the bias of the replicates, their mean
    minus the value (Efron and Tibshirani 1993, ch. 10); others are not changed. NaN if more than 5
    % of the replicates are.
    """
    if intervals is None:
        level = expanded_level(n_clusters)
        intervals = quantiles(replicates, (1 - level) / 2, (1 + level) / 2)
    low, high = intervals.T
    missed = np.flatnonzero((values < low - ROUNDING) | (values > high + ROUNDING))
    moved = np.zeros(len(values))
    moved[missed] = values[missed] - np.nanmean(replicates[missed], axis=1)
    bounds = np.minimum(intervals + moved[:, None], highest)
    known = np.flatnonzero(~np.isnan(values))
    bounds[known, 0] = np.minimum(bounds[known, 0], values[known])
    bounds[known, 1] = np.maximum(bounds[known, 1], values[known])
    return bounds


def few_images_note(n_images: int) -> str:
    """Return a note on intervals of fewer images than `FEW_CLUSTERS`."""
    narrow = "are somewhat too narrow with so few" if n_images > 1 else "need several images"
    return f"{count(n_images, 'image')}: intervals {narrow}"


def quantiles(
    replicates: FloatArray, lower: float | FloatArray, upper: float | FloatArray
) -> FloatArray:
    """Return two quantiles of each row of replicates, (K, B) → (K, 2)."""
    result = np.full((len(replicates), 2), np.nan)
    # NaN comes last when sorted.
    ordered = np.sort(replicates, axis=1)
    defined = np.sum(~np.isnan(ordered), axis=1)
    rows = np.flatnonzero(defined >= max(1, _DEFINED * replicates.shape[1]))
    for side, share in enumerate((lower, upper)):
        place = np.broadcast_to(share, len(replicates))[rows] * (defined[rows] - 1)
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, defined[rows] - 1)
        a, b = ordered[rows, low], ordered[rows, high]
        result[rows, side] = a + (b - a) * (place - low)
    return result


def drawn_counts(n_clusters: int, replicates: int, seed: int) -> Iterator[ByteArray]:
    """Yield the number of draws of each cluster in each replicate, (G, b), in chunks."""
    generator = np.random.default_rng(seed)
    step = int(np.clip(_WEIGHTS // max(n_clusters, 1), 1, _CHUNK))
    # Draws of several replicates cost one call, as long as they stay in the cache.
    n_together = max(1, _DRAWS // max(n_clusters, 1))
    for start in range(0, replicates, step):
        # Filled row by row, as the elements of a column are far apart in memory. No cluster is
        # drawn 256 times.
        counts = np.empty((min(step, replicates - start), n_clusters), np.uint8)
        for first in range(0, len(counts), n_together):
            some = counts[first : first + n_together]
            drawn = generator.integers(0, n_clusters, some.shape)
            drawn += np.arange(len(some))[:, None] * n_clusters
            some[:] = np.bincount(drawn.ravel(), minlength=some.size).reshape(some.shape)
        yield np.ascontiguousarray(counts.T)


def repeated_counts(n_clusters: int, replicates: int, seed: int) -> Iterator[ByteArray]:
    """Return what `drawn_counts` does, as arrays that must not be changed.

    The last draws are kept if they take less than 500 MB: of many images, nearly all tables have
    something to add in the same ones.
    """
    size = n_clusters * replicates
    if size > _KEPT_LAST:
        return drawn_counts(n_clusters, replicates, seed)
    return iter((_kept_counts if size <= _KEPT else _last_counts)(n_clusters, replicates, seed))


def _all_counts(n_clusters: int, replicates: int, seed: int) -> tuple[ByteArray, ...]:
    kept = tuple(drawn_counts(n_clusters, replicates, seed))
    for counts in kept:
        counts.setflags(write=False)
    return kept


_kept_counts = lru_cache(maxsize=3)(_all_counts)
_last_counts = lru_cache(maxsize=1)(_all_counts)


def replicates_of_all(
    estimators: Mapping[Name, Estimator | Resampled],
    replicates: int,
    seed: int,
    on_progress: Steps | None = None,
) -> dict[Name, FloatArray]:
    """Return the coefficients, (B,) or (K, B), of each resample of clusters with replacement.

    Coefficients over the same clusters share the draws, and a table of several is multiplied once.
    """
    kinds = listed_by((each.clusters.tobytes(), name) for name, each in estimators.items())
    found: dict[Name, list[FloatArray]] = {name: [] for name in estimators}
    done, total = 0, replicates * len(kinds)
    for names in kinds.values():
        clusters = estimators[names[0]].clusters
        used = dict.fromkeys(estimators[name].table for name in names)
        tables = {table: table.drawn(clusters) for table in used}
        for counts in drawn_counts(len(clusters), replicates, seed):
            weights = counts.astype(np.float64)
            sums = {table: np.asarray(own @ weights) for table, own in tables.items()}
            for name in names:
                found[name].append(estimators[name].evaluate(sums[estimators[name].table]))
            done += weights.shape[1]
            if on_progress is not None:
                on_progress(done, total)
    return {name: np.concatenate(parts, axis=-1) for name, parts in found.items()}


def jackknife(estimator: Estimator) -> FloatArray:
    """Return the coefficient without each cluster, (G,) (Quenouille 1949; Tukey 1958)."""
    if estimator.without is not None:
        return estimator.without
    sums = estimator.table.drawn(estimator.clusters)
    depth, n_clusters = sums.shape
    total = np.asarray(sums.sum(1), np.float64).reshape(depth, 1)
    step = max(1, _WEIGHTS // max(depth, 1))
    parts = [np.zeros(0)]
    for start in range(0, n_clusters, step):
        part = sums[:, start : start + step]
        dense = part if isinstance(part, np.ndarray) else part.toarray()
        parts.append(estimator.evaluate(total - dense))
    return np.concatenate(parts)


def jackknife_error(without: FloatArray) -> float:
    """Return the error from (G,) values without each cluster (Efron, Tibshirani 1993, eq. 11.5)."""
    n_clusters = len(without)
    if n_clusters < 2 or np.isnan(without).any():
        return nan
    deviation = without - without.mean()
    return sqrt((n_clusters - 1) / n_clusters * float(deviation @ deviation))


def bca_interval(
    value: float, replicates: FloatArray, without: FloatArray, level: float = LEVEL
) -> FloatArray:
    """Return the bias-corrected and accelerated interval, (2,) (Efron 1987).

    It is computed from (B,) replicates and the (G,) values of `jackknife`. NaN if more than 5 % of
    the replicates are NaN, if all lie on one side of the value, if a value of the jackknife is NaN,
    or if `level` is 1, to which it is expanded for two clusters.
    """
    nothing = np.full(2, np.nan)
    defined = replicates[~np.isnan(replicates)]
    # Ties count half, so that a coarse coefficient has no bias. Values that differ only by rounding
    # are ties, as sums are added in another order.
    apart = defined - value
    below = float(np.sum(apart < -ROUNDING) + np.sum(np.abs(apart) <= ROUNDING) / 2)
    is_one_sided = not 0 < below < len(defined)
    if np.isnan(value) or np.isnan(without).any() or is_one_sided or level >= 1:
        return nothing
    normal = NormalDist()
    bias = normal.inv_cdf(below / len(defined))
    deviation = without.mean() - without
    spread = float((deviation**2).sum()) ** 1.5
    acceleration = float((deviation**3).sum()) / (6 * spread) if spread else 0.0
    ends = [bias + normal.inv_cdf(tail) for tail in ((1 - level) / 2, (1 + level) / 2)]
    shares = [normal.cdf(bias + z / (1 - acceleration * z)) for z in ends]
    bounds: FloatArray = quantiles(replicates[None], *shares)[0]
    return bounds


def normal_ratio(n_clusters: int) -> float:
    """Return the factor by which an interval of few clusters is wider.

    The variance of draws is too small by (n − 1) / n, and the variance estimated from n clusters is
    uncertain, which Student's t takes into account.
    """
    is_few = n_clusters < _TABLED
    numbers = range(_TABLED) if is_few else range(n_clusters, n_clusters + 1)
    return float(_normal_ratios(numbers)[n_clusters - numbers.start])


@cache
def _normal_ratios(n_clusters: range) -> FloatArray:
    n, tail = np.maximum(n_clusters, 2), (1 + LEVEL) / 2
    normal = NormalDist().inv_cdf(tail)
    widened: FloatArray = np.sqrt(n / (n - 1)) * t_quantile(n - 1.0, tail) / normal
    return widened


def expanded_level(n_clusters: IndexArray) -> FloatArray:
    """Return the share of draws that a 95 % interval of few clusters spans, (K,)."""
    distinct, place = np.unique(n_clusters, return_inverse=True)
    end = NormalDist().inv_cdf((1 - LEVEL) / 2)
    ends = (end * normal_ratio(each) for each in distinct.tolist())
    level: FloatArray = np.array([1 - 2 * normal_share(each) for each in ends])
    return level[place].reshape(n_clusters.shape)


APART = "no common cluster: the two share no unit or cluster, and were resampled independently"


class Difference(msgspec.Struct, frozen=True):
    """The difference of two coefficients."""

    value: float
    """NaN where either is undefined."""
    interval: tuple[float, float]
    """The 95 % interval, expanded for the fewer clusters of the two; NaN where there is none."""
    standard_error: float
    """The standard deviation of the replicates; NaN where there are none."""
    status: str
    """Why the value is undefined, or that the two share no cluster; else "ok"."""
    n_clusters: int
    """The number of clusters that were resampled."""
    n_common: int
    """The number of clusters that both coefficients have."""


def paired_difference(
    first: Estimator,
    second: Estimator,
    first_names: IndexArray,
    second_names: IndexArray,
    replicates: int,
    seed: int,
) -> Difference:
    """Return the difference first − second.

    Clusters that both have are drawn together (paired resampling: Efron and Tibshirani 1993,
    ch. 8), so that the difficulty of an image affects both and cancels out. The two are the same
    coefficient for two groups of annotators, or two guidelines. Clusters with the same number in
    the two (G,) arrays of names are the same image or unit.
    """
    value = first.value - second.value
    ours, theirs = first_names[first.clusters], second_names[second.clusters]
    names = np.union1d(ours, theirs)
    n_common = len(np.intersect1d(ours, theirs))
    for which, estimator in (("first", first), ("second", second)):
        if np.isnan(estimator.value):
            status = f"{which}: {estimator.status}"
            return Difference(nan, (nan, nan), nan, status, len(names), n_common)
    places = np.searchsorted(names, ours), np.searchsorted(names, theirs)
    sums = first.table.drawn(first.clusters), second.table.drawn(second.clusters)
    parts: list[FloatArray] = [np.zeros(0)]
    for counts in drawn_counts(len(names), replicates if len(names) > 1 else 0, seed):
        left, right = (
            estimator.evaluate(np.asarray(table @ counts[place].astype(np.float64)))
            for estimator, table, place in zip((first, second), sums, places, strict=True)
        )
        parts.append(left - right)
    drawn, fewest = np.concatenate(parts), np.array([min(len(ours), len(theirs))])
    low, high = covering_intervals(np.array([value]), drawn[None], fewest, 2.0)[0]
    defined = drawn[~np.isnan(drawn)]
    error = float(defined.std(ddof=1)) if not np.isnan(low) and len(defined) > 1 else nan
    status = OK if n_common or not replicates else APART
    return Difference(value, (float(low), float(high)), error, status, len(names), n_common)


TOO_FEW = "too few clusters for an interval"

# The 97.5 % quantile of the normal distribution.
_NORMAL = 1.96
# The relative error of the squared width between two quantiles of as many draws is this, divided by
# the root of their number: of each of them sqrt(0.025 * 0.975) / density (David and Nagaraja 2003).
_OF_DRAWS = 1.93
# With more clusters, the expansion of intervals is negligible.
_MANY = 1 << 40


class Plan(msgspec.Struct, frozen=True):
    """The number of clusters that a narrower interval needs."""

    status: str
    """Why nothing can be planned, or "ok"."""
    width: float = nan
    """The width of the 95 % interval."""
    n_needed: int = 0
    """The number of clusters for the target width; 0 if unknown."""
    needed_range: tuple[int, int] = (0, 0)
    """The 95 % range of `n_needed`, since the spread of few clusters is uncertain itself."""


def plan_clusters(
    estimator: Estimator, target_width: float, replicates: int = 1000, seed: int = 0
) -> Plan:
    """Return the number of clusters for an interval of a given width.

    New clusters are assumed to be like the present ones. The width of the bootstrap interval falls
    with the square root of the number of clusters (Efron and Tibshirani 1993, ch. 6): half the
    width takes four times as many, or somewhat fewer if the present interval is expanded for few
    clusters. The target width, from end to end, must be above 0.
    """
    if not target_width > 0:
        raise ConfigError(f"target width is {target_width:g}; expected more than 0, such as 0.05")
    if np.isnan(estimator.value):
        return Plan(estimator.status)
    n_clusters, width = len(estimator.clusters), nan
    if n_clusters > 1:
        drawn = replicates_of_all({"": estimator}, replicates, seed)[""]
        # Clusters in which nothing is compared are drawn, and make no figure more certain.
        sums = estimator.table.drawn(estimator.clusters)
        made_of = np.count_nonzero(np.asarray(abs(sums).sum(axis=0)))
        values = np.array([estimator.value])
        ends = covering_intervals(values, drawn[None], np.array([made_of]))[0]
        width = float(ends[1] - ends[0])
    if np.isnan(width):
        return Plan(TOO_FEW)
    if width == 0:
        return Plan("all replicates are equal: the data show no spread to plan by", 0.0)

    def relative(n: int) -> float:
        return normal_ratio(n) / sqrt(n)

    needed = max(n_clusters, ceil(n_clusters * (width / target_width) ** 2))
    if needed <= _MANY:
        # Rounding must not add a cluster if the target is met exactly.
        widest = relative(n_clusters) / (width / target_width) * (1 + ROUNDING)
        needed = 2 + bisect_left(range(2, needed), True, key=lambda n: relative(n) <= widest)
    without = jackknife(estimator)
    known = without[~np.isnan(without)]
    squares, of_spread = (known - known.mean()) ** 2 if len(known) else np.zeros(1), 0.0
    if squares.any():
        of_spread = float(squares.std() / squares.mean() / np.sqrt(len(squares)))
    factor = exp(_NORMAL * hypot(of_spread, _OF_DRAWS / sqrt(replicates)))
    between = max(2, floor(needed / factor)), ceil(needed * factor)
    return Plan(OK, width, needed, between)
