"""Array types, and array operations that many modules need."""

from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
ByteArray = NDArray[np.uint8]
FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]
IntArray = NDArray[np.int32]
TextArray = NDArray[np.str_]


_Holder = TypeVar("_Holder")

# A lookup table of at most this many cells per key is faster than sorting the keys.
_SPARSE = 4

MIX = np.uint64(0x9E3779B97F4A7C15)
"""The factor by which values are mixed to hashes: 2^64 by the golden ratio (Knuth 1998, 6.4)."""
MOST_VALUES = 5000
"""Most values that may be compared pairwise: a table of all their pairs takes 200 MB."""


@dataclass_transform(frozen_default=True, eq_default=False)
def frozen_arrays(cls: type[_Holder]) -> type[_Holder]:
    """Make a class a frozen, slotted dataclass with read-only arrays and a short `repr`.

    `frozen` alone would still allow writing to the elements of an array.

    Examples
    --------
    >>> import numpy as np
    >>> @frozen_arrays
    ... class Places:
    ...     x: FloatArray
    >>> Places(np.zeros(2)).x.flags.writeable
    False
    >>> Places(np.zeros(2))
    <Places: x (2,)>
    """
    cls.__post_init__ = _freeze  # type: ignore[attr-defined]
    if "__repr__" not in vars(cls):
        cls.__repr__ = _shapes  # type: ignore[method-assign]
    return dataclass(frozen=True, slots=True, eq=False)(cls)


def _freeze(holder: Any) -> None:
    for field in fields(holder):
        value = getattr(holder, field.name)
        if isinstance(value, np.ndarray):
            value.setflags(write=False)


def _shapes(holder: Any) -> str:
    """Return the name of a class and the shapes of its arrays."""
    values = ((field.name, getattr(holder, field.name)) for field in fields(holder))
    shapes = (f"{name} {value.shape}" for name, value in values if isinstance(value, np.ndarray))
    return f"<{type(holder).__name__}: {', '.join(shapes)}>"


def rows(start: IndexArray, stop: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the indices of all ranges start:stop, concatenated, and where each range begins.

    Examples
    --------
    >>> import numpy as np
    >>> rows(np.array([5, 2]), np.array([7, 3]))
    (array([5, 6, 2]), array([0, 2, 3]))
    """
    counts = stop - start
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], counts), offsets


def compact(key: IndexArray, size: int) -> tuple[IndexArray, IndexArray]:
    """Return the distinct keys, (K,), sorted, and the index of each key among them, (N,).

    Equals `numpy.unique`, but does not sort where keys are dense. Keys are 0 to ``size - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> compact(np.array([7, 2, 7]), 10)
    (array([2, 7]), array([1, 0, 1]))
    """
    if size > _SPARSE * len(key):
        keys, place = np.unique(key, return_inverse=True)
        return keys, place
    occurs = np.zeros(size, np.bool_)
    occurs[key] = True
    number = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), number[key]


def radix_order(key: IndexArray, size: int) -> IndexArray:
    """Return ``numpy.argsort(key, kind="stable")`` of keys from 0 to ``size - 1``.

    numpy sorts 16-bit integers by radix, which takes a fraction of the time for keys in random
    order.

    Examples
    --------
    >>> radix_order(np.array([70_000, 2, 70_000, 1]), 70_001)
    array([3, 1, 0, 2])
    """
    order = np.argsort(key.astype(np.uint16), kind="stable")
    for shift in range(16, size.bit_length(), 16):
        order = order[np.argsort((key >> shift).astype(np.uint16)[order], kind="stable")]
    return order


def find(known: IndexArray, wanted: IndexArray) -> IndexArray:
    """Return the index of each wanted number among the known ones, (N,); -1 where unknown.

    The known numbers may be in any order, and there may be none.

    Examples
    --------
    >>> import numpy as np
    >>> find(np.array([30, 10, 20]), np.array([10, 11]))
    array([ 1, -1])
    """
    if len(known) == 0:
        return np.full(len(wanted), -1)
    # Nearly all files have their records in ascending order, and many number them without gaps.
    if (known[1:] == known[:-1] + 1).all():
        inside = (wanted >= known[0]) & (wanted <= known[-1])
        return np.where(inside, wanted - known[0], -1)
    if (known[1:] >= known[:-1]).all():
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    else:
        order = np.argsort(known, kind="stable")
        place = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    return np.where(known[place] == wanted, place, -1)


def run_starts(key: NDArray[Any]) -> IndexArray:
    """Return where each run of equal keys begins, (R,).

    Keys are integers, 0 or more; equal keys are adjacent.

    Examples
    --------
    >>> import numpy as np
    >>> run_starts(np.array([0, 0, 7, 9, 9]))
    array([0, 2, 3])
    """
    return np.flatnonzero(np.diff(key, prepend=-1))


def pairs_within(group: NDArray[Any]) -> tuple[IndexArray, IndexArray]:
    """Return the indices of all pairs of rows of one group, sorted by the first, then the second.

    Parameters
    ----------
    group : (N,) integers, 0 or more
        Rows of one group are adjacent; N may be 0.

    Returns
    -------
    left, right : (P,) int64
        ``left < right``.

    Examples
    --------
    >>> import numpy as np
    >>> pairs_within(np.array([4, 4, 4, 7, 9, 9]))
    (array([0, 0, 1, 4]), array([1, 2, 2, 5]))
    """
    bounds = np.append(run_starts(group), len(group))
    stop = np.repeat(bounds[1:], np.diff(bounds))
    place = np.arange(len(group))
    right, _ = rows(place + 1, stop)
    return np.repeat(place, stop - place - 1), right


def sum_by(key: NDArray[Any], amount: NDArray[Any], size: int) -> FloatArray:
    """Return the sum of the amounts for each key, (size,) float64; keys are 0 to ``size - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> sum_by(np.array([0, 2, 2]), np.array([1.5, 1, 1]), 4)
    array([1.5, 0. , 2. , 0. ])
    """
    return np.bincount(key, amount, size).astype(np.float64, copy=False)
