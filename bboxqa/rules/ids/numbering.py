"""New ids for fixes, so that rules that fix an id for different reasons write the same id."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, IndexArray, find
from bboxqa.formats.columns import Kind
from bboxqa.rules.base.reporting import first_occurrence
from bboxqa.rules.facts.document import Document, Records
from bboxqa.rules.facts.file_kinds import kind_of

_LISTS = {"image_id": "images", "category_id": "categories"}

_LARGEST = 2**63 - 1


def references(document: Document) -> list[str]:
    """Return the annotation keys that refer to images or categories in this kind of file.

    In captions, a category_id refers to nothing.
    """
    return [key for key in _LISTS if key in kind_of(document).required]


def new_ids(document: Document) -> IndexArray:
    """Return the id of each annotation after all fixes of annotation ids, (N,) int64.

    0 and repeated ids are replaced by the next free number above all ids. The result is 0 where the
    id cannot be converted to a number.
    """
    columns = document.annotations
    result = np.where(columns.whole["id"], columns.id, 0)
    first = first_occurrence(columns.id, columns.whole["id"])
    repeated = (first >= 0) & (first != np.arange(len(first)))
    replaced = np.flatnonzero(columns.whole["id"] & (repeated | (columns.id == 0)))
    largest = int(max(result.max(initial=0), 0))
    fits = largest + len(replaced) <= _LARGEST
    if len(replaced):
        result[replaced] = largest + 1 + np.arange(len(replaced)) if fits else 0
    return result


def is_unique(ids: IndexArray, whole: BoolArray) -> BoolArray:
    """Return which ids are unique whole numbers, (N,) bool."""
    first = first_occurrence(ids, whole)
    counts = np.bincount(first[whole], minlength=len(ids))
    single: BoolArray = counts[first] == 1
    return whole & single


def gets_whole_id(records: Records) -> BoolArray:
    """Return which ids of images or categories are whole numbers, also after a fix, (I,) bool."""
    return records.exact | (is_unique(records.id, records.whole) & (records.id >= 0))


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """The references of annotations to the images, or to the categories."""

    key: str
    """Either "image_id" or "category_id"."""
    name: str
    """The list that holds the records."""
    records: Records
    is_complete: bool
    """Whether the list was read to its end; if not, references cannot be judged."""
    ids: IndexArray
    """(N,) int64. The reference as an integer, as in `Records.id`."""
    whole: BoolArray
    named: BoolArray
    """(N,) bool. Whether it is a whole number in any notation, and whether it is an id of any type.
    """
    target: IndexArray
    """(N,) int64. The row of the first record with that id in any notation; -1 for none."""
    kind: ByteArray
    """(N,) uint8. The `Kind` of the reference."""
    mixed: BoolArray
    """(N,) bool. Whether records have that number, but only in another type: integer, float (7.0)
    or text.
    """
    fixable: BoolArray
    """(N,) bool. Whether the reference and the id of the record are equal once written as integers.
    """


def link(document: Document, key: str) -> Link:
    """Return the references under a key of annotations."""
    columns = document.annotations
    images = key == "image_id"
    records = document.images if images else document.categories
    target = document.image if images else document.category
    ids = columns.image_id if images else columns.category_id
    kind = columns.kind[key]
    is_complete = document.complete(_LISTS[key])
    mixed = fixable = np.zeros(len(columns), np.bool_)
    if is_complete and not (records.exact.all() and (kind == Kind.INT).all()):
        found = target >= 0
        within = {
            kind_of: find(records.id[records.whole & _written_as(records, kind_of)], ids) >= 0
            for kind_of in (Kind.INT, Kind.FLOAT, Kind.TEXT)
        }
        equal = [(kind == kind_of) & there for kind_of, there in within.items()]
        mixed = found & columns.whole[key] & ~np.logical_or.reduce(equal)
        ambiguous = within[Kind.TEXT] & (within[Kind.INT] | within[Kind.FLOAT])
        certain = np.append(gets_whole_id(records), False)
        fixable = found & certain[target] & ~ambiguous
    return Link(
        key=key, name=_LISTS[key], records=records, is_complete=is_complete,
        ids=ids, whole=columns.whole[key], named=columns.named(key), target=target, kind=kind,
        mixed=mixed, fixable=fixable,
    )  # fmt: skip


def _written_as(records: Records, kind: Kind) -> BoolArray:
    wanted = {Kind.INT: int, Kind.FLOAT: float, Kind.TEXT: str}[kind]
    raw = (records.get(row, "id") for row in range(len(records)))
    return np.array([type(value) is wanted for value in raw], np.bool_)
