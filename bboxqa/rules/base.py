"""The interface of rules: the check, the defects that it finds, and the texts that explain it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, IndexArray, distinct, listed_by
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.model.findings import Edit, RuleText, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.document import Document

Scope = Literal["record", "files", "images"]
Fix = Literal["safe", "unsafe"]

ABSENT: Any = object()
"""The value of a key that an example omits."""


class Files(dict[str, str]):
    """A folder: the text of each file, by its path inside the folder."""

    mask: str | None = None
    """What the values of masks in it stand for."""


Example = str | Files | Mapping[str, Any]
"""A whole file as text, a folder, or lists of records with the relevant keys; other keys get
defaults.
"""


class LazyEdits(Iterable[Edit]):
    """Edits of many records, created on iteration by a function."""

    def __init__(self, make: Callable[[], Iterable[Edit]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Edit]:
        return iter(self._make())

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None


class Defect(msgspec.Struct, frozen=True):
    """A defect of one record, or of the document; see `bboxqa.model.findings.Finding`."""

    message: str
    pointer: str = ""
    offset: int | None = None
    """In bytes, where no JSON pointer leads."""
    found: Any = None
    expected: str = ""
    """By default what the message says, after "; expected "."""
    ids: Mapping[str, Any] = msgspec.field(default_factory=dict)
    edits: Iterable[Edit] = ()
    count: int = 1
    examples: tuple[str, ...] = ()
    key: str = ""
    severity: Severity | None = None
    """Replaces the rule's severity."""
    code: str = ""
    """The rule that reports it, where one check serves several."""


Check = Callable[..., Iterable[Any]]
"""Called with a `Document` and the settings; yields `Rows` and `Defect`s. With scope "files", it is
called with all documents, and yields pairs of a document and one of these. A check of several rules
is called once, and what it yields says its `code`."""


class Rule(RuleText, frozen=True, eq=False, kw_only=True):
    """One rule: its check, and the texts and examples that explain it."""

    bad: Example
    good: Example
    """A file with the defect, and a similar file without it."""
    check: Check
    fix: Fix | None = None
    """Is "safe" if `--fix` fixes the defect, "unsafe" if only `--unsafe-fixes` does, else None."""
    scope: Scope = "record"
    """Whether the rule checks single files, several files together, or the images on disk."""
    requires: tuple[str, ...] = ()
    """Codes of rules whose findings explain those of this rule, in the same record and key, or
    anywhere if they are about the whole file: then these are hidden, unless they are more severe.
    """

    def text(self) -> RuleText:
        """Return the parts that a report shows."""
        return RuleText(*(getattr(self, name) for name in RuleText.__struct_fields__))


def rule(head: str, **fields: Any) -> Callable[[Check], Rule]:
    """Return a decorator that makes a rule of its check.

    The head is code, severity and title as in "S001 error: list is missing". The kind of fix, if
    any, follows the severity: "S003 error, safe fix: id is a text".
    """
    start, _, title = head.partition(": ")
    code, severity, *fix = start.removesuffix(" fix").replace(",", "").split()
    # The texts are written as wrapped paragraphs; line breaks have no meaning.
    texts = {name: " ".join(fields[name].split()) for name in ("breaks", "explanation")}
    fields |= {"code": code, "title": title, "severity": Severity(severity), **texts}
    fields |= {"fix": fix[0]} if fix else {}
    return lambda check: Rule(check=check, **fields)


MANY = 3
"""More records than this with the same defect are one finding, if they are a fifth of all."""
_EXAMPLES = 3
# At least this many defects outside annotations are grouped into one finding per rule.
_MANY_PLACES = 20
# Rules about single labels, of which one finding is reported for each file: always, or if many.
_BY_FILE, _BY_FILE_IF_MANY = ("T003", "T020"), ("T001",)


def value_at(document: Document, name: str, row: int, *keys: str | int) -> Any:
    """Return a value of a record in a list; `ABSENT` if there is none."""
    records = document.images if name == "images" else document.categories
    value: Any = document.record(row) if name == "annotations" else records.values[row]
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


