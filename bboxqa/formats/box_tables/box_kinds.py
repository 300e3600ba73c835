"""The layout and the unit of the boxes of a table, from all of its numbers."""

from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import nan

import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.box_tables.box_values import (
    Cells,
    are_shares,
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


@dataclass(frozen=True, slots=True)
class BoxKind:
    """The layout and the unit of the boxes of a table."""

    form: str
    is_share: bool


def box_kind_of(member: Member, columns: Columns, parts: Iterable[TablePart]) -> BoxKind:
    """Detect the kind of boxes from the numbers of a table."""
    found, sizes = array("d"), array("d")
    form = choices().box_format or columns.form
    for part in parts:
        if part.plain is not None:
            # One number shows that boxes of a known layout are in pixels.
            if (np.abs(part.plain.boxes) > 1).any():
                return BoxKind(form, is_share=False)
            found.frombytes(part.plain.boxes.tobytes())
            continue
        for cells, box in _boxes(part, columns):
            if form and (max(box) > 1 or min(box) < -1):
                return BoxKind(form, is_share=False)
            found.extend(box)
            # Image sizes are needed only if nothing else shows the layout.
            if not form:
                sizes.extend(side_of(cells.get(f"image_{side}")) or nan for side in SIDES)
    boxes, known = np.array(found).reshape(-1, 4), np.array(sizes).reshape(-1, 2)
    is_share = are_shares(boxes)
    if not form and len(boxes):
        form = form_of(boxes, np.ones_like(known) if is_share else known)
        if not form:
            name = one_line(columns.of.get("bbox") or columns.of["objects"])
            both = f"{name!r} may hold left, top, width and height, or two corners"
            raise DatasetError([f"{member.shown}: {both}: all numbers fit both"], _FORM)
    return BoxKind(form or "xywh", is_share)


def _boxes(part: TablePart, columns: Columns) -> Iterator[tuple[Cells, list[float]]]:
    """Yield the cells and the numbers of boxes; others become defects when they are translated."""
    rows = (row for _, row in part.rows() if "" not in row)
    for cells in (each for row in rows for each in boxes_in(row, columns)):
        with suppress(ValueProblemError):
            if (box := numbers_of_box(cells, columns.form)) is not None:
                yield cells, box
