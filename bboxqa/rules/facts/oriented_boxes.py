"""The rotated boxes of a file, as sizes and angles or as four corners."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.formats.columns import Rings
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, from_corners, rotated_iou
from bboxqa.model.shapes import rotated_boxes as shapes
from bboxqa.rules.facts.document import Document

_CORNER_FORMATS = ("DOTA labels", "YOLO labels")
"""Formats that write four corners and no angle."""
# Outlines are rotated boxes if this share of the outlined annotations has one ring of four points,
_MOST = 0.9
# this share of the rings are rectangles,
_HALF = 0.5
# and this share of the rectangles is turned.
_FEW_TURNED = 0.1
# Corners of a rectangle that are rounded to whole pixels are off by about this much.
_PIXEL = 1.0
# The tolerance in degrees within which a box counts as upright.
_UPRIGHT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class OrientedBoxes:
    """The rotated boxes of a file."""

    row: IndexArray
    """(Q,) int64. The annotation of each box, ascending."""
    corners: FloatArray
    """(Q, 4, 2) float64. Corners in pixels, in the order of the outline in the file. A box with an
    angle and no outline is rotated about its centre. NaN if five numbers are ambiguous.
    """
    is_written: BoolArray
    """(Q,) bool. Whether the file has these corners rather than an angle."""
    angle: FloatArray
    """(Q,) float64. The angle as written; NaN if the file has only corners."""


def is_rotated_file(document: Document) -> bool:
    """Return whether the file has rotated boxes: at least half with five or eight numbers."""
    columns = document.annotations
    n_longer = np.count_nonzero(columns.rotations.n_numbers)
    return bool(n_longer > 0 and n_longer >= np.count_nonzero(np.isfinite(columns.bbox[:, 0])))


def oriented_boxes(document: Document) -> OrientedBoxes:
    """Return the rotated boxes of a file; empty if outlines of four points are polygons."""
    columns = document.annotations
    rings, rotations = columns.rings, columns.rotations
    quads, is_written = _quads(document)
    row = np.union1d(rings.row[quads], _listed(document))
    corners, written, angle = np.full((len(row), 4, 2), np.nan), row < 0, np.full(len(row), np.nan)
    at = np.searchsorted(row, rings.row[quads])
    corners[at] = rings.xy[rings.offsets[quads][:, None] + np.arange(4)]
    written[at] = is_written
    said = np.flatnonzero(np.isin(rotations.row, row))
    at, values = np.searchsorted(row, rotations.row[said]), rotations.values[said]
    five, eight = (rotations.n_numbers[said] == number for number in (5, 8))
    written[at] |= eight
    corners[at[eight]] = values[eight].reshape(-1, 4, 2)
    given = np.where(five, values[:, 4], rotations.angle[said])
    angle[at] = np.where(written[at] & ~five, np.nan, given)
    # Boxes with an angle and no outline are turned.
    turned = at[~five & np.isnan(corners[at, 0, 0]) & np.isfinite(angle[at])]
    outlined = np.union1d(rings.row, columns.rles.row)
    turned = turned[document.has_box[row[turned]] & ~np.isin(row[turned], outlined)]
    boxes = shapes.upright(columns.bbox[row[turned]])
    boxes[:, 4] = angle[turned]
    corners[turned] = shapes.corners(boxes)
    return OrientedBoxes(row, corners, written, angle)


def rows_with_corners(document: Document) -> IndexArray:
    """Return the annotations that are rotated boxes with known corners, ascending."""
    boxes = document.once(oriented_boxes)
    return boxes.row[np.isfinite(boxes.corners[:, 0, 0])]


def _listed(document: Document) -> IndexArray:
    """Return the rows of boxes that have an angle, or more than four numbers."""
    rotations = document.annotations.rotations
    origin = document.reading.origin
    if origin is not None and origin.title in _CORNER_FORMATS:
        # The angle was computed from the corners.
        return np.zeros(0, np.int64)
    if origin is None and not is_rotated_file(document):
        return rotations.row[np.isfinite(rotations.angle)]
    single = _single_rings(document.annotations.rings)
    # Ellipses also have an angle, but more points.
    other = np.setdiff1d(document.annotations.rings.row, document.annotations.rings.row[single])
    return np.setdiff1d(rotations.row, other)


def _single_rings(rings: Rings) -> IndexArray:
    """Return the rings of four points that are the only ring of their annotation."""
    if not len(rings.row):
        return np.zeros(0, np.int64)
    n_rings = np.bincount(rings.row)
    return np.flatnonzero((rings.n_numbers == 8) & (n_rings[rings.row] == 1))


def _quads(document: Document) -> tuple[IndexArray, bool]:
    """Return the rings that are corners of rotated boxes, and whether the file has these only."""
    rings, origin = document.annotations.rings, document.reading.origin
    single = _single_rings(rings)
    title = "" if origin is None else origin.title
    if title and title not in _CORNER_FORMATS:
        return single[np.isin(rings.row[single], _listed(document))], False
    is_all = title == "DOTA labels" or _are_boxes(rings, single)
    return (single if is_all else single[:0]), True


def _are_boxes(rings: Rings, single: IndexArray) -> bool:
    """Return whether nearly all outlines of a file have four corners and are rotated boxes."""
    if len(single) < _MOST * len(np.unique(rings.row)) or not len(single):
        return False
    corners = rings.xy[rings.offsets[single][:, None] + np.arange(4)]
    fits = _misfit(corners) <= _PIXEL
    turned = fits & ~_is_upright(corners)
    return bool(fits.mean() >= _HALF and turned.sum() >= _FEW_TURNED * fits.sum() > 0)


def _around(corners: FloatArray) -> FloatArray:
    """Return corners in clockwise order around their centre, (Q, 4, 2)."""
    offset = corners - corners.mean(axis=1, keepdims=True)
    order = np.argsort(np.arctan2(offset[..., 1], offset[..., 0]), axis=1, kind="stable")
    found: FloatArray = np.take_along_axis(corners, order[..., None], axis=1)
    return found


def _misfit(corners: FloatArray) -> FloatArray:
    """Return the distance of corners, in any order, from a rectangle, (Q,) float64 pixels."""
    first, second, third, fourth = np.moveaxis(_around(corners), 1, 0)
    across = (second + third - first - fourth) / 4
    along = (third + fourth - first - second) / 4
    uneven = (first - second + third - fourth) / 4
    # The sides of the remaining parallelogram are rotated until they are perpendicular.
    length = np.hypot(np.hypot(*across.T), np.hypot(*along.T))
    slant = np.abs((across * along).sum(axis=1))
    skew = np.divide(slant, length, out=np.zeros(len(corners)), where=length > 0)
    found: FloatArray = np.hypot(*uneven.T) + skew
    return found


def _is_upright(corners: FloatArray) -> BoolArray:
    """Return whether the sides of four corners are parallel to the image axes, (Q,) bool."""
    steps = np.diff(_around(corners)[:, :3], axis=1)
    angle = np.degrees(np.arctan2(steps[..., 1], steps[..., 0])) % 90
    found: BoolArray = (np.minimum(angle, 90 - angle) < _UPRIGHT).all(axis=1)
    return found


def are_crossed(corners: FloatArray) -> BoolArray:
    """Return whether two opposite sides of four corners cross, (Q,) bool.

    Examples
    --------
    >>> are_crossed(np.array([[[0, 0], [1, 0], [0, 1], [1, 1]], [[0, 0], [1, 0], [1, 1], [0, 1]]]))
    array([ True, False])
    """
    first, second, third, fourth = np.moveaxis(corners, 1, 0)
    crossed: BoolArray = _cross(first, second, third, fourth) | _cross(second, third, fourth, first)
    return crossed


def _cross(start: FloatArray, stop: FloatArray, begin: FloatArray, end: FloatArray) -> BoolArray:
    found: BoolArray = (_side(start, stop, begin) * _side(start, stop, end) < 0) & (
        _side(begin, end, start) * _side(begin, end, stop) < 0
    )
    return found


def _side(start: FloatArray, stop: FloatArray, point: FloatArray) -> FloatArray:
    """Return the side of a line on which a point lies, by the sign."""
    along, to = stop - start, point - start
    found: FloatArray = np.sign(along[:, 0] * to[:, 1] - along[:, 1] * to[:, 0])
    return found


# The bounds of thin boxes overlap less than the boxes themselves.
_OF_BOUNDS = 0.75
_FULL_TURN = 2 * np.pi


class Turned(NamedTuple):
    """The rotated boxes of a file."""

    place: IndexArray
    """(N,) int64. The index of each annotation's box; -1 without a rotated box. Empty if there are
    no rotated boxes."""
    clockwise: FloatArray
    counter: FloatArray
    """(R, 5) float64. Centre, sides and degrees of each box; `counter` differs for five numbers,
    whose direction is unknown, and is the same array if there are none."""


def turned_boxes(document: Document) -> Turned:
    """Return the rotated boxes of a file, with boxes of five numbers in both directions."""
    boxes, rotations = document.once(oriented_boxes), document.annotations.rotations
    known = np.isfinite(boxes.corners[:, 0, 0])
    fives = np.flatnonzero((rotations.n_numbers == 5) & ~np.isin(rotations.row, boxes.row[known]))
    rows = np.concatenate([boxes.row[known], rotations.row[fives]])
    if not len(rows):
        none = np.zeros((0, 5))
        return Turned(rows, none, none)
    numbers = rotations.values[fives, :5].copy()
    if len(fives) and np.abs(numbers[:, 4]).max() <= _FULL_TURN:
        numbers[:, 4] = np.degrees(numbers[:, 4])
    cornered, _ = shapes.from_corners(boxes.corners[known])
    place = np.full(len(document.annotations), -1)
    place[rows] = np.arange(len(rows))
    mirrored = numbers * (1, 1, 1, 1, -1)
    if not len(fives):
        return Turned(place, cornered, cornered)
    return Turned(place, np.concatenate([cornered, numbers]), np.concatenate([cornered, mirrored]))


def compared_boxes(document: Document, threshold: float) -> tuple[FloatArray, float]:
    """Return (N, 4) boxes, and their least IoU for pairs whose `box_iou` reaches a threshold.

    For rotated boxes, these are the bounds.
    """
    turned, bbox = document.once(turned_boxes), document.annotations.bbox
    if not len(turned.place):
        return bbox, threshold
    bbox, rows = bbox.copy(), np.flatnonzero(turned.place >= 0)
    bbox[rows] = from_corners(shapes.bounds(turned.clockwise[turned.place[rows]]))
    return bbox, _OF_BOUNDS * threshold


def box_iou(document: Document, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of pairs of annotations, (P,), using rotated boxes where there are any."""
    turned, bbox = document.once(turned_boxes), document.annotations.bbox
    iou: FloatArray = bbox_iou(corners(bbox[left]), corners(bbox[right]))
    if not len(turned.place):
        return iou
    some = np.flatnonzero((turned.place[left] >= 0) | (turned.place[right] >= 0))
    both = []
    has_one_direction = turned.counter is turned.clockwise
    for boxes in (turned.clockwise,) if has_one_direction else (turned.clockwise, turned.counter):
        sides = []
        for rows in (left[some], right[some]):
            side, place = shapes.upright(bbox[rows]), turned.place[rows]
            side[place >= 0] = boxes[place[place >= 0]]
            sides.append(side)
        both.append(rotated_iou(*sides))
    iou[some] = np.minimum.reduce(both)
    return iou


def written_boxes(document: Document) -> FloatArray:
    """Return the first four numbers of boxes as written, (N, 4); NaN without a box.

    For boxes of five and eight numbers, `other_numbers` returns the rest.
    """
    rotations, bbox = document.annotations.rotations, document.annotations.bbox
    longer = rotations.n_numbers > 0
    if not longer.any():
        return bbox
    bbox = bbox.copy()
    bbox[rotations.row[longer]] = rotations.values[longer, :4]
    return bbox


def other_numbers(document: Document) -> FloatArray:
    """Return the fifth to the eighth number of boxes, (4, N); 0 where there are none.

    Empty, (0, N), if no box has more than four numbers.
    """
    rotations, n = document.annotations.rotations, len(document.annotations)
    longer = rotations.n_numbers > 0
    if not longer.any():
        return np.zeros((0, n))
    result = np.zeros((4, n))
    result[:, rotations.row[longer]] = np.nan_to_num(rotations.values[longer, 4:]).T
    return result
