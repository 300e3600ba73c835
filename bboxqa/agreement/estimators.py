"""Coefficients with the sums of their clusters, whose resampling gives intervals [1]_.

Quantiles are here too: importing `scipy.special` takes longer than measuring a small data set.

References
----------
.. [1] B. Efron and R. J. Tibshirani (1993), An introduction to the bootstrap, Chapman and Hall,
       doi:10.1201/9780429246593.
"""

from collections.abc import Callable
from functools import cache, cached_property
from math import erfc, gamma, nan, pi, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    distinct,
    sum_by,
)

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
    normal = NormalDist()
    z = np.array([normal.inv_cdf(each) for each in shares.tolist()])
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
    # Golub and Welsch (1969), as importing `numpy.polynomial` takes longer.
    n = np.arange(1, _N_NODES)
    beside = n / np.sqrt(4.0 * n * n - 1)
    nodes, vectors = np.linalg.eigh(np.diag(beside, -1))
    return (nodes + 1) / 2, vectors[0] ** 2


def _gamma_ratios(n: FloatArray) -> FloatArray:
    """Return Γ(a + ½) / Γ(a) for a = n / 2, above 0 or NaN."""
    halves, place = np.unique(n / 2, return_inverse=True)
    found = np.array(
        [
            gamma(a + 0.5) / gamma(a)
            if a < _LARGE
            else sqrt(a) * sum(each / a**power for power, each in enumerate(_SERIES))
            for a in halves.tolist()
        ]
    )
    return found[place]


# Dense tables have at most so many cells.
_DENSE = 1 << 22
# Larger tables are dense only if at least one in so many cells is filled; a product with a sparse
# table takes longer by cell, but only for these. scipy is loaded for sparse tables only.
_SMALL, _FILLED = 1 << 18, 32


class SumTable(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The contributions of G clusters to D sums."""

    make: Callable[[], Any]
    """Returns a (D, G) array or sparse array. Called once, when the sums are first needed."""

    @cached_property
    def sums(self) -> Any:
        """The table itself, (D, G)."""
        return self.make()

    def drawn(self, clusters: IndexArray) -> Any:
        """Return the sums of the clusters that are drawn, (D, C)."""
        return self.sums if len(clusters) == self.sums.shape[1] else self.sums[:, clusters]


def table_of(
    row: IndexArray,
    column: IntArray | IndexArray,
    amount: FloatArray,
    shape: tuple[int, int],
    most_dense: int | None = None,
) -> Any:
    """Return a table of amounts, summed by row and column.

    Tables of more than `most_dense` cells, and nearly empty ones, are a scipy.sparse.csc_array.
    """
    n_cells = shape[0] * shape[1]
    is_full = n_cells <= max(_SMALL, _FILLED * len(row))
    if is_full and n_cells <= (_DENSE if most_dense is None else most_dense):
        place = row * shape[1] + column
        dense = sum_by(place, amount, n_cells).reshape(shape)
        dense.setflags(write=False)
        return dense
    from scipy.sparse import csc_array

    # Stored by column, so that the sums stay in the cache while the weights are read.
    table = csc_array((amount, (row, column)), shape=shape)
    table.data.setflags(write=False)
    return table


OK = "ok"
NO_PAIR = "undefined: no unit has two values to compare"
NO_VARIATION = "undefined: only one value occurs, so no disagreement is possible"
ALL_AGREE = f"{NO_VARIATION}; all annotators drew the same objects"
ONE_IMAGE = "one image only, and its annotators agree on everything"
_ADVICE = {
    NO_PAIR: "Have some units rated by two annotators or more.",
    NO_VARIATION: "Add units of other values; percent agreement can be reported meanwhile.",
}

FEWEST = 10
"""With fewer clusters, intervals from standard errors cover the truth too rarely."""
NO_ERROR = 1e-12
"""A standard error below this is rounding: nothing varies. It is absolute, other than `ROUNDING`,
which is a share."""
ROUNDING = 1e-12
"""Differences below this share of the subtracted numbers are due to rounding."""


class Resampled(NamedTuple):
    """A figure to be resampled, whose value is known; the attributes are those of `Estimator`."""

    table: SumTable
    evaluate: Callable[[FloatArray], FloatArray]
    clusters: IndexArray


class Estimator(FrozenArrays, frozen=True, eq=False):
    """A coefficient with the data for resampling it."""

    value: float
    observed: float
    expected: float
    """NaN where undefined."""
    status: str
    """Why the value is undefined or limited; else "ok"."""
    table: SumTable
    """The contribution of each cluster to the D sums of which the coefficient is a function. The
    table of two parts of the data is the concatenation of their columns."""
    evaluate: Callable[[FloatArray], FloatArray]
    """(D, B) sums → (B,) values, or (K, B) for K coefficients; NaN where undefined."""
    clusters: IndexArray
    """(C,) int64. The clusters that are drawn. Others, in which nothing is compared, do not affect
    intervals."""
    standard_error: float = nan
    """By linearisation; NaN if there is no formula."""
    n_shared: int | None = None
    """For means over pairs, the number of compared answers."""
    without: FloatArray | None = None
    """(C,) float64. The coefficient without each cluster, if the sums are pseudo-values computed
    from it; these do not add over parts."""
    bias: float = 0.0
    """The jackknife's estimate of bias, if replicates do not show it (Efron and Tibshirani 1993,
    eq. 10.17)."""
    advice: str = ""
    """How to make an undefined coefficient defined; may be empty."""

    @property
    def sums(self) -> Any:
        """The contribution of each cluster, (D, G)."""
        return self.table.sums


def undefined(
    status: str, observed: float = nan, expected: float = nan, *, advice: str = ""
) -> Estimator:
    """Return an undefined coefficient, with advice on how to make it defined."""

    def no_value(sums: FloatArray) -> FloatArray:
        return np.full(sums.shape[1], nan)

    clusters = np.zeros(0, np.int64)
    table = SumTable(lambda: np.zeros((0, 0)))
    advice = advice or _ADVICE.get(status, "")
    return Estimator(nan, observed, expected, status, table, no_value, clusters, advice=advice)


def clusters_of(group: IntArray, counted: BoolArray) -> IndexArray:
    """Return the clusters of the units that count, sorted."""
    return distinct(group[counted]).astype(np.int64)


def clustered_error(
    influence: FloatArray, group: IntArray, counted: BoolArray, n_groups: int
) -> float:
    """Return the standard error of a coefficient from the influence of its units, (U,).

    The influences of the units of a cluster, or `group`, are added before they are squared, since
    units of one image or recording are not independent. With clusters of one unit this is the
    linearised standard error of Gwet (2014, Handbook of Inter-Rater Reliability, ch. 5-6). Only
    units that are `counted` have one. NaN with fewer than two clusters.
    """
    total = sum_by(group, influence * counted, n_groups)
    n_clusters = np.count_nonzero(np.bincount(group, counted, n_groups))
    if n_clusters < 2:
        return nan
    return float(np.sqrt((total**2).sum() * n_clusters / (n_clusters - 1)))
