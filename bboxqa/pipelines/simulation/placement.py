"""Random places for boxes that barely overlap others."""

import numpy as np
from numpy.random import Generator

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, rows

_TRIES = 100
_MARGIN = 0.05
_PAIRS = 2_000_000


def free_boxes(
    image: IntArray,
    sides: FloatArray,
    image_size: IntArray,
    others: tuple[IndexArray | IntArray, FloatArray],
    overlap: float,
    rng: Generator,
) -> FloatArray:
    """Return boxes at random places inside their images, (N, 4): left, top, right, bottom.

    A box with a higher IoU than `overlap` with another is moved, up to 100 times; in a full image
    it stays.

    Parameters
    ----------
    image : (N,) int array
        The image of each box, in ascending order.
    sides : (N, 2) float array
        Width and height of each; they shrink where the image is smaller.
    image_size : (I, 2) int array
        Width and height of each image.
    others : (M,) int array and (M, 4) float array
        The images, in ascending order, and the edges of boxes that are there already.
    overlap : float
        Highest IoU.
    rng : Generator
        Source of random numbers.
    """
    room = image_size[image] * (1 - 2 * _MARGIN)
    sides = np.minimum(sides, room)
    origin = image_size[image] * _MARGIN
    all_images = np.concatenate([others[0], image])
    order = np.argsort(all_images, kind="stable")
    all_images, place = all_images[order], np.argsort(order, kind="stable")[len(others[0]) :]
    edges = np.concatenate([others[1], np.zeros((len(image), 4))])[order]
    moved = np.arange(len(image))
    for attempt in range(_TRIES):
        corner = origin[moved] + rng.random((len(moved), 2)) * (room - sides)[moved]
        edges[place[moved]] = np.concatenate([corner, corner + sides[moved]], axis=1)
        # In the first round all boxes are new: of two that overlap, only one is moved.
        moved = moved[_overlaps(place[moved], edges, all_images, overlap, before=not attempt)]
        if not len(moved):
            break
    return edges[place]


def _overlaps(
    chosen: IndexArray, edges: FloatArray, image: IndexArray, overlap: float, *, before: bool
) -> BoolArray:
    """Return which of the chosen boxes overlap another of their image, (N,).

    With `before`, only those before it count.
    """
    start = np.searchsorted(image, image[chosen])
    stop = chosen if before else np.searchsorted(image, image[chosen], side="right")
    result = np.zeros(len(chosen), np.bool_)
    bounds = np.searchsorted(
        np.cumsum(stop - start), np.arange(_PAIRS, (stop - start).sum() + _PAIRS, _PAIRS)
    )
    first = 0
    for bound in bounds:
        part = slice(first, bound + 1)
        right, offsets = rows(start[part], stop[part])
        left = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        own = chosen[part][left]
        hit = (_iou(edges[own], edges[right]) > overlap) & (own != right)
        result[part] = np.bincount(left[hit], minlength=len(offsets) - 1) > 0
        first = bound + 1
    return result


def _iou(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the intersection over union of each two boxes, (N,)."""
    shared = np.minimum(one[:, 2:], other[:, 2:]) - np.maximum(one[:, :2], other[:, :2])
    inter = np.clip(shared, 0, None).prod(axis=1)
    area = [(edges[:, 2:] - edges[:, :2]).prod(axis=1) for edges in (one, other)]
    share: FloatArray = inter / (area[0] + area[1] - inter)
    return share
