"""Checks that report the defects found while a format was translated."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from bboxqa.formats.document import ToolDefect
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import Defect, Hits, described_hits
from bboxqa.rules.facts.document import Document

# At least this many defects outside annotations are grouped into one finding per rule.
_MANY = 20
_EXAMPLES = 3


def found_defects(code: str) -> Callable[[Document, ValidateSettings], Iterator[Hits]]:
    """Return a check that yields the defects with a code."""
    return partial(_found, code)


def _found(code: str, document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """Yield the defects with a code, of annotations and of other records."""
    origin = document.reading.origin
    if origin is None:
        return
    of_code = [(place, each) for place, each in enumerate(origin.defects) if each.code == code]
    of_rows = [each for _, each in of_code if each.row >= 0]
    if of_rows:
        rows = np.array([each.row for each in of_rows], np.int64)
        yield Hits(rows, lambda place: _of_row(document, of_rows[place]))
    others = [_of_place(place, each) for place, each in of_code if each.row < 0]
    if len(others) < _MANY:
        yield from described_hits(others)
        return
    pointers = tuple(each.pointer for each in others[:_EXAMPLES])
    message = f"{len(others):,} times; the first: {others[0].message}"
    yield from described_hits(
        [Defect(message, others[0].pointer, count=len(others), examples=pointers)]
    )


def _of_row(document: Document, defect: ToolDefect) -> Defect:
    pointer = f"/annotations/{defect.row}"
    return Defect(defect.message, pointer, ids=document.ids(defect.row))


def _of_place(place: int, defect: ToolDefect) -> Defect:
    return Defect(defect.message, f"/defects/{place}")
