"""Ids as the fixes write them: rules that mend one id in different ways agree on the new one."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, IndexArray, find
from bboxqa.formats.document.annotation_columns import Kind
from bboxqa.rules.base.reporting import first_occurrence
from bboxqa.rules.facts.document import Document, Records

__all__ = ["REFERENCES", "Link", "gets_whole_id", "is_unique", "link", "new_ids"]

REFERENCES = {"image_id": "images", "category_id": "categories"}
"""The keys of an annotation that refer to another record, and the list where it stands."""

_LARGEST = 2**63 - 1


def new_ids(document: Document) -> IndexArray:
    """Return the id of each annotation after all fixes of annotation ids.

    An id that an earlier annotation has, and 0, give way to the next free number above all ids.

    Returns
    -------
    (N,) int64
        0 where there is no number, and no way to one.
    """
    columns = document.annotations
    result = np.where(columns.whole["id"], columns.id, 0)
    first = first_occurrence(columns.id, columns.whole["id"])
    again = (first >= 0) & (first != np.arange(len(first)))
    given = np.flatnonzero(columns.whole["id"] & (again | (columns.id == 0)))
    largest = int(max(result.max(initial=0), 0))
    fits = largest + len(given) <= _LARGEST
    if len(given):
        result[given] = largest + 1 + np.arange(len(given)) if fits else 0
    return result


def is_unique(ids: IndexArray, whole: BoolArray) -> BoolArray:
    """Return which ids are whole numbers that no other record has."""
    first = first_occurrence(ids, whole)
    counts = np.bincount(first[whole], minlength=len(ids))
    single: BoolArray = counts[first] == 1
    return whole & single


def gets_whole_id(records: Records) -> BoolArray:
    """Return which ids of images or categories are whole numbers, or are written so by a fix."""
    return records.exact | (is_unique(records.id, records.whole) & (records.id >= 0))


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """How annotations refer to the images, or to the categories.

    Attributes
    ----------
    key : str
        "image_id" or "category_id".
    name : str
        The list where the records stand.
    records : Records
    known : bool
        Whether all of them are known; if not, nothing can be said of the references.
    ids : (N,) int64
        The reference as a number; 0 where it is none.
    whole : (N,) bool
        Whether it is one.
    target : (N,) int64
        The first record with that number, however written; -1 for none.
    kind : (N,) uint8
        How the reference is written.
    mixed : (N,) bool
        Records have that number, but none has it written as the reference is: as a whole
        number, as a fraction (7.0), or as a text.
    mendable : (N,) bool
        Whether writing the reference as a number, and the id of the record too where it is not
        one, makes them equal.
    """

    key: str
    name: str
    records: Records
    known: bool
    ids: IndexArray
    whole: BoolArray
    target: IndexArray
    kind: ByteArray
    mixed: BoolArray
    mendable: BoolArray


def link(document: Document, key: str) -> Link:
    """Return how annotations refer to other records by a key."""
    columns = document.annotations
    images = key == "image_id"
    records = document.images if images else document.categories
    target = document.image if images else document.category
    ids = columns.image_id if images else columns.category_id
    kind = columns.kind[key]
    known = document.complete(REFERENCES[key])
    mixed = mendable = np.zeros(len(columns), np.bool_)
    if known and not (records.exact.all() and (kind == Kind.INT).all()):
        found = target >= 0
        within = {
            kind_of: find(records.id[records.whole & _written_as(records, kind_of)], ids) >= 0
            for kind_of in (Kind.INT, Kind.FLOAT, Kind.TEXT)
        }
        equal = [(kind == kind_of) & there for kind_of, there in within.items()]
        mixed = found & ~np.logical_or.reduce(equal)
        ambiguous = within[Kind.TEXT] & (within[Kind.INT] | within[Kind.FLOAT])
        certain = np.append(gets_whole_id(records), False)
        mendable = found & certain[target] & ~ambiguous
    return Link(
        key=key, name=REFERENCES[key], records=records, known=known, ids=ids,
        whole=columns.whole[key], target=target, kind=kind, mixed=mixed, mendable=mendable,
    )  # fmt: skip


def _written_as(records: Records, kind: Kind) -> BoolArray:
    wanted = {Kind.INT: int, Kind.FLOAT: float, Kind.TEXT: str}[kind]
    raw = (records.get(row, "id") for row in range(len(records)))
    return np.array([type(value) is wanted for value in raw], np.bool_)
