"""D: annotations and objects that are in the file twice."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.blocks import rows_where
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.columns import Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.box_overlaps import (
    BoxColumn,
    Columns,
    are_many,
    first_equal,
    overlapping,
)
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure_unlike
from bboxqa.rules.facts.layout import in_other_layout
from bboxqa.rules.facts.turned_overlaps import (
    box_iou,
    compared_boxes,
    other_numbers,
    written_boxes,
)


@dataclass(frozen=True, slots=True, eq=False)
class _Earlier:
    """The boxes that nearly coincide with an earlier box by the same annotator."""

    same: IndexArray
    other: IndexArray
    """(N,) int64. The row of an earlier box of the same, or of another, category; -1 for none."""


def _sides(document: Document) -> list[BoxColumn]:
    """Return the columns of each box as written, or of the bounds of its outline."""
    boxes = document.once(written_boxes)

    def side(place: int, rows: slice | IndexArray) -> FloatArray:
        written = boxes[rows, place]
        return np.where(np.isfinite(written), written, document.outline_bounds[rows, place])

    return [partial(side, place) for place in range(4)]


def _in_equal_boxes(document: Document) -> IndexArray:
    """Return the rows of annotations whose box equals that of another one of their image."""
    columns, sides = document.annotations, _sides(document)
    sound = columns.record == Kind.DICT
    for each in sides:
        sound &= rows_where(len(columns), partial(_finite, each))
    return _with_equals(np.flatnonzero(sound), [*sides, columns.image_id.__getitem__])


def _repeats(document: Document) -> IndexArray:
    """Return the first annotation with an equal record except for the id, (N,); -1 for none."""
    columns, sides = document.annotations, _sides(document)
    rows = document.once(_in_equal_boxes)
    # If many boxes are equal, these columns distinguish records without decoding them.
    whole = (columns.image_id, columns.category_id, document.annotator, columns.iscrowd,
             columns.form)  # fmt: skip
    sizes = (
        columns.area,
        *document.once(other_numbers),
        *(document.outline_bounds[:, place] for place in range(4)),
    )
    finite_sizes = [partial(_nan_as_0, size) for size in sizes]
    rows = _with_equals(rows, [*sides, *(each.__getitem__ for each in whole), *finite_sizes])
    result = np.full(len(columns), -1)
    first: dict[str, int] = {}
    # Annotation tools have ids of their own.
    ids = {"id"} if document.reading.origin is None else {"id", "own_id"}
    for row in rows.tolist():
        record = {key: value for key, value in document.record(row).items() if key not in ids}
        earlier = first.setdefault(json.dumps(record, sort_keys=True), row)
        result[row] = -1 if earlier == row else earlier
    return result


def _finite(column: BoxColumn, rows: slice) -> BoolArray:
    return np.isfinite(column(rows))


def _of(rows: IndexArray, column: BoxColumn, of: slice | IndexArray) -> NDArray[Any]:
    return column(rows[of])


def _nan_as_0(column: FloatArray, rows: slice | IndexArray) -> FloatArray:
    return np.nan_to_num(column[rows])


def _with_equals(rows: IndexArray, columns: Columns) -> IndexArray:
    """Return the rows that equal another row in all columns, in ascending order."""
    first = first_equal(len(rows), [partial(_of, rows, each) for each in columns])
    repeats = first != np.arange(len(first))
    result: IndexArray = rows[np.union1d(first[repeats], np.flatnonzero(repeats))]
    return result


def _earlier(document: Document, threshold: float) -> _Earlier:
    """Return the earlier boxes that boxes repeat with an IoU of at least `threshold`."""
    columns = document.annotations
    exact = document.once(_repeats)
    none = len(columns)
    same, other = np.full(none, none), np.full(none, none)
    kind = columns.category_id
    bbox, lowest = compared_boxes(document, threshold)
    regions = document.once(_regions)
    for found in overlapping(bbox, _drawer(document, exact), kind, lowest):
        left, right = found.left, found.right
        before = np.where(kind[left] == kind[right], same[right], other[right])
        left, right = left[left < before], right[left < before]
        if lowest < threshold:
            # Rotated boxes that cross each other may have equal bounds.
            kept = box_iou(document, left, right) >= threshold
            left, right = left[kept], right[kept]
        alike = kind[left] == kind[right]
        np.minimum.at(same, right[alike], left[alike])
        if regions is not None:
            # Some tools allow several labels of one region.
            alike |= regions[left] == regions[right]
        np.minimum.at(other, right[~alike], left[~alike])
    same[same == none] = -1
    other[other == none] = -1
    return _Earlier(same, other)


def _regions(document: Document) -> IndexArray | None:
    """Return the region of each annotation, (N,); None if no region has several labels.

    Only annotations of one image with equal boxes share a region.
    """
    if document.reading.origin is None:
        return None
    regions = np.arange(len(document.annotations))
    rows = document.once(_in_equal_boxes)
    regions[rows] = document.reading.origin.regions_of(rows)
    return regions


def _drawer(document: Document, exact: IndexArray) -> IndexArray:
    """Return the group of each annotation by image and annotator, (N,) int64; -1 to leave it out.

    If an image was given to several annotators and annotations name none, two boxes may be by two
    annotators.
    """
    columns, authors = document.annotations, document.once(authorship)
    group = document.image * (len(authors.names) + 1) + 1 + authors.author
    shared = np.bincount(authors.asked[:, 0], minlength=len(document.images) + 1) > 1
    unknown = (authors.author < 0) & shared[document.image]
    left_out = unknown | (columns.iscrowd == 1) | (exact >= 0) | ~columns.named("category_id")
    # Boxes in another layout overlap by chance.
    left_out |= document.once(in_other_layout)
    return np.where(left_out | (document.image < 0), -1, group)


def _exact(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    earlier, columns = document.once(_repeats), document.annotations
    same_id = columns.whole["id"] & (columns.id == columns.id[earlier])

    def describe(row: int) -> Defect:
        first = int(earlier[row])
        ids = [document.record(each).get("id") for each in (first, row)]
        other = shortened(document.ids(first).get("annotation"))
        what = f"annotation {other} in all but the id"
        if same_id[row]:
            what = f"an earlier one, {pointer_to('annotations', first)}"
        return record_defect(
            document,
            ("annotations", row),
            f"annotation is equal to {what}; expected it once",
            found=ids[1],
            expected="no annotation twice",
            edits=(Edit(pointer_to("annotations", row), "remove"),),
            key=_key(ids),
        )

    summary = "{share} are equal to an earlier one; expected each once"
    repeats = earlier >= 0
    # With equal ids, pycocotools keeps one in some places and both in others.
    wrong = repeats & (same_id | are_many(int(repeats.sum()), len(earlier)))
    yield from hits(wrong, describe, Severity.ERROR, summary=summary)
    yield from hits(repeats & ~wrong, describe, summary=summary)


def _key(ids: Iterable[Any]) -> str:
    """Return ids in an order that does not depend on the order of the records."""
    return " ".join(sorted(map(shortened, ids)))


def _near(document: Document, settings: ValidateSettings, *, same: bool) -> Iterator[Hits]:
    """Yield boxes that nearly coincide, of the same or of different categories."""
    found = document.once(_earlier, settings.duplicate_iou)
    earlier = found.same if same else found.other
    limit = f"{settings.duplicate_iou:g}"

    def describe(row: int) -> Defect:
        first = int(earlier[row])
        iou = float(box_iou(document, np.array([first]), np.array([row]))[0])
        shown = figure_unlike(iou, settings.duplicate_iou, 3)
        records = [document.record(first), document.record(row)]
        kinds = [_category(document, each) for each in (first, row)]
        what = f"of the same category {kinds[0]}"
        if not same:
            what = f"which is {kinds[0]} and not {kinds[1]}"
        other = shortened(document.ids(first).get("annotation"))
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"bbox has an IoU of {shown} with annotation {other}, "
            f"{what}; expected less than {limit} for one annotator",
            found=records[1].get("bbox"),
            expected=f"an IoU below {limit}",
            examples=(pointer_to("annotations", first), pointer_to("annotations", row)),
            key=_key([record.get("id") for record in records]),
        )

    yield from hits(earlier >= 0, describe)


def _category(document: Document, row: int) -> str:
    place = int(document.category[row])
    name = document.categories.get(place, "name") if place >= 0 else None
    return shortened(document.annotations.category_id[row].item() if name is None else name)


_DOG = {"categories": [{}, {"name": "dog"}]}

RULES = (
    Rule(
        code="D001",
        title="annotation is in the file twice",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""Evaluation expects two detections of one object: even a perfect model misses one
            of the two, and recall and AP fall.""",
        explanation="""Two annotations of one image are equal in all keys except the id, keys
            unknown to COCO included. They come from joining overlapping files, importing twice, or
            copy and paste. It is an error if a twentieth of the annotations or more repeat another:
            agreement and counts are then wrong. The fix removes all but the first.""",
        bad={"annotations": [{}, {}]},
        good={"annotations": [{"rater": "ann"}, {"rater": "bob"}]},
        check=_exact,
        fix="safe",
        consequences=("I001",),
    ),
    Rule(
        code="D002",
        title="object annotated twice by one annotator",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""Evaluation expects two detections of one object, and non-maximum suppression keeps
            one: recall and AP fall.""",
        explanation="""Two boxes of one image, one category and one annotator have an IoU of at
            least 0.9 (duplicate_iou); for rotated boxes, it is the IoU of the rotated boxes.
            Usually one object was drawn twice, or a pre-annotation was kept next to its correction.
            Boxes by two annotators agree and are not reported; nor are crowds, annotations reported
            by D001, and boxes without an annotator on an image given to several annotators. Look at
            both boxes and delete one. If thousands of boxes overlap, the search stops early, and an
            info finding says so.""",
        bad={"annotations": [{}, {"bbox": [10, 10, 20, 31]}]},
        good={"annotations": [{"rater": "ann"}, {"rater": "bob", "bbox": [10, 10, 20, 31]}]},
        check=partial(_near, same=True),
        requires=("B014",),
    ),
    Rule(
        code="D003",
        title="object with two categories by one annotator",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""One or both labels are wrong: training penalises either answer, and evaluation
            counts a miss.""",
        explanation="""Two boxes of one image, one annotator and different categories have an IoU of
            at least 0.9 (duplicate_iou); for rotated boxes, it is the IoU of the rotated boxes.
            Usually the category was corrected by drawing a new box without deleting the first. If
            objects may have several categories, or hide each other, ignore D003; it is not applied
            to LVIS, where they may, nor to regions to which a tool gives several labels. Crowds are
            left out. If thousands of boxes overlap, the search
            stops early, and an info finding says so.""",
        bad={**_DOG, "annotations": [{}, {"category_id": 2, "bbox": [10, 10, 20, 31]}]},
        good={**_DOG, "annotations": [{}, {"category_id": 2, "bbox": [10, 10, 20, 36]}]},
        check=partial(_near, same=False),
        requires=("B014",),
    ),
)
