"""O and K: the directions of objects, as rotated boxes and as keypoints."""

from functools import partial
from typing import Any

import numpy as np

from bboxqa.core.arrays import distinct
from bboxqa.core.json_values import shortened
from bboxqa.core.text import count
from bboxqa.formats.columns import Kind
from bboxqa.geometry.boxes import corners, from_corners
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import layout, shapes
from bboxqa.rules.base import Checked, Rows, found_defects, rule, summary
from bboxqa.rules.document import Document


def _turned(x: int) -> dict[str, Any]:
    """Return an example of a box that is turned by a quarter."""
    return {"annotations": [{"bbox": [x, 30, 10, 30], "attributes": {"rotation": 90}}]}


def _rotated(document: Document, settings: ValidateSettings) -> Checked:
    """O004, O006 and O009: crossed corners, corners beyond the image, and bboxes with an angle."""
    boxes, rotations = document.once(shapes.rotations), document.annotations.rotations
    has_eight, at = (rotations.n_numbers == 8).any(), "annotations/bbox"
    edges = np.roll(boxes.corners, -1, axis=1) - boxes.corners
    after = np.roll(edges, -1, axis=1)
    turns = edges[..., 0] * after[..., 1] - edges[..., 1] * after[..., 0]
    # Around a simple shape, at most one of the turns goes the other way.
    crossed = ((turns > 0).sum(axis=1) == 2) & ((turns < 0).sum(axis=1) == 2)
    yield Rows(
        boxes.is_written & crossed, "corners are in an order in which two sides cross",
        at if has_eight else "annotations/segmentation", "one after the other around the box",
        lambda which: boxes.corners[which].ravel().tolist(), owner=boxes.row, code="O004",
    )  # fmt: skip
    corners = boxes.corners.copy()
    # Whether the first numbers are the centre or a corner is unknown, but both are in the image.
    five = rotations.row[rotations.n_numbers == 5]
    unknown = np.flatnonzero(np.isin(boxes.row, five) & np.isnan(corners[:, 0, 0]))
    first = rotations.values[np.searchsorted(rotations.row, boxes.row[unknown])][:, None, :2]
    corners[unknown] = first
    size = document.size[boxes.row][:, None]
    farthest = np.maximum(-corners, corners - size).max(axis=(1, 2))
    centre = corners.mean(axis=1, keepdims=True)
    is_out = np.maximum(-centre, centre - size).max(axis=(1, 2)) > 0
    beyond = farthest > settings.overshoot_px

    def says(which: int) -> str:
        of_image = shapes.image_text(document.size[boxes.row[which]])
        if is_out[which]:
            return f"the centre of the rotated box lies beyond {of_image}"
        return f"a corner lies {shapes.figure(farthest[which])} px beyond {of_image}"

    for where, severity in ((beyond & is_out, Severity.WARNING), (beyond & ~is_out, None)):
        yield Rows(
            where, says, at, "it inside", severity=severity, owner=boxes.row, code="O006",
            found=lambda which: corners[which].ravel().tolist(), key="bbox",
        )  # fmt: skip
    if document.reading.origin is None and boxes.is_most:
        rows = rotations.row[rotations.n_numbers > 0]
        what = f"bbox of {count(len(rows), 'annotation')} has an angle, or four corners; expected "
        yield summary(what + "x, y, width, height", at, rows, code="O009")


# In valid files, points are up to 0.6 longer sides outside their boxes.
_FAR = 1.0


def _pose(*keypoints: int, number: int = 2, first: int = 1) -> dict[str, Any]:
    """Return an example of keypoints, whose skeleton joins the first one with the second."""
    category = {"keypoints": ["nose", "tail"], "skeleton": [[first, 2]]}
    annotation = {"keypoints": list(keypoints), "num_keypoints": number, "bbox": [50, 0, 20, 30]}
    return {"categories": [category], "annotations": [annotation]}


