"""K: lists of keypoints, their counts, visibility and places, and skeletons."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.columns import Kind
from bboxqa.geometry.kernels.boxes import corners, from_corners
from bboxqa.model.annotations import EDGES
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import found_defects, record_hits
from bboxqa.rules.base.rule import Hits, Rule
from bboxqa.rules.facts.boxes import figure, overshoot
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layout import in_other_layout

# In valid files, points are up to 0.6 longer sides outside their boxes.
_FAR = 1.0


def _expected(document: Document) -> IndexArray:
    """Return the expected length of each list of keypoints; -1 if the category has no names."""
    names = [document.categories.get(row, "keypoints") for row in range(len(document.categories))]
    lengths = [3 * len(name) if isinstance(name, list) and name else -1 for name in names]
    expected: IndexArray = np.array([*lengths, -1], np.int64)
    return expected[document.category[document.annotations.keypoints.row]]


def _keypoints(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """K001: lists of a wrong length, and wrong counts."""
    columns = document.annotations
    points = columns.keypoints
    n, expected = points.n_numbers, _expected(document)
    misshapen = np.where(expected >= 0, n != expected, n % 3 != 0) | (n < 0)
    if document.reading.origin is not None:
        # Translated lists may end before the last joint; the format reports missing joints.
        misshapen &= (n > expected) & (expected >= 0)
        yield from found_defects("K001")(document, settings)
    kind, counted = columns.kind["num_keypoints"][points.row], columns.num_keypoints[points.row]
    miscounted = ~np.isin(kind, (Kind.INT, Kind.FLOAT)) | (counted != points.n_visible)
    # Points at (0, 0) that the count omits are not labelled; K003 reports them.
    miscounted &= (points.n_origin == 0) | (counted != points.n_visible - points.n_origin)
    # Some tools write an empty list on every annotation of a category without points.
    miscounted &= ~misshapen & ~((n == 0) & (expected < 0) & (kind == Kind.MISSING))

    def of_shape(which: int) -> str:
        found = f"has {n[which]}" if n[which] >= 0 else "is not a list of"
        wanted = "three for each point: x, y, visibility"
        if expected[which] >= 0:
            of_category = f"three for each of the {expected[which] // 3} points of its category"
            wanted = f"{expected[which]}, {of_category}"
        return f"keypoints {found} numbers; expected {wanted}"

    def of_count(which: int) -> str:
        value = document.record(int(points.row[which])).get("num_keypoints")
        found = "missing" if kind[which] == Kind.MISSING else shortened(value)
        wanted = f"{points.n_visible[which]}, the points with a visibility above 0"
        return f"num_keypoints is {found}; expected {wanted}"

    def edits(which: int) -> tuple[Edit, ...]:
        pointer = pointer_to("annotations", int(points.row[which]), "num_keypoints")
        action = "add" if kind[which] == Kind.MISSING else "replace"
        return (Edit(pointer, action, int(points.n_visible[which])),)  # type: ignore[arg-type]

    yield from record_hits(document, misshapen, of_shape, "keypoints", owner=points.row)
    yield from record_hits(
        document, miscounted, of_count, "num_keypoints", owner=points.row, edits=edits
    )


def _points(document: Document, row: int) -> list[list[Any]]:
    """Return x, y and visibility of the keypoints of an annotation."""
    value = document.record(row)["keypoints"]
    return [value[place : place + 3] for place in range(0, len(value), 3)]


def _name(document: Document, row: int, place: int) -> str:
    """Return the number of a keypoint, with its name if the category has one."""
    category = int(document.category[row])
    names = document.categories.get(category, "keypoints") if category >= 0 else None
    name = names[place] if isinstance(names, list) and place < len(names) else None
    return f"keypoint {place + 1}" + (f" ({shortened(name)})" if isinstance(name, str) else "")


def _first(document: Document, row: int, is_wrong: Callable[[list[Any]], bool]) -> int:
    """Return the place of the first wrong point of an annotation."""
    return next(at for at, point in enumerate(_points(document, row)) if is_wrong(point))


def _odd_visibility(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """K002: points whose visibility is not 0, 1 or 2."""
    points = document.annotations.keypoints

    def place(row: int) -> int:
        return _first(document, row, lambda point: point[2] not in (0, 1, 2))

    def value(row: int) -> Any:
        return _points(document, row)[place(row)][2]

    yield from record_hits(
        document,
        points.row[points.n_odd > 0],
        lambda row: f"visibility of {_name(document, row, place(row))} is {shortened(value(row))}",
        "keypoints",
        inner=lambda row: (3 * place(row) + 2,),
        expected="0 (not labelled), 1 (hidden) or 2 (visible)",
        found=value,
        key="keypoints",
    )


def _at_origin(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """K003: labelled points at (0, 0)."""
    points = document.annotations.keypoints

    def place(row: int) -> int:
        return _first(document, row, lambda point: point[0] == point[1] == 0 < point[2])

    def says(row: int) -> str:
        at = place(row)
        seen = shortened(_points(document, row)[at][2])
        return f"{_name(document, row, at)} is at (0, 0) with visibility {seen}"

    yield from record_hits(
        document,
        points.row[points.n_origin > 0],
        says,
        "keypoints",
        inner=lambda row: (3 * place(row),),
        expected="visibility 0, or the position of the point",
        found=lambda row: _points(document, row)[place(row)],
        key="keypoints",
    )


def _beyond_box(document: Document, bounds: FloatArray) -> FloatArray:
    """Return how far points extend beyond each edge of their box, (K, 4), in longer sides."""
    rows = document.annotations.keypoints.row
    bbox = document.annotations.bbox[rows].copy()
    bbox[~document.has_box[rows] | document.once(in_other_layout)[rows]] = np.nan
    box = corners(bbox)
    beyond = np.hstack([box[:, :2] - bounds[:, :2], bounds[:, 2:] - box[:, 2:]])
    result: FloatArray = beyond / bbox[:, 2:].max(axis=1, keepdims=True)
    return result


def _outside(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """K004: points outside their image, or far from their box."""
    points = document.annotations.keypoints
    beyond_image = overshoot(from_corners(points.bounds), document.size[points.row])
    from_box = _beyond_box(document, points.bounds)
    of_image = np.any(beyond_image > settings.overshoot_px, axis=1)
    of_box = np.any(from_box > _FAR, axis=1) & ~of_image

    def says(which: int) -> str:
        row, beyond = int(points.row[which]), beyond_image[which]
        longer, what, near = 1.0, "image", "the image"
        if of_box[which]:
            beyond, longer = from_box[which], document.annotations.bbox[row, 2:].max()
            what, near = f"bbox, whose longer side is {figure(longer)} px", "or near the bbox"
        edge = int(np.nanargmax(beyond))
        return (
            f"a labelled keypoint is {figure(beyond[edge] * longer)} px beyond the {EDGES[edge]} "
            f"edge of its {what}; expected it in {near}"
        )

    yield from record_hits(
        document,
        of_image | of_box,
        says,
        "keypoints",
        owner=points.row,
        found=lambda which: points.bounds[which].tolist(),
        key="keypoints",
    )


def _skeletons(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """K006: skeletons that join keypoints that their category does not have."""
    yield from found_defects("K006")(document, settings)
    categories = document.categories
    wrong: dict[int, tuple[int, int, bool]] = {}
    for row in range(len(categories)):
        names, edges = (categories.get(row, key) for key in ("keypoints", "skeleton"))
        n = len(names) if isinstance(names, list) else 0
        ends = [
            end
            for edge in (edges if isinstance(edges, list) else ())
            for end in (edge if isinstance(edge, list) else ())
            if type(end) is int
        ]
        outside = [end for end in ends if not 1 <= end <= n]
        if n and outside:
            wrong[row] = outside[0], n, min(ends) == 0 and max(ends) < n

    def says(row: int) -> str:
        outside, n, from_zero = wrong[row]
        what = "counts keypoints from 0" if from_zero else f"joins keypoint {outside}"
        return f"skeleton {what}; expected numbers from 1 to {n}, the number of keypoints"

    yield from record_hits(
        document,
        np.array([*wrong], np.int64),
        says,
        "skeleton",
        name="categories",
        found=lambda row: wrong[row][0],
        key="skeleton",
    )


_CATEGORY: dict[str, Any] = {"keypoints": ["nose", "tail"], "skeleton": [[1, 2]]}


def _pose(*keypoints: int, number: int = 2, **category: Any) -> dict[str, Any]:
    """Return an example of one annotation with keypoints."""
    annotation = {"keypoints": list(keypoints), "num_keypoints": number, "bbox": [50, 0, 20, 30]}
    return {"categories": [{**_CATEGORY, **category}], "annotations": [annotation]}


RULES = (
    Rule(
        code="K001",
        title="keypoints do not fit their category or their number",
        severity=Severity.ERROR,
        breaks="COCOeval stops, and ignores objects whose num_keypoints is 0.",
        explanation="""Keypoints are x, y and visibility of each point that the category names, and
            num_keypoints counts those with a visibility above 0. The fix corrects the count. Export
            lists of a wrong length again.""",
        bad=_pose(52, 12, 2, 0, 0, 0),
        good=_pose(52, 12, 2, 0, 0, 0, number=1),
        check=_keypoints,
        needs=("keypoints",),
        fix="safe",
    ),
    Rule(
        code="K002",
        title="visibility of a keypoint is not 0, 1 or 2",
        severity=Severity.WARNING,
        breaks="Programs differ in which of the points they take as labelled.",
        explanation="""The visibility of a keypoint is 0 (not labelled), 1 (labelled, but hidden) or
            2 (visible). Map other numbers to the three.""",
        bad=_pose(52, 12, 2, 60, 20, 3),
        good=_pose(52, 12, 2, 60, 20, 1),
        check=_odd_visibility,
        needs=("keypoints",),
    ),
    Rule(
        code="K003",
        title="labelled keypoint at (0, 0)",
        severity=Severity.WARNING,
        breaks="A model learns to place the point in the corner of the image.",
        explanation="""A keypoint has visibility 1 or 2 and lies at (0, 0), which stands for points
            that are not labelled. Write 0 as the visibility, or the position of the point.""",
        bad=_pose(52, 12, 2, 0, 0, 2),
        good=_pose(52, 12, 2, 0, 1, 2),
        check=_at_origin,
        needs=("keypoints",),
    ),
    Rule(
        code="K004",
        title="keypoint outside its image, or far from its box",
        severity=Severity.WARNING,
        breaks="Crops of the object do not contain the point, and OKS uses another scale.",
        explanation="""A labelled keypoint lies outside its image by more than `overshoot_px`, or
            further from its box than the length of the box. The points or the box belong to another
            object or size, or x and y are swapped.""",
        bad=_pose(52, 12, 2, 160, 20, 2),
        good=_pose(52, 12, 2, 80, 20, 2),
        check=_outside,
        needs=("keypoints",),
    ),
    Rule(
        code="K006",
        title="skeleton joins keypoints that its category does not have",
        severity=Severity.WARNING,
        breaks="Drawing stops with an IndexError or joins the wrong points.",
        explanation="""A skeleton is a list of pairs of keypoints, numbered from 1 in the order
            of the category. Here a number is 0 or above the number of keypoints. Number them
            again.""",
        bad=_pose(52, 12, 2, 60, 20, 2, skeleton=[[0, 1]]),
        good=_pose(52, 12, 2, 60, 20, 2, skeleton=[[2, 1]]),
        check=_skeletons,
    ),
)
