"""Intervals of replicates, written out."""

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
