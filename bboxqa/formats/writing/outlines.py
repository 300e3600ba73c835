"""The outlines of annotations, as formats tell them apart."""

from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.formats.writing.content import Content, Record
from bboxqa.formats.writing.losses import Loss, losses_of
from bboxqa.model.run_lengths import decode_counts, run_bounds

Kind = Literal["box", "rotated", "polygon", "polygons", "mask"]

# In pixels. Files round to two decimals.
_ROUNDED = 0.011
_SAME = 1e-3
_WORDS: tuple[tuple[Kind, str, str], ...] = (
    ("rotated", "rotated boxes", "no angle"),
    ("polygon", "polygons", "no polygon"),
    ("polygons", "polygons of several rings", "one ring at most"),
    ("mask", "masks", "no mask"),
)


class Rotated(NamedTuple):
    """A rectangle that is turned clockwise about its first corner."""

    x: float
    y: float
    width: float
    height: float
    degrees: float


def rings_of(annotation: Record) -> list[FloatArray]:
    """Return the rings of an annotation, each (K, 2); none of a mask or a box alone."""
    given = annotation.get("segmentation")
    if not isinstance(given, list):
        return []
    return [np.array(ring, np.float64).reshape(-1, 2) for ring in given if len(ring) >= 6]


def runs_of(annotation: Record) -> tuple[IndexArray, int, int]:
    """Return the run lengths of a mask, column by column, and its height and width."""
    given = annotation["segmentation"]
    height, width = map(int, given["size"])
    counts = given["counts"]
    runs = decode_counts(counts.encode()) if isinstance(counts, str) else np.array(counts, np.int64)
    return runs, height, width


def pixels_of(annotation: Record) -> BoolArray:
    """Return the pixels of a mask, (H, W)."""
    runs, height, width = runs_of(annotation)
    pixels: BoolArray = np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(width, height).T
    return pixels


def crop_of(annotation: Record) -> tuple[BoolArray, int, int]:
    """Return the pixels of a mask inside of its bounds, and where these begin: left and top."""
    pixels = pixels_of(annotation)
    rows, columns = np.flatnonzero(pixels.any(1)), np.flatnonzero(pixels.any(0))
    if not len(rows):
        return pixels[:1, :1], 0, 0
    top, left = int(rows[0]), int(columns[0])
    crop = pixels[top : rows[-1] + 1, left : columns[-1] + 1]
    return np.ascontiguousarray(crop), left, top


def kind_of(annotation: Record) -> Kind:
    """Return what the outline of an annotation is; that of an upright box is "box".

    Examples
    --------
    >>> box = {"bbox": [1, 1, 2, 2]}
    >>> kind_of(box), kind_of({**box, "segmentation": [[1, 1, 3, 1, 3, 3, 1, 3]]})
    ('box', 'box')
    >>> kind_of({**box, "segmentation": [[1, 1, 3, 1, 3, 3]]})
    'polygon'
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
    return "rotated" if rotated(annotation) is not None else "polygon"


def _is_box(ring: FloatArray, bbox: list[float]) -> bool:
    """Return whether a ring has the corners of a box, one after the other."""
    points = ring[:-1] if len(ring) == 5 and (ring[0] == ring[-1]).all() else ring
    if len(points) != 4:
        return False
    x, y, width, height = bbox
    corners = np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]])
    turns = [np.roll(each, shift, 0) for each in (corners, corners[::-1]) for shift in range(4)]
    return any(bool((np.abs(points - each) <= _SAME).all()) for each in turns)


def rotated(annotation: Record) -> Rotated | None:
    """Return the rectangle of an annotation that says its rotation; None for all others.

    Examples
    --------
    >>> diamond = [[2, 0, 4, 2, 2, 4, 0, 2]]
    >>> found = rotated(
    ...     {"bbox": [0, 0, 4, 4], "segmentation": diamond, "attributes": {"rotation": 45}}
    ... )
    >>> found[:2], round(found.width, 2), found.degrees
    ((2.0, 0.0), 2.83, 45)
    """
    inside = annotation.get("attributes")
    said = inside.get("rotation") if isinstance(inside, dict) else None
    rings = rings_of(annotation)
    if not isinstance(said, int | float) or len(rings) != 1 or len(rings[0]) != 4:
        return None
    first, second, opposite, last = rings[0]
    across, down = second - first, last - first
    width, height = float(np.hypot(*across)), float(np.hypot(*down))
    if not np.allclose(opposite, second + down, atol=_ROUNDED) or not width * height:
        return None
    turn = across[0] * down[1] - across[1] * down[0]
    # Clockwise, with right angles.
    if abs(turn / (width * height) - 1) > 1e-3:
        return None
    degrees = float(np.degrees(np.arctan2(across[1], across[0])) % 360)
    near = abs((degrees - said + 180) % 360 - 180) < 0.01
    return Rotated(float(first[0]), float(first[1]), width, height, said % 360 if near else degrees)


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
    """Return the area of an annotation in pixels, by its outline where it has one."""
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


def outline_losses(content: Content, title: str, held: Collection[Kind]) -> Iterator[Loss]:
    """Yield the outlines that a format cannot hold, and boxes that it cannot hold beside them."""
    of_kind: dict[Kind, list[Record]] = {kind: [] for kind, *_ in _WORDS}
    of_kind["box"] = []
    for each in content.annotations:
        of_kind[kind_of(each)].append(each)
    for kind, what, why in _WORDS:
        if kind not in held:
            words = f"{title} holds {why}; their boxes are written"
            yield from losses_of(of_kind[kind], what, words)
    apart = [each for kind in held for each in of_kind[kind] if _differs(each)]
    why = f"{title} holds the outline, whose bounds are the box"
    yield from losses_of(apart, "boxes that differ from the bounds of the outline", why)


def _differs(annotation: Record) -> bool:
    found = bounds_of(annotation)
    if found is None:
        return False
    x, y, width, height = annotation["bbox"]
    own = np.array([x, y, x + width, y + height])
    return not bool((np.abs(own - found) <= _ROUNDED).all())
