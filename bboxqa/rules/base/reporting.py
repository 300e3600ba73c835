"""Reporting defects of single records, or of many records at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import (
    Defect,
    Hits,
    LazyEdits,
    Summary,
    described_hits,
    hits,
)
from bboxqa.rules.facts.document import Document

_EXAMPLES = 3
# At least this many defects outside annotations are grouped into one finding per rule.
_MANY_PLACES = 20

Place = tuple[str, int, *tuple[str | int, ...]]
"""The list, the row, and the keys inside the record."""


def record_defect(document: Document, place: Place, message: str, **more: Any) -> Defect:
    """Return a defect of one record, with the pointer to the value and the ids of the record.

    Parameters
    ----------
    document : Document
    place : tuple
        The location of the value, such as ``("annotations", 7, "bbox")``.
    message : str
    **more
        Further fields of `Defect`.
    """
    ids = ids_of(document, place[0], place[1])
    return Defect(message, pointer_to(*place), **{"ids": ids, **more})


def record_hits(
    document: Document,
    where: BoolArray | IndexArray,
    says: Callable[[int], str],
    *keys: str,
    name: str = "annotations",
    expected: str = "",
    found: Callable[[int], Any] | None = None,
    edits: Callable[[int], Iterable[Edit]] | None = None,
    summary: Summary | str | None = None,
    owner: IndexArray | None = None,
    inner: Callable[[int], tuple[str | int, ...]] | None = None,
    mark: Callable[[int], str] | None = None,
    **more: Any,
) -> Iterator[Hits]:
    """Yield the records of a mask or an index as `Hits`, if there are any.

    Parameters
    ----------
    document : Document
    where : (N,) bool, or (H,) int64
    says, found, edits, inner, mark : callable
        Called with the number of a record, or of a part: what is wrong, without what was expected;
        the value; the edits that fix it; further keys that lead to the value; what identifies the
        finding where there are several of one record.
    *keys : str
        The keys that lead from the record to the value.
    name : str
        The list of the records.
    expected : str
        What was expected; it is added to the message, and to a summary that is a text.
    summary, owner, **more
        As in `hits`.
    """
    ends = f"; expected {expected}" if expected else ""

    def describe(at: int) -> Defect:
        row = at if owner is None else int(owner[at])
        return record_defect(
            document,
            (name, row, *(*keys, *(inner(at) if inner else ()))),
            says(at) + ends,
            found=found and found(at),
            expected=expected,
            edits=tuple(edits(at)) if edits else (),
            key=mark(at) if mark else "",
        )

    text = summary + ends if isinstance(summary, str) else summary
    return hits(where, describe, owner=owner, summary=text, edits=edits, name=name, **more)


def record_edit(name: str, row: int, *keys: str | int, value: Any = None) -> tuple[Edit]:
    """Return the edit that replaces a value of a record, or removes the record or value."""
    pointer = pointer_to(name, row, *keys)
    return (Edit(pointer, "remove") if value is None else Edit(pointer, "replace", value),)


def summary_defect(
    message: str, name: str, rows: Sequence[int] | IndexArray, *keys: str, **more: Any
) -> Defect:
    """Return one defect for many records of a list.

    Parameters
    ----------
    message : str
        What is wrong with all of them.
    name : str
        The name of the list.
    rows : (H,) int64
        The places of the records in the list.
    *keys : str
        The keys that lead from each record to the value.
    **more
        Further fields of `Defect`; by default, the pointer leads to the list.

    Examples
    --------
    >>> found = summary_defect("all ids are bad", "images", np.arange(9), "id")
    >>> found.pointer, found.count, found.examples
    ('/images', 9, ('/images/0/id', '/images/1/id', '/images/2/id'))
    """
    examples = tuple(pointer_to(name, int(row), *keys) for row in rows[:_EXAMPLES])
    records = (name, np.asarray(rows, np.int64))
    fields = {"pointer": pointer_to(name), "records": records, **more}
    return Defect(message, count=len(rows), examples=examples, **fields)


def summary_hits(
    message: str,
    name: str,
    rows: Sequence[int] | IndexArray,
    *keys: str,
    severity: Severity | None = None,
    **more: Any,
) -> Iterator[Hits]:
    """Yield the `summary_defect` of records as a single finding, if there are any."""
    if len(rows):
        yield from described_hits([summary_defect(message, name, rows, *keys, **more)], severity)


def row_edits(rows: IndexArray, edits: Callable[[int], Iterable[Edit]]) -> LazyEdits:
    """Return the edits of many records, each created from its row when needed."""
    return LazyEdits(lambda: (edit for row in rows.tolist() for edit in edits(row)))


Edits = Callable[[int, Callable[[], Any]], tuple[Edit, ...]]
"""Called with a row and a function that returns the value; returns the edits that fix it."""


def no_edits(_row: int, _value: Callable[[], Any]) -> tuple[Edit, ...]:
    """Return no edits."""
    return ()


def value_hits(
    document: Document,
    name: str,
    key: str,
    where: BoolArray | IndexArray,
    expected: str,
    edits: Edits = no_edits,
    severity: Severity | None = None,
) -> Iterator[Hits]:
    """Yield the records of a list in which a key is missing or has a wrong value.

    `expected` says in words what the value should be, `edits` are as `Edits`, and a `severity`
    replaces that of the rule.
    """

    def value(row: int) -> Any:
        return _record(document, name, row).get(key)

    def what(row: int) -> str:
        record = _record(document, name, row)
        return shortened(record[key]) if key in record else "missing"

    return record_hits(
        document,
        where,
        lambda row: f"{key} is {what(row)}",
        key,
        name=name,
        expected=expected,
        found=value,
        edits=lambda row: edits(row, lambda: value(row)),
        summary=lambda rows, share: (
            f"{key} is missing or wrong in {share} (the first is {what(int(rows[0]))}); expected "
            f"{expected}"
        ),
        severity=severity,
        key=key,
        few=1,
    )


def _record(document: Document, name: str, row: int) -> Mapping[str, Any]:
    if name == "annotations":
        return document.record(row)
    value = (document.images if name == "images" else document.categories).values[row]
    return value if isinstance(value, dict) else {}


def ids_of(document: Document, name: str, row: int) -> Mapping[str, Any]:
    """Return the ids in a record of a list, by the kind of record that they identify."""
    if name == "annotations":
        return document.ids(row)
    noun = "image" if name == "images" else "category"
    record = _record(document, name, row)
    return {noun: record["id"]} if "id" in record else {}


def first_occurrence(ids: IndexArray, whole: BoolArray) -> IndexArray:
    """Return the first record with the same id for each record, which may be itself.

    Parameters
    ----------
    ids : (N,) int64
    whole : (N,) bool
        Whether the record has a valid id.

    Returns
    -------
    (N,) int64
        Row of the first record; -1 if the record has no valid id.

    Examples
    --------
    >>> first_occurrence(np.array([7, 8, 0, 7]), np.array([True, True, False, True]))
    array([ 0,  1, -1,  0])
    """
    rows = np.flatnonzero(whole)
    first = np.full(len(ids), -1)
    usable = ids[rows]
    # Most files have ascending ids, which need no sorting.
    if (np.diff(usable) > 0).all():
        first[rows] = rows
        return first
    _, begin, inverse = np.unique(usable, return_index=True, return_inverse=True)
    first[rows] = rows[begin[inverse]]
    return first


def found_defects(code: str) -> Callable[[Document, ValidateSettings], Iterator[Hits]]:
    """Return a check that yields the defects with a code."""
    return partial(_found, code)


def _found(code: str, document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """Yield the defects with a code, of annotations and of other records."""
    origin = document.reading.origin
    of_code = [
        (n, each) for n, each in enumerate(origin.defects if origin else ()) if each.code == code
    ]
    of_rows = [each for _, each in of_code if each.row >= 0]

    def describe(place: int) -> Defect:
        found = of_rows[place]
        pointer = pointer_to("annotations", found.row)
        return Defect(found.message, pointer, ids=document.ids(found.row))

    if of_rows:
        yield Hits(np.array([each.row for each in of_rows], np.int64), describe)
    others = [Defect(each.message, f"/defects/{place}") for place, each in of_code if each.row < 0]
    if len(others) >= _MANY_PLACES:
        pointers = tuple(each.pointer for each in others[:_EXAMPLES])
        message = f"{len(others):,} times; the first: {others[0].message}"
        others = [Defect(message, pointers[0], count=len(others), examples=pointers)]
    yield from described_hits(others)
