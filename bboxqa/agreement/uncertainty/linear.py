"""Uncertainty from linear approximations of coefficients."""

from math import inf, nan

import numpy as np

from bboxqa.agreement.uncertainty.estimator import OK, Estimator
from bboxqa.agreement.uncertainty.resampling import LEVEL, jackknife_error
from bboxqa.agreement.uncertainty.sum_table import SumTable
from bboxqa.core.arrays import FloatArray, IndexArray

FEWEST = 10
"""With fewer clusters, intervals from standard errors cover the truth too rarely."""
NO_ERROR = 1e-12
"""A standard error below this is rounding: nothing varies. It is absolute, other than `ROUNDING`,
which is a share."""


def pseudo_value_estimator(
    value: float,
    clusters: IndexArray,
    without: FloatArray,
    n_groups: int,
    *,
    observed: float = nan,
    expected: float = nan,
    status: str = OK,
    n_shared: int | None = None,
    lowest: float = -inf,
) -> Estimator:
    """Return a coefficient whose replicates are means of the jackknife's pseudo-values.

    A replicate is the mean over the drawn clusters (Efron and Tibshirani 1993, ch. 11.5: the linear
    part of the bootstrap), shifted so that all clusters together give the value itself. The shift
    is kept as the bias. The standard error is that of the jackknife.

    Parameters
    ----------
    clusters : (C,) int64
        The clusters that are drawn.
    without : (C,) float64
        The coefficient without each of them.
    observed, expected, status, n_shared
        As in `Estimator`.
    lowest : float
        The lower end of the scale; the upper end is 1. Replicates are clipped to the scale.

    Examples
    --------
    >>> found = pseudo_value_estimator(0.5, np.arange(3), np.array([0.4, 0.5, 0.6]), 3)
    >>> found.evaluate(found.sums @ np.array([[1, 2], [1, 1], [1, 0]])).round(3).tolist()
    [0.5, 0.633]
    """
    n_clusters = len(clusters)
    table = np.zeros((2, n_groups))
    bias = 0.0
    if n_clusters > 1:
        table[0, clusters] = (n_clusters - 1) * (without.mean() - without)
        bias = float((n_clusters - 1) * (without.mean() - value))
    table[1, clusters] = 1
    table.setflags(write=False)

    def evaluate(sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            moved: FloatArray = value + sums[0] / sums[1]
        return np.clip(moved, lowest, 1.0)

    return Estimator(
        value, observed, expected, status, SumTable(lambda: table), evaluate, clusters,
        jackknife_error(without), n_shared, without, bias,
    )  # fmt: skip


def fisher_interval(
    value: FloatArray,
    error: FloatArray,
    freedom: FloatArray | IndexArray,
    middle: FloatArray | None = None,
) -> FloatArray:
    """Return 95 % intervals from standard errors, (N, 2), within the ends of the scale.

    tanh(artanh θ ± t · error / (1 − θ²)): Fisher's transformation, which makes intervals asymmetric
    near the ends of the scale, with the quantile t of Student's distribution. NaN if the error is
    NaN or 0, with too few clusters, and at the ends of the scale.

    Parameters
    ----------
    value, error : (N,) float64
        Coefficients between -1 and 1, and their standard errors.
    freedom : (N,) numbers
        Degrees of freedom, the number of clusters minus 1; at least `FEWEST` clusters are needed.
    middle : (N,) float64, optional
        The centre of the interval, if it is not the value.

    Examples
    --------
    >>> fisher_interval(np.array([0.8]), np.array([0.1]), np.array([49])).round(3)
    array([[0.493, 0.93 ]])
    """
    from scipy.special import stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        reach = stdtrit(freedom, (1 + LEVEL) / 2) * error / (1 - value**2)
        about = np.arctanh(value if middle is None else middle)
        bounds: FloatArray = np.tanh(np.stack([about - reach, about + reach], axis=1))
    known = (error > NO_ERROR) & (np.abs(value) < 1) & (freedom > FEWEST - 1.5)
    bounds[~known] = nan
    return bounds
