"""Places for labels near their boxes, where no label covers another one."""

from collections.abc import Sequence
from math import inf

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray

Rectangle = tuple[float, float, float, float]
"""Left, top, right and bottom."""

# A label hides a box if it covers more than this share of it.
_HIDDEN = 0.5
# The number of edges of other labels, per direction, that are tried if there is no room at a box.
_MOST_STARTS = 32


def place_labels(
    boxes: Sequence[Rectangle],
    sizes: Sequence[tuple[float, float]],
    bounds: Rectangle,
    gap: float = 1,
    reach: float = inf,
) -> list[Rectangle | None]:
    """Return a place for the label of each box, near the box and clear of all other labels.

    The corners of the box are tried first, outside and inside, then the middles of its edges, then
    places at other labels and at the border of `bounds`. Of the free places, those that hide the
    fewest boxes, of these the one that crosses the fewest outlines of other boxes is chosen, in a
    tie the one tried first. Small boxes come before large ones, which have more alternatives.

    Parameters
    ----------
    boxes : sequence of (left, top, right, bottom)
    sizes : sequence of (width, height)
        The size of the label of each box.
    bounds : (left, top, right, bottom)
        Labels stay inside these.
    gap : float
        Smallest distance between two labels.
    reach : float
        Largest distance of a label from its box.

    Returns
    -------
    list
        (left, top, right, bottom) of each label in the order of `boxes`; None if there is no free
        place.

    Examples
    --------
    >>> place_labels([(20, 20, 60, 60), (20, 20, 60, 60)], [(10, 8), (10, 8)], (0, 0, 99, 99))
    [(20.0, 12.0, 30.0, 20.0), (50.0, 12.0, 60.0, 20.0)]
    """
    if len(boxes) != len(sizes):
        raise ValueError(f"{len(boxes)} boxes but {len(sizes)} label sizes")
    every = np.array(boxes, np.float64).reshape(-1, 4)
    area = (every[:, 2] - every[:, 0]) * (every[:, 3] - every[:, 1])
    placed: list[Rectangle | None] = [None] * len(boxes)
    taken, n_taken = np.zeros((len(boxes), 4)), 0
    rim = np.array(bounds, np.float64)
    margin = np.array([-gap, -gap, gap, gap])
    for index in np.argsort(area, kind="stable").tolist():
        size = np.array(sizes[index], np.float64)
        place = _choose(index, every, size, rim, taken[:n_taken], reach)
        if place is not None:
            left, top, right, bottom = place.tolist()
            placed[index] = (left, top, right, bottom)
            taken[n_taken], n_taken = place + margin, n_taken + 1
    return placed


def _choose(
    index: int,
    boxes: FloatArray,
    size: FloatArray,
    bounds: FloatArray,
    taken: FloatArray,
    reach: float,
) -> FloatArray | None:
    """Return the best free place for the label of one box."""
    box = boxes[index]
    free = _free(_beside(box, size), bounds, taken)
    if len(free):
        others = np.delete(boxes, index, 0)
        crosses = (_overlap(free, others) & ~_within(free, others)).sum(1)
        best: FloatArray = free[np.lexsort((crosses, _n_hidden(free, boxes)))[0]]
        return best
    free = _free(_anywhere(box, size, bounds, taken), bounds, taken)
    distance = np.maximum(np.maximum(box[:2] - free[:, 2:], free[:, :2] - box[2:]), 0).sum(1)
    free, distance = free[distance <= reach], distance[distance <= reach]
    return free[np.lexsort((distance, _n_hidden(free, boxes)))[0]] if len(free) else None


def _beside(box: FloatArray, size: FloatArray) -> FloatArray:
    """Return (18, 4) places at the corners and edges of a box."""
    left, top, right, bottom = box.tolist()
    width, height = size.tolist()
    middle, centre = (left + right - width) / 2, (top + bottom - height) / 2
    starts = [
        *((x, y) for y in (top - height, top) for x in (left, right - width)),
        *((x, y) for y in (bottom, bottom - height) for x in (left, right - width)),
        *((x, y) for y in (top, bottom - height) for x in (left - width, right)),
        *((middle, y) for y in (top - height, top, bottom, bottom - height)),
        *((x, centre) for x in (left - width, left, right, right - width)),
    ]
    first = np.array(starts)
    return np.hstack([first, first + size])


def _anywhere(
    box: FloatArray, size: FloatArray, bounds: FloatArray, taken: FloatArray
) -> FloatArray:
    """Return (K, 4) places at the edges of labels and of the bounds, near a box."""
    # Any free place can be pushed left and up until it meets the border or a label, so that these
    # candidates include a free place if there is one.
    starts = []
    for axis in (0, 1):
        edges = np.append(taken[:, axis + 2], bounds[axis])
        away = np.maximum(box[axis] - size[axis] - edges, edges - box[axis + 2])
        starts.append(edges[np.argsort(away, kind="stable")[:_MOST_STARTS]])
    first = np.stack(np.meshgrid(*starts, indexing="ij"), -1).reshape(-1, 2)
    return np.hstack([first, first + size])


def _free(places: FloatArray, bounds: FloatArray, taken: FloatArray) -> FloatArray:
    """Return the places inside the bounds that overlap no taken place."""
    places = places[_within(places, bounds[None])[:, 0]]
    return places[~_overlap(places, taken).any(1)]


def _n_hidden(places: FloatArray, boxes: FloatArray) -> IndexArray:
    """Return (K,) how many boxes each place hides; boxes without area cannot be hidden."""
    low = np.maximum(places[:, None, :2], boxes[None, :, :2])
    high = np.minimum(places[:, None, 2:], boxes[None, :, 2:])
    covered = np.maximum(high - low, 0).prod(2)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    n_hidden: IndexArray = ((area > 0) & (covered > _HIDDEN * area)).sum(1)
    return n_hidden


def _overlap(places: FloatArray, others: FloatArray) -> BoolArray:
    """Return (K, N) bool: whether rectangles share an area."""
    places, others = places[:, None], others[None]
    shared = (places[..., :2] < others[..., 2:]) & (others[..., :2] < places[..., 2:])
    return np.logical_and(shared[..., 0], shared[..., 1])


def _within(places: FloatArray, others: FloatArray) -> BoolArray:
    """Return (K, N) bool: whether the first rectangles lie inside the second."""
    places, others = places[:, None], others[None]
    inside = (others[..., :2] <= places[..., :2]) & (places[..., 2:] <= others[..., 2:])
    return np.logical_and(inside[..., 0], inside[..., 1])
