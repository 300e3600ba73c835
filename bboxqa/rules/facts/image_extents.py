"""Which boxes have an image of known size, and which lie inside it."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.blocks import rows_where
from bboxqa.rules.facts.boxes import Boxes
from bboxqa.rules.facts.document import Document

# How far boxes drawn by hand may extend beyond their image.
_PART_OF_SIDE = 0.02
_PIXELS = 2.0
# More boxes than this beyond their images are no accidents of drawing.
_ENOUGH = 5
_MANY = 0.2


def sized_boxes(boxes: Boxes | Document) -> BoolArray:
    """Return which annotations have a box and an image of known size."""
    return boxes.has_box & has_size(boxes)


def has_size(boxes: Boxes | Document) -> BoolArray:
    """Return which annotations have an image of known size."""
    size = boxes.size
    return rows_where(len(size), lambda rows: ~np.isnan(size[rows, 0] + size[rows, 1]))


def inside(bbox: FloatArray, size: FloatArray) -> BoolArray:
    """Return which boxes lie inside their images, up to the inaccuracy of drawing."""
    slack = _PART_OF_SIDE * size + _PIXELS
    result = (bbox[:, :2] >= -slack) & (bbox[:, :2] + bbox[:, 2:] - size <= slack)
    return result[:, 0] & result[:, 1]


def are_doubtful(document: Document) -> bool:
    """Return whether so many boxes extend beyond their images that no number can be trusted."""
    bbox, size = document.annotations.bbox, document.size
    sized = document.once(sized_boxes)
    outside = sized & ~rows_where(len(bbox), lambda rows: inside(bbox[rows], size[rows]))
    return int(outside.sum()) >= max(_ENOUGH, _MANY * int(sized.sum()))
