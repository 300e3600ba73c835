"""Intervals of figures that are functions of sums over images."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bboxqa.agreement.uncertainty.few_clusters import expanded_interval
from bboxqa.agreement.uncertainty.resampling import (
    covering_intervals,
    repeated_weights,
)
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.parallel import in_threads, one_blas_thread

# Whole numbers below it are exact in single precision, whose sums take half the time.
_EXACT = 1 << 24


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

    Images are drawn with replacement, since the objects of one image are alike. All figures see the
    same draws; images that add nothing to any sum would only widen them, and are not drawn.

    Parameters
    ----------
    values : (K,) float64
        The figures of all images.
    tables : sequence of (D, I) array or sparse array
        What each image adds to the sums that the figures are functions of.
    evaluate : callable
        Called with the (D, B) sums of each table; returns (K, B) figures, NaN where undefined.
    bootstrap : int
        How many times the images are drawn; 0 for no intervals.
    seed : int
        Seed of the draws.
    highest : float
        The largest value that the figures can have.
    n_images : (K,) int64, optional
        The images that each figure is made of, by default all that add something: intervals are
        expanded for their number.

    Returns
    -------
    (K, 2) float64
        Lower and upper bounds. NaN without draws, with fewer than two images, where the figure is
        undefined, and where it is in more than 5 % of the draws.

    References
    ----------
    .. [1] B. Efron and R. J. Tibshirani (1993), An introduction to the bootstrap, Chapman and
           Hall, ch. 8 and 13, doi:10.1201/9780429246593.

    Examples
    --------
    >>> widths = np.array([[3.0, 5.0, 4.0, 4.0, 9.0, 5.0]])
    >>> drawn_intervals(widths.mean(1), [widths], lambda sums: sums / 6, 1000, 0)
    array([[3.5      , 7.4284381]])
    """
    adds = sum(np.asarray((table != 0).sum(0)).ravel() for table in tables)
    used = np.flatnonzero(adds)
    if not bootstrap or len(used) < 2 or len(values) == 0:
        return np.full((len(values), 2), np.nan)
    drawn = tables if len(used) == len(np.ravel(adds)) else [table[:, used] for table in tables]
    exact = all(_are_small_counts(table) for table in drawn)
    kind = np.dtype(np.float32 if exact else np.float64)
    drawn = [table.astype(kind, copy=False) for table in drawn]
    with one_blas_thread():
        chunks = in_threads(
            lambda weights: evaluate(*(np.asarray(table @ weights, np.float64) for table in drawn)),
            repeated_weights(len(used), bootstrap, seed, kind),
        )
        replicates = np.concatenate([*chunks], axis=1)
    made_of = np.full(len(values), len(used)) if n_images is None else n_images
    bounds = expanded_interval(replicates, made_of)
    bounds = covering_intervals(values, replicates, bounds, highest)[0]
    bounds[np.isnan(values)] = np.nan
    return bounds


def _are_small_counts(table: Any) -> bool:
    """Return whether all sums over as many draws are exact in single precision."""
    amounts = table if isinstance(table, np.ndarray) else table.data
    largest = np.abs(amounts).max(initial=0)
    return bool(largest * table.shape[1] < _EXACT and (amounts == np.rint(amounts)).all())


def n_nonzero(table: Any) -> IndexArray:
    """Return in how many columns each row of an array or sparse array is not 0, (K,).

    Examples
    --------
    >>> n_nonzero(np.array([[0, 2, 1], [0, 0, 3]]))
    array([2, 1])
    """
    return np.asarray((table != 0).sum(1)).ravel()
