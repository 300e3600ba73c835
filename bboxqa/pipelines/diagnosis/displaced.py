"""Annotations that show one object though they are too far apart to match."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.diagnostics.offsets import edge_differences, medians, of_others
from bboxqa.diagnostics.parts import drawn_objects, parts
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.geometry.kernels.boxes import rotated_iou
from bboxqa.matching.objects import loose_objects
from bboxqa.model.shapes.rotated_boxes import smallest_angle
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable

# With fewer objects, a displacement may come from single boxes.
_FEWEST = 10
# Boxes with a higher IoU show one object.
_SAME_BOX = 0.5


def with_displaced_joined(matched: MatchedUnits, least: float) -> MatchedUnits:
    """Return units in which displaced boxes belong to the objects that they show.

    A box that is 5 px too far to the right does not overlap an object of 4 px at all. It is a badly
    placed box, not a miss and an extra. The displacement of each annotator is estimated from larger
    objects; if the IoU without it is at least `least`, the box is joined to the others' object.
    Objects that all annotators drew, second boxes and parts are not changed.
    """
    matched = _with_misread_joined(matched)
    shift = _displacements(matched)
    # Larger boxes overlap their objects even if both annotators are displaced.
    sides = matched.data.annotations.bbox[:, 2:]
    small = (sides <= 4 * np.abs(shift).max(0)).any(1)
    open_boxes = np.flatnonzero(small & _may_show_another(matched))
    if not len(open_boxes):
        return matched
    annotations = matched.data.annotations.take(open_boxes)
    bbox = annotations.bbox.copy()
    bbox[:, :2] -= shift[annotations.annotator]
    moved = replace(matched.data, annotations=replace(annotations, bbox=bbox))
    pairs, _ = candidate_pairs(moved, "bbox", least)
    return _joined(matched, open_boxes, pairs)


def _with_misread_joined(matched: MatchedUnits) -> MatchedUnits:
    """Return units in which people in the same box, and boxes about the same centre, are joined.

    If left and right of all joints are exchanged, or the sides of a long box, two annotations of an
    object are too dissimilar to match. They are badly placed, not a miss and an extra.
    """
    boxes = matched.data.annotations.rotated_box if matched.compared == "rotated boxes" else None
    if boxes is None and matched.compared != "keypoints":
        return matched
    rows = np.flatnonzero(_may_show_another(matched))
    annotations = matched.data.annotations.take(rows)
    if boxes is not None:
        # Squares around boxes with a common centre are the same for any angle.
        boxes = boxes[rows]
        sides = np.repeat(boxes[:, 2:4].max(1, initial=0)[:, None], 2, axis=1)
        bbox = np.hstack([boxes[:, :2] - sides / 2, sides])
        annotations = replace(annotations, bbox=bbox)
    data = replace(matched.data, annotations=annotations)
    pairs, _ = candidate_pairs(data, "bbox", _SAME_BOX)
    if boxes is not None:
        pairs = pairs.take(_iou_if_turned(boxes[pairs.left], boxes[pairs.right]) >= _SAME_BOX)
    return _joined(matched, rows, pairs)


def _iou_if_turned(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the IoU of each pair after one box is turned so that the long sides are parallel.

    It is the lower IoU of the two ways to turn one of them about its centre.
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
    """Return units in which the two annotations of each pair of `rows` belong to one object."""
    if not len(pairs):
        return matched
    pairs = CandidatePairs(rows[pairs.left], rows[pairs.right], pairs.similarity)
    objects = drawn_objects(matched)
    as_units = UnitTable(objects.of, objects.image.astype(np.int32))
    joined = loose_objects(matched.data.annotations, as_units, pairs)
    return replace(matched, objects=joined[objects.of])


def _displacements(matched: MatchedUnits) -> FloatArray:
    """Return how far the boxes of each annotator are displaced to the right and down, (A, 2).

    It is the part of the offset that both opposite edges share and the other annotators confirm.
    With one other annotator it is half of that, as the other is displaced in the other direction.
    """
    found = edge_differences(matched)
    offset = of_others(found, medians, -1)
    near, far = offset[:, :2], offset[:, 2:]
    least = np.where(np.abs(near) < np.abs(far), near, far)
    n_others = np.bincount(found.annotator, minlength=len(offset))
    shift = np.where(near * far > 0, least, 0) / np.where(n_others == 1, 2, 1)[:, None]
    return np.where(found.n_shared[:, None] >= _FEWEST, shift, 0)


def _may_show_another(matched: MatchedUnits) -> BoolArray:
    """Return (N,) bool: annotations of objects that some left out, without second boxes, parts."""
    objects = drawn_objects(matched)
    some = (objects.n_drawn < objects.n_asked)[objects.of] & ~parts(matched).odd_boxes
    some[np.append(matched.own.left, matched.own.right)] = False
    return some
