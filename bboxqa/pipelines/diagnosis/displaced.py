"""Annotations that show one object though they are too far apart to match."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.diagnostics.annotators.edge_differences import edge_differences, of_others
from bboxqa.diagnostics.annotators.offsets import medians
from bboxqa.diagnostics.disagreement.drawn_objects import drawn_objects
from bboxqa.diagnostics.disagreement.parts import parts
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.geometry.kernels.rotated_boxes import rotated_iou
from bboxqa.matching.objects import loose_objects
from bboxqa.model.shapes.rotated_boxes import smallest_angle
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable

# Of fewer objects, a displacement may be that of single boxes.
_FEWEST = 10
# Boxes that overlap by as much show one object.
_SAME_BOX = 0.5


def with_displaced_joined(
    matched: MatchedUnits, least: float, memory: int | None = None
) -> MatchedUnits:
    """Return units where displaced boxes belong to the objects that they show.

    A box that is 5 px too far to the right does not overlap an object of 4 px at all. It is badly
    placed, and no miss and an extra: the larger objects tell by how much the boxes of its annotator
    are displaced, and without that its IoU with what the others drew is at least `least`. Objects
    that all annotators drew, second boxes and parts stay as they are.
    """
    matched = _with_misread_joined(matched, memory)
    shift = _displacements(matched)
    # Larger boxes overlap what they show, even if both annotators are displaced.
    sides = matched.data.annotations.bbox[:, 2:]
    small = (sides <= 4 * np.abs(shift).max(0)).any(1)
    open_boxes = np.flatnonzero(small & _may_show_another(matched))
    if not len(open_boxes):
        return matched
    annotations = matched.data.annotations.take(open_boxes)
    bbox = annotations.bbox.copy()
    bbox[:, :2] -= shift[annotations.annotator]
    moved = replace(matched.data, annotations=replace(annotations, bbox=bbox))
    pairs, _ = candidate_pairs(moved, "bbox", least, memory=memory)
    return _joined(matched, open_boxes, pairs)


def _with_misread_joined(matched: MatchedUnits, memory: int | None) -> MatchedUnits:
    """Return units where people in the same box, and boxes turned about a middle, are one object.

    Where left and right of all joints are exchanged, or the sides of a long box, they are too far
    apart to match: they are badly placed, and no miss and an extra.
    """
    boxes = matched.data.annotations.rotated_box if matched.compared == "rotated boxes" else None
    if boxes is None and matched.compared != "keypoints":
        return matched
    rows = np.flatnonzero(_may_show_another(matched))
    annotations = matched.data.annotations.take(rows)
    if boxes is not None:
        # Around boxes that cross in the middle, in any direction, these are the same.
        boxes = boxes[rows]
        sides = np.repeat(boxes[:, 2:4].max(1, initial=0)[:, None], 2, axis=1)
        bbox = np.hstack([boxes[:, :2] - sides / 2, sides])
        annotations = replace(annotations, bbox=bbox)
    data = replace(matched.data, annotations=annotations)
    pairs, _ = candidate_pairs(data, "bbox", _SAME_BOX, memory=memory)
    if boxes is not None:
        pairs = pairs.take(_iou_if_turned(boxes[pairs.left], boxes[pairs.right]) >= _SAME_BOX)
    return _joined(matched, rows, pairs)


def _iou_if_turned(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the IoU of each pair if the long side of one lay along that of the other.

    It is the lower one of both ways to turn one of them about its middle.
    """
    long_first = []
    for boxes in (left, right):
        is_high = boxes[:, 2] < boxes[:, 3]
        turned = boxes.copy()
        turned[is_high, 2:4] = boxes[is_high][:, [3, 2]]
        turned[is_high, 4] += 90
        long_first.append(turned)
    found = []
    for angle in (long_first[0][:, 4], long_first[1][:, 4]):
        one, two = (np.column_stack([boxes[:, :4], angle]) for boxes in long_first)
        found.append(rotated_iou(smallest_angle(one), smallest_angle(two)))
    return np.minimum(*found)


def _joined(matched: MatchedUnits, rows: IndexArray, pairs: CandidatePairs) -> MatchedUnits:
    """Return units where the annotations of pairs, of some rows, belong to one object."""
    if not len(pairs):
        return matched
    pairs = CandidatePairs(rows[pairs.left], rows[pairs.right], pairs.similarity)
    objects = drawn_objects(matched)
    as_units = UnitTable(objects.of, objects.image.astype(np.int32))
    joined = loose_objects(matched.data.annotations, as_units, pairs)
    return replace(matched, objects=joined[objects.of])


def _displacements(matched: MatchedUnits) -> FloatArray:
    """Return how far the boxes of each annotator are to the right and down, (A, 2).

    It is what both opposite edges share of the offset that the other annotators confirm, and half
    of it where there is one other, who is displaced as far in the other direction.
    """
    found = edge_differences(matched)
    offset = of_others(found, medians, -1)
    near, far = offset[:, :2], offset[:, 2:]
    least = np.where(np.abs(near) < np.abs(far), near, far)
    n_others = np.bincount(found.annotator, minlength=len(offset))
    shift = np.where(near * far > 0, least, 0) / np.where(n_others == 1, 2, 1)[:, None]
    return np.where(found.n_shared[:, None] >= _FEWEST, shift, 0)


def _may_show_another(matched: MatchedUnits) -> BoolArray:
    """Return which annotations show an object that some left out; no second boxes or parts."""
    objects = drawn_objects(matched)
    some = (objects.n_drawn < objects.n_asked)[objects.of] & ~parts(matched).odd_boxes
    some[np.append(matched.own.left, matched.own.right)] = False
    return some