class Rows(msgspec.Struct, frozen=True, eq=False):
    """Records of a list, or parts of annotations, that have a defect.

    Functions are called with the number of a record or of a part.
    """

    where: BoolArray | IndexArray | Sequence[int]
    """(N,) bool, or (H,) int64."""
    says: Callable[[int], str] | str = ""
    """What is wrong, without what was expected, with "{value}" if any; by default the value."""
    at: str = "annotations"
    """The list and the keys that lead to the value, as in "annotations/bbox"; "" for `defects`."""
    expected: str = ""
    found: Callable[[int], Any] | None = None
    """The value; by default the one at the pointer."""
    new: Callable[[int], Any] | None = None
    """The value that the fix writes in place of the one at the pointer; None for no fix."""
    edits: Callable[[int], Iterable[Edit]] | None = None
    """The edits of a fix that changes other values."""
    summary: str = ""
    """The message on many records, with "{share}" and without what was expected."""
    severity: Severity | None = None
    """Replaces the rule's severity, for example for a known peculiarity of an exporter."""
    owner: IndexArray | None = None
    """The annotation of each part, such as a ring."""
    inner: Callable[[int], tuple[str | int, ...]] | None = None
    """Further keys that lead to the value."""
    mark: Callable[[int], str] | None = None
    """What identifies the finding where there are several of one record."""
    key: str = ""
    """The key of the records that is wrong; "" for the record as a whole."""
    total: int = 0
    """Number of records that were compared; 0 for the whole list."""
    few: int = MANY
    """Up to this many records are reported one by one, even if they are most of the list."""
    apart: bool = False
    """Whether each record is reported separately, as each has its own cause."""
    fix: Fix | None = None
    """Replaces that of the rule."""
    examples: Callable[[int], tuple[str, ...]] | None = None
    """Pointers to the records that were compared."""
    defects: Sequence[Defect] = ()
    """Those that do not belong to single records."""
    code: str = ""
    """The rule that reports them, where one check serves several."""
    numbers: IndexArray = msgspec.field(default_factory=lambda: np.zeros(0, np.int64))
    """(H,) int64. The numbers of `where`."""
    name: str = ""
    """The list of the records; "" for none."""

    def __post_init__(self) -> None:
        where = np.asarray(self.where)
        numbers = np.flatnonzero(where) if where.dtype == bool else where.astype(np.int64)
        msgspec.structs.force_setattr(self, "numbers", numbers)
        msgspec.structs.force_setattr(self, "name", self.at.partition("/")[0])
        if not self.says and self.at:
            msgspec.structs.force_setattr(self, "key", self.key or self.at.rpartition("/")[2])
            msgspec.structs.force_setattr(self, "few", 1)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def rows(self) -> IndexArray:
        """(H,) int64. The rows of the records; a record may occur more than once."""
        return self.numbers if self.owner is None else self.owner[self.numbers]

    def describe(self, document: Document, number: int) -> Defect:
        """Return one of the `numbers` as a defect, with its pointer and the ids of the record."""
        if self.defects:
            return self.defects[number]
        name, row, keys = self._place(number)
        found = value_at(document, name, row, *keys) if keys else ABSENT
        if self.found is not None:
            found = self.found(number)
        value = "missing" if found is ABSENT else shortened(found)
        says = self.says or f"{self.key} is {{value}}"
        says = says.replace("{value}", value) if isinstance(says, str) else says(number)
        return Defect(
            says + (f"; expected {self.expected}" if self.expected else ""),
            pointer_to(name, row, *keys),
            found=None if found is ABSENT else found,
            ids=ids_of(document, name, row),
            edits=tuple(self.edits_of(document, number)),
            examples=self.examples(number) if self.examples else (),
            key=self.mark(number) if self.mark else "",
        )

    def _place(self, number: int) -> tuple[str, int, tuple[str | int, ...]]:
        """Return the list, the row, and the keys inside the record."""
        name, *keys = self.at.split("/")
        row = number if self.owner is None else int(self.owner[number])
        return name, row, (*keys, *(self.inner(number) if self.inner else ()))

    def edits_of(self, document: Document, number: int) -> Iterable[Edit]:
        """Return the edits that fix one of the `numbers`."""
        if self.defects:
            return self.defects[number].edits
        if self.new is None or (value := self.new(number)) is None:
            return self.edits(number) if self.edits else ()
        name, row, keys = self._place(number)
        is_new = value_at(document, name, row, *keys) is ABSENT
        return (Edit(pointer_to(name, row, *keys), "add" if is_new else "replace", value),)

    def joined(self, document: Document, share: str, equal: str = "", *, are_files: bool) -> "Rows":
        """Return a single defect of these records, of which `share` says how many they are.

        `equal` is the message that all of them have. Of image files all are listed, else examples.
        """
        numbers = self.numbers.tolist()
        listed = numbers if are_files else numbers[:_EXAMPLES]
        shown = [self.describe(document, number) for number in listed]
        edits = LazyEdits(lambda: chain(*(self.edits_of(document, number) for number in numbers)))
        expected = f"; expected {self.expected}" if self.expected else ""
        message = f"{share}: {equal}"
        if not equal and self.summary:
            message = self.summary.replace("{share}", share) + expected
        elif not equal and self.says:
            message = f"{share}; the first: {shown[0].message}"
        elif not equal:
            what = shown[0].message.partition(" is ")[2].removesuffix(expected)
            message = f"{self.key} is missing or wrong in {share} (the first is {what}){expected}"
        defect = Defect(
            message,
            pointer_to(self.name),
            found=[each.found for each in shown] if are_files else None,
            edits=edits if self.edits or self.new else (),
            count=len(distinct(self.rows)),
            examples=tuple(each.pointer for each in shown),
        )
        return Rows([0], at="", defects=[defect], severity=self.severity, fix=self.fix)

    def kept(self, which: BoolArray) -> "Rows":
        """Return the records where `which`, (H,) bool, is True."""
        return replace(self, where=self.numbers[which])


