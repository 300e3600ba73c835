"""Conditions on millions of rows, evaluated in blocks, and values of the matching rows."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, IndexArray, frozen_arrays

_ROWS = 1 << 18


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices that together cover all rows, so that intermediate arrays stay small.

    Examples
    --------
    >>> [*blocks(3)]
    [slice(0, 3, None)]
    """
    for start in range(0, n_rows, _ROWS):
        yield slice(start, min(start + _ROWS, n_rows))


def rows_where(n_rows: int, condition: Callable[[slice], BoolArray | np.bool_]) -> BoolArray:
    """Return where a condition holds, (N,) bool; it is evaluated in blocks of rows.

    Examples
    --------
    >>> side = np.array([3, 9, 4])
    >>> rows_where(3, lambda rows: side[rows] > 3)
    array([False,  True,  True])
    """
    result = np.zeros(n_rows, np.bool_)
    for rows in blocks(n_rows):
        result[rows] = condition(rows)
    return result


@frozen_arrays
class SparseRows:
    """Values of some rows, looked up by row number.

    Examples
    --------
    >>> SparseRows(np.array([2, 7]), np.array([0.5, 0.25]))[7].item()
    0.25
    """

    rows: IndexArray
    """(S,) int64. Sorted."""
    values: NDArray[Any]
    """(S, …) array."""

    def __getitem__(self, row: int | IndexArray) -> Any:
        return self.values[np.searchsorted(self.rows, row)]

    def where(self, kept: BoolArray) -> "SparseRows":
        """Return the rows where `kept` is True."""
        return SparseRows(self.rows[kept], self.values[kept])

    @staticmethod
    def joined(parts: Sequence["SparseRows"], width: int) -> "SparseRows":
        """Join the values of consecutive blocks; each row has `width` numbers."""
        none = SparseRows(np.zeros(0, np.int64), np.zeros((0, width)))
        return SparseRows(
            np.concatenate([part.rows for part in (none, *parts)]),
            np.concatenate([part.values for part in (none, *parts)]),
        )
