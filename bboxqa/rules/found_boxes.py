"""The boxes of findings, for the pictures on pages."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from bboxqa.core.json_values import pointer_parts
from bboxqa.model.findings import Finding, FoundBox
from bboxqa.rules.facts.document import Document

# Number of findings of a rule that a page shows with pictures.
_MOST_PICTURED = 6
# Number of boxes per finding, as a summary only lists a few of its records.
_MOST_BOXES = 3


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
        boxes = (_box(document, row) for row in [*named][:_MOST_BOXES])
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


def _box(document: Document, row: int) -> FoundBox | None:
    """Return the box of an annotation; None if it is not four numbers."""
    if row >= len(document.annotations.record):
        return None
    bbox = document.annotations.bbox[row]
    if not (np.isfinite(bbox).all() and (np.abs(bbox) < 1e9).all()):
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
    )
