"""Searching for equal and strongly overlapping boxes among millions of boxes."""

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import (
    MIX,
    BoolArray,
    FloatArray,
    IndexArray,
    blocks,
    rows_where,
    run_starts,
)
from bboxqa.geometry.kernels.boxes import bbox_iou, corners

# Boxes per chunk, unless one group has more.
_ROWS = 1 << 18
# Most boxes that the sweep compares a box with; only hundreds of boxes in one place need more.
_MOST_STEPS = 500
# In such a crowd, paired boxes are left out after this many searches.
_BATCH = 64
# Due to rounding, the search needs a tolerance to find pairs exactly at the bound. It only selects
# the pairs to compare; `geometry.candidates.TOLERANCE` decides which of them match.
_SLACK = 1e-9

# Fewer repeats, or a smaller share, come from copying boxes by accident.
_FEW_REPEATS, _FEW_OF_ALL = 5, 0.05


class Overlaps(NamedTuple):
    """Part of the result of a search for overlapping boxes."""

    left: IndexArray
    right: IndexArray
    """(P,) int64. The rows of pairs, ``left < right``, in no particular order."""


BoxColumn = Callable[[slice | IndexArray], NDArray[Any]]
"""Returns the values of a column at rows, so that the whole column is never copied."""

Columns = Sequence[BoxColumn]


def first_equal(n_rows: int, columns: Columns) -> IndexArray:
    """Return the first row that equals each row in all columns, (N,) int64.

    Parameters
    ----------
    n_rows : int
        N.
    columns : sequence of callable
        Each returns a column at a slice, or at an index; NaN is equal to nothing.

    Returns
    -------
    (N,) int64
        The row itself if no earlier row is equal.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[7, 1], [8, 1], [7, 1], [7, 2]])
    >>> first_equal(4, [lambda rows: table[rows, 0], lambda rows: table[rows, 1]])
    array([0, 1, 0, 3])
    """
    first: IndexArray = np.arange(n_rows)
    rows = _suspects(n_rows, columns)
    if not len(rows):
        return first
    run: IndexArray = np.zeros(len(rows), np.int64)
    for column in columns:
        # The sort is stable, so rows stay in ascending order inside a run.
        values = column(rows)
        order = np.lexsort((values, run))
        rows, run, values = rows[order], run[order], values[order]
        begins = np.ones(len(rows) + 1, np.bool_)
        begins[1:-1] = (run[1:] != run[:-1]) | (values[1:] != values[:-1])
        several = ~(begins[:-1] & begins[1:])
        rows, run = rows[several], np.cumsum(begins[:-1], dtype=np.int64)[several]
    starts = run_starts(run)
    first[rows] = np.repeat(rows[starts], np.diff(starts, append=len(rows)))
    return first


def _suspects(n_rows: int, columns: Columns) -> IndexArray:
    """Return the rows that share their hash with another row: all equal rows, and few others."""
    key = np.zeros(n_rows, np.uint64)
    for rows in blocks(n_rows):
        part = key[rows]
        for column in columns:
            values = column(rows)
            # Adding 0 turns -0 into 0, which is equal but has different bits.
            values = values + 0.0 if values.dtype.kind == "f" else values.astype(np.int64)
            part = (part ^ values.view(np.uint64)) * MIX
            part ^= part >> np.uint64(32)
        key[rows] = part
    ordered = np.sort(key)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return np.zeros(0, np.int64)
    del ordered
    return np.flatnonzero(rows_where(n_rows, lambda rows: _among(twice, key[rows])))


def _among(ordered: NDArray[np.uint64], keys: NDArray[np.uint64]) -> BoolArray:
    found: BoolArray = ordered[np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)] == keys
    return found


def are_many(n_repeats: int, n_annotations: int) -> bool:
    """Return whether so many annotations are repeats that results of the file are wrong."""
    return n_repeats >= max(_FEW_REPEATS, _FEW_OF_ALL * n_annotations)


