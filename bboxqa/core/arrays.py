"""Types of arrays and arguments, operations on arrays, and cached results of values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import accumulate
from math import prod
from os import PathLike
from typing import Any, ClassVar, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
ByteArray = NDArray[np.uint8]
FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]
IntArray = NDArray[np.int32]
TextArray = NDArray[np.str_]
_Value = TypeVar("_Value", bound=np.generic)


# A lookup table of at most this many cells per key is faster than sorting the keys.
_SPARSE = 4

MIX = np.uint64(0x9E3779B97F4A7C15)
"""The factor by which values are mixed to hashes: 2^64 by the golden ratio (Knuth 1998, 6.4)."""
MOST_VALUES = 5000
"""Most values that may be compared pairwise: a table of all their pairs takes 200 MB."""


class FrozenArrays(msgspec.Struct, frozen=True, eq=False):
    """A record with read-only arrays and a short `repr`.

    `frozen` alone would still allow writing to the elements of an array. A Struct is made thirty
    times as fast as a dataclass, of which a command needs a hundred.
    """

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __repr__(self) -> str:
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        shapes = (f"{name} {each.shape}" for name, each in values if isinstance(each, np.ndarray))
        return f"<{type(self).__name__}: {', '.join(shapes)}>"


class RowArrays(FrozenArrays, frozen=True, eq=False):
    """A record of N rows, in columns; None for no column.

    A column is an array, a record of as many rows, or a dict of such records.
    """

    shared: ClassVar[frozenset[str]] = frozenset()
    """The fields that are no columns, but what all rows refer to."""
    refers: ClassVar[Mapping[str, str]] = {}
    """By column of places in a shared array, that array."""

    def __len__(self) -> int:
        first = next(name for name in self.__struct_fields__ if name not in self.shared)
        return len(getattr(self, first))

    def take(self, index: IndexArray | BoolArray) -> Self:
        """Return the rows at `index`, in that order; shared fields stay."""
        rows = np.flatnonzero(index) if index.dtype == np.bool_ else index
        taken: dict[str, Any] = {}
        for name in self.__struct_fields__:
            column = None if name in self.shared else getattr(self, name)
            if isinstance(column, np.ndarray):
                taken[name] = column.take(rows, axis=0)
            elif isinstance(column, dict):
                taken[name] = {key: each.take(rows) for key, each in column.items()}
            elif column is not None:
                taken[name] = column.take(rows)
        return replace(self, **taken)

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all parts, in order, without the columns that a part lacks."""
        found: dict[str, Any] = {}
        for name in cls.__struct_fields__:
            columns, known = [getattr(part, name) for part in parts], cls.refers.get(name, "")
            if any(each is None for each in columns):
                found[name] = None
            elif isinstance(columns[0], RowArrays):
                found[name] = type(columns[0]).join(columns)
            else:
                lengths = (len(getattr(part, known)) if known else 0 for part in parts)
                pairs = zip(columns, accumulate(lengths, initial=0), strict=False)
                found[name] = np.concatenate([each + n if n else each for each, n in pairs])
        return cls(**found)