@rule(
    "K001 error, safe fix: keypoints do not fit their category or their number",
    breaks="COCOeval stops, and ignores objects whose num_keypoints is 0.",
    explanation="""Keypoints are x, y and visibility of each point that the category names, and
        num_keypoints counts those with a visibility above 0. The fix corrects the count. Export
        lists of a wrong length again.""",
    bad=_pose(52, 12, 2, 0, 0, 0),
    good=_pose(52, 12, 2, 0, 0, 0, number=1),
)
def _keypoints(document: Document, settings: ValidateSettings) -> Checked:
    columns = document.annotations
    points = columns.keypoints
    names = [document.categories.get(row, "keypoints") for row in range(len(document.categories))]
    lengths = [3 * len(name) if isinstance(name, list) and name else -1 for name in names]
    # -1 where the category names none.
    expected = np.array([*lengths, -1], np.int64)[document.category[points.row]]
    n, seen = points.n_numbers, points.n_visible
    misshapen = np.where(expected >= 0, n != expected, n % 3 != 0) | (n < 0)
    if document.reading.origin is not None:
        # Translated lists may end before the last joint; the format reports missing joints.
        misshapen &= (n > expected) & (expected >= 0)
        yield from found_defects(document, settings)
    kind, counted = columns.kind["num_keypoints"][points.row], columns.num_keypoints[points.row]
    miscounted = ~np.isin(kind, (Kind.INT, Kind.FLOAT)) | (counted != seen)
    # Points at (0, 0) that the count omits are not labelled; K003 reports them.
    miscounted &= (points.n_origin == 0) | (counted != seen - points.n_origin)
    # Some tools write an empty list on every annotation of a category without points.
    miscounted &= ~misshapen & ~((n == 0) & (expected < 0) & (kind == Kind.MISSING))

    def of_shape(which: int) -> str:
        wanted = f"{expected[which]}, " if expected[which] >= 0 else ""
        found = f"has {n[which]}" if n[which] >= 0 else "is not a list of"
        return f"keypoints {found} numbers; expected {wanted}three for each point"

    def of_count(which: int) -> str:
        record = document.record(int(points.row[which]))
        value = shortened(record["num_keypoints"]) if "num_keypoints" in record else "missing"
        wanted = f"{seen[which]}, the points with a visibility above 0"
        return f"num_keypoints is {value}; expected {wanted}"

    yield Rows(misshapen, of_shape, "annotations/keypoints", owner=points.row)
    at, new = "annotations/num_keypoints", lambda which: int(seen[which])
    yield Rows(miscounted, of_count, at, owner=points.row, new=new)


def _points(document: Document, _settings: ValidateSettings, *, at_origin: bool) -> Checked:
    """K002 and K003: the first keypoint with an odd visibility, or labelled in the corner."""
    points, expected = document.annotations.keypoints, "0 (not labelled), 1 (hidden) or 2 (visible)"
    expected = "visibility 0, or the position of the point" if at_origin else expected

    def first(row: int) -> tuple[int, list[Any]]:
        value = document.record(row)["keypoints"]
        triples = ((at, value[at : at + 3]) for at in range(0, len(value), 3))
        return next(
            (at, [x, y, seen])
            for at, (x, y, seen) in triples
            if (x == y == 0 < seen if at_origin else seen not in (0, 1, 2))
        )

    def says(row: int) -> str:
        at, (_, _, seen) = first(row)
        name, visibility = f"keypoint {at // 3 + 1}", shortened(seen)
        if at_origin:
            return f"{name} is at (0, 0) with visibility {visibility}"
        return f"visibility of {name} is {visibility}"

    is_odd = ~np.isin(points.points[:, 2], (0, 1, 2))
    rows = points.row[points.n_origin > 0 if at_origin else distinct(points.owner[is_odd])]
    yield Rows(
        rows, says, "annotations/keypoints", expected, lambda row: first(row)[1],
        inner=lambda row: (first(row)[0] + 2 * (not at_origin),), key="keypoints",
    )  # fmt: skip


@rule(
    "K004 warning: keypoint outside its image, or far from its box",
    breaks="Crops of the object do not contain the point, and OKS uses another scale.",
    explanation="""A labelled keypoint lies outside its image by more than `overshoot_px`, or
        further from its box than the length of the box. The points or the box belong to another
        object or size, or x and y are swapped.""",
    bad=_pose(52, 12, 2, 160, 20, 2),
    good=_pose(52, 12, 2, 80, 20, 2),
)
def _outside(document: Document, settings: ValidateSettings) -> Checked:
    points = document.annotations.keypoints
    rows, bounds = points.row, points.bounds
    beyond = layout.overshoot(from_corners(bounds), document.size[rows])
    plain = document.once(shapes.box_facts).plain[rows, None]
    bbox = np.where(plain, document.annotations.bbox[rows], np.nan)
    box, longer = corners(bbox), bbox[:, 2:].max(axis=1)
    from_box = np.hstack([box[:, :2] - bounds[:, :2], bounds[:, 2:] - box[:, 2:]])
    of_image = np.any(beyond > settings.overshoot_px, axis=1)
    of_box = np.any(from_box > _FAR * longer[:, None], axis=1) & ~of_image
    beyond = np.where(of_box[:, None], from_box, beyond)

    def says(which: int) -> str:
        what = "bbox" if of_box[which] else "image"
        return f"a labelled keypoint is {shapes.beyond_text(beyond[which])} of its {what}"

    at, wrong = "annotations/keypoints", of_image | of_box
    found = lambda which: bounds[which].tolist()  # noqa: E731
    yield Rows(wrong, says, at, "it in or near the object", found, owner=rows, key="keypoints")


