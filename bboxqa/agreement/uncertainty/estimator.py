"""A coefficient with the sums of its clusters, from which its uncertainty follows."""

from collections.abc import Callable
from functools import cached_property
from math import nan
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, FrozenArrays, IndexArray, IntArray, sum_by

# Dense tables have at most so many cells.
_DENSE = 1 << 22
# Larger tables are dense only if at least one in so many cells is filled; a product with a sparse
# table takes longer by cell, but only for these. scipy is loaded for sparse tables only.
_SMALL, _FILLED = 1 << 18, 32


class SumTable(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The contributions of G clusters to D sums."""

    make: Callable[[], Any]
    """Returns a (D, G) array or sparse array. Called once, when the sums are first needed."""
    base: "SumTable | None" = None
    """A table of the same shape to which this one is added. If the two differ in few clusters, the
    sums of the second cost little."""
    by_row: bool = False
    """Whether rows are multiplied one at a time. Products of one row and of several add numbers in
    a different order, which changes the last bit."""

    @cached_property
    def _own(self) -> Any:
        return self.make()

    @cached_property
    def sums(self) -> Any:
        """The table itself, base included, (D, G)."""
        return self._own if self.base is None else self.base.sums + self._own

    def change(self, clusters: IndexArray) -> Any:
        """Return the changes of some clusters relative to the base, (D, C)."""
        own = self._own
        return own if len(clusters) == own.shape[1] else own[:, clusters]

    def product(self, change: Any, weights: FloatArray) -> FloatArray:
        """Return the change of C clusters times their (C, B) weights."""
        if self.by_row:
            return np.stack([row @ weights for row in change])
        return np.asarray(change @ weights)


def table_of(
    row: IndexArray,
    column: IntArray | IndexArray,
    amount: FloatArray,
    shape: tuple[int, int],
    most_dense: int | None = None,
) -> Any:
    """Return a table of amounts, summed by row and column.

    Parameters
    ----------
    row, column : (E,) integers
    amount : (E,) float64
    shape : tuple of int
    most_dense : int, optional
        The most cells of a dense table; larger ones, and those that are nearly empty, are a
        scipy.sparse.csc_array.
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

    def drawn_sums(self) -> Any:
        """Return the sums of the clusters that are drawn, (D, C)."""
        sums = self.sums
        return sums if len(self.clusters) == sums.shape[1] else sums[:, self.clusters]


def undefined(
    status: str, observed: float = nan, expected: float = nan, *, advice: str = ""
) -> Estimator:
    """Return an undefined coefficient, with advice on how to make it defined.

    Examples
    --------
    >>> undefined("undefined: no ratings").value
    nan
    """

    def no_value(sums: FloatArray) -> FloatArray:
        return np.full(sums.shape[1], nan)

    clusters = np.zeros(0, np.int64)
    table = SumTable(lambda: np.zeros((0, 0)))
    advice = advice or _ADVICE.get(status, "")
    return Estimator(nan, observed, expected, status, table, no_value, clusters, advice=advice)


def clusters_of(group: IntArray, counted: BoolArray) -> IndexArray:
    """Return the clusters of the units that count, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> clusters_of(np.array([0, 2, 2]), np.array([False, True, True]))
    array([2])
    """
    return np.unique(group[counted]).astype(np.int64)


def clustered_error(
    influence: FloatArray, group: IntArray, counted: BoolArray, n_groups: int
) -> float:
    """Return the standard error of a coefficient from the influence of its units.

    The influences of the units of a cluster are added before they are squared, since units of one
    image or recording are not independent. With clusters of one unit this is the linearised
    standard error of Gwet (2014, Handbook of Inter-Rater Reliability, ch. 5-6). NaN with fewer than
    two clusters.

    Parameters
    ----------
    influence : (U,) float64
        The influence of each unit on the coefficient; the sum is about 0.
    group : (U,) int32
        The cluster of each unit.
    counted : (U,) bool
        The units that the coefficient depends on.
    n_groups : int

    Examples
    --------
    >>> import numpy as np
    >>> clustered_error(np.array([0.1, -0.1]), np.arange(2), np.ones(2, bool), 2)
    0.2
    """
    total = sum_by(group, influence * counted, n_groups)
    n_clusters = np.count_nonzero(np.bincount(group, counted, n_groups))
    if n_clusters < 2:
        return nan
    return float(np.sqrt((total**2).sum() * n_clusters / (n_clusters - 1)))
