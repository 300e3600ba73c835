"""S: ids and references that are not whole numbers, S003."""

from collections.abc import Callable, Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to
from bboxqa.formats.columns import Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import value_hits
from bboxqa.rules.base.rule import Hits, Rule
from bboxqa.rules.facts.document import Document, Records
from bboxqa.rules.ids.numbering import gets_whole_id, is_unique, link, new_ids, references

_EXPECTED = "a whole number, 0 or more"
_IN_RANGE = f"a whole number up to {2**63 - 1:,}"


def _ids(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    yield from _of_annotations(document)
    for name, records in document.lists:
        yield from _of_records(document, name, records)
    for key in references(document):
        yield from _references(document, key)


def _of_annotations(document: Document) -> Iterator[Hits]:
    columns = document.annotations
    kind, whole = columns.kind["id"], columns.whole["id"]
    large = (kind == Kind.INT) & ~whole
    odd = (kind != Kind.MISSING) & ~((kind == Kind.INT) & whole & (columns.id >= 0))
    if odd.any():
        new = np.where(is_unique(columns.id, whole) & (kind != Kind.INT), new_ids(document), 0)
        yield from _found(document, "annotations", "id", odd, large, new, new > 0)


def _of_records(document: Document, name: str, records: Records) -> Iterator[Hits]:
    there = np.array([isinstance(v, dict) and "id" in v for v in records.values], np.bool_)
    odd = there & ~(records.exact & (records.id >= 0))
    is_integer = [type(records.get(row, "id")) is int for row in range(len(records))]
    large = np.array(is_integer, np.bool_) & ~records.whole
    fixable = gets_whole_id(records) & ~records.exact
    yield from _found(document, name, "id", odd, large, records.id, fixable)


def _references(document: Document, key: str) -> Iterator[Hits]:
    found = link(document, key)
    exact = (found.kind == Kind.INT) & found.whole
    odd = (found.kind != Kind.MISSING) & ~exact & ~found.mixed
    large = (found.kind == Kind.INT) & ~found.whole
    yield from _found(document, "annotations", key, odd, large, found.ids, found.fixable)


def _found(
    document: Document,
    name: str,
    key: str,
    odd: BoolArray,
    large: BoolArray,
    new: IndexArray,
    fixable: BoolArray,
) -> Iterator[Hits]:
    """Yield the records whose value of a key is not a whole number, or one that is too large."""

    def edits(row: int, _value: Callable[[], object]) -> tuple[Edit, ...]:
        return (Edit(pointer_to(name, row, key), "replace", int(new[row])),) if fixable[row] else ()

    for where, expected in ((odd & ~large, _EXPECTED), (odd & large, _IN_RANGE)):
        yield from value_hits(document, name, key, np.flatnonzero(where), expected, edits)


RULES = (
    Rule(
        code="S003",
        title="id is not a valid whole number",
        severity=Severity.ERROR,
        breaks="""pycocotools treats text as a list of ids ("12" is looked up as "1" and "2":
            KeyError), finds nothing for 12.0, and cannot evaluate ids such as "a".""",
        explanation="""An id, an image_id or a category_id is text, a fraction, true or false, null,
            or too large; or an id is negative. Spreadsheets, pandas and VGG Image Annotator write
            such ids. The fix writes "7" and 7.0 as 7, together with the references to it, if no
            other record of the list has that id. Other texts, such as "im_1", have no fix: `agree`
            reads them as they are, and `bboxqa convert` writes a copy with whole numbers.""",
        bad={"annotations": [{"id": "7"}]},
        good={"annotations": [{"id": 7}]},
        check=_ids,
        fix="safe",
    ),
)
