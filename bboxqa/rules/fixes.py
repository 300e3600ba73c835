"""Fixing a file by edits of its text, and baselines of accepted findings."""

import json
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.errors import BboxqaError, ConfigError, DatasetError
from bboxqa.core.files import write_atomically
from bboxqa.core.json_values import json_line, pointer_parts
from bboxqa.core.text import count
from bboxqa.formats.document import BLANKS, BYTE_ORDER_MARK, RawDocument
from bboxqa.formats.positions import Locator, Span
from bboxqa.formats.scanner import Scanner
from bboxqa.formats.source import read_whole
from bboxqa.model.findings import Edit, Finding, FoundReport, Severity, identity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.document import Document
from bboxqa.rules.runner import apply, codes_of, row_of, without_consequences

# One fix may enable another; no file has needed this many passes.
_MAX_PASSES = 10


class Change(msgspec.Struct, frozen=True):
    """One change that was made: the code of its rule, where, and the value as text."""

    code: str
    pointer: str
    """JSON pointer into the file before all changes."""
    before: str
    after: str


class Fixed(msgspec.Struct, frozen=True):
    """A fixed file: its text, and the changes in order."""

    text: bytes
    changes: tuple[Change, ...]


_Splice = tuple[int, int, bytes]
"""The start and the end of a part of the text, and what replaces it."""


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def fix(
    document: Document,
    settings: ValidateSettings,
    *,
    unsafe: bool,
    again: Callable[[RawDocument], Document] = Document,
) -> Fixed:
    """Fix the findings of the chosen rules, pass by pass, until no fix is left."""
    changes: list[Change] = []
    removed: dict[str, list[int]] = {}
    wanted = ("safe", "unsafe") if unsafe else ("safe",)
    # A file that was not read to its end is not fixed, as it would look complete afterwards.
    for _ in range(0 if document.reading.stopped else _MAX_PASSES):
        found = apply(document, codes_of(document, settings), settings)
        asked = [
            (rule.code, edit)
            for rule, rows in without_consequences(found)[0]
            if (rows.fix or rule.fix) in wanted
            for number in rows.numbers.tolist()
            for edit in rows.edits_of(document, number)
        ]
        text, made = edited(document.reading, asked)
        changes += _in_source(made, removed)
        if not made:
            break
        read = Scanner(text, document.name).read()
        if len(read.broken) > len(document.reading.broken):
            problem = "the fixes contradict each other; nothing was written"
            raise BboxqaError(f"{document.name}: {problem}")
        document = again(read)
    return Fixed(document.reading.text, tuple(changes))


def _in_source(made: Sequence[Change], removed: dict[str, list[int]]) -> list[Change]:
    """Return the changes of a pass with the places that records had before the first pass."""
    # The number of rows kept before each removed one.
    kept = {name: [row - n for n, row in enumerate(sorted(removed[name]))] for name in removed}
    result = []
    for change in made:
        above = place = row = ""
        for part in change.pointer.split("/")[1:]:
            row = part
            if place in kept and part.isdecimal():
                row = str(int(part) + bisect_right(kept[place], int(part)))
            above, place = place, f"{place}/{row}"
        if not change.after and row.isdecimal():
            removed.setdefault(above, []).append(int(row))
        result.append(replace(change, pointer=place))
    return result


def edited(reading: RawDocument, asked: Sequence[tuple[str, Edit]]) -> tuple[bytes, list[Change]]:
    """Return the text with edits applied, and the changes; each edit has the code of its rule.

    If there are several edits of a value, removal takes precedence, otherwise the first.
    """
    text, locator = reading.text, Locator(reading)
    splices: list[_Splice] = []
    removed: list[tuple[int, int]] = []
    changes: list[Change] = []
    for code, edit in _apart(asked):
        span = locator.span(edit.pointer)
        after = b"" if edit.action == "remove" else _json(edit.value)
        if not edit.pointer:
            # The text was converted to UTF-8 when it was read; only a byte order mark may remain.
            end = len(text)
            start = end if reading.trailing is None else reading.trailing
            mark = len(BYTE_ORDER_MARK) if text[:3] == BYTE_ORDER_MARK else 0
            span = Span(start, end) if edit.action == "remove" else Span(0, mark)
            after = b""
            splices.append((span.start, span.stop, after))
        elif edit.action == "add":
            parent = locator.span(edit.pointer.rpartition("/")[0])
            if parent is None or span is not None:
                continue
            splices.append(_added(text, parent, edit.pointer, after, splices))
        elif span is None or text[span.start : span.stop] == after:
            continue
        elif edit.action == "remove":
            key = key_before(text, span.start)
            removed.append((span.start if key is None else key, span.stop))
        else:
            splices.append((span.start, span.stop, after))
        before = b"" if span is None else text[span.start : span.stop]
        shown = reading.shown(edit.pointer)
        changes.append(Change(code, shown, before.decode("utf-8", "replace"), after.decode()))
    splices += _removals(text, sorted(removed))
    parts, place = [], 0
    for start, stop, new in sorted(splices, key=lambda splice: splice[:2]):
        parts += [text[place:start], new]
        place = stop
    return b"".join([*parts, text[place:]]), changes


def _added(
    text: bytes, parent: Span, pointer: str, value: bytes, splices: Sequence[_Splice]
) -> _Splice:
    """Return the splice that adds a key at the end of an object, or a value at that of a list."""
    end, begin = _back(text, parent.stop - 1), parent.start + 1
    first = end == begin and not any(start == end for start, *_ in splices[-9:])
    if text[parent.start : begin] == b"[":
        # The values of a list are on a line each, or all on one.
        gap = text[begin : _forward(text, begin)]
        return end, end, (gap if first else b"," + gap) + value
    key = _json(pointer_parts(pointer)[-1])
    return end, end, (b"" if first else b", ") + key + b": " + value


