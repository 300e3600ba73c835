"""Findings with their places: in COCO JSON, in the user's own files, and in pictures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.json_values import pointer_parts
from bboxqa.formats.positions import spots
from bboxqa.model.file_places import place_in_words
from bboxqa.model.findings import Finding, FoundBox
from bboxqa.rules.base.reporting import Rows
from bboxqa.rules.base.rule import Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.rings import ring_rows

if TYPE_CHECKING:
    from bboxqa.formats.translation.places import ToolOrigin

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
    """Return findings with their positions in the file, sorted by position.

    At most `limit` findings per rule are returned; 0 for all.
    """
    findings, offsets = [], []
    described: Counter[str] = Counter()
    for rule, rows in raw:
        wanted = len(rows) if limit == 0 else min(len(rows), limit - described[rule.code])
        described[rule.code] += wanted
        for number in rows.numbers[:wanted].tolist():
            found = rows.describe(document, number)
            fields = {name: getattr(found, name) for name in _FIELDS}
            fix, severity = rows.fix or rule.fix, rows.severity or rule.severity
            fields["fix"] = fix if found.edits else None
            findings.append(
                Finding(code=rule.code, severity=severity, file=document.name, **fields)
            )
            offsets.append(found.offset)
    if document.reading.origin is not None:
        return list(_placed_in_origin(document.reading.origin, _with_boxes(document, findings)))
    placed = list(_with_boxes(document, _locate(document, findings, offsets)))
    if document.reading.is_packed:
        placed = [replace(each, fix=None, edits=()) for each in placed]
    if not document.reading.is_results:
        return placed
    shown = document.reading.shown
    return [
        replace(each, pointer=shown(each.pointer), examples=tuple(map(shown, each.examples)))
        for each in placed
    ]


def row_of(pointer: str) -> tuple[str, int]:
    """Return the list that a pointer leads into, and the row; -1 for the list as a whole."""
    parts = pointer_parts(pointer)
    is_row = len(parts) > 1 and parts[1].isdecimal()
    return (parts[0] if parts else "", int(parts[1]) if is_row else -1)


def _locate(
    document: Document, findings: Sequence[Finding], offsets: Sequence[int | None]
) -> Iterator[Finding]:
    """Yield findings with line, column and excerpt, in the order of the file."""
    locator, text = document.locator, document.reading.text
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
            raw = text[record.start : min(record.stop, record.start + 4 * _EXCERPT)]
            excerpt = " ".join(raw.decode("utf-8", "replace").split())[:_EXCERPT]
        placed.append((offset, number, excerpt))
    placed.sort()
    found = spots(text, (offset for offset, *_ in placed))
    for (_, number, excerpt), spot in zip(placed, found, strict=True):
        yield replace(findings[number], spot=spot, excerpt=excerpt)


def _placed_in_origin(origin: "ToolOrigin", findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings with file, line, column, pointer and excerpt of the original records."""
    listed = list(findings)
    pointers = dict.fromkeys(
        pointer for finding in listed for pointer in (finding.pointer, *finding.examples)
    )
    places = dict(zip(pointers, origin.own_places(list(pointers)), strict=True))
    for finding in listed:
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
        if isinstance(image, int) and image in origin.image_names:
            # The reader has made the id, so nobody has seen it.
            ids = {**ids, "image": origin.image_names[image]}
        yield replace(
            finding,
            file=place.file,
            pointer=place.pointer,
            spot=place.spot,
            ids=ids,
            excerpt=place.excerpt,
            examples=tuple(dict.fromkeys(words)),
            fix=None,
            edits=(),
        )


def _with_boxes(document: Document, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings; the first ones of each rule get the boxes of their annotations."""
    pictured: Counter[str] = Counter()
    for finding in findings:
        if pictured[finding.code] == _MOST_PICTURED:
            yield finding
            continue
        rows = (annotation_row(pointer) for pointer in (finding.pointer, *finding.examples))
        named = [row for row in dict.fromkeys(rows) if row is not None][:_MOST_BOXES]
        has_outline = finding.code.startswith(_ABOUT_OUTLINES)
        boxes = (_box(document, row, has_outline) for row in named)
        found = tuple(box for box in boxes if box is not None)
        pictured[finding.code] += bool(found)
        yield replace(finding, boxes=found) if found else finding


def annotation_row(pointer: str) -> int | None:
    """Return the row of the annotation that a pointer leads to; None if it leads elsewhere."""
    name, row = row_of(pointer)
    return row if name == "annotations" and row >= 0 else None


def _box(document: Document, row: int, has_outline: bool) -> FoundBox | None:
    """Return the box of an annotation; None if it is not four numbers."""
    if row >= len(document.annotations.record):
        return None
    bbox = document.annotations.bbox[row]
    if not (np.isfinite(bbox).all() and (np.abs(bbox) < _FARTHEST).all()):
        return None
    image = int(document.image[row])
    width, height = document.image_size[image] if image >= 0 else (np.nan, np.nan)
    x, y, box_width, box_height = bbox.tolist()
    name = document.images.get(image, "file_name") if image >= 0 else ""
    rings = written_rings(document, row) if has_outline else []
    if sum(map(len, rings)) > _MOST_VERTICES or any(np.abs(r).max() >= _FARTHEST for r in rings):
        rings = []
    return FoundBox(
        image=name if isinstance(name, str) else "",
        width=None if np.isnan(width) else float(width),
        height=None if np.isnan(height) else float(height),
        bbox=(x, y, box_width, box_height),
        rings=tuple(tuple(ring.ravel().tolist()) for ring in rings),
    )


def written_rings(document: Document, row: int) -> list[FloatArray]:
    """Return the rings of an annotation's outline that can be drawn, each (V, 2) in pixels."""
    written = document.annotations.rings
    rings = [
        written.xy[written.offsets[ring] : written.offsets[ring + 1]]
        for ring in ring_rows(document, row).tolist()
    ]
    return [ring for ring in rings if len(ring) > 1 and np.isfinite(ring).all()]
