"""Converting boxes of a translation to annotation columns."""

from collections import Counter

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.annotations.author_columns import Authors
from bboxqa.formats.annotations.columns import Columns
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS
from bboxqa.formats.annotations.rotated_columns import rotated_columns
from bboxqa.formats.translation.translated import Boxes
from bboxqa.model.outlines import SegmentationKind, Segmentations


def columns_of(boxes: Boxes, first: int, options: ReadOptions) -> Columns:
    """Return the columns of boxes, with ids counted from `first`."""
    n = len(boxes)
    nobody = Authors(np.broadcast_to(np.int32(-1), n), ())
    authors = dict.fromkeys(options.keys, nobody)
    if boxes.annotators:
        named = Authors(boxes.annotator.astype(np.int32), tuple(boxes.annotators))
        authors[ANNOTATOR_KEYS[0]] = named
    return Columns(
        np.arange(first, first + n),
        boxes.image_id,
        boxes.category_id,
        boxes.bbox,
        np.zeros(n, np.bool_),
        authors,
        _outlines(rings_of(boxes)) if options.outlines else None,
        Counter({"source": boxes.n_machine} if boxes.n_machine else {}),
        rotated=rotated_columns(boxes.bbox, boxes.corners) if options.rotated else None,
    )


def rings_of(boxes: Boxes) -> FloatArray:
    """Return the outlines of boxes as x and y of four points, (N, 8)."""
    if boxes.corners is not None:
        return boxes.corners.reshape(-1, 8)
    x, y, width, height = boxes.bbox.T
    right, bottom = x + width, y + height
    return np.stack([x, y, right, y, right, bottom, x, bottom], 1)


def _outlines(rings: FloatArray) -> Segmentations:
    """Convert (N, 8) outlines to polygons."""
    n = len(rings)
    nothing = np.zeros(n, np.int64)
    return Segmentations(
        kind=np.full(n, SegmentationKind.POLYGON, np.uint8),
        xy=rings.reshape(-1, 2),
        ring_offsets=4 * np.arange(n + 1),
        part_start=np.arange(n),
        part_stop=np.arange(1, n + 1),
        counts=np.zeros(0, np.uint8),
        counts_start=nothing,
        counts_stop=nothing,
        size=np.zeros((n, 2), np.int32),
    )