def overlapping(
    bbox: FloatArray, group: IndexArray, kind: NDArray[Any], threshold: float
) -> Iterator[Overlaps]:
    """Yield the pairs of boxes in the same group whose IoU is at least a threshold, in parts.

    Equal boxes of one kind are paired only with the first of them, so that a thousand equal boxes
    give 999 pairs rather than half a million. If thousands of boxes lie in one place, each is
    paired only with the first of its kind and the first of another kind, if there are any.

    Parameters
    ----------
    bbox : (N, 4) float64
        x, y, width, height in pixels. A box without area, or with NaN, is in no pair.
    group : (N,) int64
        Only boxes in the same group are compared; boxes in group -1 are in no pair.
    kind : (N,) integers
    threshold : float
        Above 0, at most 1.

    Yields
    ------
    Overlaps

    Examples
    --------
    >>> import numpy as np
    >>> boxes = np.array([[0.0, 0, 10, 10], [50, 0, 10, 10], [0.5, 0, 10, 10]])
    >>> for found in overlapping(boxes, np.zeros(3), np.zeros(3), 0.9):
    ...     print(found.left, found.right)
    [0] [2]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sound = rows_where(
            len(bbox),
            lambda rows: (
                np.isfinite(bbox[rows]).all(1) & (bbox[rows, 2:] > 0).all(1) & (group[rows] >= 0)
            ),
        )
        index = np.flatnonzero(sound)
        columns = (group, *(bbox[:, place] for place in range(4)), kind)
        first = first_equal(len(index), [partial(_at, column, index) for column in columns])
        alone = first == np.arange(len(index))
        if not alone.all():
            yield Overlaps(index[first[~alone]], index[~alone])
        index = index[alone]
        del first, alone
        order = index[np.argsort(group[index], kind="stable")]
        for part in _whole_groups(group[order]):
            of = order[part]
            # From left to right in each group, chunk by chunk, to avoid random access to memory.
            of = of[np.lexsort((bbox[of, 0], group[of]))]
            crowded = yield from _sweep(bbox, group, of, threshold)
            for rows in np.split(crowded, run_starts(group[crowded])[1:]) if len(crowded) else ():
                yield from _first_of_crowd(bbox, kind, rows, threshold)


def _at(column: NDArray[Any], index: IndexArray, rows: slice | IndexArray) -> NDArray[Any]:
    values: NDArray[Any] = column[index[rows]]
    return values


def _whole_groups(group: IndexArray) -> Iterator[slice]:
    """Yield chunks of whole groups; the rows are sorted by group."""
    starts = np.append(run_starts(group), len(group))
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + _ROWS, side="right")) - 1
        last = max(last, first + 1)
        yield slice(int(starts[first]), int(starts[last]))
        first = last


def _sweep(
    bbox: FloatArray, group: IndexArray, of: IndexArray, threshold: float
) -> Generator[Overlaps, None, IndexArray]:
    """Yield the overlapping pairs of rows that are sorted by group and left edge.

    Returns the rows of groups that have more boxes in one place than the sweep handles, by group.

    The IoU of two boxes is at most that of their extents along x. If box a starts further left
    and the IoU is at least t, then the intersection is at least t times as wide as a, and
    therefore ``left_b - left_a <= (1 - t) * width_a``; the same holds along y.
    """
    bbox, group = bbox[of], group[of]
    left, top, width, height = (np.ascontiguousarray(column) for column in bbox.T)
    box = corners(bbox)
    share = 1 - threshold + _SLACK
    reach = left + share * width + _SLACK * np.abs(left)
    drop = share * height + _SLACK * np.abs(top)
    here = np.arange(len(bbox))
    for step in range(1, len(bbox)):
        here = here[here + step < len(bbox)]
        # If a box is out of reach, so are all later boxes.
        here = here[(group[here + step] == group[here]) & (left[here + step] <= reach[here])]
        if not len(here) or step > _MOST_STEPS:
            break
        other = here + step
        near = np.abs(top[other] - top[here]) <= np.maximum(drop[here], drop[other])
        low, high = here[near], other[near]
        enough = bbox_iou(box[low], box[high]) >= threshold
        if enough.any():
            pair = of[low[enough]], of[high[enough]]
            yield Overlaps(np.minimum(*pair), np.maximum(*pair))
    else:
        here = here[:0]
    return of[np.isin(group, group[here])]


def _first_of_crowd(
    bbox: FloatArray, kind: NDArray[Any], rows: IndexArray, threshold: float
) -> Iterator[Overlaps]:
    """Yield the pairs of each box in a group with the first of its kind, and of another kind."""
    rows = np.sort(rows)
    box = corners(bbox[rows])
    _, kinds, sizes = np.unique(kind[rows], return_inverse=True, return_counts=True)
    everyone = np.arange(len(rows))
    searches = [(everyone[kinds == each],) * 2 for each in np.flatnonzero(sizes > 1)]
    # The most frequent kind is searched only against other kinds, to avoid useless comparisons.
    frequent = kinds == sizes.argmax()
    others = [(everyone[~frequent], everyone), (everyone[frequent], everyone[~frequent])]
    for known, sought in searches:
        yield from _first_pairs(box, rows, known, sought, threshold)
    for known, sought in others:
        yield from _first_pairs(box, rows, known, sought, threshold, kinds)


def _first_pairs(
    box: FloatArray,
    rows: IndexArray,
    known: IndexArray,
    sought: IndexArray,
    threshold: float,
    kinds: IndexArray | None = None,
) -> Iterator[Overlaps]:
    """Yield the pair of each sought box with the first known box before it, of another kind."""
    side = box[:, 2:] - box[:, :2]
    share = (1 - threshold + _SLACK) / threshold
    # Along the axis with the larger spread, fewer boxes are near each other.
    axis = int(np.argmax(np.ptp(box[:, :2], axis=0) / side.mean(0)))
    start = box[:, axis]
    reach = share * side[:, axis] + _SLACK * np.abs(start)
    sought = sought[np.argsort(start[sought], kind="stable")]
    found = np.zeros(len(box), np.bool_)
    for begin in range(0, len(known), _BATCH):
        batch = known[begin : begin + _BATCH]
        sought = sought[~found[sought] & (sought > batch[0])]
        if not len(sought):
            return
        low = np.searchsorted(start[sought], start[batch] - reach[batch])
        high = np.searchsorted(start[sought], start[batch] + reach[batch], side="right")
        for place, *near in zip(batch.tolist(), low.tolist(), high.tolist(), strict=True):
            other = sought[slice(*near)]
            other = other[(other > place) & ~found[other]]
            if kinds is not None:
                other = other[kinds[other] != kinds[place]]
            other = other[bbox_iou(box[place : place + 1], box[other]) >= threshold]
            if len(other):
                found[other] = True
                yield Overlaps(np.full(len(other), rows[place]), rows[other])
