"""Similarity of rotated boxes: the exact IoU of the rectangles."""

from collections import Counter

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.kernels.rotated_boxes import rotated_iou
from bboxqa.geometry.similarities.base import Comparison, Options, Similarity
from bboxqa.model.annotations import Dataset
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes.rotated_boxes import bounds, from_corners, smallest_angle

_CORNERS = 4
_SAME = 1e-6


def _obb(dataset: Dataset, _: Options) -> Comparison:
    boxes = dataset.annotations.rotated_box
    if boxes is None:
        raise DatasetError(["the rotated boxes were not read"])
    # Makes boxes that differ by half turns, and the four descriptions of a square, equal.
    boxes = smallest_angle(boxes)
    flat = (boxes[:, 2:4] == 0).any(1)
    counts = Counter(flat=int(flat.sum()))
    if dataset.annotations.segmentation is not None:
        counts.update(other_shapes(dataset.annotations.segmentation, boxes))
    return Comparison(
        compare=lambda left, right: rotated_iou(
            boxes.take(left, axis=0), boxes.take(right, axis=0)
        ),
        bounds=bounds(boxes),
        counts=counts,
    )


def other_shapes(outlines: Segmentations, boxes: FloatArray) -> dict[str, int]:
    """Return the number of outlines that are no rotated boxes, as "quadrilaterals" and others."""
    outlines = outlines.packed()
    is_polygon = outlines.kind == SegmentationKind.POLYGON
    single = np.flatnonzero(is_polygon & (outlines.part_stop - outlines.part_start == 1))
    ring = outlines.part_start[single]
    first, last = outlines.ring_offsets[ring], outlines.ring_offsets[ring + 1] - 1
    # The ring may be closed by a fifth point.
    closed = (last - first == _CORNERS) & (outlines.xy[first] == outlines.xy[last]).all(1)
    quads = closed | (last - first == _CORNERS - 1)
    rectangles, fits = from_corners(outlines.xy[first[quads][:, None] + np.arange(_CORNERS)])
    # A box given by five numbers or an angle takes precedence over the outline.
    is_box = np.abs(rectangles - boxes[single[quads]]).max(1, initial=0) < _SAME
    n_others = np.count_nonzero(outlines.kind != SegmentationKind.NONE) - np.count_nonzero(quads)
    return {"quadrilaterals": int((is_box & ~fits).sum()), "other_outlines": int(n_others)}


OBB = Similarity(_obb, needs="rotated boxes", is_iou=True)
