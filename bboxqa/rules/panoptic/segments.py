"""G: panoptic segments as described in the file (G001 to G004)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, find
from bboxqa.core.json_values import shortened
from bboxqa.formats.columns import Kind
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import Place, record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits, part_hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.file_kinds import kind_of
from bboxqa.rules.facts.image_bounds import figure
from bboxqa.rules.panoptic.examples import panoptic_example

_N_COLOURS = 1 << 24


def _place(document: Document, which: int) -> Place:
    segments = document.annotations.segments
    return ("annotations", int(segments.row[which]), "segments_info", int(segments.place[which]))


def _segment(document: Document, which: int) -> Any:
    """Return a segment as in the file."""
    segments = document.annotations.segments
    return document.record(int(segments.row[which]))["segments_info"][int(segments.place[which])]


def _of_segments(document: Document, where: BoolArray, key: str, expected: str) -> Iterator[Hits]:
    """Yield the segments where the value of a key is wrong."""

    def describe(which: int) -> Defect:
        segment = _segment(document, which)
        value = shortened(segment[key]) if key in segment else "missing"
        return record_defect(
            document,
            (*_place(document, which), key),
            f"{key} of {_name(segment)} is {value}; expected {expected}",
            found=segment.get(key),
            expected=expected,
        )

    yield from part_hits(document.annotations.segments.row, where, describe)


def _name(segment: dict[str, Any]) -> str:
    return f"segment {shortened(segment['id'])}" if "id" in segment else "a segment"


def _incomplete(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """G001: missing lists of segments, and segments without the keys that evaluation reads."""
    columns, segments = document.annotations, document.annotations.segments
    expected = "a list of segments"

    def describe(row: int) -> Defect:
        record = document.record(row)
        value = shortened(record["segments_info"]) if "segments_info" in record else "missing"
        message = f"segments_info is {value}; expected {expected}"
        return record_defect(document, ("annotations", row, "segments_info"), message)

    listed = np.zeros(len(columns), np.bool_)
    listed[segments.row[segments.place >= 0]] = True
    unlisted = np.flatnonzero((columns.record == Kind.DICT) & ~listed)
    # An empty list has no segments either, but is valid.
    wrong = [row for row in unlisted.tolist() if document.record(row).get("segments_info") != []]
    yield from hits(np.array(wrong, np.int64), describe)
    yield from _lacking(document)


def _lacking(document: Document) -> Iterator[Hits]:
    """Yield the segments that are not objects or have a wrong value, each once."""
    segments, whole = document.annotations.segments, "a whole number, 0 or more"
    left = segments.place >= 0
    lacks = {
        ("id", whole): segments.id < 0,
        ("category_id", whole): segments.category_id < 0,
        ("area", "a number of pixels"): np.isnan(segments.area),
        ("iscrowd", "0 or 1"): segments.iscrowd < 0,
    }
    if kind_of(document).is_of_truth:
        # The areas of results are counted in their PNG.
        lacks = dict(list(lacks.items())[:2])
    empty = left & np.logical_and.reduce(list(lacks.values()))

    def describe(which: int) -> Defect:
        place, found = _place(document, which), _segment(document, which)
        expected = f"an object with {', '.join(key for key, _ in lacks)}"
        message = f"segment is {shortened(found)}; expected {expected}"
        return record_defect(document, place, message, found=found, expected=expected)

    yield from part_hits(segments.row, empty, describe)
    left &= ~empty
    for (key, expected), lacking in lacks.items():
        yield from _of_segments(document, left & lacking, key, expected)
        left &= ~lacking


def _impossible_id(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """G002: ids that are not colours of a PNG, or that two segments of an image share."""
    segments = document.annotations.segments
    beyond = (segments.id == 0) | (segments.id >= _N_COLOURS)
    expected = f"1 to {_N_COLOURS - 1:,}, as red + 256 green + 65536 blue"
    yield from _of_segments(document, beyond, "id", expected)
    order = np.lexsort((segments.id, segments.row))
    same = (np.diff(segments.row[order]) == 0) & (np.diff(segments.id[order]) == 0)
    repeated = np.zeros(len(order), np.bool_)
    repeated[order[1:][same]] = True
    unique = "an id that no other segment of the image has"
    yield from _of_segments(document, repeated & (segments.id > 0), "id", unique)


def _unknown_category(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """G003: categories that the file does not list."""
    segments, categories = document.annotations.segments, document.categories
    if not document.complete("categories"):
        return
    unknown = find(categories.id[categories.whole], segments.category_id) < 0
    expected = "the id of one of the categories"
    where = unknown & (segments.category_id >= 0)
    yield from _of_segments(document, where, "category_id", expected)


def _impossible_area(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """G004: areas that exceed their box, or together exceed their image."""
    segments = document.annotations.segments
    yield from _of_segments(document, segments.area <= 0, "area", "1 pixel or more")
    inside = segments.bbox[:, 2] * segments.bbox[:, 3]
    too_large = (segments.area > 0) & (segments.area > inside)

    def describe(which: int) -> Defect:
        segment = _segment(document, which)
        return record_defect(
            document,
            (*_place(document, which), "area"),
            f"area of {_name(segment)} is {figure(segments.area[which])} px, but its bbox holds "
            f"{figure(inside[which])}; expected no more than in the bbox",
            found=segment.get("area"),
            expected="no more pixels than its bbox holds",
        )

    yield from part_hits(segments.row, too_large, describe)
    yield from _crowded_images(document)


def _crowded_images(document: Document) -> Iterator[Hits]:
    segments = document.annotations.segments
    areas = np.where(segments.area > 0, segments.area, 0)
    total = np.bincount(segments.row, areas, minlength=len(document.annotations))
    size = document.size.prod(axis=1)

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("annotations", row, "segments_info"),
            f"areas of the segments add up to {total[row]:,.0f} px, more than the "
            f"{size[row]:,.0f} of the image; expected segments that do not overlap",
            expected="areas that fit into the image",
        )

    yield from hits(total > size, describe)


RULES = (
    Rule(
        code="G001",
        title="segment without a required key",
        severity=Severity.ERROR,
        breaks="panopticapi stops with a KeyError or TypeError at the first one.",
        explanation="""A panoptic annotation has a list segments_info, and each segment an id, a
            category_id, an area in pixels and iscrowd, 0 or 1. Here one of them is missing or has
            another type. Export the file again, or compute areas from the PNG.""",
        bad=panoptic_example(area="9"),
        good=panoptic_example(),
        check=_incomplete,
    ),
    Rule(
        code="G002",
        title="segment id that is not a colour, or used twice in its image",
        severity=Severity.ERROR,
        breaks="""panopticapi keeps one of two segments with the same id, and never finds an id that
            the PNG cannot hold; 0 stands for pixels without a label.""",
        explanation="""The PNG of an image stores the id of the segment of each pixel as its colour:
            red + 256 green + 65536 blue. An id has to be 1 to 16,777,215, and to be unique in its
            image.""",
        bad=panoptic_example(id=7),
        good=panoptic_example(),
        check=_impossible_id,
    ),
    Rule(
        code="G003",
        title="segment with a category that the file does not have",
        severity=Severity.ERROR,
        breaks="panopticapi stops with a KeyError when it looks the category up.",
        explanation="""No category has the category_id of a segment. Categories were removed, or the
            ids belong to another label map, such as COCO's 1 to 200 instead of the 0 to 132 of
            models.""",
        bad=panoptic_example(category_id=5),
        good=panoptic_example(),
        check=_unknown_category,
    ),
    Rule(
        code="G004",
        title="area of a segment does not fit",
        severity=Severity.WARNING,
        breaks="""Panoptic quality is computed with the areas in the file: the IoU of each match of
            the segment is wrong.""",
        explanation="""The area of a segment is the number of its pixels. Here it is not above 0, or
            is more than the size of the bbox; or the areas in an image add up to more than its
            size, although segments do not overlap. Count the pixels in the PNG.""",
        bad=panoptic_example(area=900),
        good=panoptic_example(),
        check=_impossible_area,
    ),
)
