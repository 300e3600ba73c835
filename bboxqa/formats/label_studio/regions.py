"""Converting results to regions, and percentages to pixels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.document.origin import WRITTEN_ANGLE
from bboxqa.formats.label_studio.brush import brush_mask
from bboxqa.formats.translation.boxes import shapes
from bboxqa.formats.translation.boxes.masks import Masks, checked_size
from bboxqa.formats.translation.boxes.picture_masks import picture_mask
from bboxqa.formats.translation.translated import Record
from bboxqa.formats.translation.untrusted import (
    EmptyMaskProblemError,
    MaskProblemError,
    ValueProblemError,
    items,
    mapping,
    number_of,
    plain_text,
    size_of,
)

Value = dict[str, Any]
_SHAPES = {"rectangle", "polygon", "ellipse", "brush", "bitmask", "keypoint", "vector"}
# Types of results that add attributes to a region.
_ATTRIBUTES = {"choices", "textarea", "number", "rating", "taxonomy", "datetime"}
_MOST_PERCENT = 100.5
_LEAST = 3
_PIXELS = 200
"""Coordinates above this are pixels, not percentages."""


@dataclass(slots=True)
class Region:
    """A shape, or another statement of an annotator about an image."""

    pointer: str
    result: Value
    kind: str
    """A key of `_SHAPES`, or the type of a result that is not a shape."""
    labels: list[str] = field(default_factory=list)
    attributes: Record = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The id that Label Studio shows."""
        return plain_text(self.result.get("id"))

    @property
    def is_shape(self) -> bool:
        """Whether the region is a shape that can be read."""
        return self.kind in _SHAPES


def regions_of(results: Iterable[tuple[str, Value]]) -> Iterator[Region]:
    """Yield the regions of an annotation, each with all of its labels.

    The results of a region share its id: the shape, often once per labelling control, and its
    attributes.
    """
    whole: dict[str, Region] = {}
    rest: list[tuple[str, Value]] = []
    for pointer, result in results:
        kind, number = _kind(result), plain_text(result.get("id"))
        if kind in _SHAPES and not _is_part(whole.get(number), result):
            region = Region(pointer, result, kind)
            whole[pointer if number in whole else number or pointer] = region
            _add_labels(region, result)
        else:
            rest.append((pointer, result))
    for pointer, result in rest:
        kind, number = plain_text(result.get("type")), plain_text(result.get("id"))
        of_shape = whole.get(number) if number else None
        if of_shape is None:
            whole[f"{number} {pointer}"] = Region(pointer, result, kind)
        elif kind in _ATTRIBUTES:
            said = _value(result)
            of_shape.attributes[plain_text(result.get("from_name")) or kind] = said.get(kind)
        else:
            _add_labels(of_shape, result)
    yield from whole.values()


def is_on_image(result: Value) -> bool:
    """Return whether a result is a shape in an image.

    Examples
    --------
    >>> is_on_image({"type": "rectanglelabels"}), is_on_image({"type": "choices"})
    (True, False)
    """
    return _kind(result) in _SHAPES


def _kind(result: Value) -> str:
    return plain_text(result.get("type")).removesuffix("labels")


def _is_part(region: Region | None, result: Value) -> bool:
    """Return whether a result has the id and the shape of a region."""
    return region is not None and _outline(region.result) == _outline(result)


def _outline(result: Value) -> Value:
    return {key: each for key, each in _value(result).items() if not key.endswith("labels")}


def _add_labels(region: Region, result: Value) -> None:
    kind = plain_text(result.get("type"))
    labels = _value(result).get(kind) if kind.endswith("labels") else None
    named = filter(None, map(plain_text, items(labels)))
    region.labels = [*dict.fromkeys([*region.labels, *named])]


def _value(result: Value) -> Value:
    value = result.get("value")
    return value if isinstance(value, dict) else {}


def size_in(result: Value) -> tuple[int, int] | None:
    """Return width and height of the image of a result in pixels; None if they are missing."""
    return size_of(result.get("original_width"), result.get("original_height"))


def shape_of(region: Region, size: tuple[int, int], masks: Masks) -> Record:
    """Return the COCO geometry keys of a region.

    Raises ValueProblemError if the values are not as Label Studio writes them.
    """
    value = _value(region.result)
    _check_percent(region)
    if region.kind == "bitmask":
        return _bitmask(value, size, masks)
    if region.kind == "brush":
        return _brush(value, size, masks)
    return _READ[region.kind](value, size)


def _ellipse(value: Value, size: tuple[int, int]) -> Record:
    x, y, rx, ry = _pixels(value, ("x", "y", "radiusX", "radiusY"), size)
    degrees = _degrees(value)
    return _polygon(shapes.ellipse((x, y), (rx, ry), degrees), degrees)


def _ring(value: Value, size: tuple[int, int]) -> Record:
    return _polygon(_points(value, size))


def _key_point(value: Value, size: tuple[int, int]) -> Record:
    x, y = _pixels(value, ("x", "y"), size)
    return {"shape": "key point", "keypoints": [x, y, 2], "num_keypoints": 1}


