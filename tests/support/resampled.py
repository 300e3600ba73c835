"""Intervals of replicates, written out."""

from itertools import count
from math import sqrt

import numpy as np

# Importing scipy.stats takes a second, so only tests that call these functions do.


def expanded(replicates, n_clusters, axis=0):
    """Return the 95 % interval of a coefficient of so many clusters from its replicates.

    Its ends are as far out as those of Student's t, over the root of (n - 1) / n by which draws
    with replacement vary too little.
    """
    from scipy.stats import norm, t

    outside = norm.cdf(-t.ppf(0.975, n_clusters - 1) / np.sqrt(1 - 1 / n_clusters))
    return np.nanquantile(replicates, [outside, 1 - outside], axis=axis)


def n_for_width(n_clusters, factor):
    """Return the least number of clusters with an interval that is narrower by a factor."""
    from scipy.stats import t

    def width(n):
        return t.ppf(0.975, n - 1) / sqrt(n - 1)

    return next(n for n in count(2) if width(n) <= width(n_clusters) / factor)
