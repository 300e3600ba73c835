"""S: values of annotations other than ids (S005, S006, S010 and S011)."""

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.json_values import pointer_to
from bboxqa.formats.columns import Form, Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import value_hits
from bboxqa.rules.base.rule import ABSENT, Hits, Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layout import doubtful_boxes
from bboxqa.rules.facts.oriented_boxes import is_rotated_file

_CROWD = {"0": 0, "1": 1}
_NUMERIC = (int, float, str)
_BOX = "four finite numbers: x, y, width, height"


def _at(row: int, key: str) -> str:
    return pointer_to("annotations", row, key)


def _crowd(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    kind = columns.kind["iscrowd"]
    objects = columns.record == Kind.DICT
    absent = objects & np.isin(kind, (Kind.MISSING, Kind.NULL))
    wrong = objects & ~absent & ~((kind == Kind.INT) & (columns.iscrowd >= 0))
    missing, text = kind == Kind.MISSING, kind == Kind.TEXT
    numbers = np.where(absent, 0, columns.iscrowd)

    def edits(row: int, value: Callable[[], Any]) -> tuple[Edit, ...]:
        number = _CROWD.get(value(), -1) if text[row] else int(numbers[row])
        action: Literal["add", "replace"] = "add" if missing[row] else "replace"
        return (Edit(_at(row, "iscrowd"), action, number),) if number >= 0 else ()

    for rows in map(np.flatnonzero, (absent, wrong)):
        yield from value_hits(document, "annotations", "iscrowd", rows, "0 or 1", edits)


def _number(value: Any) -> float:
    """Return a number, even if written as text; NaN for any other value."""
    try:
        # Underscores are replaced, as Python would read "1_0" as 10.
        return float(str(value).replace("_", "x")) if type(value) in _NUMERIC else math.nan
    except (ValueError, OverflowError):
        return math.nan


def _plain(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def _readable_box(value: Any, bounds: FloatArray) -> list[int | float] | None:
    """Return four numbers from a list of numbers or texts, or else the bounds of the outline."""
    box = [_number(part) for part in value] if isinstance(value, list) else []
    if len(box) != 4 or not all(map(math.isfinite, box)):
        left, top, right, bottom = bounds.tolist()
        box = [left, top, right - left, bottom - top]
    sound = all(map(math.isfinite, box)) and min(box[2:]) > 0
    return list(map(_plain, box)) if sound else None


def _box(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    there = columns.kind["bbox"] != Kind.MISSING

    def edits(row: int, value: Callable[[], Any]) -> tuple[Edit, ...]:
        box = _readable_box(value(), document.outline_bounds[row])
        return () if box is None else (Edit(_at(row, "bbox"), "replace", box),)

    wrong = there & np.isnan(columns.bbox[:, 0])
    if is_rotated_file(document):
        wrong[columns.rotations.row[columns.rotations.n_numbers > 0]] = False
        rows, expected = np.flatnonzero(wrong), _of_rotated(columns.rotations.n_numbers)
        # There is no fix, as four numbers would differ from the other boxes.
        yield from value_hits(document, "annotations", "bbox", rows, expected)
        return
    rows = np.flatnonzero(wrong)
    yield from value_hits(document, "annotations", "bbox", rows, _BOX, edits)


def _of_rotated(n_numbers: IndexArray) -> str:
    """Return the expected form of boxes in a file of rotated boxes."""
    is_five = np.count_nonzero(n_numbers == 5) >= np.count_nonzero(n_numbers == 8)
    what = "five finite numbers, the last an angle," if is_five else "the eight of four corners,"
    return f"{what} as most boxes here have"


def _outline(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    form = columns.form
    objects = columns.record == Kind.DICT
    none = objects & np.isin(form, (Form.ABSENT, Form.EMPTY))
    other = form == Form.OTHER
    expected = "a list of polygons or a run-length mask"
    rows = np.flatnonzero(other)
    yield from value_hits(document, "annotations", "segmentation", rows, expected)
    if 2 * np.count_nonzero(objects & ~none & ~other) > len(columns):
        rows, expected = np.flatnonzero(none), f"{expected}, as most annotations here have"
        yield from value_hits(document, "annotations", "segmentation", rows, expected)


def _areas(document: Document) -> FloatArray:
    """Return the area of each outline, or else of the box, (N,); NaN where uncertain."""
    box = document.annotations.bbox
    # Products of large numbers may overflow.
    with np.errstate(all="ignore"):
        sure = document.has_box & ~document.once(doubtful_boxes)
        of_box = np.where(sure, box[:, 2] * box[:, 3], np.nan)
        sure = ~document.once(doubtful_boxes)
        outline = np.where(sure, document.outline_area, np.nan)
    areas: FloatArray = np.where(np.isnan(outline), of_box, outline)
    return np.where(np.isfinite(areas) & (areas > 0), areas, np.nan)


def _area(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    kind = columns.kind["area"]
    objects = columns.record == Kind.DICT
    absent = np.flatnonzero(objects & np.isin(kind, (Kind.MISSING, Kind.NULL)))
    wrong = np.flatnonzero(np.isin(kind, (Kind.BOOL, Kind.TEXT, Kind.LIST, Kind.DICT)))
    if not len(absent) and not len(wrong):
        return
    areas, missing = _areas(document), kind == Kind.MISSING

    def edits(row: int, _value: Callable[[], Any]) -> tuple[Edit, ...]:
        area = float(areas[row])
        action: Literal["add", "replace"] = "add" if missing[row] else "replace"
        return () if math.isnan(area) else (Edit(_at(row, "area"), action, _plain(area)),)

    for rows in (absent, wrong):
        expected = "a number of square pixels"
        yield from value_hits(document, "annotations", "area", rows, expected, edits)


RULES = (
    Rule(
        code="S005",
        title="iscrowd is not 0 or 1",
        severity=Severity.WARNING,
        breaks="""COCOeval stops with KeyError 'iscrowd' if it is missing, and ignores the object if
            it is 2 or more.""",
        explanation="""iscrowd says whether an annotation is one object (0) or a group drawn as one
            (1). Here it is missing or has another value. The fix writes 0 if it is missing or null,
            and 0 or 1 for values such as true, 1.0 or "1"; correct other values yourself.""",
        bad={"annotations": [{"iscrowd": ABSENT}]},
        good={"annotations": [{"iscrowd": 0}]},
        check=_crowd,
        fix="safe",
    ),
    Rule(
        code="S006",
        title="bbox is not a list of the expected numbers",
        severity=Severity.ERROR,
        breaks="""COCOeval stops at null with a TypeError, at an object with a KeyError, and at a
            list of another length with 'list input can be bounding box (Nx4) or RLEs'; numbers
            written as text stop trainers.""",
        explanation="""A bbox is a list of x, y, width and height in pixels. Here it is something
            else: null, an object, a list of another length, or it holds text or infinite numbers.
            Five or eight numbers are rotated boxes (O009) if at least half of the boxes have them;
            the others are then expected to have as many, and there is no fix. Otherwise, the unsafe
            fix converts text to numbers if possible, or else writes the bounds of a valid
            outline.""",
        bad={"annotations": [{"bbox": ["10", "10", "20", "30"], "area": 600}]},
        good={"annotations": [{"bbox": [10.0, 10, 2e1, 30]}]},
        check=_box,
        fix="unsafe",
        consequences=("B011",),
    ),
    Rule(
        code="S010",
        title="segmentation has a wrong type, or is missing while most have one",
        severity=Severity.WARNING,
        breaks="""pycocotools stops at it when masks are evaluated: TypeError at null, IndexError at
            an empty list, KeyError if it is missing.""",
        explanation="""A segmentation is a list of polygons ([[x, y, x, y, …]]) or a mask as run
            lengths ({"size": …, "counts": …}). This one is neither; or it is missing, null or
            empty, while more than half of the annotations have one. Draw the outline, or train on
            boxes only.""",
        bad={"annotations": [{"segmentation": 7}]},
        good={"annotations": [{"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40]]}]},
        check=_outline,
        consequences=("B011",),
    ),
    Rule(
        code="S011",
        title="area is missing",
        severity=Severity.WARNING,
        breaks="COCOeval stops with KeyError 'area': it sorts objects by size.",
        explanation="""Each annotation has the area of its outline in square pixels. Here it is
            missing or not a number. The fix computes it from the outline, or from the box if there
            is no outline.""",
        bad={"annotations": [{"area": ABSENT}]},
        good={"annotations": [{"area": 600.0}]},
        check=_area,
        fix="safe",
    ),
)
