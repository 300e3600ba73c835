"""What rules report: records with a defect, or one defect of many records."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.document import ToolDefect
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import ABSENT, MANY, Defect, Hits, LazyEdits, described_hits, numbers_of
from bboxqa.rules.facts.document import Document

Place = tuple[str, int, *tuple[str | int, ...]]
"""The list, the row, and the keys inside the record."""

_EXAMPLES = 3
# At least this many defects outside annotations are grouped into one finding per rule.
_MANY_PLACES = 20
# Rules about single labels, of which one finding is reported for each file: always, or if many.
_BY_FILE, _BY_FILE_IF_MANY = ("T003", "T020"), ("T001",)


def value_at(document: Document, name: str, row: int, *keys: str | int) -> Any:
    """Return a value of a record in a list; `ABSENT` if there is none."""
    if name == "annotations":
        value: Any = document.record(row)
    else:
        value = (document.images if name == "images" else document.categories).values[row]
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return value


def ids_of(document: Document, name: str, row: int) -> Mapping[str, Any]:
    """Return the ids in a record of a list, by the kind of record that they identify."""
    if name == "annotations":
        return document.ids(row)
    own = value_at(document, name, row, "id")
    return {} if own is ABSENT else {"image" if name == "images" else "category": own}


def record_defect(document: Document, place: Place, message: str, **more: Any) -> Defect:
    """Return a defect of one record, with the pointer to the value and the ids of the record.

    `place` is the location of the value, such as ``("annotations", 7, "bbox")``; `more` are
    further fields of `Defect`.
    """
    ids = ids_of(document, place[0], place[1])
    return Defect(message, pointer_to(*place), **{"ids": ids, **more})


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Records of a list, or parts of annotations, that have a defect.

    Functions are called with the number of a record or of a part.
    """

    where: BoolArray | IndexArray | Sequence[int]
    """(N,) bool, or (H,) int64."""
    says: Callable[[int], str] | str = ""
    """What is wrong, without what was expected; a text may hold "{value}". By default, the key is
    named with its value, as missing or wrong."""
    at: str = "annotations"
    """The list and the keys that lead to the value, such as "annotations/bbox"."""
    expected: str = ""
    found: Callable[[int], Any] | None = None
    """The value; by default the one at the pointer."""
    edits: Callable[[int], Iterable[Edit]] | None = None
    summary: str = ""
    """The message on many records, with "{share}" and without what was expected."""
    severity: Severity | None = None
    owner: IndexArray | None = None
    """The annotation of each part, such as a ring."""
    inner: Callable[[int], tuple[str | int, ...]] | None = None
    """Further keys that lead to the value."""
    mark: Callable[[int], str] | None = None
    """What identifies the finding where there are several of one record."""
    key: str = ""
    total: int = 0
    few: int = MANY
    apart: bool = False
    fix: Literal["safe", "unsafe"] | None = None
    """As in `Hits`."""

    def bound(self, document: Document) -> Iterator[Hits]:
        """Yield these records of a document as `Hits`, if there are any."""
        owner, edits = self.owner, self.edits
        which = numbers_of(self.where)
        if not len(which):
            return
        name, *keys = self.at.split("/")
        yield Hits(
            which if owner is None else owner[which],
            lambda place: self._describe(document, int(which[place])),
            self.severity,
            name,
            self.key or ("" if self.says else keys[-1]),
            lambda places, share: self._summary(document, which[places], share),
            self.total,
            self.few if self.says else 1,
            edits and (lambda place: edits(int(which[place]))),
            apart=self.apart,
            fix=self.fix,
        )

    def _describe(self, document: Document, at: int) -> Defect:
        name, *keys = self.at.split("/")
        row = at if self.owner is None else int(self.owner[at])
        path: tuple[str | int, ...] = (*keys, *(self.inner(at) if self.inner else ()))
        found = value_at(document, name, row, *path) if path else ABSENT
        if self.found is not None:
            found = self.found(at)
        says = self.says(at) if callable(self.says) else self.says or f"{keys[-1]} is {{value}}"
        if "{value}" in says and not callable(self.says):
            says = says.replace("{value}", "missing" if found is ABSENT else shortened(found))
        return record_defect(
            document,
            (name, row, *path),
            says + (f"; expected {self.expected}" if self.expected else ""),
            found=None if found is ABSENT else found,
            expected=self.expected,
            edits=tuple(self.edits(at)) if self.edits else (),
            key=self.mark(at) if self.mark else "",
        )

    def _summary(self, document: Document, numbers: IndexArray, share: str) -> str:
        first = self._describe(document, int(numbers[0])).message
        if self.summary:
            expected = f"; expected {self.expected}" if self.expected else ""
            return self.summary.replace("{share}", share) + expected
        if self.says:
            return f"{share}; the first: {first}"
        key = self.at.rpartition("/")[2]
        what = first.partition(" is ")[2].removesuffix(f"; expected {self.expected}")
        return (
            f"{key} is missing or wrong in {share} (the first is {what}); expected {self.expected}"
        )


