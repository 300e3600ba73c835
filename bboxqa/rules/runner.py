"""Applying rules to documents, and making the report."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path, PurePath

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.memory import gc_paused
from bboxqa.core.text import clean, first_few
from bboxqa.core.types import Progress
from bboxqa.core.version import __version__
from bboxqa.formats.document import apart_note
from bboxqa.model.findings import FileReport, Finding, FoundReport, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import MANY, Rows, rows_of
from bboxqa.rules.base.rule import Rule
from bboxqa.rules.facts.document import Document, n_records
from bboxqa.rules.facts.file_kinds import exporter, kind_of
from bboxqa.rules.findings import describe
from bboxqa.rules.registry import known_rules, looks_at, selected_codes

# The number of files that a note names.
_NAMED = 1
# At least this many equal messages are grouped into one finding.
_EQUAL = 20
_SHARE = {"annotations": 0.2, "images": 0.2, "categories": 0}

Found = tuple[Rule, Rows]
Hidden = dict[str, Counter[str]]
"""By code of a cause, the numbers of hidden findings by their code."""


def chosen_codes(settings: ValidateSettings, name: str) -> tuple[str, ...]:
    """Return the codes of the rules that the settings select for a file."""
    ignored = list(settings.ignore)
    # Codes ignored in a file are also ignored in its fixed copy.
    names = {name, PurePath(name).name}
    names |= {each.replace(".fixed.", ".") for each in names}
    for pattern, codes in settings.per_file_ignores.items():
        if any(fnmatch(each, pattern) for each in names):
            ignored += codes
    return selected_codes(settings.select, ignored)


@gc_paused()
def apply(
    document: Document, settings: ValidateSettings, progress: Progress | None = None
) -> list[Found]:
    """Apply the rules that check single files, and return what they found, including consequences.

    `progress` is called as progress(stage, done, total), where `total` is the number of rules.
    """
    codes, rules = _codes_of(document, settings), known_rules()
    result = []
    for number, code in enumerate(codes):
        if progress is not None:
            progress("checking", number, len(codes))
        if looks_at(code, document):
            found = rows_of(rules[code].check(document, settings))
            result += [(rules[code], rows) for rows in found]
    return result


def _codes_of(document: Document, settings: ValidateSettings) -> list[str]:
    """Return the codes of rules that check single files and apply to this kind of file."""
    kind, scope = kind_of(document), known_rules().scope
    left_out = {"files"} if document.disk is not None else {"files", "images"}
    codes = chosen_codes(settings, document.name)
    return [code for code in codes if kind.has_rule(code) and scope(code) not in left_out]


def apply_together(documents: Sequence[Document], settings: ValidateSettings) -> list[list[Found]]:
    """Apply the rules that check several files together; return what they found in each file."""
    places = {id(document): place for place, document in enumerate(documents)}
    result: list[list[Found]] = [[] for _ in documents]
    chosen = [chosen_codes(settings, document.name) for document in documents]
    rules = known_rules()
    for code in sorted({*chain(*chosen)}, key=[*rules].index):
        if rules.scope(code) == "files":
            for document, found in rules[code].check(documents, settings):
                place = places[id(document)]
                if code in chosen[place]:
                    result[place] += [(rules[code], rows) for rows in rows_of([found])]
    return result


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


def without_consequences(document: Document, found: Sequence[Found]) -> tuple[list[Found], Hidden]:
    """Return what does not follow from other defects, and the numbers that each cause hides."""
    kept: list[Found] = []
    hidden: Hidden = {}
    for rule, rows in found:
        left = rows
        causes = [each for each in found if each[0].code in rule.requires and each[1].hides]
        # Hidden findings are attributed to the most severe of several causes.
        for cause in sorted(causes, key=_rank, reverse=True):
            follows = _follows(document, cause, (rule, left))
            if follows.any():
                hidden.setdefault(cause[0].code, Counter())[rule.code] += int(follows.sum())
                left = left.kept(~follows)
        if len(left):
            kept.append((rule, left))
    return kept, hidden


def _follows(document: Document, cause: Found, other: Found) -> BoolArray:
    """Return which records of another rule follow from a cause, (H,) bool."""
    by, rows = cause[1], other[1]
    about_file = not by.name
    is_same = by.name == rows.name and (by.key == rows.key or not (by.key and rows.key))
    # A more severe finding is never hidden, since a run might then pass.
    is_possible = _rank(other) <= _rank(cause) and (about_file or is_same)
    if not is_possible or (about_file and by.concerned is None):
        return np.full(len(rows), is_possible)
    if about_file and rows.name != "annotations":
        return np.zeros(len(rows), np.bool_)
    concerned = np.zeros(n_records(document, rows.name), np.bool_)
    concerned[by.rows if by.concerned is None else by.concerned] = True
    follows: BoolArray = concerned[rows.rows]
    return follows


def _rank(found: Found) -> int:
    rule, rows = found
    return (rows.severity or rule.severity).rank


def grouped(document: Document, rule: Rule, rows: Rows) -> list[Rows]:
    """Join records into a single defect if many share the defect.

    If less than a fifth of the records do, only 20 or more equal messages are joined.
    """
    if rows.apart or not rows.name:
        return [rows]
    total, are_files = rows.total or n_records(document, rows.name), rule.scope == "images"
    # A record with several wrong rings counts once.
    n_rows = len(np.unique(rows.rows))
    is_most = n_rows > rows.few and 2 * n_rows > total
    if is_most or (n_rows > MANY and n_rows >= _SHARE[rows.name] * total):
        share = f"{n_rows:,} of {total:,} {rows.name}"
        return [rows.joined(document, share, are_files=are_files)]
    if len(rows) < _EQUAL:
        return [rows]

    def message(place: int) -> str:
        return rows.describe(document, int(rows.numbers[place])).message

    # All are described only if a sample shows that it is worth the time.
    sample = np.linspace(0, len(rows) - 1, _EQUAL).astype(int).tolist()
    most, n_equal = Counter(map(message, sample)).most_common(1)[0]
    if 2 * n_equal <= _EQUAL:
        return [rows]
    equal = np.array([message(place) == most for place in range(len(rows))])
    if equal.sum() < _EQUAL:
        return [rows]
    alike = rows.kept(equal)
    share = f"{len(np.unique(alike.rows)):,} of {total:,} {rows.name}"
    single = alike.joined(document, share, most, are_files=are_files)
    return [single] if equal.all() else [single, rows.kept(~equal)]


def file_report(document: Document) -> FileReport:
    """Return the name, the exporter and the numbers of records of a file."""
    kind = kind_of(document)
    unread = ""
    if "segments_info" in kind.required and document.disk is None:
        beside = Path(document.name).with_suffix("")
        folder = shlex.quote(clean(str(beside))) if beside.is_dir() else "FOLDER"
        unread = f"its PNG files are not read without --images {folder}"
    return FileReport(
        name=document.name,
        kind=kind.name,
        unread=unread,
        exporter=exporter(document),
        n_images=len(document.reading.images),
        n_annotations=len(document.annotations),
        n_categories=len(document.reading.categories),
    )


def _order(finding: Finding) -> tuple[int, str, int, str]:
    offset = finding.spot.offset if finding.spot else -1
    return -finding.severity.rank, finding.code, offset, finding.pointer


# Numbers in a file may overflow in sums and products; rules report such numbers.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def validate_documents(
    documents: Iterable[Document],
    settings: ValidateSettings,
    limit: int,
    progress: Progress | None = None,
) -> FoundReport:
    """Apply all rules and return the report; see `bboxqa.validate`."""
    files, findings, kept = [], [], []
    codes: dict[str, None] = {}
    counts, severities, hidden = Counter[str](), Counter[Severity](), Hidden()
    least = Severity(settings.min_severity)

    def listed(document: Document, found: list[Found]) -> list[Finding]:
        """Count what was found, and return the findings to list."""
        if not settings.show_consequences:
            found, follows = without_consequences(document, found)
            for code, numbers in follows.items():
                hidden.setdefault(code, Counter()).update(numbers)
        shown = []
        for rule, rows in found:
            parts = grouped(document, rule, rows)
            severity, number = rows.severity or rule.severity, sum(map(len, parts))
            severities[severity] += number
            if severity.rank >= least.rank:
                counts[rule.code] += number
                shown += [(rule, part) for part in parts]
        return describe(document, shown, limit)

    for document in documents:
        codes |= dict.fromkeys(_codes_of(document, settings))
        findings.append(listed(document, apply(document, settings, progress)))
        files.append(file_report(document))
        kept.append(document.without_annotations())
    if len(kept) > 1:
        for number, raw in enumerate(apply_together(kept, settings)):
            findings[number] += listed(kept[number], raw)
            chosen, scope = chosen_codes(settings, kept[number].name), known_rules().scope
            codes |= dict.fromkeys(code for code in chosen if scope(code) == "files")
    return FoundReport(
        files=tuple(files),
        findings=tuple(finding for part in findings for finding in sorted(part, key=_order)),
        counts=dict(sorted(counts.items())),
        severities={severity: severities[severity] for severity in Severity},
        rules=known_rules().only(codes),
        version=__version__,
        fail_on=Severity(settings.fail_on),
        hidden={code: dict(sorted(hidden[code].items())) for code in sorted(hidden)},
        notes=tuple(_notes_on(kept)),
    )
