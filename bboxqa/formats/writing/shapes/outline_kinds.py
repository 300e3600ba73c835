"""Classifying the outlines of annotations, of all of a content at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.blocks import blocks
from bboxqa.core.remembered import remembered
from bboxqa.formats.annotations.rotations import degrees
from bboxqa.formats.writing.content import Content, Record
from bboxqa.model.shapes.rotated_boxes import corners, from_corners, turned_to, upright

Kind = Literal["box", "rotated", "polygon", "polygons", "mask"]

_CORNERS = 4
_SAME, _SAME_ANGLE = 1e-3, 1e-5
# From each corner, in both directions.
_ORDERS = np.array([[*range(4)], [*range(3, -1, -1)]])[:, (np.arange(4)[:, None] + range(4)) % 4]
_ORDERS = _ORDERS.reshape(-1, _CORNERS)


def flat_rings(annotation: Record) -> list[list[float]]:
    """Return the rings of an annotation, x and y in turn; empty for a mask or a box alone."""
    given = annotation.get("segmentation")
    return [ring for ring in given if len(ring) >= 6] if isinstance(given, list) else []


def four_corners(ring: list[float]) -> list[float] | None:
    """Return the four corners of a ring, without a last point that closes it; else None.

    Examples
    --------
    >>> four_corners([0, 0, 9, 0, 9, 9, 0, 9, 0, 0]), four_corners([0, 0, 9, 0, 9, 9])
    ([0, 0, 9, 0, 9, 9, 0, 9], None)
    """
    if len(ring) == 2 * _CORNERS + 2 and ring[:2] == ring[-2:]:
        return ring[:-2]
    return ring if len(ring) == 2 * _CORNERS else None


def kind_of(content: Content, annotation: Record, *, any_rectangle: bool = False) -> Kind:
    """Return the kind of outline of an annotation of a content; "box" for an upright box.

    A rectangle without an angle counts as a polygon, unless `any_rectangle`.

    Examples
    --------
    >>> rings = [], [[1, 1, 3, 1, 3, 3, 1, 3]], [[1, 1, 3, 1, 3, 3]], [[2, 0, 4, 2, 2, 4, 0, 2]]
    >>> drawn = [
    ...     {"id": number, "bbox": [1, 1, 2, 2], "segmentation": each}
    ...     for number, each in enumerate(rings)
    ... ]
    >>> content = Content([], [], drawn)
    >>> [kind_of(content, each) for each in drawn]
    ['box', 'box', 'polygon', 'polygon']
    >>> kind_of(content, drawn[3], any_rectangle=True)
    'rotated'
    """
    kind = _outlines(content)[annotation["id"]].kind
    if kind == "rotated" and not any_rectangle and np.isnan(said_angle(annotation)):
        return "polygon"
    return kind


def rotated(
    content: Content, annotation: Record, *, any_rectangle: bool = False
) -> FloatArray | None:
    """Return the rotated box of an annotation of a content, (5,), read-only; else None.

    Its angle is the rotation attribute, if that is the angle of a side. `any_rectangle` is as in
    `kind_of`.

    Examples
    --------
    >>> ring, said = [2, 0, 4, 2, 2, 4, 0, 2], {"rotation": 135}
    >>> diamond = {"id": 1, "bbox": [0, 0, 4, 4], "segmentation": [ring], "attributes": said}
    >>> rotated(Content([], [], [diamond]), diamond).round(2).tolist()
    [2.0, 2.0, 2.83, 2.83, 135.0]
    """
    is_rotated = kind_of(content, annotation, any_rectangle=any_rectangle) == "rotated"
    return _outlines(content)[annotation["id"]].box if is_rotated else None


def moved_by(content: Content, annotation: Record) -> float:
    """Return the largest distance of a corner from that of the rotated box, in x or y, in pixels.

    It is 0 for annotations that are not rotated boxes.
    """
    return _outlines(content)[annotation["id"]].moved


@dataclass(frozen=True, slots=True, eq=False)
class _Outline:
    kind: Kind
    """Whether or not an angle is given, "rotated" for a rectangle."""
    box: FloatArray | None = None
    moved: float = 0.0


_OTHERS: dict[Kind, _Outline] = {
    kind: _Outline(kind) for kind in ("box", "polygon", "polygons", "mask")
}


@remembered
def _outlines(content: Content) -> dict[int, _Outline]:
    """Return the outlines of all annotations, by id."""
    found: dict[int, _Outline] = {}
    four: list[tuple[Record, list[float]]] = []
    for each in content.annotations:
        rings = flat_rings(each)
        flat = four_corners(rings[0]) if len(rings) == 1 else None
        if flat is not None:
            four.append((each, flat))
        elif isinstance(each.get("segmentation"), dict):
            found[each["id"]] = _OTHERS["mask"]
        else:
            found[each["id"]] = _OTHERS[("box", "polygon", "polygons")[min(len(rings), 2)]]
    for rows in blocks(len(four)):
        points = np.array([flat for _, flat in four[rows]], np.float64)
        annotations = [each for each, _ in four[rows]]
        outlines = _of_corners(annotations, points.reshape(-1, _CORNERS, 2))
        found |= zip((each["id"] for each in annotations), outlines, strict=True)
    return found


def _of_corners(annotations: Sequence[Record], points: FloatArray) -> list[_Outline]:
    """Return the outlines of N annotations of four corners, (N, 4, 2)."""
    bbox = np.array([each["bbox"] for each in annotations], np.float64)
    is_box = _distances(points, corners(upright(bbox))) <= _SAME
    boxes, is_rectangle = _rectangles(points, np.array([*map(said_angle, annotations)]))
    boxes.setflags(write=False)
    moves = _distances(points, corners(boxes)).tolist()
    is_rotated = is_rectangle & ~is_box
    return [
        _Outline("rotated", boxes[row], moves[row])
        if is_rotated[row]
        else _OTHERS["box" if is_box[row] else "polygon"]
        for row in range(len(points))
    ]


def _rectangles(points: FloatArray, said: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the rotated boxes of N quadrilaterals, and which of these are rectangles.

    `said` are their angles in degrees, (N,) float64; NaN where missing.
    """
    boxes, is_rectangle = from_corners(points)
    is_rectangle &= boxes[:, 2] * boxes[:, 3] != 0
    rows = np.flatnonzero(~np.isnan(said))
    turned, own = turned_to(boxes[rows], said[rows]), said[rows]
    off = np.deg2rad(np.abs((turned[:, 4] - own + 180) % 360 - 180))
    # Corners in a file are rounded, while the angle may have all digits.
    is_said = off * np.hypot(turned[:, 2], turned[:, 3]) <= _SAME_ANGLE
    turned[is_said, 4] = own[is_said] % 360
    boxes[rows] = turned
    return boxes, is_rectangle


def _distances(points: FloatArray, own: FloatArray) -> FloatArray:
    """Return the largest distances of four corners from others, (N,), each in the best order."""
    ways = [np.abs(points - own[:, order]).max((1, 2)) for order in _ORDERS]
    found: FloatArray = np.min(ways, axis=0)
    return found


def said_angle(annotation: Record) -> float:
    """Return the rotation attribute of an annotation in degrees; NaN if it has none."""
    inside = annotation.get("attributes")
    found = degrees(inside.get("rotation")) if isinstance(inside, dict) else np.nan
    return found if np.isfinite(found) else np.nan
