"""The layout and the unit of the boxes of a table, from all of its numbers."""

from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from math import nan
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.box_tables.box_units import UnitCounts
from bboxqa.formats.box_tables.box_values import (
    Cells,
    boxes_in,
    form_of,
    numbers_of_box,
    side_of,
)
from bboxqa.formats.box_tables.plain_tables import TablePart
from bboxqa.formats.box_tables.table_columns import Columns
from bboxqa.formats.translation.choices import choices
from bboxqa.formats.translation.collector import SIDES
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.untrusted import ValueProblemError

_FORM = "Say which it is: --box-format xywh, xyxy or cxcywh"
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class BoxKind:
    """The layout and the unit of the boxes of a table."""

    form: str
    is_share: bool


def box_kind_of(member: Member, columns: Columns, parts: Iterable[TablePart]) -> BoxKind:
    """Detect the kind of boxes from the numbers of a table, unless the user says it.

    Raises DatasetError if the numbers fit several kinds.
    """
    said, _, unit = (choices().box_format or "").partition("-")
    form = said or columns.form
    if unit:
        return BoxKind(form, is_share=unit == "shares")
    found, sizes, units = array("d"), array("d"), UnitCounts()
    for lines, boxes, sides in _boxes(parts, columns):
        units.add(lines, boxes)
        if form and units.are_surely_pixels():
            return BoxKind(form, is_share=False)
        # All numbers and image sizes are needed only if nothing else shows the layout.
        if not form:
            found.frombytes(boxes.tobytes())
            sizes.extend(sides)
    is_share = units.are_shares(member.shown, form or "xyxy")
    boxes, known = np.array(found).reshape(-1, 4), np.array(sizes).reshape(-1, 2)
    if not form and len(boxes):
        form = form_of(boxes, np.ones_like(known) if is_share else known)
        if not form:
            name = one_line(columns.of.get("bbox") or columns.of["objects"])
            both = f"{name!r} may hold left, top, width and height, or two corners"
            raise DatasetError([f"{member.shown}: {both}: all numbers fit both"], _FORM)
    return BoxKind(form or "xywh", is_share)


def _boxes(
    parts: Iterable[TablePart], columns: Columns
) -> Iterator[tuple[IndexArray, FloatArray, list[float]]]:
    """Yield lines, (N, 4) boxes and the sides of their images, where there are some.

    Cells that hold no numbers become defects when they are translated.
    """
    for part in parts:
        if part.plain is not None:
            lines = part.plain.line + np.arange(len(part.plain.boxes))
            yield lines, part.plain.boxes, []
            continue
        rows = _boxes_in_rows(part, columns)
        while chunk := list(islice(rows, _CHUNK)):
            lines = np.array([line for line, _, _ in chunk])
            sides = [side for _, cells, _ in chunk for side in _sides(cells)]
            yield lines, np.array([box for _, _, box in chunk]), sides


def _boxes_in_rows(part: TablePart, columns: Columns) -> Iterator[tuple[int, Cells, list[float]]]:
    for line, row in part.rows():
        for cells in _readable_boxes(row, columns):
            with suppress(ValueProblemError):
                if (box := numbers_of_box(cells, columns.form)) is not None:
                    yield line, cells, box


def _readable_boxes(row: dict[str, Any], columns: Columns) -> list[Cells]:
    with suppress(ValueProblemError):
        return [] if "" in row else boxes_in(row, columns)
    return []


def _sides(cells: Cells) -> list[float]:
    return [side_of(cells.get(f"image_{side}")) or nan for side in SIDES]
