"""Converting CVAT shapes to keys of COCO annotations."""

from collections.abc import Callable
from itertools import chain

import numpy as np

from bboxqa.formats.document.rotation_columns import WRITTEN_ANGLE
from bboxqa.formats.translation.boxes import shapes
from bboxqa.formats.translation.boxes.masks import Masks, RowMask, Size
from bboxqa.formats.translation.translated import Record
from bboxqa.formats.translation.untrusted import (
    LARGEST,
    MaskProblemError,
    ValueProblemError,
    number_in,
)
from bboxqa.formats.xml_elements import Element
from bboxqa.model.shapes.mask_spans import spans_of_runs

CUBOID = [
    f"{axis}{corner}{side}"
    for side in "12"
    for corner in ("tl", "bl", "tr", "br")
    for axis in "xy"
]  # fmt: skip
"""Attributes of a cuboid, in the order of its points."""

_SIDES = ("xtl", "ytl", "xbr", "ybr")


class UnknownSizeError(ValueProblemError):
    """A mask in an image of unknown size."""


def shape_of(element: Element, size: Size | None, masks: Masks) -> Record:
    """Return the geometry keys of an annotation.

    A shape without a box has the key `shape` with its name.

    Raises ValueProblemError if the values are not as CVAT writes them.
    """
    if element.name == "mask":
        return _mask(element, size, masks)
    read = _SHAPES.get(element.name)
    return {"shape": element.name} if read is None else read(element)


def number(values: dict[str, str], name: str) -> float:
    """Return a coordinate. Raises ValueProblemError if it is not a number."""
    text = values.get(name)
    if text is None:
        raise ValueProblemError(f"has no {name}; expected a number")
    return number_in(text, name)


def _points(element: Element) -> list[float]:
    """Return the coordinates of points as a flat list of x and y."""
    text = element.values.get("points", "").strip(" ;")
    pairs = [pair.split(",") for pair in text.split(";")]
    if not text or any(len(pair) != 2 for pair in pairs):
        raise ValueProblemError(f"points are {text[:40]!r}; expected x,y;x,y")
    return [number_in(each, "a coordinate") for each in chain.from_iterable(pairs)]


def _box(element: Element) -> Record:
    values = element.values
    try:
        x, y, right, bottom = [float(values[side]) for side in _SIDES]
    except (KeyError, ValueError):
        x = LARGEST
    if not (abs(x) < LARGEST > abs(y) and abs(right) < LARGEST > abs(bottom)):
        x, y, right, bottom = (number(values, side) for side in _SIDES)
    # Floating-point differences have more digits than the numbers in the file.
    width, height = round(right - x, 6), round(bottom - y, 6)
    degrees = _degrees(values)
    if not degrees:
        return {"bbox": [x, y, width, height]}
    corners = shapes.corners(x, y, width, height)
    turned = shapes.rotated(corners, (x + width / 2, y + height / 2), degrees)
    record = _rotated(turned.round(6).ravel().tolist(), degrees)
    return {**record, WRITTEN_ANGLE: number(values, "rotation")}


def _degrees(values: dict[str, str]) -> float:
    return number(values, "rotation") % 360 if "rotation" in values else 0.0


def _rotated(ring: list[float], degrees: float) -> Record:
    record = _outlined(ring)
    if degrees:
        record["attributes"] = {"rotation": degrees}
    return record


def _outlined(ring: list[float]) -> Record:
    x, y = ring[::2], ring[1::2]
    left, top = min(x), min(y)
    bbox = [left, top, round(max(x) - left, 6), round(max(y) - top, 6)]
    return {"bbox": bbox, "segmentation": [ring]}


def _polygon(element: Element) -> Record:
    return _outlined(_points(element))


def _ellipse(element: Element) -> Record:
    values = element.values
    centre = number(values, "cx"), number(values, "cy")
    radii = number(values, "rx"), number(values, "ry")
    degrees = _degrees(values)
    found = shapes.ellipse(centre, radii, degrees).round(6)
    return _rotated(found.ravel().tolist(), degrees)


def _point_set(element: Element) -> Record:
    points = _points(element)
    pairs = zip(points[::2], points[1::2], strict=True)
    keypoints = [value for x, y in pairs for value in (x, y, 2)]
    return {"shape": "point set", "keypoints": keypoints, "num_keypoints": len(points) // 2}


def _polyline(element: Element) -> Record:
    return {"shape": "polyline", "points": _points(element)}


def _cuboid(element: Element) -> Record:
    return {"shape": "cuboid", "points": [number(element.values, name) for name in CUBOID]}


def _skeleton(element: Element) -> Record:
    """Return key points with a visibility of 0 for outside, 1 for occluded, else 2."""
    keypoints: list[float] = []
    joints: list[str] = []
    for part in element.inside:
        if part.name != "points":
            continue
        x, y, *_ = _points(part)
        is_outside = part.values.get("outside") == "1"
        visibility = 0 if is_outside else 1 if part.values.get("occluded") == "1" else 2
        keypoints += [x, y, visibility]
        joints.append(part.values.get("label", ""))
    seen = sum(visibility > 0 for visibility in keypoints[2::3])
    return {"shape": "skeleton", "keypoints": keypoints, "joints": joints, "num_keypoints": seen}


def _tag(_element: Element) -> Record:
    return {"shape": "image label"}


def _mask(element: Element, size: Size | None, masks: Masks) -> Record:
    values = element.values
    left, top, width, height = (_whole(values, key) for key in ("left", "top", "width", "height"))
    counts = _run_lengths(values.get("rle", ""))
    if min(width, height) < 1 or counts.sum() != width * height:
        raise MaskProblemError(
            f"has run lengths of {counts.sum()} pixels; expected {width} × {height}, "
            f"which is {width * height}"
        )
    if size is not None and (
        min(left, top) < 0 or left + width > size[0] or top + height > size[1]
    ):
        raise MaskProblemError(
            f"is {width} × {height} at {left}, {top}, beyond the image of {size[0]} × {size[1]}"
        )
    rows = RowMask(spans_of_runs(counts), width, height, left, top, len(values.get("rle", "")))
    if masks.outlines and size is None and len(rows.spans):
        raise UnknownSizeError("the size of its image is not known")
    return masks.record(rows, size)


def _whole(values: dict[str, str], name: str) -> int:
    found = number(values, name)
    if not found.is_integer():
        raise MaskProblemError(f"has a {name} of {values[name][:40]}; expected a whole number")
    return int(found)


def _run_lengths(text: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return run lengths, which alternate between pixels outside and inside the mask."""
    try:
        counts = np.array(text.split(","), np.int64)
    except (ValueError, OverflowError):
        raise MaskProblemError(f"has run lengths {text[:40]!r}; expected whole numbers") from None
    # A mask is not larger than an image.
    if counts.min() < 0 or counts.max() >= 1 << 31 or counts.sum() >= 1 << 31:
        raise MaskProblemError("has run lengths below zero, or of more pixels than an image has")
    return counts


_SHAPES: dict[str, Callable[[Element], Record]] = {
    "box": _box,
    "polygon": _polygon,
    "ellipse": _ellipse,
    "points": _point_set,
    "polyline": _polyline,
    "cuboid": _cuboid,
    "skeleton": _skeleton,
    "tag": _tag,
}
