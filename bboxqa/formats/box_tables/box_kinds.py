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
from bboxqa.formats.translation.members import Member
from bboxqa.formats.translation.untrusted import ValueProblemError

_SIDES = ("width", "height")
_FORM = "Say which it is: --box-format xywh, xyxy or cxcywh"


@dataclass(frozen=True, slots=True)
class BoxKind:
    """The layout and the unit of the boxes of a table."""

    form: str
    is_share: bool
    has_empty: bool
    """Whether some rows have no box, as their annotators were asked and drew nothing."""


def box_kind_of(member: Member, columns: Columns, parts: Iterable[TablePart]) -> BoxKind:
    """Detect the kind of boxes from all numbers of a table."""
    found, sizes = array("d"), array("d")
    n_empty = 0
    form = choices().box_format or columns.form
    for cells, box in _readable(_without_plain(parts, columns, found), columns.form):
        n_empty += box is None
        if box is not None:
            found.extend(box)
            # Image sizes are needed only if nothing else shows the layout.
            if not form:
                sizes.extend(side_of(cells.get(f"image_{side}")) or nan for side in _SIDES)
    boxes, known = np.array(found).reshape(-1, 4), np.array(sizes).reshape(-1, 2)
    is_share = are_shares(boxes)
    if not form and len(boxes):
        form = form_of(boxes, np.ones_like(known) if is_share else known)
        if not form:
            name = one_line(columns.of.get("bbox") or columns.of["objects"])
            both = f"{name!r} may hold left, top, width and height, or two corners"
            raise DatasetError([f"{member.shown}: {both}: all numbers fit both"], _FORM)
    return BoxKind(form or "xywh", is_share, n_empty > 0)


def _readable(rows: Iterable[Cells], form: str) -> Iterator[tuple[Cells, list[float] | None]]:
    """Yield the cells and the numbers of boxes; others become defects when they are translated."""
    for cells in rows:
        with suppress(ValueProblemError):
            yield cells, numbers_of_box(cells, form)


def _without_plain(
    parts: Iterable[TablePart], columns: Columns, numbers: "array[float]"
) -> Iterator[Cells]:
    """Yield the cells of each box; the numbers of plain rows are added to `numbers` instead."""
    for part in parts:
        if part.plain is not None:
            numbers.frombytes(part.plain.boxes.tobytes())
            continue
        for _, row in part.rows():
            if "" not in row:
                yield from boxes_in(row, columns)
