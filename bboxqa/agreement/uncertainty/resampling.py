"""Replicates of a coefficient by resampling its clusters, and intervals from them."""

from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from math import nan, sqrt
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.uncertainty.estimator import ROUNDING, Estimator
from bboxqa.agreement.uncertainty.sum_table import SumTable
from bboxqa.core.arrays import ByteArray, FloatArray, IndexArray
from bboxqa.core.types import Steps

Name = TypeVar("Name", bound=Hashable)

LEVEL = 0.95
"""The share of replicates that an interval spans."""

# Replicates that are drawn at a time, and the most weights of these.
_CHUNK = 100
_WEIGHTS = 1 << 23
# Bytes of draws, of which three sets are kept, and of larger ones the last.
_KEPT, _KEPT_LAST = 100_000_000, 500_000_000
_DOUBLE: np.dtype[Any] = np.dtype(np.float64)
# The smallest share of replicates that must be defined for an interval.
_DEFINED = 0.95


def covering_intervals(
    values: FloatArray, replicates: FloatArray, intervals: FloatArray, highest: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return intervals that contain their values, (K, 2), and the shift of each, (K,).

    Draws repeat some clusters and lack others, so that all replicates can lie on one side of the
    value. An interval that does not contain its value is shifted by the bias of the replicates,
    their mean minus the value (Efron and Tibshirani 1993, ch. 10); others are not changed.

    Parameters
    ----------
    values : (K,) float64
        The coefficients of all clusters.
    replicates : (K, B) float64
        NaN where undefined.
    intervals : (K, 2) float64
        NaN where there is none.
    highest : float
        The largest value that the coefficients can have.

    Examples
    --------
    >>> replicates = np.array([[0.2, 0.3, 0.4]])
    >>> covering_intervals(np.array([0.5]), replicates, np.array([[0.2, 0.4]]))
    (array([[0.4, 0.6]]), array([0.2]))
    """
    low, high = intervals.T
    missed = np.flatnonzero((values < low - ROUNDING) | (values > high + ROUNDING))
    moved = np.zeros(len(values))
    moved[missed] = values[missed] - np.nanmean(replicates[missed], axis=1)
    bounds = np.minimum(intervals + moved[:, None], highest)
    known = np.flatnonzero(~np.isnan(values))
    bounds[known, 0] = np.minimum(bounds[known, 0], values[known])
    bounds[known, 1] = np.maximum(bounds[known, 1], values[known])
    return bounds, moved


def quantiles(
    replicates: FloatArray, lower: float | FloatArray, upper: float | FloatArray
) -> FloatArray:
    """Return two quantiles of each row of replicates, (K, B) → (K, 2).

    The levels are common to all rows, or (K,). NaN if more than 5 % of the replicates are NaN.
    """
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


def drawn_weights(n_clusters: int, replicates: int, seed: int) -> Iterator[FloatArray]:
    """Yield the number of draws of each cluster in each replicate, (G, b), in chunks of replicates.

    The numbers do not depend on the chunk size.
    """
    for counts in _drawn_counts(n_clusters, replicates, seed, np.dtype(np.float64)):
        yield np.ascontiguousarray(counts)


def _drawn_counts(
    n_clusters: int, replicates: int, seed: int, dtype: np.dtype[Any] = _DOUBLE
) -> Iterator[NDArray[Any]]:
    """Yield the counts of `drawn_weights` with a dtype, transposed in memory."""
    generator = np.random.default_rng(seed)
    step = _step(n_clusters)
    for start in range(0, replicates, step):
        # Filled row by row, as the elements of a column are far apart in memory.
        counts = np.empty((min(step, replicates - start), n_clusters), dtype)
        for row in counts:
            row[:] = np.bincount(
                generator.integers(0, n_clusters, n_clusters), minlength=n_clusters
            )
        yield counts.T


def _step(n_clusters: int) -> int:
    return int(np.clip(_WEIGHTS // max(n_clusters, 1), 1, _CHUNK))


def repeated_counts(n_clusters: int, replicates: int, seed: int) -> Iterator[ByteArray]:
    """Yield what `drawn_weights` does as small whole numbers, which must not be changed.

    The last draws are kept if they take less than 500 MB: of many images, nearly all tables have
    something to add in the same ones.
    """
    size = n_clusters * replicates
    if size > _KEPT_LAST:
        yield from _small_counts(n_clusters, replicates, seed)
        return
    keeper = _kept_counts if size <= _KEPT else _last_counts
    yield from keeper(n_clusters, replicates, seed)


def _small_counts(n_clusters: int, replicates: int, seed: int) -> Iterator[ByteArray]:
    # No cluster is drawn 256 times.
    return _drawn_counts(n_clusters, replicates, seed, np.dtype(np.uint8))


def _all_counts(n_clusters: int, replicates: int, seed: int) -> tuple[ByteArray, ...]:
    kept = []
    for counts in _small_counts(n_clusters, replicates, seed):
        # By rows of clusters, as they are read.
        kept.append(np.ascontiguousarray(counts))
        kept[-1].setflags(write=False)
    return tuple(kept)


_kept_counts = lru_cache(maxsize=3)(_all_counts)
_last_counts = lru_cache(maxsize=1)(_all_counts)


def replicates_of_all(
    estimators: Mapping[Name, Estimator],
    replicates: int,
    seed: int,
    on_progress: Steps | None = None,
) -> dict[Name, FloatArray]:
    """Return the coefficients of each resample of the clusters, drawn with replacement.

    Coefficients over the same clusters share the draws, and a table that several coefficients use
    is multiplied once.

    Each result is (B,) or (K, B) float64, NaN where undefined. Progress is reported as
    on_progress(done, total), in replicates.
    """
    kinds: dict[bytes, list[Name]] = {}
    for name, estimator in estimators.items():
        kinds.setdefault(estimator.clusters.tobytes(), []).append(name)
    found: dict[Name, FloatArray] = {name: np.zeros(0) for name in estimators}
    done, total = 0, replicates * len(kinds)
    for names in kinds.values():
        clusters = estimators[names[0]].clusters
        changes: dict[SumTable, Any] = {}
        for name in names:
            _add_changes(changes, estimators[name].table, clusters)
        stop = 0
        for weights in drawn_weights(len(clusters), replicates, seed):
            start, stop = stop, stop + weights.shape[1]
            sums = _products(changes, weights)
            for name in names:
                values = estimators[name].evaluate(sums[estimators[name].table])
                if not start:
                    found[name] = np.empty((*values.shape[:-1], replicates))
                found[name][..., start:stop] = values
            done += weights.shape[1]
            if on_progress is not None:
                on_progress(done, total)
    return found


def _add_changes(changes: dict[SumTable, Any], table: SumTable, clusters: IndexArray) -> None:
    """Add the columns of a table, after those of the tables on which it is based."""
    if table not in changes:
        if table.base is not None:
            _add_changes(changes, table.base, clusters)
        changes[table] = table.change(clusters)


def _products(changes: Mapping[SumTable, Any], weights: FloatArray) -> dict[SumTable, FloatArray]:
    """Return the sums of each table over the drawn clusters, (D, B)."""
    sums: dict[SumTable, FloatArray] = {}
    for table, change in changes.items():
        product = table.product(change, weights)
        if table.base is not None:
            product += sums[table.base]
        sums[table] = product
    return sums


def jackknife(estimator: Estimator) -> FloatArray:
    """Return the coefficient without each cluster, (G,) (Quenouille 1949; Tukey 1958)."""
    if estimator.without is not None:
        return estimator.without
    sums = estimator.drawn_sums()
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
    """Return the standard error from the (G,) values without each cluster.

    sqrt((G − 1) / G · Σ (θ_g − mean)²) (Efron and Tibshirani 1993, eq. 11.5). NaN with fewer than
    two clusters, or where one of the values is undefined.

    Examples
    --------
    >>> round(jackknife_error(np.array([1.0, 2.0, 3.0])), 4)
    1.1547
    """
    n_clusters = len(without)
    if n_clusters < 2 or np.isnan(without).any():
        return nan
    deviation = without - without.mean()
    return sqrt((n_clusters - 1) / n_clusters * float(deviation @ deviation))


def bca_interval(
    value: float, replicates: FloatArray, without: FloatArray, level: float = LEVEL
) -> FloatArray:
    """Return the bias-corrected and accelerated interval, (2,) [1]_.

    It is computed from (B,) replicates and the (G,) values of `jackknife`. NaN if more than 5 % of
    the replicates are NaN, if all lie on one side of the value, or if a value of the jackknife is
    NaN.

    References
    ----------
    .. [1] B. Efron (1987), Better bootstrap confidence intervals, Journal of the American
           Statistical Association 82(397), doi:10.1080/01621459.1987.10478410.

    Examples
    --------
    >>> bca_interval(500.0, np.arange(1001.0), np.array([1.0, 2.0, 3.0]))
    array([ 25., 975.])
    """
    nothing = np.full(2, np.nan)
    defined = replicates[~np.isnan(replicates)]
    # Ties count half, so that a coarse coefficient has no bias. Values that differ only by rounding
    # are ties, as sums are added in another order.
    apart = defined - value
    below = float(np.sum(apart < -ROUNDING) + np.sum(np.abs(apart) <= ROUNDING) / 2)
    if np.isnan(value) or np.isnan(without).any() or not 0 < below < len(defined):
        return nothing
    normal = NormalDist()
    bias = normal.inv_cdf(below / len(defined))
    deviation = without.mean() - without
    spread = float((deviation**2).sum()) ** 1.5
    acceleration = float((deviation**3).sum()) / (6 * spread) if spread else 0.0
    shares = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal.inv_cdf(tail)
        shares.append(normal.cdf(bias + z / (1 - acceleration * z)))
    bounds: FloatArray = quantiles(replicates[None], *shares)[0]
    return bounds
