"""What a rule is: a function that looks at a document, and the text that explains it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.model.findings import Edit, RuleText, Severity

__all__ = [
    "ABSENT",
    "Defect",
    "Example",
    "Hits",
    "LazyEdits",
    "Rule",
    "Scope",
    "described_hits",
    "hits",
]

Scope = Literal["record", "data set", "files", "images"]
Fix = Literal["safe", "unsafe"]

ABSENT: Any = object()
"""In an example: the key is not there."""

Example = str | Mapping[str, Any]
"""A whole file as text, or lists of records of which only the telling keys are given."""


class LazyEdits(Sequence[Edit]):
    """Edits of many records, which are made when somebody asks for them.

    Parameters
    ----------
    make : callable
        Returns them.

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
    """What is wrong with one record, or with the document.

    Attributes
    ----------
    message : str
        What was found, and what was expected instead.
    pointer : str
        To the value.
    offset : int or None
        Byte of the file, where no pointer leads.
    found : Any
        The value itself.
    expected : str
    ids : mapping
        See `bboxqa.model.findings.Finding`.
    edits : sequence of Edit
        What would mend it; empty where nothing can.
    count : int
        How many records it speaks of.
    examples : tuple of str
        Pointers to some of them.
    key : str
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


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Records that a rule found, described only as far as somebody reads them.

    Attributes
    ----------
    rows : (H,) int64
        Which records; a record can be there more than once.
    describe : callable
        Takes the place in `rows` (0 to H - 1) and returns what is wrong.
    severity : Severity or None
        Where it is not the rule's own: a known habit of an exporter is no alarm.
    """

    rows: IndexArray
    describe: Callable[[int], Defect]
    severity: Severity | None = None

    def __len__(self) -> int:
        return len(self.rows)


def hits(
    where: BoolArray | IndexArray,
    describe: Callable[[int], Defect],
    severity: Severity | None = None,
) -> Iterator[Hits]:
    """Yield the records of a mask or an index, if there are any.

    Parameters
    ----------
    where : (N,) bool, or (H,) int64
    describe : callable
        Takes the number of the record.
    severity : Severity, optional
        In place of the rule's own.
    """
    rows: IndexArray = np.flatnonzero(where) if where.dtype == bool else where.astype(np.int64)
    if len(rows):
        yield Hits(rows, lambda place: describe(int(rows[place])), severity)


def described_hits(founds: Sequence[Defect], severity: Severity | None = None) -> Iterator[Hits]:
    """Yield things that are described already, if there are any."""
    if founds:
        yield Hits(np.zeros(len(founds), np.int64), lambda place: founds[place], severity)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule: what it looks for, why, and how.

    Attributes
    ----------
    code : str
        A letter for the family and three digits; never changes its meaning.
    title : str
        The defect in a few words.
    severity : Severity
    scope : {"record", "data set", "files", "images"}
        What it looks at: single records, the whole file, several files together, or the images
        on disk.
    breaks : str
        What goes wrong because of the defect.
    explanation : str
        What is looked for, and how to mend it.
    bad, good : Example
        What it catches, and a near miss that it leaves alone.
    fix : {"safe", "unsafe"} or None
        Whether `--fix` mends it, only `--unsafe-fixes` does, or nothing.
    check : callable
        Takes the document and the settings, and yields `Hits`; of scope "files" takes all
        documents, and yields a document with its `Hits`.
    """

    code: str
    title: str
    severity: Severity
    scope: Scope
    breaks: str
    explanation: str
    bad: Example
    good: Example
    check: Callable[..., Iterable[Any]]
    fix: Fix | None = None

    def __post_init__(self) -> None:
        # The texts are written as paragraphs, whose line breaks mean nothing.
        for name in ("breaks", "explanation"):
            object.__setattr__(self, name, " ".join(getattr(self, name).split()))

    def text(self) -> RuleText:
        """Return what a report says of the rule."""
        return RuleText(
            self.code, self.title, self.severity, self.breaks, self.fix, self.explanation
        )
