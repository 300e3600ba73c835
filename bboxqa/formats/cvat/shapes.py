"""Converting CVAT shapes to keys of COCO annotations."""

from collections.abc import Callable, Mapping
from itertools import chain

import numpy as np

from bboxqa.formats.document import Record
from bboxqa.formats.records import WRITTEN_ANGLE
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.masks import Masks, RowMask, Size
from bboxqa.formats.translation.untrusted import (
    LARGEST,
    MaskProblemError,
    ValueProblemError,
    number_in,
)
from bboxqa.formats.xml_elements import Element
from bboxqa.model.shapes.masks import spans_of_runs

CUBOID = [
    f"{axis}{corner}{side}"
    for side in "12"
    for corner in ("tl", "bl", "tr", "br")
    for axis in "xy"
]  # fmt: skip
"""Attributes of a cuboid, in the order of its points."""
OF_SHAPES = ("occluded", "group_id", "z_order", "rotation")
"""Values of a shape, whose names attributes of its label may have as well."""
OF_LABEL = "label."
"""What precedes the name of an attribute of a label if a value of the shape has that name."""

_OF_TRACKS = ("track_id", "keyframe")
_SIDES = ("xtl", "ytl", "xbr", "ybr")


class UnknownSizeError(ValueProblemError):
    """A mask in an image of unknown size."""


def plain_box_of(values: Mapping[str, str]) -> tuple[float, float, float, float] | None:
    """Return x, y, width and height of an upright box; None for any other value."""
    try:
        x, y = float(values["xtl"]), float(values["ytl"])
        right, bottom = float(values["xbr"]), float(values["ybr"])
    except (KeyError, ValueError):
        return None
    if not (abs(x) < LARGEST > abs(y) and abs(right) < LARGEST > abs(bottom)):
        return None
    # Floating-point differences have more digits than the numbers in the file.
    return x, y, round(right - x, 6), round(bottom - y, 6)


def shape_of(element: Element, size: Size | None, masks: Masks) -> Record:
    """Return the geometry keys of an annotation.

    A shape without a box has the key `shape` with its name.

    Raises ValueProblemError if the values are not as CVAT writes them.
    """
    if element.name == "mask":
        return _mask(element.values, size, masks)
    read = _SHAPES.get(element.name)
    return {"shape": element.name} if read is None else read(element)


def attributes_of(
    element: Element, of_shape: Mapping[str, object] | None = None, *, is_tracked: bool = False
) -> Record:
    """Return the attributes of an annotation, with values `of_shape` such as its rotation.

    Values of the shape keep their names. An answer to an attribute of the label that has such a
    name follows "label.", whether or not the shape has the value.

    >>> answers = [Element("attribute", 2, {"name": "occluded"}, text="false")]
    >>> attributes_of(Element("box", 1, {"occluded": "1"}, inside=answers))
    {'occluded': '1', 'label.occluded': 'false'}
    """
    values, own = element.values, OF_SHAPES + _OF_TRACKS * is_tracked
    found = {**(of_shape or {})}
    for key in OF_SHAPES[:3]:
        if values.get(key, "0") != "0":
            found[key] = values[key]
    if is_tracked:
        found |= {"track_id": values.get("id", ""), "keyframe": values.get("keyframe") == "1"}
    for answer in element.all("attribute") if element.inside else ():
        name = answer.values.get("name", "")
        found[OF_LABEL * (name in own) + name] = answer.text
    return found


def _number(values: Mapping[str, str], name: str) -> float:
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


def _degrees(values: Mapping[str, str]) -> float:
    return _number(values, "rotation") % 360 if "rotation" in values else 0.0


def _box(element: Element) -> Record:
    values = element.values
    box = plain_box_of(values)
    if box is None:
        x, y, right, bottom = (_number(values, side) for side in _SIDES)
        box = (x, y, round(right - x, 6), round(bottom - y, 6))
    degrees = _degrees(values)
    if not degrees:
        return {"bbox": [*box]}
    ring = np.round(shapes.turned_box(box, degrees)["segmentation"][0], 6).tolist()
    written = {WRITTEN_ANGLE: _number(values, "rotation")}
    return {**_outlined(ring), "attributes": {"rotation": degrees}, **written}


def _outlined(ring: list[float]) -> Record:
    x, y = ring[::2], ring[1::2]
    left, top = min(x), min(y)
    bbox = [left, top, round(max(x) - left, 6), round(max(y) - top, 6)]
    return {"bbox": bbox, "segmentation": [ring]}


def _ellipse(element: Element) -> Record:
    x, y, *radii = (_number(element.values, name) for name in ("cx", "cy", "rx", "ry"))
    degrees = _degrees(element.values)
    points = shapes.ellipse((x, y), (radii[0], radii[1]), degrees).round(6)
    record = _outlined(shapes.ring(points))
    return {**record, "attributes": {"rotation": degrees}} if degrees else record


def _point_set(element: Element) -> Record:
    points = _points(element)
    keypoints = [value for pair in zip(points[::2], points[1::2]) for value in (*pair, 2)]  # noqa: B905
    return {"shape": "point set", "keypoints": keypoints, "num_keypoints": len(points) // 2}


def _skeleton(element: Element) -> Record:
    """Return key points with a visibility of 0 for outside, 1 for occluded, else 2."""
    parts = element.all("points")
    if not parts:
        return {"shape": "skeleton"}
    keypoints: list[float] = []
    for part in parts:
        is_outside = part.values.get("outside") == "1"
        visibility = 0 if is_outside else 1 if part.values.get("occluded") == "1" else 2
        keypoints += [*_points(part)[:2], visibility]
    seen = sum(visibility > 0 for visibility in keypoints[2::3])
    joints = [part.values.get("label", "") for part in parts]
    return {"shape": "skeleton", "keypoints": keypoints, "joints": joints, "num_keypoints": seen}


def _mask(values: Mapping[str, str], size: Size | None, masks: Masks) -> Record:
    given = [_number(values, key) for key in ("left", "top", "width", "height")]
    left, top, width, height = map(int, given)
    text = values.get("rle", "")
    try:
        counts = np.array(text.split(","), np.int64)
    except (ValueError, OverflowError):
        raise MaskProblemError(f"has run lengths {text[:40]!r}; expected whole numbers") from None
    # A mask is not larger than an image.
    if counts.min() < 0 or counts.max() >= 1 << 31 or counts.sum() >= 1 << 31:
        raise MaskProblemError("has run lengths below zero, or of more pixels than an image has")
    if min(width, height) < 1 or counts.sum() != width * height:
        found = f"has run lengths of {counts.sum()} pixels"
        raise MaskProblemError(f"{found}; expected {width} × {height}, which is {width * height}")
    mask = RowMask(spans_of_runs(counts), width, height, left, top, len(text))
    if masks.outlines and size is None and len(mask.spans):
        raise UnknownSizeError("the size of its image is not known")
    return masks.record(mask, size)


_SHAPES: dict[str, Callable[[Element], Record]] = {
    "box": _box,
    "polygon": lambda element: _outlined(_points(element)),
    "ellipse": _ellipse,
    "points": _point_set,
    "polyline": lambda element: {"shape": "polyline", "points": _points(element)},
    "cuboid": lambda element: {
        "shape": "cuboid", "points": [_number(element.values, name) for name in CUBOID]
    },
    "skeleton": _skeleton,
    "tag": lambda _: {"shape": "image label"},
}  # fmt: skip
