"""The regions of Label Studio: results that share an id, and their shapes in pixels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.label_studio.brush import brush_mask
from bboxqa.formats.records import WRITTEN_ANGLE
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import UNLABELLED, Record
from bboxqa.formats.translation.masks import Masks, Size, checked_size, picture_mask
from bboxqa.formats.translation.untrusted import (
    EmptyMaskProblemError,
    MaskProblemError,
    ValueProblemError,
    items,
    mapping,
    number_of,
    plain_text,
    points_of,
)

Value = dict[str, Any]
_SHAPES = {"rectangle", "polygon", "ellipse", "brush", "bitmask", "keypoint", "vector"}
# Types of results that add attributes to a region.
_ATTRIBUTES = {"choices", "textarea", "number", "rating", "taxonomy", "datetime"}
_BOX = ("x", "y", "width", "height")
_MOST_PERCENT, _PIXELS = 100.5, 200
"""Coordinates above the second are pixels, not percentages."""


@dataclass(slots=True)
class Region:
    """A shape, or another statement of an annotator about an image."""

    pointer: str
    result: Value
    kind: str
    """The type of the result, such as "rectangle"."""
    id: str
    """The id that Label Studio shows."""
    value: Value
    """The geometry."""
    labels: list[str] = field(default_factory=list)
    attributes: Record = field(default_factory=dict)

    @property
    def is_shape(self) -> bool:
        """Whether the region is a shape that can be read."""
        return self.kind in _SHAPES


def is_on_image(result: Value) -> bool:
    """Return whether a result is a shape in an image."""
    return plain_text(result.get("type")).removesuffix("labels") in _SHAPES


def regions_of(results: Iterable[tuple[str, Value]]) -> list[Region]:
    """Return the regions of an annotation, each with all of its labels.

    The results of a region share its id: the shape, often once per labelling control, and its
    attributes.
    """
    whole: dict[str, Region] = {}
    rest: list[Region] = []
    for pointer, result in results:
        kind, own = plain_text(result.get("type")), plain_text(result.get("id"))
        value = mapping(result.get("value"))
        region = Region(pointer, result, kind.removesuffix("labels"), own, value)
        if region.is_shape and (own not in whole or _outline(whole[own]) != _outline(region)):
            _add_labels(region, value, kind)
            whole[pointer if own in whole else own or pointer] = region
        else:
            rest.append(region)
    for region in rest:
        kind = plain_text(region.result.get("type"))
        of_shape = whole.get(region.id) if region.id else None
        if of_shape is None:
            region.kind = kind
            whole[f"{region.id} {region.pointer}"] = region
        elif kind in _ATTRIBUTES:
            name = plain_text(region.result.get("from_name")) or kind
            of_shape.attributes[name] = region.value.get(kind)
        else:
            _add_labels(of_shape, region.value, kind)
    return [*whole.values()]


def _outline(region: Region) -> Value:
    return {key: each for key, each in region.value.items() if not key.endswith("labels")}


def _add_labels(region: Region, value: Value, kind: str) -> None:
    if kind.endswith("labels"):
        named = filter(None, map(plain_text, items(value.get(kind))))
        region.labels = [*dict.fromkeys([*region.labels, *named])]


def points_by_parent(regions: Sequence[Region]) -> dict[str, list[Region]]:
    """Return the key points inside of another shape, by the id of that shape."""
    parents = {each.id for each in regions if each.is_shape and each.kind != "keypoint"}
    found: dict[str, list[Region]] = {}
    for region in regions:
        parent = plain_text(region.result.get("parentID"))
        if region.kind == "keypoint" and parent in parents:
            found.setdefault(parent, []).append(region)
    return found


def joints_of(points: Sequence[Region], size: Size) -> Record:
    """Return the key points of a shape and their names.

    Raises ValueProblemError if a value is not as Label Studio writes it.
    """
    triples = [_key_point(each.value, size)["keypoints"] for each in points]
    return {
        "keypoints": [number for triple in triples for number in triple],
        "joints": [each.labels[0] if each.labels else UNLABELLED for each in points],
    }


def shape_of(region: Region, size: Size, masks: Masks) -> Record:
    """Return the COCO geometry keys of a region.

    Raises ValueProblemError if the values are not as Label Studio writes them.
    """
    value = region.value
    turned = value.get("rotation")
    if region.kind == "rectangle" and (turned is None or (turned == 0 and turned is not False)):
        numbers: list[Any] = [value.get(name) for name in _BOX]
        if all(type(each) in (int, float) and abs(each) <= _PIXELS for each in numbers):
            return {"bbox": _in_pixels(numbers, size)}
    for name, number in _coordinates(value):
        if abs(number) > _PIXELS:
            # A whole number in JSON may be larger than any float.
            problem = f"{name} is {number_of(number, name):g}, which is in pixels"
            raise ValueProblemError(f"{problem}; expected 0 to 100, in percent of the image")
    if region.kind == "bitmask":
        return _bitmask(value, size, masks)
    if region.kind == "brush":
        return _brush(value, size, masks)
    return _READ[region.kind](value, size)


def _rectangle(value: Value, size: Size) -> Record:
    box = _pixels(value, _BOX, size)
    degrees = _degrees(value)
    if not degrees:
        return {"bbox": box}
    corners = shapes.rotated(shapes.corners(*box), (box[0], box[1]), degrees)
    return {**_polygon(corners, degrees), WRITTEN_ANGLE: value["rotation"]}


def _ellipse(value: Value, size: Size) -> Record:
    x, y, rx, ry = _pixels(value, ("x", "y", "radiusX", "radiusY"), size)
    degrees = _degrees(value)
    return _polygon(shapes.ellipse((x, y), (rx, ry), degrees), degrees)


def _key_point(value: Value, size: Size) -> Record:
    x, y = _pixels(value, ("x", "y"), size)
    return {"shape": "key point", "keypoints": [x, y, 2], "num_keypoints": 1}


def _vector(value: Value, size: Size) -> Record:
    points = _points(value, size)
    if value.get("closed") is True and len(points) >= 3:
        return _polygon(points)
    return {"shape": "polyline", "points": points.ravel().tolist()}


def _polygon(points: FloatArray, degrees: float = 0) -> Record:
    record = shapes.outlined(points)
    if degrees:
        record["attributes"] = {"rotation": degrees}
    return record


def _brush(value: Value, size: Size, masks: Masks) -> Record:
    if "rle" not in value:
        raise MaskProblemError("has no rle")
    if value["rle"] == []:
        raise EmptyMaskProblemError("has no pixels")
    return masks.record(brush_mask(value["rle"], *checked_size(size)), size)


def _bitmask(value: Value, size: Size, masks: Masks) -> Record:
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


def _pixels(value: Value, names: tuple[str, ...], size: Size) -> list[float]:
    """Convert values that are alternately percentages of width and of height to pixels."""
    return _in_pixels([number_of(value.get(name), name) for name in names], size)


def _in_pixels(numbers: Sequence[Any], size: Size) -> list[float]:
    wide, high = size
    return [each * (high if place % 2 else wide) / 100 for place, each in enumerate(numbers)]


def _points(value: Value, size: Size) -> FloatArray:
    points: FloatArray = points_of(_listed_points(value)) * size / 100
    return points


def _listed_points(value: Value) -> object:
    """Return the points of a polygon, or the vertices of a vector as points."""
    if "vertices" not in value:
        return value.get("points")
    vertices = map(mapping, items(value["vertices"]))
    return [[vertex.get("x"), vertex.get("y")] for vertex in vertices]


def beyond(region: Region, box: Sequence[float], size: Size) -> str:
    """Return the first coordinate of a shape outside its image that is not a percentage.

    It is "" for a rotated shape, a corner of which may lie outside, and for one that reaches over
    an edge, since rules about boxes and outlines report those of all formats. `box` and `size` are
    in pixels.
    """
    x, y, width, height = box
    is_over_edge = x < size[0] and y < size[1] and x + width > 0 and y + height > 0
    if is_over_edge or region.value.get("rotation"):
        return ""
    for name, number in _coordinates(region.value):
        if not -0.5 <= number <= _MOST_PERCENT:
            return f"{name} is {number:g} %; expected 0 to 100"
    return ""


def _coordinates(value: Value) -> Iterator[tuple[str, float]]:
    """Yield the numeric coordinates of a shape, with their names."""
    for name in _BOX:
        if isinstance(value.get(name), int | float):
            yield name, value[name]
    for point in items(_listed_points(value)):
        for each in items(point):
            if isinstance(each, int | float):
                yield "a coordinate", each


_READ: dict[str, Callable[[Value, Size], Record]] = {
    "rectangle": _rectangle,
    "ellipse": _ellipse,
    "polygon": lambda value, size: _polygon(_points(value, size)),
    "keypoint": _key_point,
    "vector": _vector,
}
