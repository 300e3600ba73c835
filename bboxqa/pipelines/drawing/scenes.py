"""Images of data sets and of files as scenes, with their annotations or findings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any
from unicodedata import normalize

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.text import clean, count, nearest
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.geometry.kernels.rasters import outline_rings
from bboxqa.geometry.similarities.registry import needs_outlines, needs_rotated_boxes
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.file_places import id_as_name
from bboxqa.model.findings import Severity
from bboxqa.model.selection import select_annotations
from bboxqa.model.settings import AgreeSettings, ValidateSettings
from bboxqa.model.shapes.rotated_boxes import corners, width_marks
from bboxqa.pipelines.joint_sigmas import with_sigmas
from bboxqa.report.drawing.scene import Scene, Shape
from bboxqa.rules.base.rule import Hits
from bboxqa.rules.causes import Found, without_consequences
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.document import Document
from bboxqa.rules.found_boxes import annotation_row, written_rings
from bboxqa.rules.runner import apply

# Code to severity and title of a rule.
_Rules = dict[str, tuple[Severity, str]]


def data_scene(data: Dataset, name: str, settings: AgreeSettings | None) -> Scene:
    """Return an image of a data set as a scene without pixels.

    With settings, its annotations are matched and have units, and are shown as they are compared.
    """
    if settings is not None:
        data = _compared(with_sigmas(data, settings), settings.similarity)
    place = data.image_names.index(name)
    rows = np.flatnonzero(data.annotations.image == place)
    unit = (
        np.zeros(len(rows), np.int64) if settings is None else _units(data, place, rows, settings)
    )
    width, height = data.image_size[place].tolist()
    asked = np.flatnonzero(data.assigned[place]).tolist()
    return Scene(
        name=name,
        width=width,
        height=height,
        shapes=tuple(
            _shape(data, int(row), number) for row, number in zip(rows, unit.tolist(), strict=True)
        ),
        annotators=data.annotator_names,
        categories=data.category_names,
        asked=tuple(data.annotator_names[each] for each in asked),
    )


def _compared(data: Dataset, similarity: str) -> Dataset:
    """Return a data set without outlines and rotated boxes that a similarity does not compare."""
    of = data.annotations
    return replace(
        data,
        annotations=replace(
            of,
            segmentation=of.segmentation if needs_outlines(similarity) else None,
            rotated_box=of.rotated_box if needs_rotated_boxes(similarity) else None,
        ),
    )


def _shape(data: Dataset, row: int, unit: int) -> Shape:
    of = data.annotations
    left, top, width, height = of.bbox[row].tolist()
    return Shape(
        bbox=(left, top, width, height),
        rings=(
            *(tuple(outline_rings(of.segmentation, row)) or _turned_rings(of, row, corners)),
            *_turned_rings(of, row, width_marks),
        ),
        points=_points(data, row),
        limbs=data.limbs[of.category[row]] if data.limbs else (),
        annotator=data.annotator_names[of.annotator[row]],
        category=data.category_names[of.category[row]],
        unit=unit,
    )


def _points(data: Dataset, row: int) -> FloatArray | None:
    keypoints = data.annotations.keypoints
    if keypoints is None:
        return None
    part = slice(int(keypoints.start[row]), int(keypoints.stop[row]))
    return np.column_stack([keypoints.xy[part], keypoints.visibility[part]])


def _turned_rings(
    of: Annotations, row: int, drawn: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, ...]:
    """Return what is drawn of a rotated box, as one ring; an empty tuple for upright boxes."""
    boxes = of.rotated_box
    return () if boxes is None or not boxes[row, 4] else (drawn(boxes[row : row + 1])[0],)


def _units(data: Dataset, place: int, rows: IndexArray, settings: AgreeSettings) -> IndexArray:
    """Return the unit of each annotation of an image, from 1 on; 0 for crowds."""
    if len(settings.iou_threshold) != 1:
        raise ConfigError(f"iou_threshold has {len(settings.iou_threshold)} numbers; expected one")
    compared = np.flatnonzero(~data.annotations.iscrowd[rows])
    taken = select_annotations(data.annotations, rows[compared])
    outlines, joints = taken.segmentation, taken.keypoints
    annotations = replace(
        taken,
        image=np.zeros(len(taken), np.int32),
        segmentation=None if outlines is None else outlines.packed(),
        keypoints=None if joints is None else joints.packed(),
    )
    image = replace(
        data,
        image_names=data.image_names[place : place + 1],
        image_size=data.image_size[place : place + 1],
        assigned=data.assigned[place : place + 1],
        annotations=annotations,
        unlisted=None,
    )
    threshold = settings.iou_threshold[0]
    pairs, _ = candidate_pairs(
        image, settings.similarity, threshold, all_touched=settings.all_touched
    )
    lenient = settings.category_lenient
    units = match(annotations, pairs, settings.matcher, threshold, category_lenient=lenient)
    result = np.zeros(len(rows), np.int64)
    result[compared] = units.unit + 1
    return result


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
        found, note = _found_shapes(document, images, rules, pseudonyms)
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
def _found_shapes(
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


def name_of_record(record: object) -> str:
    """Return how an image record is called: its file name, or its id where it has none.

    Examples
    --------
    >>> name_of_record({"id": 7, "file_name": "a.png"}), name_of_record({"id": 7})
    ('a.png', '(id 7)')
    """
    if not isinstance(record, dict):
        return ""
    name = record.get("file_name")
    return clean(name if isinstance(name, str) and name else id_as_name(record.get("id")))


def chosen_image(
    wanted: str | int, names: Sequence[str], records: Callable[[], Iterable[object]]
) -> str:
    """Return the image name that matches a name or an id; names are tried first.

    Raises DatasetError if no image matches, or several images have the id.

    Parameters
    ----------
    wanted : str or int
    names : sequence of str
    records : callable
        Returns the image records, which are read only to look for an id.

    Examples
    --------
    >>> chosen_image("0", ["a.png"], lambda: [{"id": 0, "file_name": "a.png"}])
    'a.png'
    """
    if isinstance(wanted, str):
        # The same letters with marks may be written in two ways.
        form = normalize("NFC", wanted)
        same = [name for name in names if normalize("NFC", name) == form]
        if wanted in same or len(same) == 1:
            return wanted if wanted in same else same[0]
    ids = {name_of_record(each) for each in records() if _id_of(each) == str(wanted)} & {*names}
    if len(ids) == 1:
        return ids.pop()
    if ids:
        several = ", ".join(repr(name) for name in sorted(ids))
        problem = f"several images have the id {wanted}: {several}"
        raise DatasetError([problem], "Name the image by its file.")
    last = PurePosixPath(str(wanted).replace("\\", "/")).name
    similar = [name for name in names if PurePosixPath(name).name == last]
    hint = f"; did you mean {similar[0]!r}?" if similar else nearest(str(wanted), names)
    such = f", such as {names[0]!r}" if names and not hint else hint
    raise DatasetError([f"there is no image {wanted!r} among {count(len(names), 'image')}{such}"])


def _id_of(record: object) -> str:
    value: Any = record.get("id") if isinstance(record, dict) else None
    return "" if value is None else str(value)
