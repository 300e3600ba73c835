"""Findings of rules, the edits that fix them, and the report of a run."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Literal

import msgspec

from bboxqa.core.json_values import json_safe
from bboxqa.core.text import count

# Floats represent every integer up to this one exactly.
_WHOLE = 2.0**53


class Severity(StrEnum):
    """Severity of a finding.

    An error breaks or falsifies training or evaluation; a warning probably does; an info may be
    intended.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return ("info", "warning", "error").index(self.value)


class Edit(msgspec.Struct, frozen=True):
    """One change of a document."""

    pointer: str
    """JSON pointer (RFC 6901) to the value; with "add", to the new key."""
    action: Literal["replace", "remove", "add"]
    value: Any = None
    """The new value; None for "remove"."""


class Spot(msgspec.Struct, frozen=True):
    """A place in a file: line and column count from 1, the offset in bytes from 0."""

    line: int
    column: int
    offset: int


class FoundBox(msgspec.Struct, frozen=True):
    """The box of a record that a finding is about, for a picture of it."""

    image: str
    """The file name of its image, or ""."""
    width: float | None
    height: float | None
    """Size of the image in pixels; None where it is unknown."""
    bbox: tuple[float, float, float, float]
    """x, y, width and height in pixels, as they are in the file: they may be wrong."""
    rings: tuple[tuple[float, ...], ...] = ()
    """x, y, x, y, … in pixels of each ring, for findings about outlines."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that a rule found."""

    code: str
    """Code of the rule, such as "B001"."""
    severity: Severity
    message: str
    """What was found and what was expected, in one line."""
    file: str
    """The file as the user named it."""
    pointer: str = ""
    """JSON pointer to the value; "" is the whole document."""
    ids: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The ids involved, by "annotation", "image", "category" and "annotator"."""
    found: Any = None
    """The value that was found; in a summary about files on disk, the value of each record."""
    expected: str = ""
    """What the value should be, in words."""
    fix: Literal["safe", "unsafe"] | None = None
    """The kind of fix, if any."""
    edits: Iterable[Edit] = ()
    """The changes that fix it."""
    count: int = 1
    """Number of records with the defect; above 1 for a summary."""
    examples: tuple[str, ...] = ()
    """Pointers to the first records of a summary, or to the records that were compared."""
    key: str = ""
    """Identifies the finding where the ids depend on the order of the records."""
    spot: Spot | None = None
    """Place of the value in the file."""
    excerpt: str = ""
    """The beginning of the record, as it is written in the file."""
    boxes: tuple[FoundBox, ...] = ()
    """The boxes of the annotations that the finding names; empty if it names none."""


class RuleText(msgspec.Struct, frozen=True):
    """The parts of a rule that a report shows."""

    code: str
    title: str
    severity: Severity
    breaks: str
    """What goes wrong because of the defect."""
    fix: Literal["safe", "unsafe"] | None
    explanation: str = ""


class FileReport(msgspec.Struct, frozen=True):
    """One validated file."""

    name: str
    exporter: str | None
    """The tool that probably wrote the file."""
    n_images: int
    n_annotations: int
    n_categories: int
    kind: str = ""
    """What it holds instead of annotated objects, such as "COCO captions"; else ""."""
    unread: str = ""
    """What was not read, and the command that reads it; "" for nothing."""


class FoundReport(msgspec.Struct, frozen=True):
    """The findings of a run."""

    files: tuple[FileReport, ...]
    findings: tuple[Finding, ...]
    """Sorted by file, severity, code and place; at most `limit` of one rule and file."""
    counts: Mapping[str, int]
    """Number of findings of each code at `min_severity` or above, listed or not."""
    severities: Mapping[Severity, int]
    """Number of findings of each severity, listed or not."""
    rules: Mapping[str, RuleText]
    """The rules that were applied."""
    version: str
    fail_on: Severity = Severity.ERROR
    """The lowest severity that fails a run."""
    hidden: Mapping[str, Mapping[str, int]] = msgspec.field(default_factory=dict)
    """For each code, the numbers of findings by other codes that follow from its findings. They are
    neither listed nor counted."""
    notes: tuple[str, ...] = ()
    """What was not examined, and how files were read."""

    def __repr__(self) -> str:
        return f"<Report of {count(len(self.files), 'file')}: {self.totals()}>"

    def totals(self) -> str:
        """Return the number of findings of each severity, in words."""
        errors, warnings, infos = (self.severities.get(each, 0) for each in Severity)
        return f"{count(errors, 'error')}, {count(warnings, 'warning')}, {infos:,} info"

    def at_least(self, severity: Severity) -> int:
        """Return the number of findings of `severity` or a higher one."""
        return sum(n for found, n in self.severities.items() if found.rank >= severity.rank)


def identity(finding: Finding) -> str:
    """Return 32 hexadecimal digits that identify a finding in later versions of its file.

    The same when the file is reformatted, and when records are added, removed or reordered; several
    findings can share it. That of a summary does not depend on the number of records.
    """
    where = finding.pointer.split("/")[1:]
    # The row of a record follows the name of its list, or comes first where the file is a list.
    row = next((place for place, part in enumerate(where[:2]) if part.isdecimal()), None)
    if row is not None:
        del where[row]
    file = PurePath(finding.file).as_posix()
    parts: list[Any] = [finding.code, file, finding.ids, where, finding.found]
    if finding.key:
        parts = [finding.code, file, finding.key]
    elif finding.count > 1:
        # The first record of a summary changes when records are reordered.
        parts = [finding.code, file, where[-1:]]
    text = json.dumps(_canonical(json_safe(parts)), sort_keys=True)
    return sha256(text.encode()).hexdigest()[:32]


def _canonical(value: Any) -> Any:
    """Return a value with integral floats as integers, since 1 and 1.0 are the same number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return int(value)
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _canonical(inner) for key, inner in value.items()}
    return value


def identities(findings: Iterable[Finding]) -> list[str]:
    """Return the identity of each finding, numbered among those that share it."""
    seen: Counter[str] = Counter()
    names = []
    for finding in findings:
        name = identity(finding)
        seen[name] += 1
        names.append(f"{name}:{seen[name]}")
    return names
