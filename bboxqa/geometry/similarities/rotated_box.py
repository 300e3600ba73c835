"""Similarity of rotated boxes: the exact IoU of the rectangles."""

from collections import Counter

from bboxqa.core.errors import DatasetError
from bboxqa.geometry.kernels.rotated_boxes import rotated_iou
from bboxqa.geometry.similarities.base import Comparison, Options, Similarity
from bboxqa.model.annotations import Dataset
from bboxqa.model.shapes.rotated_boxes import bounds, smallest_angle


def _obb(dataset: Dataset, _: Options) -> Comparison:
    boxes = dataset.annotations.rotated_box
    if boxes is None:
        raise DatasetError(["the rotated boxes were not read"])
    # Half turns, and the four ways to describe a square, have the same numbers then.
    boxes = smallest_angle(boxes)
    flat = (boxes[:, 2:4] == 0).any(1)
    return Comparison(
        compare=lambda left, right: rotated_iou(
            boxes.take(left, axis=0), boxes.take(right, axis=0)
        ),
        bounds=bounds(boxes),
        counts=Counter(flat=int(flat.sum())),
    )


OBB = Similarity(_obb, needs="rotated boxes", is_iou=True)
