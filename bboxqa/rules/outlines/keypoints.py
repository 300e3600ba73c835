"""K: keypoints, and how many of them are visible."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.document.annotation_columns import Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule
from bboxqa.rules.facts.box_overlaps import first_equal
from bboxqa.rules.facts.document import Document

# Objects that have the same keypoints; fewer may be one object that stands still.
_MANY = 5


def _expected(document: Document) -> IndexArray:
    """Return the expected length of each list of keypoints; -1 where its category names none."""
    names = [document.categories.get(row, "keypoints") for row in range(len(document.categories))]
    lengths = [3 * len(name) if isinstance(name, list) and name else -1 for name in names]
    expected: IndexArray = np.array([*lengths, -1], np.int64)
    return expected[document.category[document.annotations.keypoints.row]]


def _keypoints(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    points = columns.keypoints
    if len(points.row) == 0:
        return
    expected = _expected(document)
    misshapen = np.where(expected >= 0, points.n_numbers != expected, points.n_numbers % 3 != 0) | (
        points.n_numbers < 0
    )
    kind = columns.kind["num_keypoints"][points.row]
    number = np.isin(kind, (Kind.INT, Kind.FLOAT))
    miscounted = ~number | (columns.num_keypoints[points.row] != points.n_visible)
    # Some tools write an empty list on every annotation of a category without points.
    nothing = (points.n_numbers == 0) & (expected < 0) & (kind == Kind.MISSING)
    wrong = np.flatnonzero((misshapen | miscounted) & ~nothing)
    n_equal = _n_equal(document, wrong)

    def describe(place: int) -> Defect:
        which = int(wrong[place])
        row = int(points.row[which])
        if misshapen[which]:
            return _misshapen(document, row, int(points.n_numbers[which]), int(expected[which]))
        visible = int(points.n_visible[which])
        if n_equal[place] >= _MANY:
            return _copied(document, row, visible, int(n_equal[place]))
        return _miscounted(document, row, Kind(kind[which]), visible)

    if len(wrong):
        yield Hits(points.row[wrong], describe)


def _n_equal(document: Document, some: IndexArray) -> IndexArray:
    """Return for some lists of keypoints how many objects with different boxes have the same."""
    points = document.annotations.keypoints
    bbox = np.nan_to_num(document.annotations.bbox[points.row[some]])
    sides = [partial(_at, some, column) for column in points.bounds.T]
    numbers = (points.n_numbers, points.n_visible, points.n_odd, points.n_origin)
    lists = first_equal(len(some), [*sides, *(partial(_at, some, column) for column in numbers)])
    box = first_equal(len(some), [lists.__getitem__, *(side.__getitem__ for side in bbox.T)])
    n_boxes = np.bincount(lists[box == np.arange(len(box))], minlength=len(box))
    result: IndexArray = n_boxes[lists]
    return result


def _at(rows: IndexArray, column: NDArray[Any], some: slice | IndexArray) -> NDArray[Any]:
    return column[rows[some]]


def _misshapen(document: Document, row: int, n_numbers: int, expected: int) -> Defect:
    has_numbers = n_numbers >= 0
    wanted = "three for each point: x, y, visibility"
    if expected >= 0:
        wanted = f"{expected}, three for each of the {expected // 3} points of its category"
    return record_defect(
        document,
        ("annotations", row, "keypoints"),
        f"keypoints {f'has {n_numbers}' if has_numbers else 'is not a list of'} numbers; "
        f"expected {wanted}",
        found=f"{n_numbers} numbers" if has_numbers else "no list of numbers",
        expected=wanted,
    )


def _miscounted(document: Document, row: int, kind: Kind, visible: int) -> Defect:
    value = document.record(row).get("num_keypoints")
    missing = kind == Kind.MISSING
    pointer = pointer_to("annotations", row, "num_keypoints")
    wanted = f"{visible}, the points with a visibility above 0"
    return record_defect(
        document,
        ("annotations", row, "num_keypoints"),
        f"num_keypoints is {'missing' if missing else shortened(value)}; expected {wanted}",
        found=value,
        expected=wanted,
        edits=(Edit(pointer, "add" if missing else "replace", visible),),
    )


def _copied(document: Document, row: int, visible: int, n_objects: int) -> Defect:
    """Return the finding where the count may be right, and the keypoints are another object's."""
    record = document.record(row)
    value = record.get("num_keypoints")
    written = shortened(value) if "num_keypoints" in record else "missing"
    return record_defect(
        document,
        ("annotations", row, "keypoints"),
        f"num_keypoints is {written} and {visible} points have a visibility above 0, but "
        f"{n_objects:,} objects with different boxes have the same keypoints; expected its own",
        found=value,
        expected="the keypoints of this object",
    )


_CATEGORY = {"keypoints": ["nose", "tail"], "skeleton": [[1, 2]]}

RULES = (
    Rule(
        code="K001",
        title="keypoints do not fit their category or their number",
        severity=Severity.ERROR,
        breaks="""COCOeval stops with a broadcast error if points are missing, with KeyError if
            num_keypoints is, and ignores objects whose num_keypoints is 0.""",
        explanation="""Keypoints are x, y and visibility (0, 1 or 2) of each point that the category
            names, and num_keypoints is how many of them have a visibility above 0. Here the list
            has the wrong length, or the count is wrong. The fix corrects the count, unless five or
            more objects have the same keypoints, which were copied then; export those again, and
            lists of the wrong length.""",
        bad={
            "categories": [_CATEGORY],
            "annotations": [{"keypoints": [12, 12, 2, 0, 0, 0], "num_keypoints": 2}],
        },
        good={
            "categories": [_CATEGORY],
            "annotations": [{"keypoints": [12, 12, 2, 0, 0, 0], "num_keypoints": 1}],
        },
        check=_keypoints,
        fix="safe",
    ),
)
