"""What several families of rules need: one finding for a defect that most records share."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.document.annotation_columns import Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.rules.base.rule import Defect, Hits, LazyEdits, hits
from bboxqa.rules.facts.document import Document, Records

__all__ = [
    "each_or_summary",
    "first_occurrence",
    "ids_of",
    "n_records",
    "summary_defect",
    "value_hits",
]

_EXAMPLES = 3


def each_or_summary(
    rows: IndexArray,
    total: int,
    describe: Callable[[int], Defect],
    describe_all: Callable[[], Defect],
    severity: Severity | None = None,
) -> Iterator[Hits]:
    """Yield one finding for each record, or a single one where more than half share the defect.

    Parameters
    ----------
    rows : (H,) int64
        The records with the defect.
    total : int
        How many records there are.
    describe : callable
        Takes the number of a record.
    describe_all : callable
        Returns what is said once for all of them.
    severity : Severity, optional
        In place of the rule's own.
    """
    if len(rows) > 1 and 2 * len(rows) > total:
        yield Hits(np.zeros(1, np.int64), lambda _: describe_all(), severity)
    else:
        yield from hits(rows, describe, severity)


def summary_defect(
    message: str, rows: IndexArray, pointer: Callable[[int], str], **more: Any
) -> Defect:
    """Return what is said of many records of one list at once.

    Parameters
    ----------
    message : str
    rows : (H,) int64
    pointer : callable
        Takes the number of a record and returns where its defect is.
    **more
        The other fields of `Defect`.

    Examples
    --------
    >>> pointer = lambda row: pointer_to("images", row, "id")
    >>> found = summary_defect("all are bad", np.arange(9), pointer)
    >>> found.pointer, found.count, found.examples
    ('/images', 9, ('/images/0/id', '/images/1/id', '/images/2/id'))
    """
    examples = tuple(pointer(row) for row in rows[:_EXAMPLES].tolist())
    parent = pointer_to(examples[0].split("/")[1])
    return Defect(message, pointer=parent, count=len(rows), examples=examples, **more)


Edits = Callable[[int, Callable[[], Any]], tuple[Edit, ...]]
"""Takes the number of a record, and what gives the value there; returns what mends it."""


def no_edits(_row: int, _value: Callable[[], Any]) -> tuple[Edit, ...]:
    """Return nothing: no fix mends it."""
    return ()


def value_hits(
    document: Document,
    name: str,
    key: str,
    rows: IndexArray,
    expected: str,
    edits: Edits = no_edits,
    severity: Severity | None = None,
) -> Iterator[Hits]:
    """Yield records of a list in which a key is missing or holds something wrong.

    Parameters
    ----------
    document : Document
    name : str
        The list.
    key : str
    rows : (H,) int64
        The records.
    expected : str
        What should stand there.
    edits : callable
        See `Edits`.
    severity : Severity, optional
        In place of the rule's own.
    """

    def pointer(row: int) -> str:
        return pointer_to(name, row, key)

    def describe(row: int) -> Defect:
        record = _record(document, name, row)
        value = record.get(key)
        return Defect(
            f"{key} is {_what(record, key)}; expected {expected}",
            pointer(row),
            found=value,
            expected=expected,
            ids=ids_of(document, name, row),
            edits=edits(row, lambda: value),
        )

    def describe_all() -> Defect:
        first = _what(_record(document, name, int(rows[0])), key)
        share = f"{len(rows):,} of {n_records(document, name):,} {name}"
        wrong = f"wrong on {share} (the first is {first})"
        if first == "missing" and _all_missing(document, name, key, rows):
            wrong = f"missing on {share}"

        def value(row: int) -> Any:
            return _record(document, name, row).get(key)

        every = LazyEdits(
            lambda: (edit for row in rows.tolist() for edit in edits(row, partial(value, row)))
        )
        message = f"{key} is {wrong}; expected {expected}"
        return summary_defect(message, rows, pointer, expected=expected, edits=every)

    yield from each_or_summary(rows, n_records(document, name), describe, describe_all, severity)


def _what(record: Mapping[str, Any], key: str) -> str:
    return shortened(record[key]) if key in record else "missing"


def _all_missing(document: Document, name: str, key: str, rows: IndexArray) -> bool:
    if name == "annotations":
        return bool((document.annotations.kind[key][rows] == Kind.MISSING).all())
    return all(key not in _record(document, name, row) for row in rows.tolist())


def _records(document: Document, name: str) -> Records:
    return document.images if name == "images" else document.categories


def n_records(document: Document, name: str) -> int:
    """Return how many records a list has."""
    return len(document.annotations if name == "annotations" else _records(document, name))


def _record(document: Document, name: str, row: int) -> Mapping[str, Any]:
    if name == "annotations":
        return document.record(row)
    value = _records(document, name).values[row]
    return value if isinstance(value, dict) else {}


def ids_of(document: Document, name: str, row: int) -> Mapping[str, Any]:
    """Return the ids that a record of a list names."""
    if name == "annotations":
        return document.ids(row)
    noun = "image" if name == "images" else "category"
    record = _record(document, name, row)
    return {noun: record["id"]} if "id" in record else {}


def first_occurrence(ids: IndexArray, whole: BoolArray) -> IndexArray:
    """Return the first record with the id of each record: itself where there is no earlier one.

    Parameters
    ----------
    ids : (N,) int64
    whole : (N,) bool
        Whether there is an id at all.

    Returns
    -------
    (N,) int64
        -1 where there is none.

    Examples
    --------
    >>> first_occurrence(np.array([7, 8, 0, 7]), np.array([True, True, False, True]))
    array([ 0,  1, -1,  0])
    """
    rows = np.flatnonzero(whole)
    first = np.full(len(ids), -1)
    known = ids[rows]
    # Most files count upwards; then nothing has to be sorted.
    if (np.diff(known) > 0).all():
        first[rows] = rows
        return first
    _, begin, inverse = np.unique(known, return_index=True, return_inverse=True)
    first[rows] = rows[begin[inverse]]
    return first
