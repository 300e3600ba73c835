"""Rotated boxes: from five or eight numbers, from outlines of four corners, or from an angle."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray
from bboxqa.core.text import count
from bboxqa.formats.annotations.columns import BoxForm, RotatedColumns
from bboxqa.formats.document.annotation_columns import AnnotationColumns
from bboxqa.formats.document.raw_values import FARTHEST
from bboxqa.model.shapes.rotated_boxes import (
    FiveNumbers,
    corners,
    from_corners,
    turned_to,
    upright,
)

_FORMS: tuple[FiveNumbers, ...] = get_args(FiveNumbers)
_FIVE, _EIGHT = 5, 8
# Corners this close to the corners of an outline, in pixels or as a share of the longer side, are
# the same corners.
_ROUNDED, _SHARE = 1.0, 0.01


@dataclass(frozen=True, slots=True, eq=False)
class BoxNumbers:
    """The boxes of N annotations that are written with five or eight numbers."""

    five: IndexArray
    """(A,) int64. The annotations with five numbers."""
    boxes: FloatArray
    """(A, 5) float64. Their rotated boxes."""
    eight: IndexArray
    """(B,) int64. The annotations with the eight numbers of four corners."""
    points: FloatArray
    """(B, 4, 2) float64. Their corners."""
    notes: tuple[str, ...]
    """How five numbers are read, and why."""

    def bounds(self) -> tuple[IndexArray, FloatArray]:
        """Return the annotations, and their boxes as x, y, width and height."""
        low = self.points.min(1)
        of_eight = np.concatenate([low, self.points.max(1) - low], axis=1)
        of_five = bounding_boxes(self.boxes)
        # Negative sides are kept, so that the boxes are refused.
        wrong = (self.boxes[:, 2:4] < 0).any(1)
        of_five[wrong, 2:] = self.boxes[wrong, 2:4]
        return np.concatenate([self.five, self.eight]), np.concatenate([of_five, of_eight])


def has_more_numbers(columns: AnnotationColumns) -> bool:
    """Return whether most boxes of a file have five or eight numbers."""
    return 2 * int((columns.rotations.n_numbers > 0).sum()) > len(columns)


def box_numbers(columns: AnnotationColumns, said: FiveNumbers | None) -> BoxNumbers:
    """Return the boxes of five and eight numbers; `said` is the layout that the user chose."""
    of = columns.rotations
    are_five, are_eight = of.n_numbers == _FIVE, of.n_numbers == _EIGHT
    five, values = of.row[are_five], of.values[are_five, :_FIVE]
    eight, points = of.row[are_eight], of.values[are_eight].reshape(-1, 4, 2)
    if not len(five):
        notes = () if said is None else ("no box has five numbers: --rotated has no effect",)
        return BoxNumbers(five, values, eight, points, notes)
    form, why = (said, "as asked for") if said is not None else _meaning(columns, five, values)
    notes = (f"{count(len(five), 'box', 'boxes')} of five numbers taken as {form}, {why}",)
    if n_four := len(columns) - len(of.row[of.n_numbers > 0]):
        boxes = count(n_four, "box", "boxes")
        notes += (f"{boxes} of four numbers beside them taken as x, y, width, height, upright",)
    return BoxNumbers(five, rotated_of(values, form), eight, points, notes)


def _meaning(
    columns: AnnotationColumns, rows: IndexArray, values: FloatArray
) -> tuple[FiveNumbers, str]:
    """Return the layout of five numbers, and the reason for it."""
    of_outlines, points = quadrilaterals(columns)
    known = np.isin(of_outlines, rows)
    given = values[np.searchsorted(rows, of_outlines[known])]
    n_outlines = int(known.sum())
    fits = {form: int(_fit(rotated_of(given, form), points[known]).sum()) for form in _FORMS}
    best = max(fits.values())
    if 2 * best > n_outlines:
        form = next(form for form in _FORMS if fits[form] == best)
        return form, f"as {best:,} of {count(n_outlines, 'outline')} beside them show"
    other = "; if they are not: --rotated"
    largest = float(np.abs(values[:, 4]).max())
    if not largest:
        return "cxcywh-ccw-degrees", f"and all angles are 0{other}"
    if largest <= 2 * np.pi:
        return "cxcywh-cw-radians", f"as no angle is above {largest:.4g}, as mmrotate writes{other}"
    return "cxcywh-ccw-degrees", f"as angles reach {largest:.4g}, as detectron2 writes{other}"


def _fit(boxes: FloatArray, points: FloatArray) -> BoolArray:
    """Return which boxes have the same corners as their outline, in any order."""
    apart = np.abs(corners(boxes)[:, :, None] - points[:, None]).max(3).min(2).max(1, initial=0)
    fits: BoolArray = apart <= np.maximum(_ROUNDED, _SHARE * boxes[:, 2:4].max(1, initial=0))
    return fits


def rotated_of(values: FloatArray, form: FiveNumbers) -> FloatArray:
    """Return rotated boxes, (N, 5), from boxes of five numbers in a layout.

    Examples
    --------
    >>> rotated_of(np.array([[10.0, 20, 4, 2, 30]]), "xywh-ccw-degrees").round(9).tolist()
    [[12.0, 21.0, 4.0, 2.0, 330.0]]
    """
    origin, direction, unit = form.split("-")
    boxes = values.copy()
    if origin == "xywh":
        boxes[:, :2] += boxes[:, 2:4] / 2
    angle = np.rad2deg(values[:, 4]) if unit == "radians" else values[:, 4]
    boxes[:, 4] = np.mod(angle if direction == "cw" else -angle, 360)
    boxes[boxes[:, 4] >= 360, 4] = 0
    return boxes


def quadrilaterals(columns: AnnotationColumns) -> tuple[IndexArray, FloatArray]:
    """Return the annotations whose outline has four corners, and these, (K, 4, 2).

    The outline is one ring, which may be closed by a fifth point.
    """
    rings = columns.rings
    n_rings = np.bincount(rings.row, minlength=len(columns))
    first, n_points = rings.offsets[:-1], np.diff(rings.offsets)
    alone = (n_rings[rings.row] == 1) & (rings.n_numbers % 2 == 0)
    closed = np.flatnonzero(alone & (n_points == _FIVE))
    is_closed = (rings.xy[first[closed]] == rings.xy[first[closed] + 4]).all(1)
    found = np.sort(np.concatenate([np.flatnonzero(alone & (n_points == 4)), closed[is_closed]]))
    return rings.row[found], rings.xy[first[found][:, None] + np.arange(4)]


def rotated_columns(
    columns: AnnotationColumns, bbox: FloatArray, numbers: BoxNumbers | None
) -> RotatedColumns:
    """Return the rotated boxes of annotations with (N, 4) boxes.

    An outline takes precedence over an angle, also if it is upright.
    """
    n = len(columns)
    box, form = upright(bbox), np.zeros(n, np.uint8)
    has_outline = np.zeros(n, np.bool_)
    has_outline[columns.rings.row] = has_outline[columns.rles.row] = True
    form[has_outline] = BoxForm.OTHER
    _put_corners(box, form, *quadrilaterals(columns))
    if numbers is not None:
        _put_corners(box, form, numbers.eight, numbers.points)
    said = np.full(n, np.nan)
    said[list(columns.angles)] = list(columns.angles.values())
    known = np.abs(said) < FARTHEST
    is_turned = (
        known
        & (form == BoxForm.UPRIGHT)
        & (np.mod(np.where(known, said, 0), 360) != 0)
        & ~has_outline
    )
    box[is_turned, 4], form[is_turned] = np.mod(said[is_turned], 360), BoxForm.ANGLE
    named = np.flatnonzero(known & (form == BoxForm.RECTANGLE))
    box[named] = turned_to(box[named], said[named])
    if numbers is not None:
        box[numbers.five], form[numbers.five] = numbers.boxes, BoxForm.ANGLE
    return RotatedColumns(box, form)


def _put_corners(box: FloatArray, form: ByteArray, rows: IndexArray, points: FloatArray) -> None:
    box[rows], is_rectangle = from_corners(points)
    form[rows] = np.where(is_rectangle, BoxForm.RECTANGLE, BoxForm.QUADRILATERAL)


def bounding_boxes(boxes: FloatArray) -> FloatArray:
    """Return the bounds of rotated boxes as x, y, width and height, (N, 4)."""
    points = corners(boxes)
    low = points.min(1)
    return np.concatenate([low, points.max(1) - low], axis=1)


def rotated_notes(form: ByteArray) -> Iterator[str]:
    """Yield notes on shapes that comparing rotated boxes simplifies."""
    number = np.bincount(form, minlength=len(BoxForm)).tolist()
    yield from outline_notes(number[BoxForm.QUADRILATERAL], number[BoxForm.OTHER])


def outline_notes(n_quadrilaterals: int, n_others: int) -> Iterator[str]:
    """Yield notes on how outlines other than rotated boxes are compared."""
    if some := n_quadrilaterals:
        is_ = "is not a rectangle: it is" if some == 1 else "are not rectangles: each is"
        yield (
            f"{count(some, 'outline')} with four corners {is_} compared by the smallest rectangle "
            "around it"
        )
    if some := n_others:
        is_ = "is" if some == 1 else "are"
        yield (
            f"{count(some, 'other outline')} {is_} compared by the upright box; --similarity "
            "polygon compares outlines"
        )
