"""Intervals of ratios of sums over images, such as rates, shares and means."""

from typing import Any

import numpy as np

from bboxqa.agreement.uncertainty.resampling import (
    covering_intervals,
    drawn_weights,
    percentile_interval,
)
from bboxqa.core.arrays import FloatArray, IndexArray


def ratio_intervals(numerator: Any, denominator: Any, bootstrap: int, seed: int) -> FloatArray:
    """Return the 95 % interval of each ratio Σ numerator / Σ denominator, (K, 2) float64 [1]_.

    The columns, images, are drawn with replacement, since the objects of one image are alike. All
    ratios see the same draws.

    Parameters
    ----------
    numerator, denominator : (K, I) array or sparse array
        What each image adds to the two sums of each of the K ratios; the denominators are not
        negative.
    bootstrap : int
        How many times the images are drawn; 0 for no intervals.
    seed : int
        Seed of the draws.

    Returns
    -------
    (K, 2) float64
        Lower and upper bounds. NaN without draws, where fewer than two images have a denominator,
        and where more than 5 % of the draws have none.

    References
    ----------
    .. [1] Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap. Chapman & Hall,
       ch. 8 and 13. doi:10.1201/9780429246593

    Examples
    --------
    >>> missed = np.array([[0, 1, 0, 1, 0, 0, 0, 1]])
    >>> ratio_intervals(missed, np.ones((1, 8)), 1000, 0)
    array([[0.  , 0.75]])
    """
    none = np.full((denominator.shape[0], 2), np.nan)
    n_images = np.asarray((denominator != 0).sum(1)).ravel()
    known = np.flatnonzero(n_images > 1)
    if not bootstrap or len(known) == 0:
        return none
    above, below = numerator[known], denominator[known]
    used = _columns(above, below)
    replicates = _replicates(above[:, used], below[:, used], bootstrap, seed)
    value = np.asarray(above.sum(1), np.float64).ravel() / np.asarray(below.sum(1)).ravel()
    bounds = percentile_interval(replicates)
    none[known] = covering_intervals(value, replicates, bounds, highest=np.inf)[0]
    return none


def _columns(above: Any, below: Any) -> IndexArray:
    """Return the images that add to any of the sums: others would only widen the draws."""
    counted = np.asarray((below != 0).sum(0)).ravel() + np.asarray((above != 0).sum(0)).ravel()
    return np.flatnonzero(counted)


def _replicates(above: Any, below: Any, bootstrap: int, seed: int) -> FloatArray:
    """Return the ratios of each draw, (K, B)."""
    from threadpoolctl import threadpool_limits

    parts = []
    # With several threads, the order of additions and so the last bit would vary.
    with threadpool_limits(1, "blas"), np.errstate(divide="ignore", invalid="ignore"):
        for weights in drawn_weights(above.shape[1], bootstrap, seed):
            total = np.asarray(below @ weights)
            parts.append(np.where(total > 0, np.asarray(above @ weights) / total, np.nan))
    return np.concatenate(parts, axis=1)
