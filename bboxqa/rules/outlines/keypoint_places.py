"""K: positions and visibility of keypoints, and skeletons."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.geometry.kernels.boxes import corners, from_corners
from bboxqa.model.annotations import EDGES
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.found_defects import found_defects
from bboxqa.rules.base.reporting import record_defect, row_edits, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits, part_hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure, overshoot
from bboxqa.rules.facts.layout import in_other_layout

# In valid files, points are up to 0.6 longer sides outside their boxes.
_FAR = 1.0
# Points further outside may be swapped, if nearly all of them fit the box once swapped back.
_NEAR = 0.1
_NEARLY_ALL = 0.8
_FEW = 3


def _points(document: Document, row: int) -> list[list[Any]]:
    """Return x, y and visibility of the keypoints of an annotation."""
    value = document.record(row)["keypoints"]
    return [value[place : place + 3] for place in range(0, len(value), 3)]


def _name(document: Document, row: int, place: int) -> str:
    """Return the number of a keypoint, with its name if the category has one."""
    names = document.categories.get(int(document.category[row]), "keypoints")
    named = isinstance(names, list) and place < len(names) and isinstance(names[place], str)
    return f"keypoint {place + 1}" + (f" ({shortened(names[place])})" if named else "")


def _odd_visibility(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    points = document.annotations.keypoints

    def describe(row: int) -> Defect:
        values = [point[2] for point in _points(document, row)]
        place = next(place for place, value in enumerate(values) if value not in (0, 1, 2))
        return record_defect(
            document,
            ("annotations", row, "keypoints", 3 * place + 2),
            f"visibility of {_name(document, row, place)} is {shortened(values[place])}; expected "
            "0 (not labelled), 1 (hidden) or 2 (visible)",
            found=values[place],
            expected="0, 1 or 2",
        )

    yield from hits(points.row[points.n_odd > 0], describe, key="keypoints")


def _at_origin(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    points = document.annotations.keypoints

    def describe(row: int) -> Defect:
        values = _points(document, row)
        place = next(p for p, (x, y, seen) in enumerate(values) if x == y == 0 < seen)
        return record_defect(
            document,
            ("annotations", row, "keypoints", 3 * place),
            f"{_name(document, row, place)} is at (0, 0) with visibility "
            f"{shortened(values[place][2])}; expected visibility 0, or the position of the point",
            found=values[place],
            expected="visibility 0, or the position of the point",
        )

    yield from hits(points.row[points.n_origin > 0], describe, key="keypoints")


def beyond_box(document: Document, bounds: FloatArray) -> FloatArray:
    """Return how far points extend beyond each edge of their box, (K, 4), in longer sides.

    NaN without a box in COCO's layout.
    """
    rows = document.annotations.keypoints.row
    bbox = document.annotations.bbox[rows].copy()
    bbox[~document.has_box[rows] | document.once(in_other_layout)[rows]] = np.nan
    box = corners(bbox)
    beyond = np.hstack([box[:, :2] - bounds[:, :2], bounds[:, 2:] - box[:, 2:]])
    result: FloatArray = beyond / bbox[:, 2:].max(axis=1, keepdims=True)
    return result


def swapped_points(document: Document) -> BoolArray:
    """Return which lists of keypoints fit their boxes only with x and y swapped, (K,) bool.

    All are False if most of the points outside their boxes do not fit when swapped either.
    """
    bounds = document.annotations.keypoints.bounds
    off = np.any(beyond_box(document, bounds) > _NEAR, axis=1)
    swapped = beyond_box(document, bounds[:, [1, 0, 3, 2]])
    fits: BoolArray = off & np.all(swapped <= _NEAR, axis=1)
    if fits.sum() < max(_FEW, _NEARLY_ALL * off.sum()):
        fits[:] = False
    return fits


def _outside(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    points = document.annotations.keypoints
    if not len(points.row):
        return
    beyond_image = overshoot(from_corners(points.bounds), document.size[points.row])
    from_box = beyond_box(document, points.bounds)
    of_image: BoolArray = np.any(beyond_image > settings.overshoot_px, axis=1)
    of_box: BoolArray = np.any(from_box > _FAR, axis=1) & ~of_image
    wrong = (of_image | of_box) & ~document.once(swapped_points)

    def describe(which: int) -> Defect:
        row, in_image = int(points.row[which]), bool(of_image[which])
        beyond = (beyond_image if in_image else from_box)[which]
        edge = int(np.nanargmax(beyond))
        longer = 1 if in_image else document.annotations.bbox[row, 2:].max()
        what = "image" if in_image else f"bbox, whose longer side is {figure(longer)} px"
        near = "the image" if in_image else "or near the bbox"
        return record_defect(
            document,
            ("annotations", row, "keypoints"),
            f"a labelled keypoint is {figure(beyond[edge] * longer)} px beyond the {EDGES[edge]} "
            f"edge of its {what}; expected it in {near}",
            found=points.bounds[which].tolist(),
            expected=f"keypoints in {near}",
        )

    yield from part_hits(points.row, wrong, describe, key="keypoints")


def _swapped(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    points = document.annotations.keypoints
    rows = points.row[document.once(swapped_points)]

    def edits(row: int) -> tuple[Edit, ...]:
        value = [number for x, y, seen in _points(document, row) for number in (y, x, seen)]
        return (Edit(pointer_to("annotations", row, "keypoints"), "replace", value),)

    is_most = len(rows) > len(points.row) / 2
    for each in summary_hits(
        f"keypoints of {len(rows):,} of {count(len(points.row), 'annotation')} lie outside of "
        "their boxes, and inside with x and y swapped; expected x, y, visibility",
        "annotations",
        rows,
        "keypoints",
        expected="x, y, visibility",
        edits=row_edits(rows, edits),
    ):
        yield replace(each, concerned=None if is_most else rows)


def _skeletons(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    yield from found_defects("K006")(document, settings)
    categories = document.categories
    joined: list[tuple[IndexArray, int]] = []
    for row in range(len(categories)):
        names, edges = (categories.get(row, key) for key in ("keypoints", "skeleton"))
        ends = _ends(edges) if isinstance(edges, list) else []
        joined.append((np.array(ends, np.int64), len(names) if isinstance(names, list) else 0))
    wrong = [n > 0 and bool(((ends < 1) | (ends > n)).any()) for ends, n in joined]

    def describe(row: int) -> Defect:
        ends, n_points = joined[row]
        outside = int(ends[(ends < 1) | (ends > n_points)][0])
        from_zero = ends.min() == 0 and ends.max() < n_points
        found = "counts keypoints from 0" if from_zero else f"joins keypoint {outside}"
        return record_defect(
            document,
            ("categories", row, "skeleton"),
            f"skeleton {found}; expected numbers from 1 to {n_points}, the number of keypoints",
            found=outside,
            expected=f"numbers from 1 to {n_points}",
        )

    yield from hits(np.array(wrong, np.bool_), describe, name="categories", key="skeleton")


def _ends(edges: list[Any]) -> list[int]:
    """Return the numbers of the keypoints in edges that are valid pairs."""
    lists = [edge for edge in edges if isinstance(edge, list)]
    return [end for edge in lists for end in edge if type(end) is int and abs(end) < 1 << 62]


_CATEGORY = {"keypoints": ["nose", "tail"], "skeleton": [[1, 2]]}


def _pose(*keypoints: list[int], **category: Any) -> dict[str, Any]:
    """Return an example with one annotation, and its own box, for each list of keypoints."""
    return {
        "categories": [{**_CATEGORY, **category}],
        "annotations": [
            {"keypoints": value, "num_keypoints": 2, "bbox": [50, 10 * place, 20 + place, 30]}
            for place, value in enumerate(keypoints)
        ],
    }


RULES = (
    Rule(
        code="K002",
        title="visibility of a keypoint is not 0, 1 or 2",
        severity=Severity.WARNING,
        breaks="""COCOeval counts every number above 0 as labelled, other programs only 2 or only 1:
            they train and evaluate with different points.""",
        explanation="""The visibility of a keypoint is 0 (not labelled), 1 (labelled, but hidden) or
            2 (visible). Here it is another number, for example the score of a detector or a fourth
            state of an annotation tool. Map it to the three.""",
        bad=_pose([52, 12, 2, 60, 20, 3]),
        good=_pose([52, 12, 2, 60, 20, 1]),
        check=_odd_visibility,
    ),
    Rule(
        code="K003",
        title="labelled keypoint at (0, 0)",
        severity=Severity.WARNING,
        breaks="""A model learns to place the point in the corner of the image, and evaluation
            expects it there.""",
        explanation="""A keypoint has visibility 1 or 2 and lies at (0, 0), which stands for points
            that are not labelled. An exporter wrote the same visibility for all points. Write 0 as
            the visibility, or the position of the point.""",
        bad=_pose([52, 12, 2, 0, 0, 2]),
        good=_pose([52, 12, 2, 0, 1, 2]),
        check=_at_origin,
    ),
    Rule(
        code="K004",
        title="keypoint outside its image, or far from its box",
        severity=Severity.WARNING,
        breaks="""Crops of the object do not contain the point, so training drops it or learns a
            wrong position; OKS uses the scale of another object.""",
        explanation="""A labelled keypoint lies outside its image by more than `overshoot_px`, or
            further from its box than the length of the box. The points belong to another object or
            to a resized image, or the box was changed without them. Points at (0, 0) are reported
            by K003.""",
        bad=_pose([52, 12, 2, 160, 20, 2]),
        good=_pose([52, 12, 2, 80, 20, 2]),
        check=_outside,
    ),
    Rule(
        code="K005",
        title="x and y of keypoints are swapped",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""The points are mirrored at the diagonal of the image: a model learns noise, and
            OKS is near 0.""",
        explanation="""Keypoints lie outside their boxes, and nearly all of them lie inside with x
            and y swapped, in at least 3 annotations. They were written as row, column. The unsafe
            fix swaps them; first check that it is not the boxes that are swapped.""",
        bad=_pose(*([12 + 9 * n, 52, 2, 20 + 9 * n, 60, 2] for n in range(3))),
        good=_pose(*([52, 12 + 9 * n, 2, 60, 20 + 9 * n, 2] for n in range(3))),
        check=_swapped,
        fix="unsafe",
        consequences=("K004",),
    ),
    Rule(
        code="K006",
        title="skeleton joins keypoints that its category does not have",
        severity=Severity.WARNING,
        breaks="""Drawing stops with an IndexError or joins the wrong points, and losses that use
            the edges learn an impossible body.""",
        explanation="""A skeleton is a list of pairs of keypoints, numbered from 1 in the order of
            the category. Here a number is 0 or above the number of keypoints: the pairs count from
            0, or belong to another list of points. Number them again.""",
        bad=_pose([52, 12, 2, 60, 20, 2], skeleton=[[0, 1]]),
        good=_pose([52, 12, 2, 60, 20, 2], skeleton=[[2, 1]]),
        check=_skeletons,
    ),
)
