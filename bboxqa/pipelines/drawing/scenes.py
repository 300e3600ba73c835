"""Images of data sets and of files as scenes, with their annotations or findings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite, isnan
from pathlib import Path, PurePosixPath
from typing import Any
from unicodedata import normalize

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.text import clean, count, nearest, quoted
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.geometry.kernels.rasters import outline_rings
from bboxqa.geometry.similarities.registry import needs_outlines, needs_rotated_boxes
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.file_places import id_as_name
from bboxqa.model.findings import Severity
from bboxqa.model.settings import AgreeSettings, ValidateSettings
from bboxqa.model.shapes.rotated_boxes import corners, width_marks
from bboxqa.pipelines.joint_sigmas import with_sigmas
from bboxqa.report.drawing.drawing import bounds
from bboxqa.report.drawing.scene import Scene, Shape
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.document import Document
from bboxqa.rules.findings import annotation_row, written_rings
from bboxqa.rules.runner import validate_documents

_Rules = dict[str, tuple[Severity, str]]
"""The severity and the title of rules by their codes."""


def data_scene(data: Dataset, name: str, settings: AgreeSettings | None) -> Scene:
    """Return an image of a data set as a scene without pixels.

    With settings, its annotations are matched and have units, and are shown as they are compared.
    """
    if settings is not None:
        data = _compared(with_sigmas(data, settings), settings.similarity)
    place = data.image_names.index(name)
    rows = np.flatnonzero(data.annotations.image == place).tolist()
    units = [0] * len(rows) if settings is None else _units(data, place, rows, settings)
    width, height = data.image_size[place].tolist()
    asked = np.flatnonzero(data.assigned[place]).tolist()
    return Scene(
        name,
        width,
        height,
        tuple(_shape(data, row, unit) for row, unit in zip(rows, units, strict=True)),
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
    of, joints, points = data.annotations, data.annotations.keypoints, None
    left, top, width, height = of.bbox[row].tolist()
    if joints is not None:
        part = slice(int(joints.start[row]), int(joints.stop[row]))
        points = np.column_stack([joints.xy[part], joints.visibility[part]])
    return Shape(
        bbox=(left, top, width, height),
        rings=(
            *(tuple(outline_rings(of.segmentation, row)) or _turned_rings(of, row, corners)),
            *_turned_rings(of, row, width_marks),
        ),
        points=points,
        limbs=data.limbs[of.category[row]] if data.limbs else (),
        annotator=data.annotator_names[of.annotator[row]],
        category=data.category_names[of.category[row]],
        unit=unit,
    )


def _turned_rings(
    of: Annotations, row: int, drawn: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, ...]:
    """Return what is drawn of a rotated box, as one ring; an empty tuple for upright boxes."""
    boxes = of.rotated_box
    return () if boxes is None or not boxes[row, 4] else (drawn(boxes[row : row + 1])[0],)


def _units(
    data: Dataset, place: int, rows: Sequence[int], settings: AgreeSettings
) -> Sequence[int]:
    """Return the unit of each annotation of an image, from 1 on; 0 for crowds."""
    if len(settings.iou_threshold) != 1:
        raise ConfigError(f"iou_threshold has {len(settings.iou_threshold)} numbers; expected one")
    compared = np.flatnonzero(~data.annotations.iscrowd[rows])
    taken = data.annotations.take(np.array(rows, np.int64)[compared])
    outlines, joints = taken.segmentation, taken.keypoints
    annotations = replace(
        taken,
        image=np.zeros(len(taken), np.int32),
        segmentation=None if outlines is None else outlines.packed(),
        keypoints=None if joints is None else joints.packed(),
    )
    one = slice(place, place + 1)
    image = replace(
        data,
        image_names=data.image_names[one],
        image_size=data.image_size[one],
        assigned=data.assigned[one],
        annotations=annotations,
        unlisted=None,
    )
    (threshold,) = settings.iou_threshold
    pairs, _ = candidate_pairs(
        image, settings.similarity, threshold, all_touched=settings.all_touched
    )
    lenient = settings.category_lenient
    units = match(annotations, pairs, settings.matcher, threshold, category_lenient=lenient)
    found = np.zeros(len(rows), np.int64)
    found[compared] = units.unit + 1
    return found.tolist()


def finding_scene(
    documents: Sequence[Document], wanted: str | int, pseudonyms: Mapping[str, str]
) -> tuple[Scene, list[str]]:
    """Return an image with its annotations that have findings.

    Also return notes on findings that cannot be drawn. Annotators have the names that `pseudonyms`
    maps theirs to.
    """
    records = [record for each in documents for record in each.images.values]
    known = [*dict.fromkeys(filter(None, map(name_of_record, records)))]
    name = chosen_image(wanted, known, lambda: records)
    shapes: list[Shape] = []
    rules: _Rules = {}
    notes: dict[str, None] = {}
    size = (0.0, 0.0)
    for document in documents:
        own = [name_of_record(record) == name for record in document.images.values]
        images = np.flatnonzero(np.array(own, np.bool_))
        for width, height in document.image_size[images].tolist():
            size = size if any(size) or isnan(width + height) else (width, height)
        report = validate_documents([document], ValidateSettings(), 0)
        codes: dict[int, list[str]] = {}
        for finding in sorted(report.findings, key=lambda each: (-each.severity.rank, each.code)):
            title = report.rules[finding.code].title
            places = (finding.pointer, *finding.examples)
            rows = {row for each in places if (row := annotation_row(each)) is not None}
            for row in sorted(row for row in rows if document.image[row] in images):
                codes.setdefault(row, []).append(finding.code)
                rules.setdefault(finding.code, (finding.severity, title))
            of_images = tuple(f"/images/{row}/" for row in images)
            if any(f"{each}/".startswith(of_images) for each in places):
                notes[f"about the image itself: {finding.code} {title}"] = None
        drawn = [*_found_shapes(document, codes, pseudonyms)]
        shapes += drawn
        if lacking := len(codes) - len(drawn):
            notes[f"{count(lacking, 'annotation')} with findings without a box to draw"] = None
    if not shapes:
        notes["no rule finds anything in the annotations of this image"] = None
    order = sorted(rules.items(), key=lambda item: (-item[1][0].rank, item[0]))
    return Scene(
        name,
        *size,
        tuple(shapes),
        annotators=tuple(sorted({shape.annotator for shape in shapes})),
        rules=tuple((code, severity, title) for code, (severity, title) in order),
    ), [*notes]  # fmt: skip


def _found_shapes(
    document: Document, codes: Mapping[int, Sequence[str]], pseudonyms: Mapping[str, str]
) -> Iterator[Shape]:
    """Yield the annotations with findings that have a box or an outline of finite numbers."""
    whose = authorship(document)
    names = [pseudonyms.get(name, name) for name in (*whose.names, own_name(Path(document.name)))]
    for row, of in sorted(codes.items()):
        rings = tuple(written_rings(document, row))
        left, top, width, height = document.annotations.bbox[row].tolist()
        if rings and isnan(left + top + width + height):
            left, top, right, bottom = bounds([((0, 0, 0, 0), rings)])[0].tolist()
            width, height = right - left, bottom - top
        if isfinite(left + top + width + height):
            who = names[whose.author[row]]
            yield Shape((left, top, width, height), rings, who, codes=tuple(dict.fromkeys(of)))


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
    wanted: str | int, names: Sequence[str], records: Callable[[], Iterable[Any]]
) -> str:
    """Return the image name that matches a name or an id; names are tried first.

    Raises DatasetError if no image matches, or several images have the id. `records` returns the
    image records, which are read only to look for an id.

    Examples
    --------
    >>> chosen_image("0", ["a.png"], lambda: [{"id": 0, "file_name": "a.png"}])
    'a.png'
    """
    # The same letters with marks may be written in two ways.
    same = [name for name in names if normalize("NFC", name) == normalize("NFC", str(wanted))]
    if isinstance(wanted, str) and (wanted in same or len(same) == 1):
        return wanted if wanted in same else same[0]
    of_id = (r for r in records() if isinstance(r, dict) and str(r.get("id", "")) == str(wanted))
    ids = sorted({*map(name_of_record, of_id)} & {*names})
    if len(ids) == 1:
        return ids[0]
    if ids:
        problem = f"several images have the id {wanted}: {', '.join(map(repr, ids))}"
        raise DatasetError([problem], "Name the image by its file.")
    last = PurePosixPath(str(wanted).replace("\\", "/")).name
    similar = [name for name in names if PurePosixPath(name).name == last]
    hint = f"; did you mean {similar[0]!r}?" if similar else nearest(str(wanted), names)
    such = f", such as {quoted(names[0])}" if names and not hint else hint
    raise DatasetError([f"there is no image {wanted!r} among {count(len(names), 'image')}{such}"])
