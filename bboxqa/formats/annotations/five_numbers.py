"""The layout of boxes of five numbers: found in a file or given, and applied to its columns."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import ColumnBuilder, FloatArray
from bboxqa.core.blocks import blocks
from bboxqa.core.text import count
from bboxqa.formats.annotations.box_numbers import FORMS, TurnedNumbers, rotated_of
from bboxqa.formats.annotations.columns import Columns
from bboxqa.formats.annotations.joint_columns import odd_points_note
from bboxqa.formats.annotations.rotated_columns import (
    RotatedBuilder,
    bounding_boxes,
    rotated_notes,
)
from bboxqa.model.shapes.rotated_boxes import FiveNumbers


def settled(columns: Columns, said: FiveNumbers | None) -> tuple[Columns, tuple[str, ...]]:
    """Return the columns with boxes of five numbers as rotated boxes, and notes on the layout.

    `said` is the layout that the user chose; None to detect it.
    """
    numbers = columns.numbers
    columns, notes = _with_meaning(columns, said)
    if numbers is not None and columns.rotated is None and columns.segmentation is None:
        notes += tuple(_upright_notes(numbers))
    plain = columns.rotated is None and columns.segmentation is None and columns.keypoints is None
    if columns.n_turned and plain:
        notes += (_unturned_note(columns.n_turned),)
    if columns.n_odd_points:
        notes += (odd_points_note(columns.n_odd_points),)
    if columns.rotated is not None and columns.segmentation is None:
        notes += tuple(rotated_notes(columns.rotated.form))
    return columns, notes


def _upright_notes(numbers: TurnedNumbers) -> Iterator[str]:
    """Yield a note on the number of rotated boxes that are compared by their bounds."""
    if some := _extent(numbers)[0] + numbers.n_corners:
        boxes = f"{count(some, 'box', 'boxes')} of five or eight numbers"
        are = f"{'is' if some == 1 else 'are'} compared by the upright bounds"
        yield f"{boxes} {are}; --similarity obb compares rotated boxes"


def _unturned_note(n: int) -> str:
    """Return a note on the number of boxes whose rotation attribute is ignored."""
    has, its = ("has", "its bbox is") if n == 1 else ("have", "their bbox is")
    return (
        f"{count(n, 'annotation')} {has} an attribute 'rotation': {its} compared without it; "
        "--similarity obb compares rotated boxes"
    )


def _with_meaning(columns: Columns, said: FiveNumbers | None) -> tuple[Columns, tuple[str, ...]]:
    numbers = columns.numbers
    unused = () if said is None else ("no box has five numbers: --rotated has no effect",)
    if numbers is None:
        return columns, unused
    n_five, largest, n_turned = _extent(numbers)
    if not n_five:
        return replace(columns, numbers=None), unused
    form, why = said, "as asked for"
    if form is None:
        form, why = _meaning(numbers, largest, n_turned)
    some = count(n_five, "box", "boxes")
    notes = [f"{some} of five numbers taken as {form}, {why}"]
    if n_four := len(columns.bbox) - n_five - numbers.n_corners:
        upright = count(n_four, "box", "boxes")
        notes.append(f"{upright} of four numbers beside them taken as x, y, width, height, upright")
    bbox = ColumnBuilder(np.float64, 4)
    rotated = None if columns.rotated is None else RotatedBuilder()
    for part in blocks(len(columns.bbox)):
        plain = columns.bbox[part].copy()
        rows = np.flatnonzero(np.isfinite(numbers.values[part, 4]))
        boxes = rotated_of(numbers.values[part][rows], form)
        plain[rows] = _bounds(boxes)
        bbox.add(plain)
        if rotated is not None and columns.rotated is not None:
            rotated.add_columns(columns.rotated.put(part, rows, boxes))
    found = None if rotated is None else rotated.done()
    return replace(columns, bbox=bbox.done(), rotated=found, numbers=None), tuple(notes)


def _bounds(boxes: FloatArray) -> FloatArray:
    """Return bounds, with negative sides kept, so that the boxes are refused."""
    result = bounding_boxes(boxes)
    wrong = (boxes[:, 2:4] < 0).any(1)
    result[wrong, 2:] = boxes[wrong, 2:4]
    return result


def _extent(numbers: TurnedNumbers) -> tuple[int, float, int]:
    """Return the number of boxes with an angle, the largest angle, and how many are not 0."""
    n_five, largest, n_turned = 0, 0.0, 0
    for part in blocks(len(numbers.values)):
        angle = numbers.values[part, 4]
        angle = np.abs(angle[np.isfinite(angle)])
        n_five += len(angle)
        n_turned += int((angle > 0).sum())
        largest = max(largest, float(angle.max(initial=0)))
    return n_five, largest, n_turned


def _meaning(numbers: TurnedNumbers, largest: float, n_turned: int) -> tuple[FiveNumbers, str]:
    """Return the layout of five numbers, and the reason for it."""
    best = max(numbers.fits.values(), default=0)
    if 2 * best > numbers.n_outlines:
        form = next(form for form in FORMS if numbers.fits[form] == best)
        return form, f"as {best:,} of {count(numbers.n_outlines, 'outline')} beside them show"
    other = "; if they are not: --rotated"
    if not n_turned:
        return "cxcywh-ccw-degrees", f"and all angles are 0{other}"
    if largest <= 2 * np.pi:
        return "cxcywh-cw-radians", f"as no angle is above {largest:.4g}, as mmrotate writes{other}"
    return "cxcywh-ccw-degrees", f"as angles reach {largest:.4g}, as detectron2 writes{other}"
