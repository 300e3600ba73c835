"""Application of rules to documents: from documents to a report."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from bboxqa.core.json_values import pointer_parts, pointer_to
from bboxqa.core.memory import gc_paused
from bboxqa.core.text import count
from bboxqa.core.types import Progress
from bboxqa.core.version import __version__
from bboxqa.formats.document.content import RESULTS_LIST
from bboxqa.formats.document.positions import spots
from bboxqa.model.findings import Edit, FileReport, Finding, FoundReport, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import Defect, Hits, LazyEdits, Rule
from bboxqa.rules.base.selection import ignored_codes
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.exporters import QUIRKS, exporter
from bboxqa.rules.facts.file_kinds import kind_of
from bboxqa.rules.registry import known_rules, select

_EXCERPT = 160
_MANY = 10
_SCOPES = {"record", "data set"}


def chosen_rules(settings: ValidateSettings, name: str) -> tuple[Rule, ...]:
    """Return the rules that are applied to a file."""
    return select(settings.select, ignored_codes(settings, name))


@gc_paused()
def apply(
    document: Document,
    settings: ValidateSettings,
    progress: Progress | None = None,
) -> list[tuple[Rule, Hits]]:
    """Apply the rules that check one file, and return what each found.

    Parameters
    ----------
    document : Document
    settings : ValidateSettings
    progress : callable, optional
        Called as progress(stage, done, total), where `total` is the number of rules.
    """
    rules = _rules_of(document, settings)
    result = []
    for number, rule in enumerate(rules):
        if progress is not None:
            progress("checking", number, len(rules))
        result += [(rule, _summarised(hits, document)) for hits in rule.check(document, settings)]
        document.release_pages()
    return result


def _rules_of(document: Document, settings: ValidateSettings) -> list[Rule]:
    """Return the rules that check one file by itself, and apply to its kind."""
    scopes = _SCOPES if document.disk is None else {*_SCOPES, "images"}
    kind = kind_of(document)
    return [
        rule
        for rule in chosen_rules(settings, document.name)
        if rule.scope in scopes and kind.has_rule(rule.code)
    ]


def _summarised(hits: Hits, document: Document) -> Hits:
    """Return hits as a single one where most annotations share the defect."""
    total = len(document.annotations)
    if len(hits) <= max(_MANY, total // 2):
        return hits
    first = hits.describe(0)
    if first.count > 1 or not first.pointer.startswith("/annotations/"):
        return hits

    def edits() -> Iterator[Edit]:
        return (edit for place in range(len(hits)) for edit in hits.describe(place).edits)

    found = Defect(
        f"{len(hits):,} times in {count(total, 'annotation')}; the first: {first.message}",
        pointer="/annotations",
        expected=first.expected,
        edits=LazyEdits(edits) if first.edits else (),
        count=len(hits),
        examples=tuple(hits.describe(place).pointer for place in range(3)),
    )
    return Hits(hits.rows[:1], lambda _: found, hits.severity)


def apply_together(
    documents: Sequence[Document], settings: ValidateSettings
) -> list[list[tuple[Rule, Hits]]]:
    """Apply the rules that check several files together; return what they found in each."""
    places = {id(document): place for place, document in enumerate(documents)}
    result: list[list[tuple[Rule, Hits]]] = [[] for _ in documents]
    chosen = [set(chosen_rules(settings, document.name)) for document in documents]
    for rule in known_rules().values():
        if rule.scope == "files" and len(documents) > 1 and any(rule in rules for rules in chosen):
            for document, hits in rule.check(documents, settings):
                place = places[id(document)]
                if rule in chosen[place]:
                    result[place].append((rule, hits))
    return result


def describe(document: Document, raw: Iterable[tuple[Rule, Hits]], limit: int) -> list[Finding]:
    """Return findings with their places in the file, sorted by place.

    Parameters
    ----------
    document : Document
    raw : iterable of (Rule, Hits)
    limit : int
        Greatest number of findings of one rule; 0 for all.
    """
    findings, offsets = [], []
    described: Counter[str] = Counter()
    for rule, hits in raw:
        wanted = len(hits) if limit == 0 else min(len(hits), limit - described[rule.code])
        described[rule.code] += wanted
        for found in map(hits.describe, range(wanted)):
            findings.append(_finding(rule, hits.severity, found, document.name))
            offsets.append(found.offset)
    placed = _locate(document, findings, offsets)
    return list(map(_in_list, placed) if document.reading.is_results else placed)


def _in_list(finding: Finding) -> Finding:
    """Return a finding with pointers into a list at the top level, which has no name."""
    name = pointer_to(RESULTS_LIST)
    pointer, *examples = (
        pointer.removeprefix(name) for pointer in (finding.pointer, *finding.examples)
    )
    return replace(finding, pointer=pointer, examples=tuple(examples))


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
            # A missing value has no place; that of its record is reported.
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
    tool = exporter(document)
    return FileReport(
        name=document.name,
        kind=kind_of(document).name,
        exporter=tool,
        habits=QUIRKS.get(tool or "", ""),
        n_images=len(document.images),
        n_annotations=len(document.annotations),
        n_categories=len(document.categories),
    )


# Numbers of a file may overflow in sums and products; rules report them.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def validate_documents(
    documents: Iterable[Document],
    settings: ValidateSettings,
    limit: int,
    progress: Progress | None = None,
) -> FoundReport:
    """Apply all rules and return what they found; see `bboxqa.validate`."""
    files, findings, counted, kept = [], [], [], []
    rules: dict[str, Rule] = {}
    for document in documents:
        rules |= {rule.code: rule for rule in _rules_of(document, settings)}
        raw = apply(document, settings, progress)
        counted += _counted(raw)
        files.append(file_report(document))
        findings.append(describe(document, raw, limit))
        kept.append(document.without_annotations())
    together = apply_together(kept, settings)
    if len(kept) > 1:
        together_rules = (r for document in kept for r in chosen_rules(settings, document.name))
        rules |= {rule.code: rule for rule in together_rules if rule.scope == "files"}
    for number, (document, raw) in enumerate(zip(kept, together, strict=True)):
        counted += _counted(raw)
        findings[number] += describe(document, raw, limit)
    counts: Counter[str] = Counter()
    severities: Counter[Severity] = Counter()
    for code, severity, n_hits in counted:
        counts[code] += n_hits
        severities[severity] += n_hits
    return FoundReport(
        files=tuple(files),
        findings=tuple(finding for part in findings for finding in _ordered(part)),
        counts=dict(sorted(counts.items())),
        severities={severity: severities[severity] for severity in Severity},
        rules={code: rule.text() for code, rule in rules.items()},
        version=__version__,
        fail_on=Severity(settings.fail_on),
    )


def _counted(raw: Iterable[tuple[Rule, Hits]]) -> list[tuple[str, Severity, int]]:
    """Return code, severity and number of hits, which hold no document in memory."""
    return [(rule.code, hits.severity or rule.severity, len(hits)) for rule, hits in raw]
