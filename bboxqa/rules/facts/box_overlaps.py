"""Searching for equal and strongly overlapping boxes among millions of boxes."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import MIX, FloatArray, IndexArray
from bboxqa.geometry.kernels.boxes import bbox_iou, corners

# Most boxes that the sweep compares a box with; only hundreds of boxes in one place need more.
_MOST_STEPS = 500
# Due to rounding, the search needs a tolerance to find pairs exactly at the bound. It only selects
# the pairs to compare; `geometry.candidates.TOLERANCE` decides which of them match.
_SLACK = 1e-9
# Fewer repeats, or a smaller share, come from copying boxes by accident.
_FEW_REPEATS, _FEW_OF_ALL = 5, 0.05


Pairs = tuple[IndexArray, IndexArray]
"""(P,) int64. The rows of pairs, the lower ones and the higher ones, in no particular order."""


def first_equal(columns: Sequence[NDArray[Any]]) -> IndexArray:
    """Return the first row that equals each row in all columns, (N,) int64.

    Parameters
    ----------
    columns : sequence of (N,) numbers
        NaN is equal to nothing.

    Returns
    -------
    (N,) int64
        The row itself if no earlier row is equal.

    Examples
    --------
    >>> first_equal([np.array([7, 8, 7, 7]), np.array([1, 1, 1, 2])])
    array([0, 1, 0, 3])
    """
    first: IndexArray = np.arange(len(columns[0]))
    # Rows are sorted by a hash of 64 bits; equal hashes are compared value by value.
    key = np.zeros(len(first), np.uint64)
    for values in columns:
        # Adding 0 turns -0 into 0, which is equal but has different bits.
        plain = values + 0.0 if values.dtype.kind == "f" else values.astype(np.int64)
        key = (key ^ np.ascontiguousarray(plain).view(np.uint64)) * MIX
        key ^= key >> np.uint64(32)
    ordered = np.sort(key)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return first
    rows = np.flatnonzero(twice[np.minimum(np.searchsorted(twice, key), len(twice) - 1)] == key)
    rows = rows[np.argsort(key[rows], kind="stable")]
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = np.logical_or.reduce([c[rows[1:]] != c[rows[:-1]] for c in (key, *columns)])
    starts = np.flatnonzero(begins)
    first[rows] = np.repeat(rows[starts], np.diff(starts, append=len(rows)))
    return first


def are_many(n_repeats: int, n_annotations: int) -> bool:
    """Return whether so many annotations are repeats that results of the file are wrong."""
    return n_repeats >= max(_FEW_REPEATS, _FEW_OF_ALL * n_annotations)


def overlapping(
    bbox: FloatArray, group: IndexArray, kind: NDArray[Any], threshold: float
) -> Iterator[Pairs]:
    """Yield the pairs of boxes in the same group whose IoU is at least a threshold, in parts.

    Equal boxes of one kind are paired only with the first of them, so that a thousand equal boxes
    give 999 pairs rather than half a million. If thousands of boxes lie in one place, each is
    compared with the 500 that begin next to its left edge.

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
    Pairs

    Examples
    --------
    >>> import numpy as np
    >>> boxes = np.array([[0.0, 0, 10, 10], [50, 0, 10, 10], [0.5, 0, 10, 10]])
    >>> for left, right in overlapping(boxes, np.zeros(3), np.zeros(3), 0.9):
    ...     print(left, right)
    [0] [2]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sound = np.isfinite(bbox).all(axis=1) & (bbox[:, 2:] > 0).all(axis=1) & (group >= 0)
        index = np.flatnonzero(sound)
        first = first_equal([column[index] for column in (group, *bbox.T, kind)])
        alone = first == np.arange(len(index))
        if not alone.all():
            yield index[first[~alone]], index[~alone]
        index = index[alone]
        yield from _sweep(bbox, group, index[np.lexsort((bbox[index, 0], group[index]))], threshold)


def _sweep(
    bbox: FloatArray, group: IndexArray, of: IndexArray, threshold: float
) -> Iterator[Pairs]:
    """Yield the overlapping pairs of rows that are sorted by group and left edge.

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
    for step in range(1, min(len(bbox), _MOST_STEPS + 1)):
        here = here[here + step < len(bbox)]
        # If a box is out of reach, so are all later boxes.
        here = here[(group[here + step] == group[here]) & (left[here + step] <= reach[here])]
        if not len(here):
            return
        other = here + step
        near = np.abs(top[other] - top[here]) <= np.maximum(drop[here], drop[other])
        low, high = here[near], other[near]
        enough = bbox_iou(box[low], box[high]) >= threshold
        if enough.any():
            pair = of[low[enough]], of[high[enough]]
            yield np.minimum(*pair), np.maximum(*pair)
