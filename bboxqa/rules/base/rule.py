"""The interface of rules: the check, the defects that it finds, and the texts that explain it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, overload

import msgspec
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


class Defect(msgspec.Struct, frozen=True):
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
    ids: Mapping[str, Any] = msgspec.field(default_factory=dict)
    edits: Sequence[Edit] = ()
    count: int = 1
    examples: tuple[str, ...] = ()
    key: str = ""
    severity: Severity | None = None


def hits(where: BoolArray | IndexArray, describe: Callable[[int], Defect]) -> Iterator[Defect]:
    """Yield a defect for each number in a mask, (N,) bool, or an index, (H,) int64."""
    numbers = np.flatnonzero(where) if where.dtype == bool else where
    return map(describe, numbers.tolist())


Check = Callable[..., Iterable[Any]]
"""Called with a `Document` and the settings; yields `Rows` and `Defect`s. With scope "files", it is
called with all documents, and yields pairs of a document and one of these."""


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

    def __post_init__(self) -> None:
        # The texts are written as wrapped paragraphs; line breaks have no meaning.
        for name in ("breaks", "explanation"):
            msgspec.structs.force_setattr(self, name, " ".join(getattr(self, name).split()))


@overload
def rule(head: str, *, check: Check, **fields: Any) -> Rule: ...
@overload
def rule(head: str, **fields: Any) -> Callable[[Check], Rule]: ...
def rule(head: str, check: Check | None = None, **fields: Any) -> Rule | Callable[[Check], Rule]:
    """Return a rule with code, severity and title as in "S001 error: list is missing".

    The kind of fix, if any, follows the severity: "S003 error, safe fix: id is a text". Without
    `check`, a decorator that makes a rule of its check is returned.
    """
    start, _, title = head.partition(": ")
    code, severity, *fix = start.removesuffix(" fix").replace(",", "").split()
    texts = {"code": code, "title": title, "severity": Severity(severity), **fields}
    texts |= {"fix": fix[0]} if fix else {}

    def of_check(check: Check) -> Rule:
        return Rule(check=check, **texts)

    return of_check if check is None else of_check(check)
