"""The boxes of findings, for the pictures on pages."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.json_values import pointer_parts
from bboxqa.model.findings import Finding, FoundBox
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.rings import ring_rows

# Number of findings of a rule that a page shows with pictures.
_MOST_PICTURED = 6
# Number of boxes per finding, as a summary only lists a few of its records.
_MOST_BOXES = 3
# Codes of rules about outlines begin so.
_ABOUT_OUTLINES = ("P", "B011")
# Outlines of more vertices would make a page slow.
_MOST_VERTICES = 5_000
# Larger coordinates are no pixels.
_FARTHEST = 1e9


def with_boxes(document: Document, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings; the first ones of each rule get the boxes of their annotations."""
    pictured: Counter[str] = Counter()
    for finding in findings:
        if pictured[finding.code] == _MOST_PICTURED:
            yield finding
            continue
        named = dict.fromkeys(
            row
            for pointer in (finding.pointer, *finding.examples)
            if (row := annotation_row(pointer)) is not None
        )
        has_outline = finding.code.startswith(_ABOUT_OUTLINES)
        boxes = (_box(document, row, has_outline) for row in [*named][:_MOST_BOXES])
        found = tuple(box for box in boxes if box is not None)
        pictured[finding.code] += bool(found)
        yield replace(finding, boxes=found) if found else finding


def annotation_row(pointer: str) -> int | None:
    """Return the row of the annotation that a pointer leads to; None if it leads elsewhere.

    Examples
    --------
    >>> annotation_row("/annotations/7/bbox"), annotation_row("/images/7")
    (7, None)
    """
    parts = pointer_parts(pointer)
    if len(parts) > 1 and parts[0] == "annotations" and parts[1].isdecimal():
        return int(parts[1])
    return None


def written_rings(document: Document, row: int) -> list[FloatArray]:
    """Return the rings of an annotation's outline that can be drawn, each (V, 2) in pixels."""
    written = document.annotations.rings
    rings = [
        written.xy[written.offsets[ring] : written.offsets[ring + 1]]
        for ring in ring_rows(document, row).tolist()
    ]
    return [ring for ring in rings if len(ring) > 1 and np.isfinite(ring).all()]


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
    return FoundBox(
        image=name if isinstance(name, str) else "",
        width=None if np.isnan(width) else float(width),
        height=None if np.isnan(height) else float(height),
        bbox=(x, y, box_width, box_height),
        rings=_rings(document, row) if has_outline else (),
    )


def _rings(document: Document, row: int) -> tuple[tuple[float, ...], ...]:
    rings = written_rings(document, row)
    if sum(map(len, rings)) > _MOST_VERTICES:
        return ()
    return tuple(tuple(ring.ravel().tolist()) for ring in rings if np.abs(ring).max() < _FARTHEST)