@rule(
    "K006 warning: skeleton joins keypoints that its category does not have",
    breaks="Drawing stops with an IndexError or joins the wrong points.",
    explanation="""A skeleton is a list of pairs of keypoints, numbered from 1 in the order of the
        category. Here a number is 0 or above the number of keypoints. Number them again.""",
    bad=_pose(52, 12, 2, 60, 20, 2, first=0),
    good=_pose(52, 12, 2, 60, 20, 2),
)
def _skeletons(document: Document, settings: ValidateSettings) -> Checked:
    yield from found_defects(document, settings)
    wrong: dict[int, tuple[int, int]] = {}
    for row in range(len(document.categories)):
        names, edges = (document.categories.get(row, key) for key in ("keypoints", "skeleton"))
        n = len(names) if isinstance(names, list) else 0
        inner = [each for each in edges if isinstance(each, list)] if type(edges) is list else []
        ends = [end for edge in inner for end in edge if type(end) is int and not 1 <= end <= n]
        if n and ends:
            wrong[row] = ends[0], n

    def says(row: int) -> str:
        end, n = wrong[row]
        return f"skeleton joins keypoint {end}; expected numbers from 1 to {n}"

    found = lambda row: wrong[row][0]  # noqa: E731
    yield Rows([*wrong], says, "categories/skeleton", found=found, key="skeleton")


RULES = (
    rule(
        "O004 error: corners of a rotated box are crossed",
        breaks="Its polygon is a bow tie, with an area and an IoU near 0.",
        explanation="""The corners are in an order in which two sides cross. Write them one after
            the other around the box.""",
        bad={"annotations": [{"bbox": [40, 50, 52, 59, 34, 58, 46, 67]}]},
        good={"annotations": [{"bbox": [40, 50, 52, 59, 46, 67, 34, 58]}]},
    )(_rotated),
    rule(
        "O006 info: rotated box extends beyond its image",
        breaks="YOLO's trainers skip images with such labels; others clip the corners.",
        explanation="""A corner lies beyond its image by more than `overshoot_px`. It is a warning
            if the centre lies beyond as well: the box is of another image, or the size is
            wrong.""",
        bad=_turned(0),
        good=_turned(20),
        requires=("F004", "S015", "B002", "B014", "T003"),
    )(_rotated),
    rule(
        "O009 info: bbox of five or eight numbers",
        breaks="pycocotools and most other programs for COCO expect four numbers and stop.",
        explanation="""At least half of the boxes have five numbers, the last of which is an angle,
            or eight, which are four corners. COCO does not define them, and programs differ. Write
            corners as `segmentation` and their bounds as `bbox`.""",
        bad={"annotations": [{"bbox": [40, 40, 30, 20, 30], "area": 600}]},
        good={"annotations": [{"bbox": [40, 40, 30, 20], "area": 600}]},
    )(_rotated),
    rule(
        "K002 warning: visibility of a keypoint is not 0, 1 or 2",
        breaks="Programs differ in which of the points they take as labelled.",
        explanation="""The visibility of a keypoint is 0 (not labelled), 1 (labelled, but hidden) or
            2 (visible). Map other numbers to the three.""",
        bad=_pose(52, 12, 2, 60, 20, 3),
        good=_pose(52, 12, 2, 60, 20, 1),
    )(partial(_points, at_origin=False)),
    rule(
        "K003 warning: labelled keypoint at (0, 0)",
        breaks="A model learns to place the point in the corner of the image.",
        explanation="""A keypoint has visibility 1 or 2 and lies at (0, 0), which stands for points
            that are not labelled. Write 0 as the visibility, or the position of the point.""",
        bad=_pose(52, 12, 2, 0, 0, 2),
        good=_pose(52, 12, 2, 0, 1, 2),
    )(partial(_points, at_origin=True)),
)
