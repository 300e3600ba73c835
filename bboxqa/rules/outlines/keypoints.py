"""K: lists of keypoints, their counts, and copies of keypoints."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.document.annotation_columns import Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.found_defects import found_defects
from bboxqa.rules.base.reporting import record_defect, summary_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits
from bboxqa.rules.facts.box_overlaps import first_equal
from bboxqa.rules.facts.document import Document

# The least number of objects with the same keypoints; fewer may be one still object.
_MANY = 5


def _expected(document: Document) -> IndexArray:
    """Return the expected length of each list of keypoints; -1 if the category has no names."""
    names = [document.categories.get(row, "keypoints") for row in range(len(document.categories))]
    lengths = [3 * len(name) if isinstance(name, list) and name else -1 for name in names]
    expected: IndexArray = np.array([*lengths, -1], np.int64)
    return expected[document.category[document.annotations.keypoints.row]]


def _keypoints(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    points = columns.keypoints
    if len(points.row) == 0:
        return
    expected = _expected(document)
    misshapen = np.where(expected >= 0, points.n_numbers != expected, points.n_numbers % 3 != 0) | (
        points.n_numbers < 0
    )
    if document.reading.origin is not None:
        # Translated lists may end before the last joint; the format reports missing joints.
        misshapen &= (points.n_numbers > expected) & (expected >= 0)
        yield from found_defects("K001")(document, settings)
    kind = columns.kind["num_keypoints"][points.row]
    number = np.isin(kind, (Kind.INT, Kind.FLOAT))
    miscounted = ~number | (columns.num_keypoints[points.row] != points.n_visible)
    # If keypoints were copied (K008), the count may be right and the keypoints wrong.
    miscounted &= document.once(_n_equal) < _MANY
    # Points at (0, 0) that the count omits are not labelled; K003 reports them.
    n_labelled = points.n_visible - points.n_origin
    miscounted &= (points.n_origin == 0) | (columns.num_keypoints[points.row] != n_labelled)
    # Some tools write an empty list on every annotation of a category without points.
    nothing = (points.n_numbers == 0) & (expected < 0) & (kind == Kind.MISSING)
    wrong = np.flatnonzero((misshapen | miscounted) & ~nothing)

    def describe(place: int) -> Defect:
        which = int(wrong[place])
        row = int(points.row[which])
        if misshapen[which]:
            return _misshapen(document, row, int(points.n_numbers[which]), int(expected[which]))
        return _miscounted(document, row, Kind(kind[which]), int(points.n_visible[which]))

    if len(wrong):
        yield Hits(points.row[wrong], describe)


def _n_equal(document: Document) -> IndexArray:
    """Return the number of objects with different boxes that have the same keypoints, (K,)."""
    points = document.annotations.keypoints
    if not len(points.row):
        return np.zeros(0, np.int64)
    bbox = np.nan_to_num(document.annotations.bbox[points.row])
    columns = (
        *points.bounds.T, points.n_numbers, points.n_visible, points.n_odd, points.n_origin,
    )  # fmt: skip
    lists = first_equal(len(bbox), [column.__getitem__ for column in columns])
    box = first_equal(len(bbox), [lists.__getitem__, *(side.__getitem__ for side in bbox.T)])
    n_boxes = np.bincount(lists[box == np.arange(len(box))], minlength=len(box))
    result: IndexArray = n_boxes[lists]
    return result


def _copied(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """K008: keypoints that objects with different boxes share."""
    points, columns = document.annotations.keypoints, document.annotations
    n_equal = document.once(_n_equal)
    copied = n_equal >= _MANY
    if not copied.any():
        return
    rows = points.row[copied]
    of_most = np.flatnonzero(n_equal == n_equal[copied].max())[0]
    values = shortened(document.record(int(points.row[of_most]))["keypoints"])
    found = summary_defect(
        f"{len(rows):,} of {count(len(points.row), 'list')} of keypoints are shared with other "
        f"objects: {n_equal[of_most]:,} objects with different boxes have {values}; expected "
        "the keypoints of each object",
        "annotations",
        rows,
        "keypoints",
        expected="the keypoints of each object",
    )
    is_counted = columns.num_keypoints[rows] == points.n_visible[copied]
    for each in described_hits([found], None if is_counted.all() else Severity.ERROR):
        yield replace(each, concerned=rows)


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


_CATEGORY = {"keypoints": ["nose", "tail"], "skeleton": [[1, 2]]}


def _objects(keypoints: Iterable[list[int]]) -> dict[str, Any]:
    """Return an example of objects with different boxes and these keypoints."""
    return {
        "categories": [_CATEGORY],
        "annotations": [
            {"keypoints": value, "num_keypoints": 2, "bbox": [10 + place, 10, 20, 30]}
            for place, value in enumerate(keypoints)
        ],
    }


RULES = (
    Rule(
        code="K001",
        title="keypoints do not fit their category or their number",
        severity=Severity.ERROR,
        breaks="""COCOeval stops with a broadcast error if points are missing, with KeyError if
            num_keypoints is, and ignores objects whose num_keypoints is 0.""",
        explanation="""Keypoints are x, y and visibility (0, 1 or 2) of each point that the category
            names, and num_keypoints is the number of points with a visibility above 0. Here the
            list has the wrong length, or the count is wrong; in CVAT and Datumaro, a skeleton lacks
            points of its label. The fix corrects the count. Export lists of the wrong length again.
            The count may omit points at (0, 0), see K003. The counts of copied keypoints (K008) are
            not checked.""",
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
    Rule(
        code="K008",
        title="same keypoints in several objects",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""A model learns poses of other objects, and OKS uses a wrong scale.""",
        explanation="""Five or more objects with different boxes have the same keypoints. The
            keypoints of one object were copied to the others, by a script or as a track that a tool
            extends. It is an error if num_keypoints contradicts them, as it may be all that is left
            of the right keypoints. Export or annotate them again.""",
        bad=_objects([12, 12, 2, 20, 20, 2] for _ in range(5)),
        good=_objects([12, 12 + place, 2, 20, 20, 2] for place in range(5)),
        check=_copied,
        consequences=("K004",),
    ),
)