def _vector(value: Value, size: tuple[int, int]) -> Record:
    points = _points(value, size)
    if value.get("closed") is True and len(points) >= _LEAST:
        return _polygon(points)
    return {"shape": "polyline", "points": points.ravel().tolist()}


def _rectangle(value: Value, size: tuple[int, int]) -> Record:
    x, y, width, height = _pixels(value, ("x", "y", "width", "height"), size)
    degrees = _degrees(value)
    if not degrees:
        return {"bbox": [x, y, width, height]}
    corners = shapes.corners(x, y, width, height)
    record = _polygon(shapes.rotated(corners, (x, y), degrees), degrees)
    return {**record, WRITTEN_ANGLE: value["rotation"]}


def _polygon(points: FloatArray, degrees: float = 0) -> Record:
    record = shapes.outlined(points)
    if degrees:
        record["attributes"] = {"rotation": degrees}
    return record


def _brush(value: Value, size: tuple[int, int], masks: Masks) -> Record:
    if "rle" not in value:
        raise MaskProblemError("has no rle")
    if value["rle"] == []:
        raise EmptyMaskProblemError("has no pixels")
    return masks.record(brush_mask(value["rle"], *checked_size(size)), size)


def _bitmask(value: Value, size: tuple[int, int], masks: Masks) -> Record:
    """Return a mask of single pixels, which is a picture that is transparent elsewhere."""
    _, _, picture = plain_text(value.get("imageDataURL")).partition(";base64,")
    mask = picture_mask(picture, masks, within=size)
    if (mask.width, mask.height) != size:
        found = f"{mask.width} × {mask.height} pixels"
        raise MaskProblemError(f"has {found}; its image has {size[0]} × {size[1]}")
    return masks.record(mask, size)


def _degrees(value: Value) -> float:
    given = value.get("rotation")
    return 0.0 if given is None else number_of(given, "rotation") % 360


def _pixels(value: Value, names: tuple[str, ...], size: tuple[int, int]) -> list[float]:
    """Convert values that are alternately percentages of width and of height to pixels."""
    numbers = (number_of(value.get(name), name) for name in names)
    return [number * size[place % 2] / 100 for place, number in enumerate(numbers)]


def _points(value: Value, size: tuple[int, int]) -> FloatArray:
    points = _listed_points(value)
    if not points:
        raise ValueProblemError("points are missing; expected a list of [x, y]")
    for point in points:
        if not isinstance(point, list) or len(point) != 2:
            raise ValueProblemError(f"a point is {str(point)[:40]}; expected [x, y]")
        for number in point:
            number_of(number, "a coordinate")
    found: FloatArray = np.array(points, np.float64) * size / 100
    return found


def _listed_points(value: Value) -> list[Any]:
    """Return the points of a polygon, or the vertices of a vector as points."""
    if "vertices" not in value:
        return items(value.get("points"))
    vertices = map(mapping, items(value["vertices"]))
    return [[vertex.get("x"), vertex.get("y")] for vertex in vertices]


def beyond(region: Region, box: Sequence[float], size: tuple[int, int]) -> str:
    """Return the first coordinate of a shape outside its image that is not a percentage.

    It is "" for a rotated shape, a corner of which may lie outside, and for one that reaches over
    an edge, since rules about boxes and outlines report those of all formats.

    Parameters
    ----------
    region : Region
    box : sequence of float
        x, y, width and height of the shape in pixels.
    size : tuple of int
        Width and height of the image in pixels.
    """
    x, y, width, height = box
    is_over_edge = x < size[0] and y < size[1] and x + width > 0 and y + height > 0
    if is_over_edge or _value(region.result).get("rotation"):
        return ""
    for name, number in _coordinates(region):
        if not -0.5 <= number <= _MOST_PERCENT:
            return f"{name} is {number:g} %; expected 0 to 100"
    return ""


def _check_percent(region: Region) -> None:
    """Raise ValueProblemError if a coordinate is too large for a percentage, so is in pixels."""
    for name, number in _coordinates(region):
        if abs(number) > _PIXELS:
            # A whole number in JSON may be larger than any float.
            problem = f"{name} is {number_of(number, name):g}, which is in pixels"
            raise ValueProblemError(f"{problem}; expected 0 to 100, in percent of the image")


def _coordinates(region: Region) -> Iterator[tuple[str, float]]:
    """Yield the numeric coordinates of a shape, with their names."""
    value = _value(region.result)
    named = [(name, value.get(name)) for name in ("x", "y", "width", "height")]
    for point in _listed_points(value):
        if isinstance(point, list):
            named += [("a coordinate", number) for number in point]
    yield from ((name, each) for name, each in named if isinstance(each, int | float))


_READ: dict[str, Callable[[Value, tuple[int, int]], Record]] = {
    "rectangle": _rectangle,
    "ellipse": _ellipse,
    "polygon": _ring,
    "keypoint": _key_point,
    "vector": _vector,
}