def rows(start: IndexArray, stop: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the indices of all ranges start:stop, concatenated, and where each range begins."""
    counts = stop - start
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], counts), offsets


def compact(key: IndexArray, size: int) -> tuple[IndexArray, IndexArray]:
    """Return the distinct keys, (K,), sorted, and the index of each key among them, (N,).

    Equals `numpy.unique`, but does not sort where keys are dense. Keys are 0 to ``size - 1``.
    """
    if size > _SPARSE * len(key):
        keys, place = np.unique(key, return_inverse=True)
        return keys, place
    occurs = np.zeros(size, np.bool_)
    occurs[key] = True
    number = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), number[key]


def distinct(values: NDArray[_Value]) -> NDArray[_Value]:
    """Return ``numpy.unique(values)``, (K,), without importing `numpy.ma`, which takes 10 ms."""
    found: NDArray[_Value] = np.unique(values, return_counts=True)[0]
    return found


def median(values: FloatArray) -> float:
    """Return the median as `numpy.median` does, without importing `numpy.ma`, which takes 10 ms."""
    ordered = np.sort(values)
    if not len(ordered) or np.isnan(ordered[-1]):
        return np.nan
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def distinct_rows(*columns: NDArray[Any]) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the distinct rows of C columns, (C, K), sorted, the row of each, and their counts."""
    sizes = [1 + int(column.max(initial=0)) for column in columns]
    # Sorting one combined key is many times faster than sorting several.
    keys, place = compact(np.ravel_multi_index(columns, sizes), prod(sizes))
    found = np.stack(np.unravel_index(keys, sizes))
    return found, place, np.bincount(place, minlength=len(keys))


def radix_order(key: IndexArray, size: int) -> IndexArray:
    """Return ``numpy.argsort(key, kind="stable")`` of keys from 0 to ``size - 1``.

    numpy sorts 16-bit integers by radix, which takes a fraction of the time for keys in random
    order.
    """
    order = np.argsort(key.astype(np.uint16), kind="stable")
    for shift in range(16, size.bit_length(), 16):
        order = order[np.argsort((key >> shift).astype(np.uint16)[order], kind="stable")]
    return order


def find(known: IndexArray, wanted: IndexArray) -> IndexArray:
    """Return the index of each wanted number among the known ones, (N,); -1 where unknown."""
    if len(known) == 0:
        return np.full(len(wanted), -1)
    # Many files number their records without gaps.
    if (known[1:] == known[:-1] + 1).all():
        inside = (wanted >= known[0]) & (wanted <= known[-1])
        return np.where(inside, wanted - known[0], -1)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    return np.where(known[place] == wanted, place, -1)


def run_starts(key: NDArray[Any]) -> IndexArray:
    """Return where each run of equal keys begins, (R,)."""
    return np.flatnonzero(np.diff(key, prepend=-1))


def pairs_within(group: NDArray[Any]) -> tuple[IndexArray, IndexArray]:
    """Return the indices of all pairs of rows of one group, sorted by the first, then the second.

    Rows of one group are adjacent.
    """
    bounds = np.append(run_starts(group), len(group))
    stop = np.repeat(bounds[1:], np.diff(bounds))
    place = np.arange(len(group))
    right, _ = rows(place + 1, stop)
    return np.repeat(place, stop - place - 1), right


def sum_by(key: NDArray[Any], amount: NDArray[Any], size: int) -> FloatArray:
    """Return the sum of the amounts for each key, (size,) float64; keys are 0 to ``size - 1``."""
    return np.bincount(key, amount, size).astype(np.float64, copy=False)


_ROWS = 1 << 18


def deviations(
    values: FloatArray, group: NDArray[Any], least_spread: float
) -> tuple[FloatArray, FloatArray]:
    """Return how far values are from the median of their group in robust standard deviations.

    A robust standard deviation is 1.4826 times the median absolute deviation, which estimates that
    of normal values. Also return the medians, (N,) like the values.
    """
    middle, spread = np.empty(len(values)), np.empty(len(values))
    order = np.argsort(group, kind="stable")
    for here in np.split(order, run_starts(group[order])[1:]) if len(values) else ():
        middle[here] = median = np.median(values[here])
        spread[here] = 1.4826 * np.median(np.abs(values[here] - median))
    return (values - middle) / np.maximum(spread, least_spread), middle


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices that together cover all rows, so that intermediate arrays stay small."""
    for start in range(0, n_rows, _ROWS):
        yield slice(start, min(start + _ROWS, n_rows))


def chunks(work: IndexArray, most: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive rows with at most so much work in all, but one at least."""
    total = np.concatenate([[0], np.cumsum(work)])
    start = 0
    while start < len(work):
        stop = int(np.searchsorted(total, total[start] + most, side="right")) - 1
        stop = max(stop, start + 1)
        yield start, stop
        start = stop


def component_of_each(n: int, left: IndexArray, right: IndexArray) -> IndexArray:
    """Return the connected component of each of n nodes, as the smallest node in it, (n,)."""
    label = np.arange(n)
    while True:
        changed = label.copy()
        for part in blocks(len(left)):
            a, b = left[part], right[part]
            one, other = label[a], label[b]
            low = np.minimum(one, other)
            # Both the ends and the nodes that label them take over the smaller label.
            for target in (a, b, one, other):
                np.minimum.at(changed, target, low)
        changed = changed[changed]
        if np.array_equal(changed, label):
            return label
        label = changed


# Number of pairs compared at a time.
_AT_ONCE = 1 << 19


def overlapping_boxes(
    group: IndexArray, edges: FloatArray, other_group: IndexArray, other_edges: FloatArray
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the pairs of boxes of two sets that overlap and belong to the same group, in chunks.

    The second boxes are grouped by length and sorted along one axis, so that each box is compared
    only with those that begin near it. Edges are left, top, right and bottom; NaN overlaps nothing.
    """
    known = np.flatnonzero(~np.isnan(other_edges).any(1) & np.isin(other_group, group))
    length = (other_edges[known, 2:] - other_edges[known, :2]).max(1, initial=0)
    size = np.frexp(length)[1]
    for each in distinct(size):
        some = known[size == each]
        start, stop, order = min(
            (_ranges(group, edges, other_group[some], other_edges[some], side) for side in (0, 1)),
            key=lambda found: int((found[1] - found[0]).sum()),
        )
        total = np.cumsum(stop - start)
        cuts = np.flatnonzero(np.diff(total // _AT_ONCE, prepend=0))
        for few in np.split(np.arange(len(group)), cuts):
            place, offsets = rows(start[few], stop[few])
            one, other = np.repeat(few, np.diff(offsets)), some[order[place]]
            shared = np.ones(len(one), np.bool_)
            for side in (0, 1):
                shared &= edges[one, side] < other_edges[other, side + 2]
                shared &= other_edges[other, side] < edges[one, side + 2]
            yield one[shared], other[shared]


def _ranges(
    group: IndexArray,
    edges: FloatArray,
    other_group: IndexArray,
    other_edges: FloatArray,
    side: int,
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the order of the second boxes, and the start and stop of those near each first box."""
    low, high = other_edges[:, side], other_edges[:, side + 2]
    longest = np.nextafter((high - low).max(), np.inf)
    values = np.sort(low)
    size = len(values) + 1
    rank = _searched(values, low)
    order = np.argsort(other_group * size + rank, kind="stable")
    keys = (other_group * size + rank)[order]
    first = _searched(values, np.nextafter(edges[:, side] - longest, -np.inf))
    last = _searched(values, edges[:, side + 2])
    start, stop = (_searched(keys, group * size + each) for each in (first, last))
    return start, np.maximum(start, stop), order


def _searched(known: NDArray[Any], wanted: NDArray[Any]) -> IndexArray:
    """Return `np.searchsorted` of many values, which takes a quarter of the time in their order."""
    order = np.argsort(wanted)
    found = np.empty(len(wanted), np.int64)
    found[order] = np.searchsorted(known, wanted[order])
    return found


AnyPath = str | PathLike[str]
"""A path as a string or a path object."""

Files = AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath | Sequence[AnyPath]]
"""A file or folder, several of them, or a mapping from annotators to one or several."""


class Frame(Protocol):
    """A pandas or polars data frame, a pyarrow table, or a Hugging Face data set."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of columns."""


Rows = Sequence[Mapping[str, Any]] | Frame
"""A table in memory."""

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``."""

Steps = Callable[[int, int], None]
"""Called as ``steps(done, total)``."""


_Key = TypeVar("_Key")
_Each = TypeVar("_Each")


def listed_by(pairs: Iterable[tuple[_Key, _Each]]) -> dict[_Key, list[_Each]]:
    """Return the values of each key, in order."""
    found: dict[_Key, list[_Each]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


_Source = TypeVar("_Source")
_Result = TypeVar("_Result")


def remembered(function: Callable[[_Source], _Result]) -> Callable[[_Source], _Result]:
    """Cache the result of a function for each object it is called with.

    The object must not change, and its class must allow weak references and compare by identity.
    The result must not refer to the object, or neither would be freed.
    """
    known: WeakKeyDictionary[_Source, _Result] = WeakKeyDictionary()

    @wraps(function)
    def result_of(source: _Source) -> _Result:
        if source not in known:
            known[source] = function(source)
        return known[source]

    return result_of
