"""The outlines of annotations for writing, and what formats lose of them."""

from collections.abc import Collection, Iterator

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.translation.boxes.row_masks import runs_of
from bboxqa.formats.writing.content import Content, Record
from bboxqa.formats.writing.losses import Loss, Noun, losses_of
from bboxqa.formats.writing.shapes.outline_kinds import (
    Kind,
    flat_rings,
    four_corners,
    kind_of,
    moved_by,
)
from bboxqa.model.shapes.run_lengths import run_bounds

# Tolerance in pixels, as files round to two decimals.
_ROUNDED = 0.011
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
    return [_as_points(ring) for ring in flat_rings(annotation)]


def _as_points(ring: list[float]) -> FloatArray:
    return np.array(ring, np.float64).reshape(-1, 2)


def corners_of(annotation: Record) -> FloatArray | None:
    """Return the four corners of an annotation, (4, 2); None for other outlines."""
    if isinstance(annotation.get("segmentation"), dict):
        return None
    rings = flat_rings(annotation)
    if not rings:
        return bbox_corners(annotation)
    points = four_corners(rings[0]) if len(rings) == 1 else None
    return None if points is None else _as_points(points)


def bbox_corners(annotation: Record) -> FloatArray:
    """Return the corners of the box of an annotation, (4, 2)."""
    x, y, width, height = annotation["bbox"]
    middle, centre = x + width / 2, y + height / 2
    left, top, right, bottom = (
        middle - width / 2,
        centre - height / 2,
        middle + width / 2,
        centre + height / 2,
    )
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])


def bounds_of(annotation: Record) -> tuple[float, float, float, float] | None:
    """Return left, top, right and bottom of an outline; None where there is none."""
    if isinstance(annotation.get("segmentation"), dict):
        runs, height, _ = runs_of(annotation)
        return run_bounds(runs, height)
    flat = [each for ring in flat_rings(annotation) for each in ring]
    if not flat:
        return None
    x, y = flat[::2], flat[1::2]
    return min(x), min(y), max(x), max(y)


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
        of_kind[kind_of(content, each, any_rectangle=any_rectangle)].append(each)
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
            others[kind_of(content, each)].append(each)
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
        if kind_of(content, each, any_rectangle=any_rectangle) == "rotated":
            distance = moved_by(content, each)
            if distance > _ROUNDED:
                moved.append(each)
                farthest = max(farthest, distance)
    why = (
        f"{title} holds sides and angle, and their corners are not exact rectangles: "
        f"corners move by up to {farthest:.2g} px"
    )
    yield from losses_of(moved, _ROTATED, why, "changed")


def _differs(annotation: Record) -> bool:
    found = bounds_of(annotation)
    if found is None:
        return False
    x, y, width, height = annotation["bbox"]
    own = x, y, x + width, y + height
    return not all(abs(left - right) <= _ROUNDED for left, right in zip(own, found, strict=True))
