"""Applying rules to documents, and making the report: findings with their places."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import chain
from pathlib import PurePath
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import Progress, distinct, listed_by
from bboxqa.core.json_values import pointer_parts
from bboxqa.core.machine import gc_paused
from bboxqa.core.text import first_few
from bboxqa.core.version import __version__
from bboxqa.formats.document import apart_note
from bboxqa.formats.positions import spots
from bboxqa.model.findings import FileReport, Finding, FoundBox, FoundReport, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.model.table import place_in_words
from bboxqa.rules import shapes
from bboxqa.rules.base import MANY, Rows, Rule, rows_of
from bboxqa.rules.document import Document, exporter, is_selected, kind_of
from bboxqa.rules.registry import RULES, known_rules, selected_codes

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
    document: Document,
    codes: Sequence[str],
    settings: ValidateSettings,
    progress: Progress | None = None,
) -> list[Found]:
    """Apply rules that check single files, and return what they found, including consequences."""
    columns, categories = document.annotations, document.categories.values
    keys = {*chain(*(each for each in categories if isinstance(each, dict)))}
    # Most files have no rotated boxes and no key points, and many no outlines.
    outlined = document.outlined.any() or (columns.iscrowd == 1).any()
    posed = len(columns.keypoints.row) or keys & {"keypoints", "skeleton"}
    has = {"P": outlined, "R": outlined, "O": outlined or len(columns.rotations.row), "K": posed}
    chosen = (code for code in codes if code not in RULES or has.get(code[0], True))
    rules = {code: known_rules()[code] for code in chosen}
    result: dict[str, list[Found]] = {code: [] for code in rules}
    checks = listed_by((id(rule.check), rule) for rule in rules.values())
    for number, (first, *others) in enumerate(checks.values()):
        if progress is not None:
            progress("checking", number, len(checks))
        for rows in rows_of(first.check(document, settings)):
            for rule in (first, *others):
                if rows.code in ("", rule.code):
                    result[rule.code].append((rule, rows))
    return [*chain.from_iterable(result.values())]


def codes_of(document: Document, settings: ValidateSettings) -> list[str]:
    """Return the codes of rules that check single files and apply to this kind of file."""
    kind, rules = kind_of(document), known_rules()
    left_out = {"files"} if document.disk is not None else {"files", "images"}
    return [
        code
        for code in chosen_codes(settings, document.name)
        if rules[code].scope not in left_out
        and (code not in RULES or is_selected(code, kind.rules, kind.left_out))
    ]


def apply_together(documents: Sequence[Document], settings: ValidateSettings) -> list[list[Found]]:
    """Apply the rules that check several files together; return what they found in each file."""
    places = {id(document): place for place, document in enumerate(documents)}
    result: list[list[Found]] = [[] for _ in documents]
    chosen = [chosen_codes(settings, document.name) for document in documents]
    rules = known_rules()
    for code in sorted({*chain(*chosen)}, key=[*rules].index):
        if rules[code].scope == "files":
            for document, found in rules[code].check(documents, settings):
                place = places[id(document)]
                if code in chosen[place]:
                    result[place] += [(rules[code], rows) for rows in rows_of([found])]
    return result


def _notes_on(documents: Sequence[Document]) -> Iterator[str]:
    """Yield notes on what the translation of files left out, and how it read the rest."""
    files: dict[str, dict[str, None]] = {}
    for document in documents:
        if (origin := document.reading.origin) is not None:
            apart = [apart_note(origin.apart, "examined")] if origin.apart else []
            for note in (*origin.notes, *apart):
                files.setdefault(note, {})[document.name] = None
    for note, names in files.items():
        each = "each of " if len(names) > 1 else ""
        yield f"{each}{first_few([*names], 1)}: {note}" if len(documents) > 1 else note


def without_consequences(found: Sequence[Found]) -> tuple[list[Found], Hidden]:
    """Return what does not follow from other defects, and the numbers that each cause hides."""
    kept: list[Found] = []
    hidden: Hidden = {}
    for rule, rows in found:
        left = rows
        # A more severe finding is never hidden, since a run might then pass. Hidden findings are
        # attributed to the most severe of several causes.
        causes = [each for each in found if each[0].code in rule.requires]
        causes = [each for each in causes if _rank(*each) >= _rank(rule, left)]
        for cause, by in sorted(causes, key=lambda each: -_rank(*each)):
            is_same = by.name == left.name and (by.key == left.key or not (by.key and left.key))
            # A cause without a list concerns the whole file.
            follows = np.full(len(left), not by.name)
            if by.name and is_same:
                follows = np.isin(left.rows, by.rows)
            if follows.any():
                hidden.setdefault(cause.code, Counter())[rule.code] += int(follows.sum())
                left = left.kept(~follows)
        if len(left):
            kept.append((rule, left))
    return kept, hidden


def _rank(rule: Rule, rows: Rows) -> int:
    return (rows.severity or rule.severity).rank


def grouped(document: Document, rule: Rule, rows: Rows) -> list[Rows]:
    """Join records that share a defect: a fifth of all, or 20 or more with equal messages."""
    if rows.apart or not rows.name:
        return [rows]
    total, are_files = rows.total or document.n_records(rows.name), rule.scope == "images"
    # A record with several wrong rings counts once.
    n_rows = len(distinct(rows.rows))
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
    share = f"{len(distinct(alike.rows)):,} of {total:,} {rows.name}"
    single = alike.joined(document, share, most, are_files=are_files)
    return [single] if equal.all() else [single, rows.kept(~equal)]


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
            found, follows = without_consequences(found)
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

    order = lambda each: (  # noqa: E731
        -each.severity.rank, each.code, each.spot.offset if each.spot else -1, each.pointer
    )  # fmt: skip
    for document in documents:
        own, kind, reading = codes_of(document, settings), kind_of(document), document.reading
        codes |= dict.fromkeys(own)
        findings.append(listed(document, apply(document, own, settings, progress)))
        is_unread = "segments_info" in kind.required and document.disk is None
        unread = "its PNG files are not read without --images FOLDER" if is_unread else ""
        n_records = len(reading.images), len(document.annotations), len(reading.categories)
        files.append(
            FileReport(document.name, exporter(document), *n_records, kind=kind.name, unread=unread)
        )
        kept.append(document.without_annotations())
    if len(kept) > 1:
        for number, raw in enumerate(apply_together(kept, settings)):
            findings[number] += listed(kept[number], raw)
            chosen, rules = chosen_codes(settings, kept[number].name), known_rules()
            codes |= dict.fromkeys(code for code in chosen if rules[code].scope == "files")
    return FoundReport(
        files=tuple(files),
        findings=tuple(finding for part in findings for finding in sorted(part, key=order)),
        counts=dict(sorted(counts.items())),
        severities={severity: severities[severity] for severity in Severity},
        # Without their checks, which are not pickled.
        rules={code: known_rules()[code].text() for code in codes},
        version=__version__,
        fail_on=Severity(settings.fail_on),
        hidden={code: dict(sorted(hidden[code].items())) for code in sorted(hidden)},
        notes=tuple(_notes_on(kept)),
    )


_EXCERPT = 160
# Number of findings of a rule that a page shows with pictures.
_MOST_PICTURED = 6
# Number of boxes per finding, as a summary only lists a few of its records.
_MOST_BOXES = 3
# Codes of rules about outlines begin so.
_ABOUT_OUTLINES = ("P", "B011")
# Outlines of more vertices would make a page slow.
_MOST_VERTICES = 5_000
_FIELDS = (
    "message", "pointer", "ids", "found", "expected", "edits", "count", "examples", "key",
)  # fmt: skip
"""What a finding has of its defect."""
# Larger coordinates are no pixels.
_FARTHEST = 1e9


def describe(document: Document, raw: Iterable[tuple[Rule, Rows]], limit: int) -> list[Finding]:
    """Return at most `limit` findings per rule, or all if it is 0, with their positions."""
    findings, offsets, origin = [], [], document.reading.origin
    described, pictured = Counter[str](), Counter[str]()
    for rule, rows in raw:
        wanted = len(rows) if limit == 0 else min(len(rows), limit - described[rule.code])
        described[rule.code] += wanted
        for number in rows.numbers[:wanted].tolist():
            found = rows.describe(document, number)
            fields = {name: getattr(found, name) for name in _FIELDS}
            fields["expected"] = found.expected or found.message.partition("; expected ")[2]
            fields |= {"code": rule.code, "severity": rows.severity or rule.severity}
            fields["fix"] = (rows.fix or rule.fix) if found.edits else None
            if pictured[rule.code] < _MOST_PICTURED:
                fields["boxes"] = _boxes(document, rule.code, (found.pointer, *found.examples))
                pictured[rule.code] += bool(fields["boxes"])
            findings.append(Finding(file=document.name, **fields))
            offsets.append(found.offset)
    if origin is not None:
        return list(_placed_in_origin(origin, findings))
    return list(_located(document, findings, offsets))


def row_of(pointer: str) -> tuple[str, int]:
    """Return the list that a pointer leads into, and the row; -1 for the list as a whole."""
    parts = pointer_parts(pointer)
    is_row = len(parts) > 1 and parts[1].isdecimal()
    return (parts[0] if parts else "", int(parts[1]) if is_row else -1)


def _located(
    document: Document, findings: Sequence[Finding], offsets: Sequence[int | None]
) -> Iterator[Finding]:
    """Yield findings with line, column and excerpt, in the order of the file."""
    locator, reading = document.locator, document.reading
    placed: list[tuple[int, int, str]] = []
    order = [(*row_of(each.pointer), each.pointer, n) for n, each in enumerate(findings)]
    for name, row, pointer, number in sorted(order):
        offset, excerpt = offsets[number], ""
        if offset is None:
            at, span = pointer, locator.span(pointer)
            # A missing value has no position, so the position of its record is reported.
            while span is None and at:
                at = at.rpartition("/")[0]
                span = locator.span(at)
            offset = 0 if span is None else span.start
        if row >= 0 and (record := locator.span(f"/{name}/{row}")) is not None:
            raw = reading.text[record.start : min(record.stop, record.start + 4 * _EXCERPT)]
            excerpt = " ".join(raw.decode("utf-8", "replace").split())[:_EXCERPT]
        placed.append((offset, number, excerpt))
    placed.sort()
    found = spots(reading.text, (offset for offset, *_ in placed))
    for (_, number, excerpt), spot in zip(placed, found, strict=True):
        each, changes = findings[number], {"spot": spot, "excerpt": excerpt}
        if reading.is_packed:
            changes |= {"fix": None, "edits": ()}
        if reading.is_results:
            changes |= {"pointer": reading.shown(each.pointer)}
            changes |= {"examples": tuple(map(reading.shown, each.examples))}
        yield replace(each, **changes)


def _placed_in_origin(origin: Any, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings with file, line, column, pointer and excerpt of the original records."""
    pointers = dict.fromkeys(
        pointer for finding in findings for pointer in (finding.pointer, *finding.examples)
    )
    places = dict(zip(pointers, origin.own_places(list(pointers)), strict=True))
    names = origin.image_names
    for finding in findings:
        # A summary is about the whole file, and is located at the first of its records.
        of_first = finding.examples[:1] if finding.count > 1 else ()
        place = places[next(iter(of_first), finding.pointer)]
        words = (
            each.pointer
            if each.pointer and each.file == place.file
            else place_in_words(each.file, each.pointer or each.spot.line)
            for each in map(places.__getitem__, finding.examples)
            if each.pointer or each.excerpt
        )
        ids, image = finding.ids, finding.ids.get("image")
        if isinstance(image, int) and image in names:
            # The reader has made the id, so nobody has seen it.
            ids = {**ids, "image": names[image]}
        yield replace(
            finding, file=place.file, pointer=place.pointer, spot=place.spot, ids=ids,
            excerpt=place.excerpt, examples=tuple(dict.fromkeys(words)), fix=None, edits=(),
        )  # fmt: skip


