"""Applying rules to documents, and making the report."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to
from bboxqa.core.memory import gc_paused
from bboxqa.core.text import clean, first_few
from bboxqa.core.types import Progress
from bboxqa.core.version import __version__
from bboxqa.formats.document import apart_note
from bboxqa.model.findings import Edit, FileReport, Finding, FoundReport, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import MANY, Defect, Found, Hits, LazyEdits, Rule
from bboxqa.rules.facts.document import Document, n_records
from bboxqa.rules.facts.file_kinds import exporter, kind_of
from bboxqa.rules.findings import describe
from bboxqa.rules.registry import known_rules, select
from bboxqa.rules.selection import ignored_codes

# The number of files that a note names.
_NAMED = 1
_SCOPES = {"record", "data set"}
_EXAMPLES = 3
# At least this many equal messages are grouped into one finding.
_EQUAL = 20
_SHARE = {"annotations": 0.2, "images": 0.2, "categories": 0}

Hidden = dict[str, Counter[str]]
"""By code of a cause, the numbers of hidden findings by their code."""


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
    rules, columns = _rules_of(document, settings), document.annotations
    result = []
    for number, rule in enumerate(rules):
        if progress is not None:
            progress("checking", number, len(rules))
        if not rule.needs or any(len(getattr(columns, each).row) for each in rule.needs):
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


def _ordered(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(
        findings,
        key=lambda f: (-f.severity.rank, f.code, f.spot.offset if f.spot else -1, f.pointer),
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


def without_consequences(document: Document, found: Sequence[Found]) -> tuple[list[Found], Hidden]:
    """Return the hits that do not follow from other hits, and the numbers that each cause hides."""
    kept: list[Found] = []
    hidden: Hidden = {}
    for rule, hits in found:
        left = hits
        causes = [each for each in found if each[0].code in rule.requires and each[1].hides]
        # Hidden findings are attributed to the most severe of several causes.
        for cause in sorted(causes, key=_rank, reverse=True):
            follows = _follows(document, cause, (rule, left))
            if follows.any():
                hidden.setdefault(cause[0].code, Counter())[rule.code] += int(follows.sum())
                left = left.where(~follows)
        if len(left):
            kept.append((rule, left))
    return kept, hidden


def _follows(document: Document, cause: Found, other: Found) -> BoolArray:
    """Return which hits of another rule follow from a cause, (H,) bool."""
    by, hits = cause[1], other[1]
    about_file = not by.name
    is_same = by.name == hits.name and (by.key == hits.key or not (by.key and hits.key))
    # A more severe finding is never hidden, since a run might then pass.
    if _rank(other) > _rank(cause) or not (about_file or is_same):
        return np.zeros(len(hits), np.bool_)
    if about_file and by.concerned is None:
        return np.ones(len(hits), np.bool_)
    if about_file and hits.name != "annotations":
        return np.zeros(len(hits), np.bool_)
    concerned = np.zeros(n_records(document, hits.name), np.bool_)
    concerned[by.rows if by.concerned is None else by.concerned] = True
    follows: BoolArray = concerned[hits.rows]
    return follows


def _rank(found: Found) -> int:
    rule, hits = found
    return (hits.severity or rule.severity).rank


def grouped(document: Document, rule: Rule, hits: Hits) -> list[Hits]:
    """Group hits into a single hit if many records share the defect.

    If less than a fifth of the records do, only 20 or more equal messages are grouped.
    """
    if hits.apart:
        return [hits]
    # A record with several wrong rings counts once.
    n_rows, total = _numbers(document, hits)
    is_most = n_rows > hits.few and 2 * n_rows > total
    if not hits.name:
        return [hits]
    if is_most or (n_rows > MANY and n_rows >= _SHARE[hits.name] * total):
        return [_single(document, rule, hits)]
    return _by_message(document, rule, hits)


def _numbers(document: Document, hits: Hits) -> tuple[int, int]:
    """Return the number of records with a defect, and the number of records compared."""
    return len(np.unique(hits.rows)), hits.total or n_records(document, hits.name)


def _by_message(document: Document, rule: Rule, hits: Hits) -> list[Hits]:
    """Group the hits with the most frequent message; the others stay as they are."""
    if len(hits) < _EQUAL:
        return [hits]
    # All hits are described only if a sample shows that it is worth the time.
    sample = np.linspace(0, len(hits) - 1, _EQUAL).astype(int).tolist()
    message, n_equal = Counter(hits.describe(at).message for at in sample).most_common(1)[0]
    if 2 * n_equal <= _EQUAL:
        return [hits]
    equal = np.array([hits.describe(at).message == message for at in range(len(hits))])
    if equal.sum() < _EQUAL:
        return [hits]

    def summary(_places: IndexArray, share: str) -> str:
        return f"{share}: {message}"

    parts = [_single(document, rule, replace(hits.where(equal), summary=summary))]
    return parts if equal.all() else [*parts, hits.where(~equal)]


def _single(document: Document, rule: Rule, hits: Hits) -> Hits:
    """Group hits into a single hit."""
    n_hits, (n_rows, total) = len(hits), _numbers(document, hits)
    n_few = min(_EXAMPLES, n_hits)

    def edits() -> Iterator[Edit]:
        return (edit for place in range(n_hits) for edit in hits.edits_of(place))

    def describe(_place: int) -> Defect:
        # Image files are fixed one by one, so all are listed; for other records, a few examples do.
        are_files = rule.scope == "images"
        shown = [hits.describe(place) for place in range(n_hits if are_files else n_few)]
        share = f"{n_rows:,} of {total:,} {hits.name}"
        if hits.summary is None:
            message = f"{share}; the first: {shown[0].message}"
        else:
            message = hits.summary(np.arange(n_hits), share)
        return Defect(
            message,
            pointer=pointer_to(hits.name),
            found=[each.found for each in shown] if are_files else None,
            expected=shown[0].expected,
            edits=LazyEdits(edits) if rule.fix else (),
            count=n_rows,
            examples=tuple(each.pointer for each in shown),
        )

    return Hits(hits.rows[:1], describe, hits.severity, hits.name)


def file_report(document: Document) -> FileReport:
    """Return the name, the exporter and the numbers of records of a file."""
    kind = kind_of(document)
    has_pngs = "segments_info" in kind.required and document.disk is None
    return FileReport(
        name=document.name,
        kind=kind.name,
        unread=_unread_pngs(document.name) if has_pngs else "",
        exporter=exporter(document),
        n_images=len(document.reading.images),
        n_annotations=len(document.annotations),
        n_categories=len(document.reading.categories),
    )


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
