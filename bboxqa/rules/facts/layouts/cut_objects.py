"""Images whose boxes end exactly at the edges only if they start at their centre.

Many objects are cut off at the edge of their image, and their boxes end there.
"""

from collections.abc import Iterator
from math import exp

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.blocks import rows_where
from bboxqa.rules.facts.boxes import Boxes, inside, sized_boxes
from bboxqa.rules.facts.layouts.box_readings import Layout, Numbers
from bboxqa.rules.facts.layouts.layout_evidence import ENOUGH, FEW, Evidence

_CENTRE = Layout(Numbers.CENTRE)
# A box ends at an edge if it is at most so many pixels away.
_AT_EDGE = 1.0
# Boxes with a shorter side, in pixels, end there by chance.
_SHORTEST = 8.0
# So many boxes have to extend beyond their image by half of their side,
_BEYOND = 3
# and with this probability, at most, as many boxes would end at edges by chance.
_CHANCE = 1e-4
# Boxes with equal position and size, in cells of this many pixels, may show the same object.
_CELL = 8.0


def of_cut_objects(boxes: Boxes) -> Iterator[Evidence]:
    """Yield the images whose boxes end at the edges if they start at their centre."""
    sized = sized_boxes(boxes)
    images = images_of_centres(boxes, sized, sized & ~lie_inside(boxes))
    if not images.any():
        return
    concerned: BoolArray = sized & np.append(images, False)[boxes.image]
    rows = np.flatnonzero(concerned)
    bbox, size = boxes.bbox[rows], boxes.size[rows]
    far, near = _cut(bbox, size)
    n_cut = _different(bbox[far | near])
    by_chance = _tail(n_cut, _expected(bbox, size))
    if n_cut < ENOUGH or _different(bbox[far]) < _BEYOND or by_chance > _CHANCE:
        return
    if _at_edges(bbox, size).sum() > FEW * (far | near).sum():
        return
    beyond = concerned & ~lie_inside(boxes)
    others = "" if images.all() else ", which other images may not show"

    def text(_concerned: BoolArray) -> str:
        return (
            f"as x, y, width, height, {beyond.sum():,} of {len(rows):,} extend beyond their image; "
            f"read this way, {(far | near).sum():,} end at its edges, and all lie inside{others}"
        )

    none = np.zeros(len(boxes), np.bool_)
    images |= images_of_centres(boxes, sized, sized & slightly_beyond(boxes))
    yield Evidence(_CENTRE, beyond, none, concerned, none, False, text, images=images)


def images_of_centres(boxes: Boxes, sized: BoolArray, beyond: BoolArray) -> BoolArray:
    """Return the images that boxes extend beyond, but not if they start at their centre, (I,)."""
    bbox, size = boxes.bbox, boxes.size
    fits = rows_where(
        len(bbox), lambda rows: inside(_CENTRE.read(bbox[rows], size[rows]), size[rows])
    )
    n_beyond, n_unfit = (
        np.bincount(boxes.image[some], minlength=boxes.n_images) for some in (beyond, sized & ~fits)
    )
    result: BoolArray = (n_beyond > 0) & (n_unfit == 0)
    return result


def lie_inside(boxes: Boxes) -> BoolArray:
    """Return which boxes lie inside their images, up to the inaccuracy of drawing, (N,) bool."""
    return rows_where(len(boxes), lambda rows: inside(boxes.bbox[rows], boxes.size[rows]))


def slightly_beyond(boxes: Boxes) -> BoolArray:
    """Return which boxes extend beyond the right or the lower edge, even slightly, (N,) bool.

    Up to a pixel, it may come from rounding.
    """
    beyond = boxes.bbox[:, :2] + boxes.bbox[:, 2:] - boxes.size
    result: BoolArray = np.any(beyond > _AT_EDGE, axis=1)
    return result


def _cut(bbox: FloatArray, size: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return which centred boxes end at the right or lower edge, and at the left or upper edge."""
    place, half = bbox[:, :2], bbox[:, 2:] / 2
    long = bbox[:, 2:] >= _SHORTEST
    far: BoolArray = np.any((np.abs(place + half - size) <= _AT_EDGE) & long, axis=1)
    near: BoolArray = np.any((np.abs(place - half) <= _AT_EDGE) & long, axis=1)
    return far, near


def _at_edges(bbox: FloatArray, size: FloatArray) -> BoolArray:
    """Return which boxes, read as x, y, width, height, end at an edge."""
    ends = np.hstack([bbox[:, :2], bbox[:, :2] + bbox[:, 2:] - size])
    result: BoolArray = np.any(np.abs(ends) <= _AT_EDGE, axis=1)
    return result


def _expected(bbox: FloatArray, size: FloatArray) -> float:
    """Return the number of boxes expected to end at edges by chance.

    Boxes that extend beyond an edge are assumed to do so by a uniform amount of up to half of their
    side; other boxes are assumed to lie anywhere.
    """
    sides = bbox[:, 2:]
    is_beyond = bbox[:, :2] + sides > size + _AT_EDGE
    at_far = np.where(is_beyond, np.minimum(1, 2 * _AT_EDGE / (sides / 2)), 0)
    at_near = np.minimum(1, 2 * _AT_EDGE / size)
    return float(at_far.sum() + at_near.sum())


def _different(bbox: FloatArray) -> int:
    """Return the number of boxes with different positions and sizes."""
    return len(np.unique(np.round(bbox / _CELL), axis=0))


def _tail(n: int, expected: float) -> float:
    """Return the Poisson probability of `n` or more events, given the expected number."""
    below, term = 0.0, exp(-expected)
    for number in range(n):
        below += term
        term *= expected / (number + 1)
    return max(1 - below, 0.0)
