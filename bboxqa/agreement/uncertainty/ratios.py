"""Intervals of ratios of sums over images, such as rates, shares and means."""

from typing import Any

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals, n_nonzero
from bboxqa.core.arrays import FloatArray


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

    Examples
    --------
    >>> missed = np.array([[0, 1, 0, 1, 0, 0, 0, 1]])
    >>> ratio_intervals(missed, np.ones((1, 8)), 1000, 0)
    array([[0.   , 0.875]])
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