def _boxes(document: Document, code: str, pointers: Iterable[str]) -> tuple[FoundBox, ...]:
    """Return the boxes of the first annotations that pointers lead to, if they are numbers."""
    columns, names, result = document.annotations, document.images.texts("file_name"), []
    places = dict.fromkeys(map(row_of, pointers))
    rows = [row for name, row in places if name == "annotations" and 0 <= row < len(columns)]
    for row in rows[:_MOST_BOXES]:
        bbox, image = columns.bbox[row], int(document.image[row])
        if not np.abs(bbox).max() < _FARTHEST:
            continue
        has_outline = code.startswith(_ABOUT_OUTLINES)
        numbers = shapes.ring_rows(document, row).tolist() if has_outline else []
        rings = [shapes.ring_xy(columns.rings, each) for each in numbers]
        rings = [xy for xy in rings if len(xy) > 1 and np.abs(xy).max() < _FARTHEST]
        rings = rings if sum(map(len, rings)) <= _MOST_VERTICES else []
        width, height = (None if np.isnan(side) else side for side in document.size[row].tolist())
        drawn = tuple(tuple(ring.ravel().tolist()) for ring in rings)
        name = names[image] if image >= 0 else ""
        result.append(FoundBox(name, width, height, tuple(bbox.tolist()), drawn))
    return tuple(result)
