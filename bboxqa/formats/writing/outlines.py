"""Classifying the outlines of annotations for writing."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Literal

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.annotations.rotations import degrees
from bboxqa.formats.writing.content import Content, Record
from bboxqa.formats.writing.losses import Loss, Noun, losses_of
from bboxqa.formats.writing.row_masks import runs_of
from bboxqa.model.shapes.rotated_boxes import corners, from_corners, turned_to, upright
from bboxqa.model.shapes.run_lengths import run_bounds

Kind = Literal["box", "rotated", "polygon", "polygons", "mask"]

# Tolerance in pixels, as files round to two decimals.
_ROUNDED = 0.011
_SAME, _SAME_ANGLE = 1e-3, 1e-5
_CORNERS = 4
# From each corner, in both directions.
_ORDERS = np.array([[*range(4)], [*range(3, -1, -1)]])[:, (np.arange(4)[:, None] + range(4)) % 4]
_ORDERS = _ORDERS.reshape(-1, _CORNERS)
ONE_OUTLINE: tuple[Kind, ...] = ("rotated", "polygon", "mask")
"""What formats hold that have one outline or mask for an annotation."""
_ROTATED = Noun("rotated box", "rotated boxes")
_WORDS: tuple[tuple[Kind, Noun, str], ...] = (
    ("rotated", _ROTATED, "no angle"),
    ("polygon", Noun("polygon", "polygons"), "no polygon"),
    (
        "polygons",
        Noun("polygon of several rings", "polygons of several rings"),
        "a single ring of each",
    ),
    ("mask", Noun("mask", "masks"), "no mask"),
)
_APART = Noun(
    "box that differs from the bounds of the outline",
    "boxes that differ from the bounds of the outline",
)


def rings_of(annotation: Record) -> list[FloatArray]:
    """Return the rings of an annotation, each (K, 2); empty for a mask or a box alone."""
    given = annotation.get("segmentation")
    if not isinstance(given, list):
        return []
    return [np.array(ring, np.float64).reshape(-1, 2) for ring in given if len(ring) >= 6]


def kind_of(annotation: Record, *, any_rectangle: bool = False) -> Kind:
    """Return the kind of outline of an annotation; "box" for an upright box.

    A rectangle without an angle counts as a polygon, unless `any_rectangle`.

    Examples
    --------
    >>> box = {"bbox": [1, 1, 2, 2]}
    >>> kind_of(box), kind_of({**box, "segmentation": [[1, 1, 3, 1, 3, 3, 1, 3]]})
    ('box', 'box')
    >>> kind_of({**box, "segmentation": [[1, 1, 3, 1, 3, 3]]})
    'polygon'
    >>> diamond = {"bbox": [0, 0, 4, 4], "segmentation": [[2, 0, 4, 2, 2, 4, 0, 2]]}
    >>> kind_of(diamond), kind_of(diamond, any_rectangle=True)
    ('polygon', 'rotated')
    """
    if isinstance(annotation.get("segmentation"), dict):
        return "mask"
    rings = rings_of(annotation)
    if not rings:
        return "box"
    if len(rings) > 1:
        return "polygons"
    if _is_box(rings[0], annotation["bbox"]):
        return "box"
    is_rotated = (any_rectangle or said_angle(annotation) is not None) and (
        rotated(annotation) is not None
    )
    return "rotated" if is_rotated else "polygon"


def _is_box(ring: FloatArray, bbox: list[float]) -> bool:
    """Return whether a ring consists of the corners of a box, in order."""
    points = _without_last(ring)
    if len(points) != _CORNERS:
        return False
    return _distance(points, bbox_corners({"bbox": bbox})) <= _SAME


def said_angle(annotation: Record) -> float | None:
    """Return the rotation attribute of an annotation in degrees; None if it has none."""
    inside = annotation.get("attributes")
    found = degrees(inside.get("rotation")) if isinstance(inside, dict) else np.nan
    return found if np.isfinite(found) else None


def rotated(annotation: Record) -> FloatArray | None:
    """Return the rotated box of an annotation whose outline is a rectangle; else None.

    Its angle is the rotation attribute, if that is the angle of a side.

    Examples
    --------
    >>> diamond = {"segmentation": [[2, 0, 4, 2, 2, 4, 0, 2]], "attributes": {"rotation": 135}}
    >>> rotated(diamond).round(2).tolist()
    [2.0, 2.0, 2.83, 2.83, 135.0]
    """
    rings = rings_of(annotation)
    if len(rings) != 1:
        return None
    points = _without_last(rings[0])
    if len(points) != _CORNERS:
        return None
    return _rotated(points.tobytes(), said_angle(annotation))


# A writer asks several times for the box of each annotation.
@lru_cache(1 << 16)
def _rotated(points: bytes, said: float | None) -> FloatArray | None:
    """Return `rotated` of the bytes of (4, 2) points and an angle in degrees; read-only."""
    boxes, is_rectangle = from_corners(np.frombuffer(points).reshape(1, _CORNERS, 2))
    if not is_rectangle[0] or not boxes[0, 2] * boxes[0, 3]:
        return None
    if said is not None:
        boxes = turned_to(boxes, np.array([said]))
        off = np.deg2rad(abs((boxes[0, 4] - said + 180) % 360 - 180))
        # Corners in a file are rounded, while the angle may have all digits.
        if off * np.hypot(*boxes[0, 2:4]) <= _SAME_ANGLE:
            boxes[0, 4] = said % 360
    found: FloatArray = boxes[0]
    found.setflags(write=False)
    return found


def corners_of(annotation: Record) -> FloatArray | None:
    """Return the four corners of an annotation, (4, 2); None for other outlines."""
    if isinstance(annotation.get("segmentation"), dict):
        return None
    rings = rings_of(annotation)
    if not rings:
        return bbox_corners(annotation)
    points = _without_last(rings[0])
    return points if len(rings) == 1 and len(points) == _CORNERS else None


def bbox_corners(annotation: Record) -> FloatArray:
    """Return the corners of the box of an annotation, (4, 2)."""
    found: FloatArray = corners(upright(np.array([annotation["bbox"]], np.float64)))[0]
    return found


def _without_last(ring: FloatArray) -> FloatArray:
    """Return a ring without a last point that closes it."""
    return ring[:-1] if len(ring) == _CORNERS + 1 and (ring[0] == ring[-1]).all() else ring


def bounds_of(annotation: Record) -> tuple[float, float, float, float] | None:
    """Return left, top, right and bottom of an outline; None where there is none."""
    if isinstance(annotation.get("segmentation"), dict):
        runs, height, _ = runs_of(annotation)
        return run_bounds(runs, height)
    rings = rings_of(annotation)
    if not rings:
        return None
    points = np.concatenate(rings)
    (left, top), (right, bottom) = points.min(0).tolist(), points.max(0).tolist()
    return left, top, right, bottom


def area_of(annotation: Record) -> float:
    """Return the area of an annotation in pixels, from its outline if it has one."""
    if isinstance(annotation.get("segmentation"), dict):
        return int(runs_of(annotation)[0][1::2].sum())
    rings = rings_of(annotation)
    if not rings:
        area: float = annotation["bbox"][2] * annotation["bbox"][3]
        return area
    return sum(_area(ring) for ring in rings)


def _area(ring: FloatArray) -> float:
    x, y = ring.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def outline_losses(
    content: Content, title: str, held: Collection[str], *, any_rectangle: bool = False
) -> Iterator[Loss]:
    """Yield losses of outlines that a format cannot hold, and of boxes next to outlines.

    `any_rectangle` is as in `kind_of`.
    """
    of_kind: dict[Kind, list[Record]] = {kind: [] for kind, *_ in _WORDS}
    of_kind["box"] = []
    for each in content.annotations:
        of_kind[kind_of(each, any_rectangle=any_rectangle)].append(each)
    for kind, noun, why in _WORDS:
        if kind not in held:
            words = f"{title} holds {why}; {_instead(of_kind[kind])}"
            yield from losses_of(of_kind[kind], noun, words)
    apart = [each for kind, some in of_kind.items() if kind in held for each in some]
    apart = [each for each in apart if _differs(each)]
    why = f"{title} holds the outline, whose bounds are the box"
    yield from losses_of(apart, _APART, why)


def _instead(lost: Collection[Record]) -> str:
    return "its box is written" if len(lost) == 1 else "their boxes are written"


def corner_losses(content: Content, title: str) -> Iterator[Loss]:
    """Yield losses of outlines that a format of four corners cannot hold."""
    others: dict[Kind, list[Record]] = {kind: [] for kind, *_ in _WORDS}
    apart = []
    for each in content.annotations:
        if corners_of(each) is None:
            others[kind_of(each)].append(each)
        elif _differs(each):
            apart.append(each)
    for kind, noun, _ in _WORDS:
        why = f"{title} holds four corners; {_instead(others[kind])}"
        yield from losses_of(others[kind], noun, why)
    why = f"{title} holds the outline, whose bounds are the box"
    yield from losses_of(apart, _APART, why)


def rounded_losses(content: Content, title: str, *, any_rectangle: bool = False) -> Iterator[Loss]:
    """Yield the loss of rotated boxes whose corners move in a format of sides and angle."""
    moved, farthest = [], 0.0
    for each in content.annotations:
        if kind_of(each, any_rectangle=any_rectangle) == "rotated":
            distance = _moved(each)
            if distance > _ROUNDED:
                moved.append(each)
                farthest = max(farthest, distance)
    why = (
        f"{title} holds sides and angle, and their corners are not exact rectangles: "
        f"corners move by up to {farthest:.2g} px"
    )
    yield from losses_of(moved, _ROTATED, why, "changed")


def _moved(annotation: Record) -> float:
    """Return the largest distance of a corner from the rotated box's corner, in pixels."""
    box = rotated(annotation)
    if box is None:
        return 0.0
    return _distance(_without_last(rings_of(annotation)[0]), corners(box[None])[0])


def _distance(points: FloatArray, own: FloatArray) -> float:
    """Return the largest distance of four corners from others in x or y, in the best order."""
    return float(np.abs(points - own[_ORDERS]).max((1, 2)).min())


def _differs(annotation: Record) -> bool:
    found = bounds_of(annotation)
    if found is None:
        return False
    x, y, width, height = annotation["bbox"]
    own = np.array([x, y, x + width, y + height])
    return not bool((np.abs(own - found) <= _ROUNDED).all())