Checked = Iterator[Rows | Hits | Defect]
"""What the check of a rule yields."""


def bound(document: Document, found: Iterable[Rows | Hits | Defect]) -> Iterator[Hits]:
    """Yield what a rule found in a document as `Hits`, defects of one severity together."""
    defects: dict[Severity | None, list[Defect]] = {}
    for each in found:
        if isinstance(each, Rows):
            yield from each.bound(document)
        elif isinstance(each, Hits):
            yield each
        elif each.count:
            defects.setdefault(each.severity, []).append(each)
    for severity, of in defects.items():
        yield from described_hits(of, severity)


def record_edit(name: str, row: int, *keys: str | int, value: Any = None) -> tuple[Edit]:
    """Return the edit that replaces a value of a record, or removes the record or value."""
    pointer = pointer_to(name, row, *keys)
    return (Edit(pointer, "remove") if value is None else Edit(pointer, "replace", value),)


def summary(message: str, at: str, rows: Sequence[int] | IndexArray, **more: Any) -> Defect:
    """Return one defect of many records of a list; it is not reported if there are none.

    `at` names the list and the keys that lead from each record to the value. By default, the
    pointer leads to the list; `more` are further fields of `Defect`.

    Examples
    --------
    >>> found = summary("all ids are bad", "images/id", np.arange(9))
    >>> found.pointer, found.count, found.examples
    ('/images', 9, ('/images/0/id', '/images/1/id', '/images/2/id'))
    """
    name, *keys = at.split("/")
    examples = tuple(pointer_to(name, int(row), *keys) for row in rows[:_EXAMPLES])
    fields = {"pointer": pointer_to(name), "examples": examples, **more}
    return Defect(message, count=len(rows), **fields)


def row_edits(rows: IndexArray, edits: Callable[[int], Iterable[Edit]]) -> LazyEdits:
    """Return the edits of many records, each created from its row when needed."""
    return LazyEdits(lambda: (edit for row in rows.tolist() for edit in edits(row)))


def found_defects(code: str, document: Document, _settings: ValidateSettings) -> Checked:
    """Yield the defects with a code that a format found, of annotations and of other records."""
    defects = document.reading.origin.defects if document.reading.origin else ()
    of_rows = [(each.row, each.message) for each in defects if each.code == code and each.row >= 0]
    others = [at for at, each in enumerate(defects) if each.code == code and each.row < 0]

    def describe(place: int) -> Defect:
        row, message = of_rows[place]
        return record_defect(document, ("annotations", row), message)

    if of_rows:
        yield Hits(np.array([row for row, _ in of_rows], np.int64), describe)
    groups: dict[tuple[str, str], list[int]] = {}
    is_grouped = len(others) >= _MANY_PLACES or code in _BY_FILE
    for at in others:
        file = defects[at].where.member if code in (*_BY_FILE, *_BY_FILE_IF_MANY) else ""
        key = (defects[at].cause, file) if is_grouped else ("", str(at))
        groups.setdefault(key, []).append(at)
    # The first file of each cause is listed first, as the others may not fit.
    first = dict(reversed(groups))
    for cause, file in sorted(groups, key=lambda each: first[each[0]] != each[1]):
        yield _several(defects, groups[cause, file], cause)


def _several(defects: Sequence[ToolDefect], group: Sequence[int], cause: str) -> Defect:
    """Return one defect for those of a group, with the first one in each of many files."""
    message, pointers = defects[group[0]].message, [f"/defects/{at}" for at in group]
    if len(group) == 1:
        return Defect(message, pointers[0], key=cause)
    files = {defects[at].where.member: f"/defects/{at}" for at in reversed(group)}
    shown = [*files.values()][::-1] if len(files) > _EXAMPLES else pointers[:_EXAMPLES]
    message = f"{len(group):,} times; the first: {message}"
    return Defect(message, pointers[0], count=len(group), examples=tuple(shown), key=cause)
