"""Expansion of intervals from few clusters, whose draws vary less than samples."""

import numpy as np

from bboxqa.agreement.uncertainty.resampling import LEVEL, quantiles
from bboxqa.core.arrays import FloatArray, IndexArray


def normal_ratio(n_clusters: IndexArray) -> FloatArray:
    """Return the factor by which intervals of few clusters are wider, (K,).

    The variance of draws is too small by (n − 1) / n, and the variance estimated from n clusters is
    uncertain, which Student's t takes into account.

    Examples
    --------
    >>> normal_ratio(np.array([6, 50, 1000])).round(3)
    array([1.437, 1.036, 1.002])
    """
    from scipy.special import ndtri, stdtrit

    n = np.maximum(n_clusters, 2)
    tail = (1 + LEVEL) / 2
    widened: FloatArray = np.sqrt(n / (n - 1)) * stdtrit(n - 1.0, tail) / ndtri(tail)
    return widened


def expanded_level(n_clusters: IndexArray) -> FloatArray:
    """Return the share of draws that a 95 % interval of few clusters spans, (K,).

    It widens a normal distribution by `normal_ratio`.

    Examples
    --------
    >>> expanded_level(np.array([6, 50, 1000])).round(4)
    array([0.9951, 0.9576, 0.9504])
    """
    from scipy.special import ndtr, ndtri

    level: FloatArray = 1 - 2 * ndtr(ndtri((1 - LEVEL) / 2) * normal_ratio(n_clusters))
    return level


def expanded_interval(replicates: FloatArray, n_clusters: IndexArray) -> FloatArray:
    """Return the expanded percentile interval of each row of replicates, (K, B) → (K, 2) [1]_.

    It spans the share `expanded_level` of the replicates. NaN if more than 5 % of them are NaN.

    Parameters
    ----------
    replicates : (K, B) float64
    n_clusters : (K,) int64
        The number of clusters that contribute to each coefficient.

    References
    ----------
    .. [1] T. C. Hesterberg (2015), What teachers should know about the bootstrap, The American
           Statistician 69(4), doi:10.1080/00031305.2015.1089789.

    Examples
    --------
    >>> replicates = np.arange(1001.0)[None]
    >>> expanded_interval(replicates, np.array([6])).round(1)
    array([[  2.4, 997.6]])
    """
    level = expanded_level(n_clusters)
    return quantiles(replicates, (1 - level) / 2, (1 + level) / 2)