def _apart(asked: Iterable[tuple[str, Edit]]) -> list[tuple[str, Edit]]:
    """Return the edits that do not overlap, in the order of the document."""
    by_pointer: dict[str, tuple[str, Edit]] = {}
    for code, edit in asked:
        earlier = by_pointer.get(edit.pointer)
        if earlier is None or (edit.action == "remove" and earlier[1].action != "remove"):
            by_pointer[edit.pointer] = code, edit

    def is_free(pointer: str) -> bool:
        while pointer := pointer.rpartition("/")[0]:
            if pointer in by_pointer:
                return False
        return True

    free = (pointer for pointer in by_pointer if is_free(pointer))
    return [by_pointer[each] for each in sorted(free, key=lambda each: (*row_of(each), each))]


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def _forward(text: bytes, place: int) -> int:
    while text[place : place + 1] and text[place] in BLANKS:
        place += 1
    return place


def _back(text: bytes, place: int) -> int:
    while place and text[place - 1] in BLANKS:
        place -= 1
    return place


def key_before(text: bytes, start: int) -> int | None:
    """Return where the key of the value at a place begins; None for an item of a list."""
    place = _back(text, start) - 1
    if text[place : place + 1] != b":":
        return None
    place = text.rindex(b'"', 0, place) - 1
    while True:
        place = text.rindex(b'"', 0, place + 1)
        before = text[max(0, place - 64) : place]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return place
        place -= 1


def _removals(text: bytes, removed: Sequence[tuple[int, int]]) -> Iterator[_Splice]:
    """Yield splices that remove values together with the commas between them."""
    place = 0
    while place < len(removed):
        start, stop = removed[place]
        while True:
            place += 1
            after = _forward(text, stop)
            comma = text[after : after + 1] == b","
            following = _forward(text, after + 1) if comma else stop
            if not (comma and place < len(removed) and removed[place][0] == following):
                break
            stop = removed[place][1]
        if comma:
            yield start, following, b""
        else:
            before = _back(text, start)
            yield (before - 1 if text[before - 1 : before] == b"," else start), stop, b""


class Baseline(msgspec.Struct, frozen=True):
    """The accepted findings."""

    path: Path
    """Files in it are relative to its folder."""
    known: Mapping[str, int]
    """By identity."""


_VERSION = 1


def write_baseline(path: Path, report: FoundReport) -> None:
    """Write the findings of a report, which lists all, as the baseline for later runs."""
    entries: dict[str, dict[str, Any]] = {}
    for finding in report.findings:
        name = _identity(finding, path)
        # The message is only for readers of the file.
        entry = {"code": finding.code, "file": finding.file, "message": finding.message}
        entries.setdefault(name, {**entry, "identity": name, "count": 0})["count"] += 1
    rows = sorted(entries.values(), key=lambda e: (e["file"], e["code"], e["identity"]))
    lines = ",\n".join(map(json_line, rows))
    text = f'{{"bboxqa_baseline": {_VERSION}, "findings": [\n{lines}\n]}}\n'
    write_atomically(path, text.encode())


def read_baseline(path: Path) -> Baseline:
    """Return a baseline; raise ConfigError if the file cannot be read, or is none."""
    try:
        document = json.loads(read_whole(path))
        known = Counter[str]()
        # Another version is no key, and refused as any other file.
        for entry in {_VERSION: document["findings"]}[document["bboxqa_baseline"]]:
            known[str(entry["identity"])] += int(entry["count"])
    except DatasetError as error:
        raise ConfigError(error.problems[0]) from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise ConfigError(f"{path}: not a baseline; write one with --write-baseline") from None
    return Baseline(path, known)


def new_findings(report: FoundReport, baseline: Baseline, limit: int = 0) -> FoundReport:
    """Return the findings, of a report that lists all, that are not in a baseline."""
    remaining, listed = Counter(baseline.known), []
    counts, severities = Counter[str](), Counter[Severity]()
    of_file: Counter[tuple[str, str]] = Counter()
    for finding in report.findings:
        name = _identity(finding, baseline.path)
        if remaining[name] > 0:
            remaining[name] -= 1
            continue
        counts[finding.code] += 1
        severities[finding.severity] += 1
        of_file[finding.file, finding.code] += 1
        if not limit or of_file[finding.file, finding.code] <= limit:
            listed.append(finding)
    notes, n_hidden = report.notes, len(report.findings) - counts.total()
    if n_hidden:
        n_errors = report.severities[Severity.ERROR] - severities[Severity.ERROR]
        of_them = f", of them {count(n_errors, 'error')}" if n_errors else ""
        notes += (f"{count(n_hidden, 'known finding')} of the baseline hidden{of_them}",)
    return replace(
        report,
        notes=notes,
        findings=tuple(listed),
        counts=dict(sorted(counts.items())),
        severities={severity: severities[severity] for severity in Severity},
    )


def _identity(finding: Finding, path: Path) -> str:
    """Return the identity of a finding, independent of the working directory."""
    try:
        file = os.path.relpath(finding.file, path.parent)
    except ValueError:
        # On Windows, there is no relative path to another drive.
        file = finding.file
    return identity(replace(finding, file=Path(file).as_posix()))
