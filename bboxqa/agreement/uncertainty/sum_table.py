"""Tables of sums by cluster, of which coefficients are functions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, sum_by

# Dense tables have at most so many cells.
_DENSE = 1 << 22
# Larger tables are dense only if at least one in so many cells is filled; a product with a sparse
# table takes longer by cell, but only for these. scipy is loaded for sparse tables only.
_SMALL, _FILLED = 1 << 18, 32


@dataclass(frozen=True, eq=False)
class SumTable:
    """The contributions of G clusters to D sums.

    Attributes
    ----------
    make : callable
        Returns a (D, G) array or sparse array. Called once, when the sums are first needed.
    base : SumTable, optional
        A table of the same shape to which this one is added. If the two differ in few clusters, the
        sums of the second cost little.
    by_row : bool
        Whether rows are multiplied one at a time. Products of one row and of several add numbers in
        a different order, which changes the last bit.
    """

    make: Callable[[], Any]
    base: "SumTable | None" = None
    by_row: bool = False

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

    Examples
    --------
    >>> import numpy as np
    >>> table_of(np.array([0, 0]), np.array([1, 1]), np.array([2.0, 3.0]), (1, 2)).tolist()
    [[0.0, 5.0]]
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
