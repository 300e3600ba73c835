"""What the rules report, as values: findings, the edits that mend them, and the report of a run."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Literal

from bboxqa.core.json_values import json_safe
from bboxqa.core.text import count

__all__ = [
    "Edit", "FileReport", "Finding", "FoundReport", "RuleText", "Severity", "Spot", "identities",
    "identity",
]  # fmt: skip

# Every whole number up to it is a float of its own.
_WHOLE = 2.0**53


class Severity(StrEnum):
    """How bad a finding is.

    An error breaks training or evaluation, or falsifies it; a warning probably does; an info is
    worth knowing.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return ("info", "warning", "error").index(self.value)


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a document.

    Attributes
    ----------
    pointer : str
        Which value, as a JSON pointer (RFC 6901); with "add", the key that is added.
    action : {"replace", "remove", "add"}
    value : Any
        The new value; nothing for "remove".
    """

    pointer: str
    action: Literal["replace", "remove", "add"]
    value: Any = None


@dataclass(frozen=True, slots=True)
class Spot:
    """Where something stands in a file: line and column count from 1, the offset from 0."""

    line: int
    column: int
    offset: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    Attributes
    ----------
    code : str
        Of the rule, such as "B001".
    severity : Severity
    message : str
        What was found and what was expected, in one line.
    file : str
        The file as the user named it.
    pointer : str
        JSON pointer to the value; "" is the whole document.
    ids : mapping of str to Any
        What is involved: "annotation", "image", "category", "annotator".
    found, expected : Any
        The value, and in words what it should be.
    fix : {"safe", "unsafe"} or None
        Whether and how carefully it can be mended.
    edits : sequence of Edit
        What would mend it.
    count : int
        How many records it speaks of; 1 but for a diagnosis of the data set.
    examples : tuple of str
        Pointers to some of the records of a diagnosis.
    key : str
        What tells it from others of its kind where the ids do not, since they depend on the order
        of the records.
    spot : Spot or None
        Where the value stands; None where it stands nowhere in a file.
    excerpt : str
        The beginning of the record, as the file writes it.
    """

    code: str
    severity: Severity
    message: str
    file: str
    pointer: str = ""
    ids: Mapping[str, Any] = field(default_factory=dict)
    found: Any = None
    expected: str = ""
    fix: Literal["safe", "unsafe"] | None = None
    edits: Sequence[Edit] = ()
    count: int = 1
    examples: tuple[str, ...] = ()
    key: str = ""
    spot: Spot | None = None
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class RuleText:
    """What a reader of a report has to know of a rule.

    Attributes
    ----------
    code, title : str
    severity : Severity
    breaks : str
        What goes wrong because of it.
    fix : {"safe", "unsafe"} or None
    explanation : str
        What is looked for, and how to mend it.
    """

    code: str
    title: str
    severity: Severity
    breaks: str
    fix: Literal["safe", "unsafe"] | None
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class FileReport:
    """What was looked at in one file.

    Attributes
    ----------
    name : str
    exporter : str or None
        The tool that seems to have written it.
    habits : str
        What that tool is known to do that is no defect.
    n_images, n_annotations, n_categories : int
        Records in its lists, sound or not.
    """

    name: str
    exporter: str | None
    habits: str
    n_images: int
    n_annotations: int
    n_categories: int


@dataclass(frozen=True, slots=True)
class FoundReport:
    """All that was found.

    Attributes
    ----------
    files : tuple of FileReport
    findings : tuple of Finding
        By file, severity, code and place; of one rule and file no more than were asked for.
    counts : mapping of str to int
        Code to the number of all findings of it, also of those that are not listed.
    severities : mapping of Severity to int
        The number of all findings of each severity.
    rules : mapping of str to RuleText
        The rules that were applied.
    version : str
    fail_on : Severity
        The least severity that fails a run.
    """

    files: tuple[FileReport, ...]
    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    severities: Mapping[Severity, int]
    rules: Mapping[str, RuleText]
    version: str
    fail_on: Severity = Severity.ERROR

    def __repr__(self) -> str:
        numbers = ", ".join(f"{self.severities[each]:,} {each}" for each in Severity)
        return f"<Report of {count(len(self.files), 'file')}: {numbers}>"

    def at_least(self, severity: Severity) -> int:
        """Return how many findings are as bad as `severity` or worse."""
        return sum(
            number for found, number in self.severities.items() if found.rank >= severity.rank
        )


def identity(finding: Finding) -> str:
    """Return what a finding is, wherever its record stands by now.

    It is the same after the file was written in another way, and after records were added, removed
    or reordered. Two findings can share it; see `identities`. That of a diagnosis does not depend
    on how many records it speaks of.

    Parameters
    ----------
    finding : Finding

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> one = Finding("B001", Severity.ERROR, "", "a.json", "/annotations/7/bbox", {"image": 1})
    >>> two = Finding("B001", Severity.ERROR, "", "a.json", "/annotations/8/bbox", {"image": 1})
    >>> identity(one) == identity(two)
    True
    """
    where = finding.pointer.split("/")[1:]
    if len(where) > 1 and where[1].isdecimal():
        del where[1]
    file = PurePath(finding.file).as_posix()
    parts: list[Any] = [finding.code, file, finding.ids, where, finding.found]
    if finding.key:
        parts = [finding.code, file, finding.key]
    elif finding.count > 1:
        # The first record of many is another one after they are reordered.
        parts = [finding.code, file, where[-1:]]
    text = json.dumps(_canonical(json_safe(parts)), sort_keys=True)
    return sha256(text.encode()).hexdigest()[:32]


def _canonical(value: Any) -> Any:
    """Return the same value for 1 and 1.0, which are one number however a file writes it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return int(value)
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _canonical(inner) for key, inner in value.items()}
    return value


def identities(findings: Iterable[Finding]) -> list[str]:
    """Return the identity of each finding, with a number where several share one.

    Examples
    --------
    >>> twin = Finding("C008", Severity.ERROR, "", "a.json", "/categories/0/name")
    >>> [name[-2:] for name in identities([twin, twin])]
    [':1', ':2']
    """
    seen: Counter[str] = Counter()
    names = []
    for finding in findings:
        name = identity(finding)
        seen[name] += 1
        names.append(f"{name}:{seen[name]}")
    return names
