"""The outlines of annotations that are written: their kind, points, bounds and area."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.columns import degrees
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.masks import runs_of
from bboxqa.model.masks import span_bounds, spans_of_runs
from bboxqa.model.rotated_boxes import corner_moves, corners, from_corners, turned_to, upright

Record = dict[str, Any]
Kind = Literal["box", "rotation", "polygon", "holes", "mask"]

# Lengths in pixels that differ by less are equal, as coordinates are rounded.
_SAME = 1e-3
ROUNDED = 0.011
"""Lengths in pixels that differ by less may be equal, as files round to two decimals."""
_SAME_ANGLE = 1e-5


class Outline(msgspec.Struct, frozen=True, eq=False):
    """The outline of an annotation."""

    kind: Kind
    """An upright "box", another rectangle ("rotation"), one ring, several ("holes"), or pixels."""
    box: FloatArray | None = None
    """(5,), read-only. The rotated box, if it is one."""
    moved: float = 0.0
    """The largest distance of its corners from those in the file, in x or y, in pixels."""


def flat_rings(annotation: Record) -> list[list[float]]:
    """Return the rings of an annotation, x and y in turn; empty for a mask or a box alone."""
    given = annotation.get("segmentation")
    return [ring for ring in given if len(ring) >= 6] if isinstance(given, list) else []


def rings_of(annotation: Record) -> list[FloatArray]:
    """Return the rings of an annotation, each (K, 2); empty for a mask or a box alone."""
    return [np.array(ring, np.float64).reshape(-1, 2) for ring in flat_rings(annotation)]


def _four_corners(annotation: Record) -> list[float] | None:
    """Return the corners of an outline of four, without a last point that closes it; else None."""
    rings = flat_rings(annotation)
    ring = rings[0] if len(rings) == 1 else []
    if len(ring) == 10 and ring[:2] == ring[-2:]:
        return ring[:-2]
    return ring if len(ring) == 8 else None


def corners_of(annotation: Record) -> FloatArray | None:
    """Return the four corners of an annotation, (4, 2); None for other outlines."""
    if isinstance(annotation.get("segmentation"), dict):
        return None
    if not flat_rings(annotation):
        return bbox_corners(annotation)
    points = _four_corners(annotation)
    return None if points is None else np.array(points, np.float64).reshape(-1, 2)


def four_corners(annotation: Record) -> FloatArray:
    """Return the four corners of an annotation, (4, 2); of other outlines, those of the box."""
    found = corners_of(annotation)
    return bbox_corners(annotation) if found is None else found


def bbox_corners(annotation: Record) -> FloatArray:
    """Return the corners of the box of an annotation, (4, 2)."""
    # Adding 0 makes 0 of -0, which some files have.
    return shapes.corners(*annotation["bbox"]) + 0.0


def bounds_of(annotation: Record) -> tuple[float, float, float, float] | None:
    """Return left, top, right and bottom of an outline; None where there is none."""
    if isinstance(annotation.get("segmentation"), dict):
        runs, height, _ = runs_of(annotation)
        return span_bounds(spans_of_runs(runs), height)
    flat = [each for ring in flat_rings(annotation) for each in ring]
    x, y = flat[::2], flat[1::2]
    return (min(x), min(y), max(x), max(y)) if flat else None


def has_other_bounds(annotation: Record) -> bool:
    """Return whether the box of an annotation is not the bounds of its outline."""
    found = bounds_of(annotation)
    x, y, width, height = annotation["bbox"]
    own = x, y, x + width, y + height
    return found is not None and any(
        not abs(left - right) <= ROUNDED for left, right in zip(own, found, strict=True)
    )


def area_of(annotation: Record) -> float:
    """Return the area of an annotation in pixels, from its outline if it has one."""
    if isinstance(annotation.get("segmentation"), dict):
        return int(runs_of(annotation)[0][1::2].sum())
    rings = rings_of(annotation)
    if not rings:
        area: float = annotation["bbox"][2] * annotation["bbox"][3]
        return area
    columns = (ring.T for ring in rings)
    return sum(float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2 for x, y in columns)


def said_angle(annotation: Record) -> float:
    """Return the rotation attribute of an annotation in degrees; NaN if it has none."""
    found = degrees(shapes.mapping(annotation.get("attributes")).get("rotation"))
    return found if np.isfinite(found) else np.nan


def outlines_of(annotations: Sequence[Record], *, any_rectangle: bool) -> dict[int, Outline]:
    """Return the outlines of annotations, by id; with an angle, or `any_rectangle`, rotated."""
    found: dict[int, Outline] = {}
    drawn, points = list[Record](), list[list[float]]()
    for each in annotations:
        if isinstance(each.get("segmentation"), dict):
            found[each["id"]] = Outline("mask")
        elif (flat := _four_corners(each)) is not None:
            drawn.append(each)
            points.append(flat)
        else:
            kinds: tuple[Kind, ...] = ("box", "polygon", "holes")
            found[each["id"]] = Outline(kinds[min(len(flat_rings(each)), 2)])
    if not drawn:
        return found
    four = np.array(points, np.float64).reshape(-1, 4, 2)
    bbox = np.array([each["bbox"] for each in drawn], np.float64)
    said = np.array([*map(said_angle, drawn)])
    is_box = corner_moves(four, corners(upright(bbox))) <= _SAME
    boxes, is_rectangle = from_corners(four)
    is_rectangle &= (boxes[:, 2] * boxes[:, 3] != 0) & (any_rectangle | ~np.isnan(said))
    rows = np.flatnonzero(~np.isnan(said))
    turned, own = turned_to(boxes[rows], said[rows]), said[rows]
    off = np.deg2rad(np.abs((turned[:, 4] - own + 180) % 360 - 180))
    # Corners in a file are rounded, while the angle may have all digits.
    is_said = off * np.hypot(turned[:, 2], turned[:, 3]) <= _SAME_ANGLE
    turned[is_said, 4] = own[is_said] % 360
    boxes[rows] = turned
    boxes.setflags(write=False)
    moves = corner_moves(four, corners(boxes)).tolist()
    for row, each in enumerate(drawn):
        kind: Kind = "box" if is_box[row] else "rotation" if is_rectangle[row] else "polygon"
        is_turned = kind == "rotation"
        found[each["id"]] = Outline(kind, boxes[row], moves[row]) if is_turned else Outline(kind)
    return found
