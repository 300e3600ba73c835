"""Boxes as columns, of a document or of a data set, and which of them lie in their images."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, rows_where
from bboxqa.formats.columns import Form
from bboxqa.rules.facts.document import Document

# How far hand-drawn boxes may extend beyond their image, as a share of its side.
_PART_OF_SIDE = 0.02
_PIXELS = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """N boxes, with what may show their layout."""

    bbox: FloatArray
    """(N, 4) float64. The numbers as written; NaN where they are not 4 finite numbers."""
    size: FloatArray
    """(N, 2) float64. Width and height of the image of each box; NaN where unknown."""
    image: IndexArray | IntArray
    """(N,) integers. The image of each box; -1 for none."""
    n_images: int
    author: IntArray
    """(N,) int32. The annotator of each box, as an index into `names`; -1 for unknown."""
    names: tuple[str, ...]
    area: FloatArray | None = None
    """(N,) float64. The areas as written; NaN where unknown, or where there is an outline."""
    bounds: FloatArray | None = None
    """(N, 4) float64. Left, top, right and bottom of each outline; NaN where unknown."""

    def __len__(self) -> int:
        return len(self.bbox)

    @property
    def has_box(self) -> BoolArray:
        """(N,) bool. Whether the box is four finite numbers with width and height above 0."""
        sound: BoolArray = (self.bbox[:, 2] > 0) & (self.bbox[:, 3] > 0)
        return sound


def boxes_of(document: Document) -> Boxes:
    """Return the boxes of a document."""
    columns = document.annotations
    outlined = ~np.isin(columns.form, (Form.ABSENT, Form.EMPTY))
    return Boxes(
        columns.bbox,
        document.size,
        document.image,
        len(document.images),
        document.annotator,
        columns.annotator_names,
        np.where(outlined, np.nan, columns.area),
        document.outline_bounds if outlined.any() else None,
    )


def sized_boxes(boxes: Boxes | Document) -> BoolArray:
    """Return which annotations have a box and an image of known size, (N,) bool."""
    return boxes.has_box & has_size(boxes)


def has_size(boxes: Boxes | Document) -> BoolArray:
    """Return which annotations have an image of known size, (N,) bool."""
    size = boxes.size
    return rows_where(len(size), lambda rows: ~np.isnan(size[rows, 0] + size[rows, 1]))


def inside(bbox: FloatArray, size: FloatArray) -> BoolArray:
    """Return which boxes lie inside their images, up to the inaccuracy of drawing, (N,) bool."""
    slack = _PART_OF_SIDE * size + _PIXELS
    # A box that ends beyond the range of a float is outside.
    with np.errstate(over="ignore", invalid="ignore"):
        result = (bbox[:, :2] >= -slack) & (bbox[:, :2] + bbox[:, 2:] - size <= slack)
    return result[:, 0] & result[:, 1]
