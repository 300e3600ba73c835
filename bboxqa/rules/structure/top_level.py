"""S: keys and types of the document as a whole, and the keys that every record needs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.annotations.records import ID_KEYS, LISTS
from bboxqa.formats.document.annotation_columns import Form, Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import each_or_summary, value_hits
from bboxqa.rules.base.rule import ABSENT, Defect, Hits, Rule, described_hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.file_kinds import kind_of

_NAMES = {dict: "an object", list: "a list", str: "text", bool: "true or false"}


def _typed(value: Any) -> str:
    """Return what a value is, in words."""
    return "null" if value is None else _NAMES.get(type(value), "a number")


def _list_missing(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    reading = document.reading
    founds = []
    if isinstance(reading.top, dict):
        for name in kind_of(document).lists:
            value = reading.top.get(name)
            if name not in reading.spans and not reading.stopped:
                message = f'key "{name}" is missing; expected a list of {name}'
                founds.append(Defect(message, expected="a list"))
            elif name in reading.top and not isinstance(value, list):
                message = f"{name} is {_typed(value)} ({shortened(value)}); expected a list"
                founds.append(Defect(message, pointer_to(name), found=value, expected="a list"))
    yield from described_hits(founds)


def _wrong_container(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    top = document.top
    containers = [
        Defect(
            f"{name} is {_typed(value)}; expected {expected}", pointer_to(name), expected=expected
        )
        for name, wanted, expected in (("info", dict, "an object"), ("licenses", list, "a list"))
        if (value := top.get(name)) is not None and not isinstance(value, wanted)
    ]
    yield from described_hits(containers, Severity.WARNING)
    kinds = document.annotations.record
    yield from _not_objects(document, "annotations", np.flatnonzero(kinds != Kind.DICT), len(kinds))
    for name, records in document.lists:
        odd = [row for row, value in enumerate(records.values) if not isinstance(value, dict)]
        yield from _not_objects(document, name, np.array(odd, np.int64), len(records))


def _not_objects(document: Document, name: str, rows: IndexArray, total: int) -> Iterator[Hits]:
    def describe(row: int) -> Defect:
        value = document.locator.value(name, row)
        message = f"record is {_typed(value)} ({shortened(value)}); expected an object"
        return Defect(message, pointer_to(name, row), found=value, expected="an object")

    def message() -> str:
        return f"{len(rows):,} of {total:,} {name} are not objects; expected objects"

    yield from each_or_summary(rows, total, describe, message)


def _required(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    objects = columns.record == Kind.DICT
    needed = kind_of(document).required
    for key in ID_KEYS:
        if key in needed:
            missing = np.flatnonzero(objects & (columns.kind[key] == Kind.MISSING))
            yield from value_hits(document, "annotations", key, missing, "a whole number")
    if "category_id" in needed:
        yield from _boxless(document, objects)
    for name, records in document.lists:
        without = [
            row for row, value in enumerate(records.values)
            if isinstance(value, dict) and "id" not in value
        ]  # fmt: skip
        missing = np.array(without, np.int64)
        yield from value_hits(document, name, "id", missing, "a whole number")


def _boxless(document: Document, objects: BoolArray) -> Iterator[Hits]:
    """Yield the annotations of objects without a box."""
    columns = document.annotations
    no_box = objects & (columns.kind["bbox"] == Kind.MISSING)
    outlined = ~np.isin(columns.form, (Form.ABSENT, Form.EMPTY))
    if document.reading.is_results:
        # Detections are evaluated by their boxes, masks or keypoints.
        no_box &= ~outlined
        no_box[columns.keypoints.row] = False
    for missing, severity in (
        (np.flatnonzero(no_box & ~outlined), None),
        (np.flatnonzero(no_box & outlined), Severity.WARNING),
    ):
        yield from value_hits(
            document, "annotations", "bbox", missing, "x, y, width, height", severity=severity
        )


def _info(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    reading = document.reading
    # A file without any of COCO's lists is of another kind; nothing is added to it.
    if not isinstance(reading.top, dict) or not reading.spans.keys() & set(LISTS):
        return
    founds = []
    for name, empty in (("info", {}), ("licenses", [])):
        add: Edit | None = None
        if name not in reading.spans and not reading.stopped:
            what, add = "missing", Edit(pointer_to(name), "add", empty)
        elif name in reading.top and reading.top[name] is None:
            what, add = "null", Edit(pointer_to(name), "replace", empty)
        if add:
            expected = "an object" if name == "info" else "a list"
            message = f"{name} is {what}; expected {expected}"
            founds.append(Defect(message, pointer_to(name), expected=expected, edits=(add,)))
    info = reading.top.get("info")
    if isinstance(info, dict) and info.get("year") == "":
        pointer = pointer_to("info", "year")
        message = 'year is ""; expected a number, or no year'
        edits = (Edit(pointer, "remove"),)
        founds.append(Defect(message, pointer, found="", expected="a number", edits=edits))
    yield from described_hits(founds)


RULES: tuple[Rule, ...] = (
    Rule(
        code="S001",
        title="list of records is missing or not a list",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""pycocotools silently loads a file without images and finds none; without
            annotations or categories it stops with a KeyError at the first query.""",
        explanation="""A COCO file needs the lists images, annotations and categories. One of them
            is missing or is not a list, for example where categories are an object ("1": "cat"). An
            empty list is allowed.""",
        bad={"annotations": ABSENT},
        good={"annotations": []},
        check=_list_missing,
    ),
    Rule(
        code="S002",
        title="required key is missing",
        severity=Severity.ERROR,
        breaks="pycocotools stops with a KeyError at the first record without the key.",
        explanation="""Each record needs its id, and each annotation an image_id, a category_id and
            a bbox. For an annotation that has an outline but no bbox, this is a warning: masks can
            still be evaluated, boxes cannot. Other keys are checked by other rules.""",
        bad={"annotations": [{"category_id": ABSENT}]},
        good={"annotations": [{"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40]]}]},
        check=_required,
    ),
    Rule(
        code="S004",
        title="info or licenses missing, or year empty",
        severity=Severity.INFO,
        scope="data set",
        breaks="""Readers with a strict schema expect the year as a number and refuse the file;
            COCO.info() of pycocotools stops with a KeyError where there is no info.""",
        explanation="""CVAT writes "year": "", and files from scripts often have neither info nor
            licenses. The annotations are not affected. The fix adds an empty info and empty
            licenses, and removes the empty year.""",
        bad={"info": {"year": ""}},
        good={"info": {"year": 2026}},
        check=_info,
        fix="safe",
    ),
    Rule(
        code="S009",
        title="record is not an object",
        severity=Severity.ERROR,
        breaks="pycocotools stops with a TypeError while it builds its index.",
        explanation="""An image, an annotation or a category is a list, text, a number or null. Each
            has to be an object with keys, such as {"id": 1, "name": "cat"}. It is a warning if info
            is not an object, or licenses is not a list.""",
        bad={"annotations": [{}, [1, 1, 1]]},
        good={"annotations": [{}, {"bbox": [40, 10, 20, 30]}]},
        check=_wrong_container,
    ),
)
