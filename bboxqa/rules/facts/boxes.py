"""Boxes of a document or a data set as columns, their images, and how numbers are written."""

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, rows_where
from bboxqa.formats.columns import Form
from bboxqa.model.annotations import EDGES
from bboxqa.model.settings import ValidateSettings

if TYPE_CHECKING:
    from bboxqa.rules.facts.document import Document

# How far hand-drawn boxes may extend beyond their image, as a share of its side.
_PART_OF_SIDE = 0.02
_PIXELS = 2.0
# Floats represent every integer up to this one exactly.
_WHOLE = 2.0**53
# Digits that are enough to distinguish any two float64 numbers.
_ALL_DIGITS = 17


class Boxes(msgspec.Struct, frozen=True, eq=False):
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


def boxes_of(document: "Document") -> Boxes:
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


def sized_boxes(boxes: "Boxes | Document") -> BoolArray:
    """Return which annotations have a box and an image of known size, (N,) bool."""
    return boxes.has_box & has_size(boxes)


def has_size(boxes: "Boxes | Document") -> BoolArray:
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


def overshoot(bbox: FloatArray, size: FloatArray) -> FloatArray:
    """Return how far boxes extend beyond their images.

    Parameters
    ----------
    bbox : (N, 4) float64
        x, y, width, height in pixels; N may be 0.
    size : (N, 2) float64
        Width and height of the image in pixels; NaN where unknown.

    Returns
    -------
    (N, 4) float64
        Pixels beyond the left, top, right and bottom edge; negative inside, NaN where unknown.

    Examples
    --------
    >>> overshoot(np.array([[-3.0, 0, 20, 10]]), np.array([[10.0, 12]]))
    array([[ 3., -0.,  7., -2.]])
    """
    with np.errstate(all="ignore"):
        return np.hstack([-bbox[:, :2], bbox[:, :2] + bbox[:, 2:] - size])


def beyond_text(beyond: FloatArray) -> str:
    """Return by how much, and which edge, a box extends farthest beyond, for a message.

    Examples
    --------
    >>> beyond_text(np.array([-2.0, 3, np.nan, 1]))
    '3 px beyond the top edge'
    """
    edge = int(np.nanargmax(beyond))
    return f"{figure(beyond[edge])} px beyond the {EDGES[edge]} edge"


def size_text(size: FloatArray) -> str:
    """Return the size of an image as the end of a message; "" if unknown."""
    width, height = size
    return "" if np.isnan(width) or np.isnan(height) else f" ({width:g} x {height:g})"


def row_max(values: FloatArray) -> FloatArray:
    """Return the largest number of each row; column by column, which is fast for few columns."""
    result: FloatArray = reduce(np.maximum, values.T)
    return result


def row_min(values: FloatArray) -> FloatArray:
    """Return the smallest number of each row; see `row_max`."""
    result: FloatArray = reduce(np.minimum, values.T)
    return result


def becomes_degenerate(
    before: Sequence[float], after: Sequence[float], settings: ValidateSettings
) -> bool:
    """Return whether a change makes a box empty, too small or too elongated."""

    def bad(box: Sequence[float]) -> tuple[bool, bool, bool]:
        short, long = sorted(box[2:])
        empty = not short > 0
        return empty, short < settings.min_side_px, long > settings.max_aspect_ratio * short

    return any(new and not old for old, new in zip(bad(before), bad(after), strict=True))


def figure(value: float, digits: int = 4) -> str:
    """Format a number with a few digits, without exponents for ordinary numbers.

    Examples
    --------
    >>> figure(27225.0), figure(12.3456), figure(0.5), figure(1e-7)
    ('27,225', '12.35', '0.5', '1e-07')
    """
    return f"{value:,.0f}" if 1000 <= value < _WHOLE else f"{value:.{digits}g}"


def figure_unlike(value: float, limit: float, digits: int = 4) -> str:
    """Format a number with as many digits as distinguish it from a limit.

    Examples
    --------
    >>> figure_unlike(20.9174, 20, 3), figure_unlike(20.0213, 20, 3), figure_unlike(20, 20)
    ('20.9', '20.02', '20')
    """
    while digits < _ALL_DIGITS and figure(value, digits) == figure(limit, digits):
        digits += 1
    return figure(value, digits)


def rounded_number(value: float) -> int | float:
    """Return a coordinate rounded to six decimals, as an int if it is integral.

    Examples
    --------
    >>> rounded_number(12.0), rounded_number(0.1 + 0.2), rounded_number(1e-9)
    (12, 0.3, 1e-09)
    """
    value = float(value)
    rounded = round(value, 6) or value
    return int(rounded) if rounded.is_integer() and abs(rounded) < _WHOLE else rounded


def rounded_values(values: Sequence[float] | FloatArray) -> list[int | float]:
    """Return rounded coordinates; see `rounded_number`."""
    return [rounded_number(value) for value in values]
