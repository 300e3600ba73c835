"""Areas of annotations without outlines, compared with their boxes."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.blocks import rows_where
from bboxqa.model.settings import ValidateSettings

# If so many areas are smaller than boxes, they may be those of outlines.
_ENOUGH = 5
# So many equal areas of different boxes, and most of the smaller ones, are a placeholder.
_SAME = 10


@dataclass(frozen=True, slots=True, eq=False)
class BareAreas:
    """The areas of annotations without outlines that differ from their boxes.

    Attributes
    ----------
    off : (N,) bool
        The areas that are wrong.
    constant : (N,) bool
        Those of them that are one area, though their boxes have different sizes.
    are_of_outlines : bool
        Whether most areas are smaller than the boxes: areas of outlines that the file omits. Then
        those in `off` are larger than their boxes, which may be wrong as well.
    """

    off: BoolArray
    constant: BoolArray
    are_of_outlines: bool


def areas_differ(area: FloatArray, expected: FloatArray, settings: ValidateSettings) -> BoolArray:
    """Return which areas differ from the expected ones by more than the tolerance."""
    differ: BoolArray = np.abs(area - expected) > settings.area_tolerance * expected + 1
    return differ


def bare_areas(
    given: FloatArray, sides: FloatArray, boxed: BoolArray, settings: ValidateSettings
) -> BareAreas:
    """Return which annotations without outlines have an area that differs from the box."""
    n_rows = len(given)
    off = boxed & rows_where(
        n_rows, lambda rows: areas_differ(given[rows], sides[rows].prod(1), settings)
    )
    smaller = off & rows_where(
        n_rows, lambda rows: (given[rows] < sides[rows].prod(1)) & (given[rows] > 0)
    )
    if smaller.sum() < _ENOUGH or 2 * smaller.sum() <= boxed.sum():
        return BareAreas(off, np.zeros(n_rows, np.bool_), are_of_outlines=False)
    constant = _is_constant(given, sides, smaller, settings)
    are_of_outlines = not constant.any()
    return BareAreas(off & ~smaller | constant, constant, are_of_outlines)


def _is_constant(
    given: FloatArray, sides: FloatArray, rows: BoolArray, settings: ValidateSettings
) -> BoolArray:
    """Return which of the rows have the area that most of them have; none if boxes are alike."""
    values, n_each = np.unique(given[rows], return_counts=True)
    result: BoolArray = rows & (given == values[n_each.argmax()])
    area = sides[result].prod(1)
    differ = bool(areas_differ(area.max(), area.min(), settings))
    if n_each.max() < _SAME or 2 * n_each.max() <= rows.sum() or not differ:
        result[:] = False
    return result
