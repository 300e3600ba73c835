"""Shares and quantiles of the normal distribution and of Student's t.

scipy has them as well, but importing `scipy.special` takes longer than measuring a small data set.
"""

from functools import cache
from math import erfc, gamma, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from bboxqa.core.arrays import FloatArray

_NORMAL = NormalDist()
# From this parameter on, a ratio of two gamma functions is taken from its asymptotic series.
_LARGE = 20
_SERIES = (
    1, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144, 869 / 4194304, 39325 / 33554432,
)  # fmt: skip
# A density below exp(-42) of the highest one is not seen in the digits of its integral.
_FOLDS = 42.0
_N_NODES = 64
# Rows that are integrated at a time, to limit memory.
_AT_ONCE = 1 << 14


def normal_quantile(share: float) -> float:
    """Return the value below which a normal variable lies with this probability."""
    return _NORMAL.inv_cdf(share)


def normal_share(value: float) -> float:
    """Return the probability that a normal variable is below a value."""
    return erfc(-value / sqrt(2)) / 2


def t_tail(freedom: ArrayLike, value: ArrayLike) -> FloatArray:
    """Return the probability that Student's t is above the size of a value, element by element.

    With t = √n tan θ, the density is proportional to cosⁿ⁻¹ θ, which is integrated by Gauss and
    Legendre. NaN where a number is NaN, or there is no degree of freedom.
    """
    n, t = np.broadcast_arrays(np.asarray(freedom, float), np.abs(np.asarray(value, float)))
    result = np.where(np.isnan(n * t) & ~np.isinf(t), np.nan, 0.0)
    known = np.flatnonzero((n > 0).ravel() & np.isfinite(t).ravel())
    for part in np.split(known, range(_AT_ONCE, len(known), _AT_ONCE)):
        of = n.ravel()[part]
        result.ravel()[part] = _tails(of, t.ravel()[part], _gamma_ratios(of))
    result[~(n > 0)] = np.nan
    return result


def t_quantile(freedom: ArrayLike, share: ArrayLike) -> FloatArray:
    """Return the values below which Student's t lies with a probability above a half."""
    n, p = np.broadcast_arrays(np.asarray(freedom, float), np.asarray(share, float))
    n = np.where(n > 0, n, np.nan)
    pairs, place = np.unique(np.stack([n.ravel(), p.ravel()]), axis=1, return_inverse=True)
    freedoms, shares = pairs
    z = np.array([normal_quantile(each) for each in shares.tolist()])
    found = z * np.exp(np.minimum((z * z + 1) / (4 * freedoms), 30))
    ratios = _gamma_ratios(freedoms)
    for _ in range(100):
        tail = _tails(freedoms, found, ratios)
        density = np.exp(-(freedoms + 1) / 2 * np.log1p(found * found / freedoms))
        density *= ratios / np.sqrt(freedoms * pi)
        # Far out, the logarithm of the tail is straighter than the tail.
        step = tail / density * np.log(tail / (1 - shares))
        found = np.maximum(found + step, found / 4)
        if not (np.abs(step) > 1e-15 * found).any():
            break
    quantiles: FloatArray = found[place.reshape(n.shape)]
    return quantiles


def _tails(n: FloatArray, t: FloatArray, ratios: FloatArray) -> FloatArray:
    nodes, weights = _gauss_legendre()
    squared = t * t / n
    power = (n - 1) / 2
    start = np.arctan(np.sqrt(squared))
    # 1 / cos² where the density has fallen by `_FOLDS`.
    with np.errstate(over="ignore", divide="ignore"):
        fallen = squared + (1 + squared) * np.expm1(np.where(power > 0, _FOLDS / power, np.inf))
    stop = np.arctan(np.sqrt(fallen))
    angle = start[:, None] + (stop - start)[:, None] * nodes
    with np.errstate(over="ignore"):
        rest = np.log1p(np.tan(angle) ** 2) - np.log1p(squared)[:, None]
    area = (np.exp(-power[:, None] * rest) @ weights) * (stop - start)
    found: FloatArray = area * np.exp(-power * np.log1p(squared)) * ratios / sqrt(pi)
    return found


@cache
def _gauss_legendre() -> tuple[FloatArray, FloatArray]:
    """Return nodes from 0 to 1, and their weights."""
    # Golub and Welsch (1969), as importing `numpy.polynomial` takes longer.
    n = np.arange(1, _N_NODES)
    beside = n / np.sqrt(4.0 * n * n - 1)
    nodes, vectors = np.linalg.eigh(np.diag(beside, -1))
    return (nodes + 1) / 2, vectors[0] ** 2


def _gamma_ratios(n: FloatArray) -> FloatArray:
    return np.array([_gamma_ratio(each / 2) for each in n.tolist()])


@cache
def _gamma_ratio(a: float) -> float:
    """Return Γ(a + ½) / Γ(a)."""
    if not a > 0:
        return float("nan")
    if a < _LARGE:
        return gamma(a + 0.5) / gamma(a)
    return sqrt(a) * sum(each / a**power for power, each in enumerate(_SERIES))
