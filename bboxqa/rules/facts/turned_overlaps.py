"""Comparing boxes, including rotated boxes, with each other."""

from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, from_corners, rotated_iou
from bboxqa.model.shapes import rotated_boxes as shapes
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.oriented_boxes import oriented_boxes

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
