"""What is wrong with the values of records that falsify a result."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.formats.column_builder import ColumnsBuilder
from bboxqa.formats.columns import Columns, Form
from bboxqa.formats.measured import Measured, author_problems, measured
from bboxqa.formats.raw_values import FARTHEST
from bboxqa.formats.records import (
    ASKED_KEYS,
    ID_EXPECTED,
    AnnotationFile,
    Category,
    Image,
    ReadSettings,
    is_id,
)
from bboxqa.model.annotations import Source

ABSENT = object()
"""The value of a missing key."""
_BOX = "4 finite numbers: x, y, width, height"


def table_problems(key: str, value: Any) -> Iterator[str]:
    """Yield what is wrong with an image or a category."""
    if not isinstance(value, dict):
        yield problem("the record", value, "an object")
        return
    if not is_id(value.get("id")):
        yield problem("id", value.get("id", ABSENT), ID_EXPECTED)
    if key == "categories":
        if not isinstance(value.get("name"), str):
            yield problem("name", value.get("name", ABSENT), "text")
        return
    known = {each: given for each, given in value.items() if given is not None}
    if not isinstance(known.get("file_name", ""), str):
        yield problem("file_name", known["file_name"], "text")
    for side in ("width", "height"):
        if not _is_finite(known.get(side, 0)):
            yield problem(side, known[side], "a number of pixels")
    for asked in ASKED_KEYS:
        if not isinstance(known.get(asked, []), list | dict):
            yield problem(asked, known[asked], "a list of annotators")


def annotation_problems(
    columns: Columns, row: int, record: Any, found: Measured, options: ReadSettings
) -> Iterator[str]:
    """Yield what is wrong with an annotation, whose record is as in the file."""
    if not isinstance(record, dict):
        yield problem("the record", record, "an object")
        return
    if columns.segment_counts is not None and not isinstance(record.get("segments_info", []), list):
        yield problem("segments_info", record["segments_info"], "a list of segments")
        return
    for key, valid in columns.valid.items():
        if not valid[row]:
            yield problem(key, record.get(key, ABSENT), ID_EXPECTED)
    box = record.get("bbox", ABSENT)
    place = np.flatnonzero(found.rows == row)
    if not len(place) or np.isnan(found.columns.bbox[place[0], 0]):
        more = ", or 5 with an angle, or 8 of four corners" if found.has_more_numbers else ""
        yield problem("bbox", box, _BOX + more)
    elif isinstance(box, list) and len(box) == 5 and abs(box[4]) > FARTHEST:
        expected = f"degrees or radians, at most {FARTHEST:,.0f}"
        yield f"the angle of bbox is {box[4]:g}; expected {expected}"
    if record.get("iscrowd") not in (None, 0, 1):
        yield problem("iscrowd", record["iscrowd"], "0 or 1")
    if options.outlines or options.rotated:
        yield from _outline_problems(columns, row, record.get("segmentation"))
    if options.keypoints:
        yield from _keypoint_problems(record.get("keypoints"))
    if options.rotated and abs(angle := columns.angles.get(row, 0)) >= FARTHEST:
        yield f"attributes.rotation is {angle:g}; expected degrees, less than {FARTHEST:,.0f}"


def _outline_problems(columns: Columns, row: int, value: Any) -> Iterator[str]:
    for place in np.flatnonzero(columns.rles.row == row).tolist():
        rles = columns.rles
        (height, width), total = rles.size[place].tolist(), rles.total[place]
        if wrong := rles.problems[rles.problem[place]]:
            yield f"the mask cannot be read: {wrong}"
        elif total != height * width:
            yield (
                f"the run lengths of the mask add up to {total}; "
                f"expected {height} × {width} = {height * width}"
            )
    if columns.form[row] == Form.RINGS:
        for ring in value:
            if len(ring) % 2:
                yield f"a polygon has {len(ring)} numbers; expected pairs of x and y"
            elif not all(map(_is_finite, ring)):
                yield problem("segmentation", value, "rings of finite numbers")
    elif columns.form[row] not in (Form.RLE, Form.EMPTY, Form.ABSENT) or value == "":
        expected = "a list of rings [x, y, x, y, ...] of finite numbers, or size and counts"
        yield problem("segmentation", value, expected)


def _keypoint_problems(points: Any) -> Iterator[str]:
    if points is None:
        return
    if not isinstance(points, list) or not all(map(_is_finite, points)):
        yield problem("keypoints", points, "finite numbers: x, y and visibility of each")
    elif len(points) % 3:
        yield f"keypoints have {len(points)} numbers; expected x, y and visibility of each"


def label_of(key: str, place: int, record: Any) -> str:
    """Return how a record is called in messages."""
    has_id = isinstance(record, dict) and "id" in record
    return f"{key}[{place}]" + (f" (id {shortened(record['id'])})" if has_id else "")


def problem(key: str, found: Any, expected: str) -> str:
    """Return the problem of the value of a key."""
    shown = "missing" if found is ABSENT else shortened(found)
    return f"{key} is {shown}; expected {expected}"


def shortened(value: object) -> str:
    """Return the beginning of a value as JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300


def file_of_records(
    source: Source,
    images: list[Image],
    categories: list[Category],
    records: Sequence[dict[str, Any]],
    options: ReadSettings,
) -> AnnotationFile:
    """Return the file of annotations given as records with COCO's keys, such as of a plugin.

    Raises DatasetError if values of records cannot be used.
    """
    builder = ColumnsBuilder(options)
    builder.add(records)
    columns = builder.done()
    found = measured(columns, options)
    problems = [
        f"{source.name}: annotation {records[row].get('id')!r}: {each}"
        for row in found.bad.tolist()
        for each in annotation_problems(columns, row, records[row], found, options)
    ]
    problems += (f"{source.name}: {each}" for each in author_problems(columns))
    if problems:
        raise DatasetError(problems, files=[Path(source.name)] * len(problems))
    lists = {
        "images": msgspec.to_builtins(images),
        "categories": msgspec.to_builtins(categories),
        "annotations": records,
    }
    kept = lists if options.records else None
    return AnnotationFile(source, images, categories, found.columns, found.notes, lists=kept)
