"""Images as scenes that show the findings of rules."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.file_names import own_name
from bboxqa.core.text import count
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.pipelines.drawing.chosen_image import chosen_image, name_of_record
from bboxqa.report.drawing.scene import Scene, Shape
from bboxqa.rules.base.rule import Hits
from bboxqa.rules.causes import Found, without_consequences
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.document import Document
from bboxqa.rules.found_boxes import annotation_row, written_rings
from bboxqa.rules.runner import apply

# Code to severity and title of a rule.
_Rules = dict[str, tuple[Severity, str]]


def finding_scene(
    documents: Sequence[Document], wanted: str | int, pseudonyms: Mapping[str, str]
) -> tuple[Scene, list[str]]:
    """Return an image with its annotations that have findings.

    Also return notes on findings that cannot be drawn. Annotators have the names that `pseudonyms`
    maps theirs to.
    """
    names = [[name_of_record(record) for record in each.images.values] for each in documents]
    known = list(dict.fromkeys(name for each in names for name in each if name))
    name = chosen_image(
        wanted, known, lambda: [record for each in documents for record in each.images.values]
    )
    shapes: list[Shape] = []
    rules: _Rules = {}
    notes: list[str] = []
    sizes = [np.zeros((0, 2))]
    for document, own in zip(documents, names, strict=True):
        images = np.flatnonzero(np.array([each == name for each in own], np.bool_))
        sizes.append(document.image_size[images])
        found, note = _shapes(document, images, rules, pseudonyms)
        shapes += found
        notes += note
    categories = dict.fromkeys(
        text for document in documents for text in document.categories.texts("name")
    )
    known_sizes = np.concatenate(sizes)
    known_sizes = known_sizes[~np.isnan(known_sizes).any(1)]
    width, height = known_sizes[0].tolist() if len(known_sizes) else (0, 0)
    if not shapes:
        notes.append("no rule finds anything in the annotations of this image")
    scene = Scene(
        name=name,
        width=width,
        height=height,
        shapes=tuple(shapes),
        annotators=tuple(sorted({shape.annotator for shape in shapes})),
        categories=tuple(categories),
        rules=tuple(
            (code, severity, title)
            for code, (severity, title) in sorted(
                rules.items(), key=lambda item: (-item[1][0].rank, item[0])
            )
        ),
    )
    return scene, notes


# Numbers of a file may overflow in sums and products; rules report them.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _shapes(
    document: Document, images: IndexArray, rules: _Rules, pseudonyms: Mapping[str, str]
) -> tuple[list[Shape], list[str]]:
    """Return the annotations of an image with findings, and notes on what cannot be drawn."""
    found, _ = without_consequences(document, apply(document, ValidateSettings()))
    codes: dict[int, list[str]] = {}
    notes = []
    inside = np.isin(document.image, images)
    for rule, hits in sorted(found, key=lambda each: (-_severity(each).rank, each[0].code)):
        rows = _rows_about(hits, inside)
        if rows:
            rules.setdefault(rule.code, (_severity((rule, hits)), rule.title))
        for row in rows:
            own = codes.setdefault(row, [])
            own += [rule.code] * (rule.code not in own)
        if np.isin(_records_about(hits, "images"), images).any():
            notes.append(f"about the image itself: {rule.code} {rule.title}")
    whose = authorship(document)
    names = [pseudonyms.get(name, name) for name in (*whose.names, own_name(Path(document.name)))]
    texts = [*document.categories.texts("name"), ""]
    shapes = []
    for row in sorted(codes):
        box, rings = _drawable(document, row)
        if box is not None:
            left, top, right, bottom = box.tolist()
            shapes.append(
                Shape(
                    bbox=(left, top, right, bottom),
                    rings=tuple(rings),
                    annotator=names[whose.author[row]],
                    category=texts[document.category[row]],
                    codes=tuple(codes[row]),
                )
            )
    if lacking := len(codes) - len(shapes):
        have = "has" if lacking == 1 else "have"
        notes.append(f"{count(lacking, 'annotation')} with findings {have} no box to draw")
    return shapes, notes


def _rows_about(hits: Hits, inside: BoolArray) -> list[int]:
    """Return the annotations with findings, and those that they are compared with."""
    about = _records_about(hits, "annotations")
    rows = set(about[inside[about]].tolist())
    if hits.name == "annotations":
        for place in np.flatnonzero(inside[hits.rows]).tolist():
            compared = map(annotation_row, hits.describe(place).examples)
            rows.update(row for row in compared if row is not None and inside[row])
    return sorted(rows)


def _records_about(hits: Hits, name: str) -> IndexArray:
    """Return the rows of a list that hits are about, also those of findings on the whole file."""
    if hits.name:
        return hits.rows if hits.name == name else hits.rows[:0]
    records = [hits.describe(place).records for place in range(len(hits))]
    return np.concatenate([hits.rows[:0], *(rows for of, rows in records if of == name)])


def _severity(found: Found) -> Severity:
    rule, hits = found
    return hits.severity or rule.severity


def _drawable(document: Document, row: int) -> tuple[FloatArray | None, list[FloatArray]]:
    """Return the box of an annotation, or else the bounds of its outline, and the outline.

    The box is None where neither has numbers that can be drawn.
    """
    box: FloatArray = document.annotations.bbox[row]
    rings = written_rings(document, row)
    if np.isfinite(box).all():
        return box, rings
    bounds = document.outline_bounds[row]
    if rings:
        every = np.concatenate(rings)
        bounds = np.concatenate([every.min(0), every.max(0)])
    if not np.isfinite(bounds).all():
        return None, []
    return np.concatenate([bounds[:2], bounds[2:] - bounds[:2]]), rings
