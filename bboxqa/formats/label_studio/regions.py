"""The regions of Label Studio: results that share an id, and their shapes in pixels."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.document import Record
from bboxqa.formats.label_studio.brush import brush_mask
from bboxqa.formats.records import WRITTEN_ANGLE
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import UNLABELLED
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
_BOX = ("x", "y", "width", "height")
_PIXELS = 200
"""Coordinates above it are pixels, not percentages."""


class Region(msgspec.Struct):
    """A shape, or another statement of an annotator about an image."""

    pointer: str
    result: Value
    kind: str
    """The type of the result, such as "rectangle"."""
    id: str
    """The id that Label Studio shows."""
    value: Value
    """The geometry."""
    labels: list[str]
    attributes: Record = msgspec.field(default_factory=dict)

    @property
    def is_shape(self) -> bool:
        """Whether the region is a shape that can be read."""
        return self.kind in _READ


def regions_of(results: Iterable[tuple[str, Value]]) -> list[Region]:
    """Return the regions of an annotation, each with all of its labels.

    The results of a region share its id: the shape, often once per labelling control, and its
    attributes.
    """
    whole: dict[str, Region] = {}
    rest: list[tuple[Region, str]] = []
    for pointer, result in results:
        kind, own = plain_text(result.get("type")), plain_text(result.get("id"))
        value = mapping(result.get("value"))
        labels = _labels(value, kind)
        region = Region(pointer, result, kind.removesuffix("labels"), own, value, labels)
        if not region.is_shape:
            rest.append((region, kind))
        elif own not in whole:
            whole[own or pointer] = region
        elif _outline(whole[own]) == _outline(region):
            whole[own].labels += [each for each in labels if each not in whole[own].labels]
        else:
            whole[pointer] = region
    for region, kind in rest:
        of_shape = whole.get(region.id)
        if of_shape is None:
            region.kind = kind
            whole[region.pointer] = region
        elif kind.endswith("labels"):
            of_shape.labels += [each for each in region.labels if each not in of_shape.labels]
        else:
            of_shape.attributes[plain_text(region.result.get("from_name")) or kind] = (
                region.value.get(kind)
            )
    return [*whole.values()]


def _labels(value: Value, kind: str) -> list[str]:
    given = value.get(kind) if kind.endswith("labels") else None
    if not isinstance(given, list):
        return []
    return [*dict.fromkeys(filter(None, map(plain_text, given)))]


def _outline(region: Region) -> Value:
    return {key: each for key, each in region.value.items() if not key.endswith("labels")}


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
    """Return the key points of a shape and their names."""
    triples = [_key_point(each.value, size)["keypoints"] for each in points]
    return {
        "keypoints": [number for triple in triples for number in triple],
        "joints": [each.labels[0] if each.labels else UNLABELLED for each in points],
    }


_NUMBERS = {int, float}


def plain_boxes_of(
    results: Sequence[tuple[str, Value]], size: Size
) -> list[tuple[list[float], str, str, str]] | None:
    """Return boxes in pixels with label, id and pointer, if all results are such without more.

    These are upright rectangles with one label each, in an image of this size; else None.
    """
    wanted = ("rectanglelabels", *size, 0, "manual", None, None)
    found = []
    for pointer, result in results:
        try:
            value, own = result["value"], result["id"]
            (label,) = value["rectanglelabels"]
            numbers = [value["x"], value["y"], value["width"], value["height"]]
            said = map(result.get, ("type", "original_width", "original_height"))
            turned, origin = value.get("rotation", 0), result.get("origin", "manual")
            given = (*said, turned, origin, result.get("score"), result.get("parentID"))
            is_plain = given == wanted and own and label.strip() == label != ""
            is_plain &= {*map(type, numbers)} <= _NUMBERS and type(own) is str
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        if not is_plain or min(numbers[:2]) < 0 or max(numbers) > 100:
            return None
        found.append((_in_pixels(numbers, size), label, own, pointer))
    return found if len({own for _, _, own, _ in found}) == len(found) else None


def is_outside(box: Sequence[float], size: Size) -> bool:
    """Return whether a box in pixels lies outside of an image of this size."""
    x, y, width, height = box
    return not (x < size[0] and y < size[1] and x + width > 0 and y + height > 0)


def shape_of(region: Region, size: Size, masks: Masks) -> Record:
    """Return the COCO geometry keys of a region.

    Raises ValueProblemError if the values are not as Label Studio writes them.
    """
    if region.kind in ("brush", "bitmask"):
        return (_brush if region.kind == "brush" else _bitmask)(region.value, size, masks)
    return _READ[region.kind](region.value, size)


def _percent(given: object, name: str) -> float:
    number = number_of(given, name)
    if abs(number) > _PIXELS:
        problem = f"{name} is {number:g}, which is in pixels"
        raise ValueProblemError(f"{problem}; expected 0 to 100, in percent of the image")
    return number


def _pixels(value: Value, names: Sequence[str], size: Size) -> list[float]:
    """Convert values that are alternately percentages of width and of height to pixels."""
    return _in_pixels([_percent(value.get(name), name) for name in names], size)


def _in_pixels(numbers: Sequence[float], size: Size) -> list[float]:
    return [each * size[place % 2] / 100 for place, each in enumerate(numbers)]


def _degrees(value: Value) -> float:
    given = value.get("rotation")
    return 0.0 if given is None else number_of(given, "rotation") % 360


def _rectangle(value: Value, size: Size) -> Record:
    box, degrees = _pixels(value, _BOX, size), _degrees(value)
    if not degrees:
        return {"bbox": box}
    corners = shapes.rotated(shapes.corners(*box), (box[0], box[1]), degrees)
    return {**_outlined(corners, degrees), WRITTEN_ANGLE: value["rotation"]}


def _ellipse(value: Value, size: Size) -> Record:
    x, y, rx, ry = _pixels(value, ("x", "y", "radiusX", "radiusY"), size)
    degrees = _degrees(value)
    return _outlined(shapes.ellipse((x, y), (rx, ry), degrees), degrees)


def _polygon(value: Value, size: Size) -> Record:
    return _outlined(_points(value.get("points"), size))


def _key_point(value: Value, size: Size) -> Record:
    x, y = _pixels(value, ("x", "y"), size)
    return {"shape": "key point", "keypoints": [x, y, 2], "num_keypoints": 1}


def _vector(value: Value, size: Size) -> Record:
    vertices = map(mapping, items(value.get("vertices")))
    points = _points([[each.get("x"), each.get("y")] for each in vertices], size)
    if value.get("closed") is True and len(points) >= 3:
        return _outlined(points)
    return {"shape": "polyline", "points": points.ravel().tolist()}


def _points(given: object, size: Size) -> FloatArray:
    points = points_of(given)
    _percent(float(points.flat[abs(points).argmax()]), "a coordinate")
    found: FloatArray = points * size / 100
    return found


def _outlined(points: FloatArray, degrees: float = 0) -> Record:
    record = shapes.outlined(points)
    return {**record, "attributes": {"rotation": degrees}} if degrees else record


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


_READ: dict[str, Callable[..., Record]] = {
    "rectangle": _rectangle,
    "ellipse": _ellipse,
    "polygon": _polygon,
    "keypoint": _key_point,
    "vector": _vector,
    "brush": _brush,
    "bitmask": _bitmask,
}
