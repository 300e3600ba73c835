"""Finding overlapping boxes of two sets by sorting along one axis, not by comparing all pairs."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, rows

# Number of pairs compared at a time.
_AT_ONCE = 1 << 19


def overlapping_boxes(
    group: IndexArray, edges: FloatArray, other_group: IndexArray, other_edges: FloatArray
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the pairs of boxes of two sets that overlap and belong to the same group, in chunks.

    The second boxes are grouped by length and sorted along one axis, so that each box is compared
    only with those that begin near it.

    Parameters
    ----------
    group, other_group : (N,) and (M,) int64
        The group of each box, 0 or more.
    edges, other_edges : (N, 4) and (M, 4) float64
        Left, top, right and bottom edges. Boxes with NaN overlap nothing.

    Yields
    ------
    place, other : (P,) int64
        Each pair once, in no particular order.

    Examples
    --------
    >>> edges = np.array([[0.0, 0, 2, 2], [1, 1, 3, 3], [2, 0, 4, 1]])
    >>> pairs = overlapping_boxes(np.zeros(3, int), edges, np.zeros(3, int), edges)
    >>> sorted((int(a), int(b)) for one, other in pairs for a, b in zip(one, other) if a < b)
    [(0, 1)]
    """
    known = np.flatnonzero(~np.isnan(other_edges).any(1) & np.isin(other_group, group))
    length = (other_edges[known, 2:] - other_edges[known, :2]).max(1, initial=0)
    size = np.frexp(length)[1]
    for each in np.unique(size):
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
            kept = np.flatnonzero(_share_an_area(edges, other_edges, one, other))
            yield one[kept], other[kept]


def _ranges(
    group: IndexArray,
    edges: FloatArray,
    other_group: IndexArray,
    other_edges: FloatArray,
    side: int,
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the order of the second boxes, and the start and stop of those near each first box.

    Near boxes begin before its end, and at most the longest length before its beginning.
    """
    low, high = other_edges[:, side], other_edges[:, side + 2]
    longest = np.nextafter((high - low).max(), np.inf)
    values = np.sort(low)
    size = len(values) + 1
    rank = np.searchsorted(values, low)
    order = np.argsort(other_group * size + rank, kind="stable")
    keys = (other_group * size + rank)[order]
    first = np.searchsorted(values, np.nextafter(edges[:, side] - longest, -np.inf))
    last = np.searchsorted(values, edges[:, side + 2])
    start = np.searchsorted(keys, group * size + first)
    stop = np.searchsorted(keys, group * size + last)
    return start, np.maximum(start, stop), order


def _share_an_area(
    edges: FloatArray, other_edges: FloatArray, one: IndexArray, other: IndexArray
) -> BoolArray:
    """Return which pairs of boxes overlap along both axes, (P,) bool."""
    result = np.ones(len(one), np.bool_)
    for side in (0, 1):
        result &= edges[one, side] < other_edges[other, side + 2]
        result &= other_edges[other, side] < edges[one, side + 2]
    return result
