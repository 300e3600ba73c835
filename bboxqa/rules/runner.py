"""Applying rules to documents, and making the report."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bboxqa.core.json_values import pointer_parts
from bboxqa.core.memory import gc_paused
from bboxqa.core.text import clean, first_few
from bboxqa.core.types import Progress
from bboxqa.core.version import __version__
from bboxqa.formats.document import apart_note
from bboxqa.formats.positions import spots
from bboxqa.model.findings import FileReport, Finding, FoundReport, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import Defect, Rule
from bboxqa.rules.causes import Found, Hidden, grouped, without_consequences
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.exporters import QUIRKS, exporter
from bboxqa.rules.facts.file_kinds import kind_of
from bboxqa.rules.found_boxes import with_boxes
from bboxqa.rules.origins import placed_in_origin
from bboxqa.rules.registry import known_rules, select
from bboxqa.rules.selection import ignored_codes

# The number of files that a note names.
_NAMED = 1
_EXCERPT = 160
_SCOPES = {"record", "data set"}


def chosen_rules(settings: ValidateSettings, name: str) -> tuple[Rule, ...]:
    """Return the rules that the settings select for a file."""
    return select(settings.select, ignored_codes(settings, name))


@gc_paused()
def apply(
    document: Document,
    settings: ValidateSettings,
    progress: Progress | None = None,
) -> list[Found]:
    """Apply the rules that check single files, and return their hits, including consequences.

    `progress` is called as progress(stage, done, total), where `total` is the number of rules.
    """
    rules = _rules_of(document, settings)
    result = []
    for number, rule in enumerate(rules):
        if progress is not None:
            progress("checking", number, len(rules))
        result += [(rule, hits) for hits in rule.check(document, settings)]
    return result


def _rules_of(document: Document, settings: ValidateSettings) -> list[Rule]:
    """Return the rules that check single files and apply to this kind of file."""
    scopes = _SCOPES if document.disk is None else {*_SCOPES, "images"}
    kind = kind_of(document)
    return [
        rule
        for rule in chosen_rules(settings, document.name)
        if rule.scope in scopes and kind.has_rule(rule.code)
    ]


def apply_together(documents: Sequence[Document], settings: ValidateSettings) -> list[list[Found]]:
    """Apply the rules that check several files together; return the hits in each file."""
    places = {id(document): place for place, document in enumerate(documents)}
    result: list[list[Found]] = [[] for _ in documents]
    chosen = [set(chosen_rules(settings, document.name)) for document in documents]
    for rule in known_rules().values():
        if rule.scope == "files" and len(documents) > 1 and any(rule in rules for rules in chosen):
            for document, hits in rule.check(documents, settings):
                place = places[id(document)]
                if rule in chosen[place]:
                    result[place].append((rule, hits))
    return result


def describe(document: Document, raw: Iterable[Found], limit: int) -> list[Finding]:
    """Return findings with their positions in the file, sorted by position.

    At most `limit` findings per rule are returned; 0 for all.
    """
    findings, offsets = [], []
    described: Counter[str] = Counter()
    for rule, hits in raw:
        wanted = len(hits) if limit == 0 else min(len(hits), limit - described[rule.code])
        described[rule.code] += wanted
        for found in map(hits.describe, range(wanted)):
            findings.append(_finding(rule, hits.severity, found, document.name))
            offsets.append(found.offset)
    if document.reading.origin is not None:
        return list(placed_in_origin(document.reading.origin, with_boxes(document, findings)))
    placed = list(with_boxes(document, _locate(document, findings, offsets)))
    if document.reading.is_packed:
        placed = [replace(each, fix=None, edits=()) for each in placed]
    if not document.reading.is_results:
        return placed
    shown = document.reading.shown
    return [
        replace(each, pointer=shown(each.pointer), examples=tuple(map(shown, each.examples)))
        for each in placed
    ]


def _ordered(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(
        findings,
        key=lambda f: (-f.severity.rank, f.code, f.spot.offset if f.spot else -1, f.pointer),
    )


def _finding(rule: Rule, severity: Severity | None, found: Defect, file: str) -> Finding:
    return Finding(
        code=rule.code,
        severity=severity or rule.severity,
        message=found.message,
        file=file,
        pointer=found.pointer,
        ids=found.ids,
        found=found.found,
        expected=found.expected,
        fix=rule.fix if found.edits else None,
        edits=found.edits,
        count=found.count,
        examples=found.examples,
        key=found.key,
    )


def _locate(
    document: Document, findings: Sequence[Finding], offsets: Sequence[int | None]
) -> Iterator[Finding]:
    """Yield findings with line, column and excerpt, in the order of the file."""

    def order(number: int) -> tuple[str, int, str]:
        pointer = findings[number].pointer
        parts = pointer_parts(pointer)
        row = int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else -1
        return (parts[0] if parts else "", row, pointer)

    locator, text = document.locator, document.reading.text
    placed: list[tuple[int, int, str]] = []
    for number in sorted(range(len(findings)), key=order):
        finding, offset = findings[number], offsets[number]
        excerpt = ""
        parts = pointer_parts(finding.pointer)
        if offset is None:
            span = locator.span(finding.pointer)
            # A missing value has no position, so the position of its record is reported.
            while span is None and parts:
                parts.pop()
                span = locator.span("".join(f"/{part}" for part in parts))
            offset = 0 if span is None else span.start
        if len(parts) > 1 and parts[1].isdecimal():
            record = locator.span(f"/{parts[0]}/{parts[1]}")
            if record is not None:
                raw = text[record.start : min(record.stop, record.start + 4 * _EXCERPT)]
                excerpt = " ".join(raw.decode("utf-8", "replace").split())[:_EXCERPT]
        placed.append((offset, number, excerpt))
    placed.sort()
    for (_, number, excerpt), spot in zip(
        placed, spots(text, (offset for offset, *_ in placed)), strict=True
    ):
        yield replace(findings[number], spot=spot, excerpt=excerpt)


def file_report(document: Document) -> FileReport:
    """Return the name, the exporter and the numbers of records of a file."""
    tool, kind = exporter(document), kind_of(document)
    has_pngs = "segments_info" in kind.required and document.disk is None
    return FileReport(
        name=document.name,
        kind=kind.name,
        unread=_unread_pngs(document.name) if has_pngs else "",
        exporter=tool,
        habits=QUIRKS.get(tool or "", ""),
        n_images=len(document.reading.images),
        n_annotations=len(document.annotations),
        n_categories=len(document.reading.categories),
    )


def _notes_on(documents: Sequence[Document]) -> Iterator[str]:
    """Yield notes on what the translation of files left out, and how it read the rest."""
    files: dict[str, dict[str, None]] = {}
    for document in documents:
        origin = document.reading.origin
        if origin is not None:
            apart = [apart_note(origin.apart, "examined")] if origin.apart else []
            for note in (*origin.notes, *apart):
                files.setdefault(note, {})[document.name] = None
    for note, names in files.items():
        each = "each of " if len(names) > 1 else ""
        yield f"{each}{first_few([*names], _NAMED)}: {note}" if len(documents) > 1 else note


def _unread_pngs(name: str) -> str:
    """Return the note that PNG files of segments are not read, with the likely folder."""
    beside = Path(name).with_suffix("")
    folder = shlex.quote(clean(str(beside))) if beside.is_dir() else "FOLDER"
    return f"its PNG files are not read without --images {folder}"


# Numbers in a file may overflow in sums and products; rules report such numbers.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def validate_documents(
    documents: Iterable[Document],
    settings: ValidateSettings,
    limit: int,
    progress: Progress | None = None,
) -> FoundReport:
    """Apply all rules and return the report; see `bboxqa.validate`."""
    files, findings, kept, tally = [], [], [], _Tally(settings)
    rules: dict[str, Rule] = {}
    for document in documents:
        rules |= {rule.code: rule for rule in _rules_of(document, settings)}
        found = tally.reported(document, apply(document, settings, progress))
        files.append(file_report(document))
        findings.append(describe(document, found, limit))
        kept.append(document.without_annotations())
    together = apply_together(kept, settings)
    if len(kept) > 1:
        together_rules = (r for document in kept for r in chosen_rules(settings, document.name))
        rules |= {rule.code: rule for rule in together_rules if rule.scope == "files"}
    for number, (document, raw) in enumerate(zip(kept, together, strict=True)):
        findings[number] += describe(document, tally.reported(document, raw), limit)
    return FoundReport(
        files=tuple(files),
        findings=tuple(finding for part in findings for finding in _ordered(part)),
        counts=dict(sorted(tally.counts.items())),
        severities={severity: tally.severities[severity] for severity in Severity},
        rules={code: rule.text() for code, rule in rules.items()},
        version=__version__,
        fail_on=Severity(settings.fail_on),
        hidden={code: dict(sorted(tally.hidden[code].items())) for code in sorted(tally.hidden)},
        notes=tuple(_notes_on(kept)),
    )


class _Tally:
    """Selects and counts the hits to report."""

    def __init__(self, settings: ValidateSettings) -> None:
        self._settings = settings
        self.counts: Counter[str] = Counter()
        self.severities: Counter[Severity] = Counter()
        self.hidden: Hidden = {}

    def reported(self, document: Document, raw: list[Found]) -> list[Found]:
        """Return the hits to list, and count all hits."""
        found = raw
        if not self._settings.show_consequences:
            found, hidden = without_consequences(document, raw)
            for code, numbers in hidden.items():
                self.hidden.setdefault(code, Counter()).update(numbers)
        listed, least = [], Severity(self._settings.min_severity)
        for rule, hits in found:
            parts = grouped(document, rule, hits)
            severity = hits.severity or rule.severity
            number = sum(map(len, parts))
            self.severities[severity] += number
            if severity.rank >= least.rank:
                self.counts[rule.code] += number
                listed += [(rule, part) for part in parts]
        return listed
