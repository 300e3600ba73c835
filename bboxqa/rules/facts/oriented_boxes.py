"""The rotated boxes of a file, as sizes and angles or as four corners."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.formats.columns import Rings
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, from_corners, rotated_iou
from bboxqa.model.shapes import rotated_boxes as shapes
from bboxqa.model.shapes.rotated_boxes import upright
from bboxqa.rules.facts.document import Document

_CORNER_FORMATS = ("DOTA labels", "YOLO labels")
"""Formats that write four corners and no angle."""
# Outlines are rotated boxes if this share of the outlined annotations has one ring of four points,
_MOST = 0.9
# this share of the rings are rectangles,
_HALF = 0.5
# and this share of the rectangles is turned.
_FEW_TURNED = 0.1
PIXEL = 1.0
"""Corners of a rectangle that are rounded to whole pixels are off by about this much."""
UPRIGHT = 0.5
"""The tolerance in degrees within which a box counts as upright."""
# A full circle in degrees.
CIRCLE = 360.0


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
    size: FloatArray
    """(Q, 2) float64. Width and height in pixels; NaN if the file has only corners."""
    angle: FloatArray
    """(Q,) float64. The angle as written; NaN if the file has only corners."""

    def __len__(self) -> int:
        return len(self.row)


def is_rotated_file(document: Document) -> bool:
    """Return whether the file has rotated boxes: at least half with five or eight numbers."""
    columns = document.annotations
    n_longer = np.count_nonzero(columns.rotations.n_numbers)
    return bool(n_longer > 0 and n_longer >= np.count_nonzero(np.isfinite(columns.bbox[:, 0])))


def oriented_boxes(document: Document) -> OrientedBoxes:
    """Return the rotated boxes of a file; empty if outlines of four points are polygons."""
    quads = _quads(document)
    corners, rotations = _corners_of(document, quads), document.annotations.rotations
    listed = np.union1d(quads.row, _listed(document))
    n = len(document.annotations)
    places = np.full(n, -1)
    places[listed] = np.arange(len(listed))
    result = OrientedBoxes(
        listed, np.full((len(listed), 4, 2), np.nan), np.zeros(len(listed), np.bool_),
        np.full((len(listed), 2), np.nan), np.full(len(listed), np.nan),
    )  # fmt: skip
    at = places[quads.row]
    result.corners[at] = corners
    result.is_written[at] = quads.is_written
    said = places[rotations.row] >= 0
    at, numbers = places[rotations.row[said]], rotations.values[said]
    n_numbers, angle = rotations.n_numbers[said], rotations.angle[said]
    result.angle[at] = np.where(n_numbers == 5, numbers[:, 4], angle)
    result.is_written[at] |= n_numbers == 8
    result.corners[at[n_numbers == 8]] = numbers[n_numbers == 8].reshape(-1, 4, 2)
    boxes = document.annotations.bbox[rotations.row[said]]
    has_ring = np.isfinite(result.corners[at, 0, 0])
    sizes = np.where(has_ring[:, None], _sides(result.corners[at]), boxes[:, 2:])
    result.size[at] = np.where((n_numbers == 5)[:, None], numbers[:, 2:4], sizes)
    is_five = np.zeros(len(listed), np.bool_)
    is_five[at] = n_numbers == 5
    result.angle[result.is_written & ~is_five] = np.nan
    result.size[result.is_written & ~is_five] = np.nan
    _turn(document, result, ~has_ring & (n_numbers == 0), at)
    return result


def _turn(document: Document, boxes: OrientedBoxes, candidates: BoolArray, at: IndexArray) -> None:
    """Add the corners of boxes with an angle and no outline, at some of the indices `at`."""
    columns = document.annotations
    outlined = np.union1d(columns.rings.row, columns.rles.row)
    at = at[candidates & np.isfinite(boxes.angle[at])]
    at = at[document.has_box[boxes.row[at]] & ~np.isin(boxes.row[at], outlined)]
    turned = upright(columns.bbox[boxes.row[at]])
    turned[:, 4] = boxes.angle[at]
    boxes.corners[at] = shapes.corners(turned)


def rows_with_corners(document: Document) -> IndexArray:
    """Return the annotations that are rotated boxes with known corners, ascending."""
    boxes = document.once(oriented_boxes)
    return boxes.row[np.isfinite(boxes.corners[:, 0, 0])]


@dataclass(frozen=True, slots=True, eq=False)
class _Quads:
    """Outlines of one ring with four corners that are rotated boxes."""

    row: IndexArray
    ring: IndexArray
    is_written: BoolArray


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


def _quads(document: Document) -> _Quads:
    """Return the outlines that are the corners of rotated boxes."""
    rings, origin = document.annotations.rings, document.reading.origin
    single = _single_rings(rings)
    rows = rings.row[single]
    title = "" if origin is None else origin.title
    if title and title not in _CORNER_FORMATS:
        chosen = np.isin(rows, _listed(document))
        return _Quads(rows[chosen], single[chosen], np.zeros(int(chosen.sum()), np.bool_))
    is_all = title == "DOTA labels" or _are_boxes(rings, single)
    chosen = np.full(len(rows), is_all)
    return _Quads(rows[chosen], single[chosen], np.ones(int(chosen.sum()), np.bool_))


def _are_boxes(rings: Rings, single: IndexArray) -> bool:
    """Return whether nearly all outlines of a file have four corners and are rotated boxes.

    At least half of them must be rectangles, and a tenth of these rotated; otherwise, they are
    polygons that happen to have four points.
    """
    if len(single) < _MOST * len(np.unique(rings.row)) or not len(single):
        return False
    corners = rings.xy[rings.offsets[single][:, None] + np.arange(4)]
    fits = misfit(corners) <= PIXEL
    turned = fits & ~is_upright(corners)
    return bool(fits.mean() >= _HALF and turned.sum() >= _FEW_TURNED * fits.sum() > 0)


def _corners_of(document: Document, quads: _Quads) -> FloatArray:
    rings = document.annotations.rings
    found: FloatArray = rings.xy[rings.offsets[quads.ring][:, None] + np.arange(4)]
    return found


def _sides(corners: FloatArray) -> FloatArray:
    """Return the lengths of the first and the second side, (Q, 2) float64."""
    steps = np.diff(corners[:, :3], axis=1)
    lengths: FloatArray = np.hypot(steps[..., 0], steps[..., 1])
    return lengths


def around(corners: FloatArray) -> FloatArray:
    """Return corners in clockwise order around their centre, (Q, 4, 2).

    Examples
    --------
    >>> around(np.array([[[0, 0], [1, 1], [1, 0], [0, 1]]])).tolist()
    [[[0, 0], [1, 0], [1, 1], [0, 1]]]
    """
    offset = corners - corners.mean(axis=1, keepdims=True)
    order = np.argsort(np.arctan2(offset[..., 1], offset[..., 0]), axis=1, kind="stable")
    found: FloatArray = np.take_along_axis(corners, order[..., None], axis=1)
    return found


def misfit(corners: FloatArray) -> FloatArray:
    """Return the distance of corners, in any order, from a rectangle, (Q,) float64 pixels.

    Examples
    --------
    >>> misfit(np.array([[[0.0, 0], [8, 0], [8, 4], [0, 4]], [[0, 0], [8, 0], [8, 8], [0, 4]]]))
    array([0.        , 1.58834841])
    """
    first, second, third, fourth = np.moveaxis(around(corners), 1, 0)
    across = (second + third - first - fourth) / 4
    along = (third + fourth - first - second) / 4
    uneven = (first - second + third - fourth) / 4
    # The sides of the remaining parallelogram are rotated until they are perpendicular.
    length = np.hypot(np.hypot(*across.T), np.hypot(*along.T))
    slant = np.abs((across * along).sum(axis=1))
    skew = np.divide(slant, length, out=np.zeros(len(corners)), where=length > 0)
    found: FloatArray = np.hypot(*uneven.T) + skew
    return found


def is_upright(corners: FloatArray) -> BoolArray:
    """Return whether the sides of four corners are parallel to the image axes, (Q,) bool."""
    steps = np.diff(around(corners)[:, :3], axis=1)
    angle = np.degrees(np.arctan2(steps[..., 1], steps[..., 0])) % 90
    found: BoolArray = (np.minimum(angle, 90 - angle) < UPRIGHT).all(axis=1)
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
    """The rotated boxes of a file.

    Attributes
    ----------
    place : (N,) int64
        The index of each annotation's box; -1 without a rotated box. Empty if there are no rotated
        boxes.
    clockwise, counter : (R, 5) float64
        Centre, sides and degrees of each box; `counter` differs for five numbers, whose direction
        is unknown, and is the same array if there are none.
    """

    place: IndexArray
    clockwise: FloatArray
    counter: FloatArray


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
    longer = _longer(document)
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
    longer = _longer(document)
    if not longer.any():
        return np.zeros((0, n))
    result = np.zeros((4, n))
    result[:, rotations.row[longer]] = np.nan_to_num(rotations.values[longer, 4:]).T
    return result


def _longer(document: Document) -> BoolArray:
    longer: BoolArray = document.annotations.rotations.n_numbers > 0
    return longer
