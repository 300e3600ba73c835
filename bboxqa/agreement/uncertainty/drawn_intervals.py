"""Intervals of many figures from the same draws of images."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.uncertainty.resampling import (
    covering_intervals,
    expanded_interval,
    repeated_counts,
)
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.parallel import in_threads, one_blas_thread

# Whole numbers below this are exact in single precision, which takes half the time.
_EXACT = 1 << 24
# Images whose draws are multiplied at a time, so that they stay in the cache.
_AT_ONCE = 1 << 14
# With fewer figures times images, threads take longer to start than the draws to be summed.
_MANY = 1 << 17


def drawn_intervals(
    values: FloatArray,
    tables: Sequence[Any],
    evaluate: Callable[..., FloatArray],
    bootstrap: int,
    seed: int,
    highest: float = np.inf,
    n_images: IndexArray | None = None,
) -> FloatArray:
    """Return the 95 % interval of each figure, (K, 2) float64 [1]_.

    Images are drawn with replacement, since the objects of one image are alike. All figures share
    the draws. Images that add nothing to any sum are not drawn.

    Parameters
    ----------
    values : (K,) float64
        The figures of all images.
    tables : sequence of (D, I) array or sparse array
        The contribution of each image to the sums of which the figures are functions.
    evaluate : callable
        Called with the (D, B) sums of each table; returns (K, B) figures, NaN where undefined.
    bootstrap : int
        How many times the images are drawn; 0 for no intervals.
    seed : int
        Seed of the draws.
    highest : float
        The largest value that the figures can have.
    n_images : (K,) int64, optional
        The number of images that contribute to each figure, by default all that add something;
        intervals are expanded for it.

    Returns
    -------
    (K, 2) float64
        Lower and upper bounds. NaN without draws, with fewer than two images, and if the figure is
        undefined in the data or in more than 5 % of the draws.

    References
    ----------
    .. [1] B. Efron and R. J. Tibshirani (1993), An introduction to the bootstrap, Chapman and
           Hall, ch. 8 and 13, doi:10.1201/9780429246593.
    """
    adds = sum(np.asarray((table != 0).sum(0)).ravel() for table in tables)
    used = np.flatnonzero(adds)
    if not bootstrap or len(used) < 2 or len(values) == 0:
        return np.full((len(values), 2), np.nan)
    drawn = tables if len(used) == len(np.ravel(adds)) else [table[:, used] for table in tables]
    exact = all(_are_small_counts(table) for table in drawn)
    kind = np.dtype(np.float32 if exact else np.float64)
    parts = [_parts(table, kind) for table in drawn]
    run = in_threads if len(values) * len(used) > _MANY else map
    with one_blas_thread():
        chunks = run(
            lambda counts: evaluate(*_sums(parts, counts, kind)),
            repeated_counts(len(used), bootstrap, seed),
        )
        replicates = np.concatenate([*chunks], axis=1)
    made_of = np.full(len(values), len(used)) if n_images is None else n_images
    bounds = expanded_interval(replicates, made_of)
    bounds = covering_intervals(values, replicates, bounds, highest)[0]
    bounds[np.isnan(values)] = np.nan
    return bounds


def centred_intervals(values: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return intervals of the same widths about their values, (K,) and (K, 2) → (K, 2) [1]_.

    Those of Student's t, with the standard error that the draws show: for medians, whose draws lie
    as far on one side as the data do, or on the other.

    References
    ----------
    .. [1] B. Efron and R. J. Tibshirani (1993), An introduction to the bootstrap, Chapman and
           Hall, ch. 12, doi:10.1201/9780429246593.
    """
    reach = (bounds[:, 1] - bounds[:, 0]) / 2
    return np.stack([values - reach, values + reach], axis=1)


class _Parts(NamedTuple):
    """The rows of a table that have an amount, some images at a time."""

    n_rows: int
    """The number of all rows."""
    rows: IndexArray
    parts: list[Any]


def _parts(table: Any, kind: np.dtype[Any]) -> _Parts:
    # A data set has many categories that nobody drew.
    rows = np.flatnonzero(n_nonzero(table))
    kept = (table if len(rows) == table.shape[0] else table[rows]).astype(kind, copy=False)
    # CSC, from which columns are taken fastest.
    kept = kept if isinstance(kept, np.ndarray) else kept.tocsc()
    parts = [kept[:, low : low + _AT_ONCE] for low in range(0, kept.shape[1], _AT_ONCE)]
    return _Parts(table.shape[0], rows, parts)


def _sums(tables: list[_Parts], counts: NDArray[Any], kind: np.dtype[Any]) -> list[FloatArray]:
    """Return the sums of each table over the draws, (D, B)."""
    sums: list[Any] = [0] * len(tables)
    # One array for all parts: allocating memory takes longer than filling it.
    room = np.empty((min(_AT_ONCE, len(counts)), counts.shape[1]), kind)
    for place, parts in enumerate(zip(*(table.parts for table in tables), strict=True)):
        some = counts[place * _AT_ONCE : (place + 1) * _AT_ONCE]
        weights = room[: len(some)]
        weights[:] = some
        for at, part in enumerate(parts):
            product = part @ weights
            sums[at] = product if place == 0 else np.add(sums[at], product, out=sums[at])
    full = [np.zeros((table.n_rows, counts.shape[1])) for table in tables]
    for amounts, table, total in zip(full, tables, sums, strict=True):
        amounts[table.rows] = total
    return full


def _are_small_counts(table: Any) -> bool:
    """Return whether all sums over the draws are exact in single precision."""
    amounts = table if isinstance(table, np.ndarray) else table.data
    largest = np.abs(amounts).max(initial=0)
    return bool(largest * table.shape[1] < _EXACT and (amounts == np.rint(amounts)).all())


def n_nonzero(table: Any) -> IndexArray:
    """Return the number of nonzero columns of each row of an array or sparse array, (K,)."""
    return np.asarray((table != 0).sum(1)).ravel()


def ratio_intervals(numerator: Any, denominator: Any, bootstrap: int, seed: int) -> FloatArray:
    """Return the 95 % interval of each ratio Σ numerator / Σ denominator, (K, 2) float64 [1]_.

    Images, the columns, are drawn with replacement, since the objects of one image are alike. All
    ratios share the draws.

    Parameters
    ----------
    numerator, denominator : (K, I) array or sparse array
        The contributions of each image to the two sums of each of the K ratios; denominators are
        not negative.
    bootstrap : int
        How many times the images are drawn; 0 for no intervals.
    seed : int
        Seed of the draws.

    Returns
    -------
    (K, 2) float64
        Lower and upper bounds. NaN without draws, if fewer than two images have a denominator, and
        if more than 5 % of the draws have none.

    References
    ----------
    .. [1] Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap. Chapman & Hall,
       ch. 8 and 13. doi:10.1201/9780429246593
    """
    none = np.full((denominator.shape[0], 2), np.nan)
    n_images = n_nonzero(denominator)
    known = np.flatnonzero(n_images > 1)
    if not bootstrap or len(known) == 0:
        return none
    above, below = numerator[known], denominator[known]
    value = np.asarray(above.sum(1), np.float64).ravel() / np.asarray(below.sum(1)).ravel()
    none[known] = drawn_intervals(
        value, (above, below), _ratio, bootstrap, seed, n_images=n_images[known]
    )
    return none


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / below, np.nan)
