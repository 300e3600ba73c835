"""The interface of rules: the check, its hits, and the texts that explain it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.model.findings import Edit, RuleText, Severity

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


class LazyEdits(Sequence[Edit]):
    """Edits of many records, created on iteration by a function.

    Examples
    --------
    >>> edits = LazyEdits(lambda: (Edit(f"/images/{row}", "remove") for row in range(10**6)))
    >>> bool(edits), edits[0].pointer
    (True, '/images/0')
    """

    def __init__(self, make: Callable[[], Iterable[Edit]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Edit]:
        return iter(self._make())

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, place: Any) -> Any:
        return next(islice(self, place, None)) if isinstance(place, int) else tuple(self)[place]


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect of one record, or of the document.

    Attributes
    ----------
    message : str
        What was found and what was expected, in one line.
    offset : int or None
        Byte offset in the file, where no JSON pointer leads.
    severity : Severity or None
        Replaces the rule's severity.
    pointer, found, expected, ids, edits, count, examples, key
        See `bboxqa.model.findings.Finding`.
    """

    message: str
    pointer: str = ""
    offset: int | None = None
    found: Any = None
    expected: str = ""
    ids: Mapping[str, Any] = field(default_factory=dict)
    edits: Sequence[Edit] = ()
    count: int = 1
    examples: tuple[str, ...] = ()
    key: str = ""
    severity: Severity | None = None


MANY = 3
"""More records than this with the same defect are one finding, if they are a fifth of all."""

Summary = Callable[[IndexArray, str], str]


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Records that a rule found, described on demand."""

    rows: IndexArray
    """(H,) int64. The rows of the records; a record may occur more than once."""
    describe: Callable[[int], Defect]
    """Called with an index into `rows`; returns the `Defect`."""
    severity: Severity | None = None
    """Replaces the rule's severity, for example for a known peculiarity of an exporter."""
    name: str = "annotations"
    """The list of the records; "" if a defect does not belong to one record."""
    key: str = ""
    """The key of the records that is wrong; "" for the record as a whole."""
    summary: Summary | None = None
    """Called with indices into `rows` and a text such as "7 of 9 images"; returns the message of a
    single finding about all these records."""
    total: int = 0
    """Number of records that were compared; 0 for the whole list."""
    few: int = MANY
    """Up to this many records are reported one by one, even if they are most of the list."""
    edits: Callable[[int], Iterable[Edit]] | None = None
    """Called with an index into `rows`; returns the edits, if they do not need a description."""
    hides: bool = True
    """Whether these hits hide the consequences of the rule."""
    concerned: IndexArray | None = None
    """(C,) int64. The annotations whose consequences are hidden, if a hit without rows is about
    some of them."""
    apart: bool = False
    """Whether each record is reported separately, however many there are, as each has its own
    cause."""
    fix: Fix | None = None
    """Replaces that of the rule."""

    def edits_of(self, place: int) -> Iterable[Edit]:
        """Return the edits that fix the record at an index into `rows`."""
        return self.describe(place).edits if self.edits is None else self.edits(place)

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, kept: BoolArray) -> "Hits":
        """Return the hits where `kept`, (H,) bool, is True."""
        places, summary, edits = np.flatnonzero(kept), self.summary, self.edits
        return replace(
            self,
            rows=self.rows[places],
            describe=lambda place: self.describe(int(places[place])),
            summary=summary and (lambda some, share: summary(places[some], share)),
            edits=edits and (lambda place: edits(int(places[place]))),
        )


def numbers_of(where: BoolArray | IndexArray | Sequence[int]) -> IndexArray:
    """Return the numbers in a mask, (N,) bool, or in an index, as (H,) int64."""
    if isinstance(where, np.ndarray) and where.dtype == bool:
        return np.flatnonzero(where)
    return np.asarray(where, np.int64)


def hits(
    where: BoolArray | IndexArray, describe: Callable[[int], Defect], **fields: Any
) -> Iterator[Hits]:
    """Yield the records in a mask, (N,) bool, or an index, (H,) int64, as `Hits`, if any.

    `describe` is called with numbers of records; `fields` are further fields of `Hits`.
    """
    which = numbers_of(where)
    if len(which):
        yield Hits(which, lambda place: describe(int(which[place])), **fields)


def described_hits(founds: Sequence[Defect], severity: Severity | None = None) -> Iterator[Hits]:
    """Yield defects that do not belong to single records, if there are any."""
    if founds:
        none = np.full(len(founds), -1)
        yield Hits(none, lambda place: founds[place], severity, name="")


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule: its check, and the texts and examples that explain it."""

    code: str
    """Letter of the family and digits; its meaning never changes."""
    title: str
    """The defect in a few words."""
    severity: Severity
    breaks: str
    """What goes wrong because of the defect."""
    explanation: str
    """What is found, why it happens, and how to fix it."""
    bad: Example
    good: Example
    """A file with the defect, and a similar file without it."""
    check: Callable[..., Iterable[Any]]
    """Called with a `Document` and the settings; yields `Hits`. With scope "files", it is called
    with all documents, and yields pairs of a document and its `Hits`."""
    fix: Fix | None = None
    """Is "safe" if `--fix` fixes the defect, "unsafe" if only `--unsafe-fixes` does, else None."""
    scope: Scope = "record"
    """Whether the rule checks single files, several files together, or the images on disk."""
    requires: tuple[str, ...] = ()
    """Codes of rules whose findings explain those of this rule, in the same record and key, or
    anywhere if they are about the whole file: then these are hidden, unless they are more severe.
    """

    def __post_init__(self) -> None:
        # The texts are written as wrapped paragraphs; line breaks have no meaning.
        for name in ("breaks", "explanation"):
            object.__setattr__(self, name, " ".join(getattr(self, name).split()))

    def text(self) -> RuleText:
        """Return the parts of the rule that a report shows."""
        return RuleText(
            self.code, self.title, self.severity, self.breaks, self.fix, self.explanation
        )


def rule(head: str, **fields: Any) -> Rule:
    """Return a rule with code, severity and title as in "S001 error: list is missing"."""
    start, _, title = head.partition(": ")
    code, severity = start.split()
    return Rule(code=code, title=title, severity=Severity(severity), **fields)


Found = tuple[Rule, Hits]