Found = Rows | Defect
Checked = Iterator[Found]
"""What the check of a rule yields."""


def rows_of(found: Iterable[Found]) -> Iterator[Rows]:
    """Yield what a check found, if it is anything, as `Rows`; defects of one severity together."""
    defects: dict[tuple[str, Severity | None], list[Defect]] = {}
    for each in found:
        if isinstance(each, Defect):
            if each.count:
                defects.setdefault((each.code, each.severity), []).append(each)
        elif len(each.numbers):
            yield each
    for (code, severity), of in defects.items():
        yield Rows(range(len(of)), at="", defects=of, severity=severity, code=code)


def record_edit(name: str, row: int, *keys: str | int, value: Any = None) -> tuple[Edit]:
    """Return the edit that replaces a value of a record, or removes the record or value."""
    pointer = pointer_to(name, row, *keys)
    return (Edit(pointer, "remove") if value is None else Edit(pointer, "replace", value),)


def summary(
    message: str,
    at: str,
    rows: Sequence[int] | IndexArray,
    document: Document | None = None,
    edits: Callable[[int], Iterable[Edit]] | None = None,
    **more: Any,
) -> Defect:
    """Return one defect of many records of a list; it is not reported if there are none.

    `at` is the list and the keys that lead to the value. The pointer leads to the list, or with a
    document to the first record; `more` are further fields of `Defect`.
    """
    name, *keys = at.split("/")
    examples = tuple(pointer_to(name, int(row), *keys) for row in rows[:_EXAMPLES])
    fields = {"pointer": pointer_to(name), "examples": examples, **more}
    if document is not None and examples:
        fields = {"ids": ids_of(document, name, int(rows[0])), **fields, "pointer": examples[0]}
    if edits is not None:
        fields["edits"] = LazyEdits(lambda: chain(*(edits(int(row)) for row in rows)))
    return Defect(message, count=len(rows), **fields)


def found_defects(document: Document, _settings: ValidateSettings) -> Checked:
    """Yield the defects that a format found, of annotations and of other records."""
    defects = document.reading.origin.defects if document.reading.origin else ()
    owner = np.array([each.row for each in defects], np.int64)
    for code, own in listed_by((each.code, at) for at, each in enumerate(defects)).items():
        rows = [at for at in own if owner[at] >= 0]
        yield Rows(rows, lambda at: defects[at].message, owner=owner, code=code)
        others = [at for at in own if owner[at] < 0]
        groups = {("", str(at)): [at] for at in others}
        if len(others) >= _MANY_PLACES or code in _BY_FILE:
            by_file = code in (*_BY_FILE, *_BY_FILE_IF_MANY)
            found = ((at, defects[at]) for at in others)
            groups = listed_by(
                ((each.cause, each.where.member * by_file), at) for at, each in found
            )
        for (cause, _), group in groups.items():
            n, pointers = len(group), tuple(f"/defects/{at}" for at in group)
            first, examples = defects[group[0]].message, pointers[:_EXAMPLES] if n > 1 else ()
            message = f"{n:,} times; the first: {first}" if n > 1 else first
            yield Defect(message, pointers[0], count=n, examples=examples, key=cause, code=code)
