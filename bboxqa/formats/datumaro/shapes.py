"""Converting Datumaro shapes to keys of COCO annotations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.records import WRITTEN_ANGLE
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import Record
from bboxqa.formats.translation.masks import checked_size
from bboxqa.formats.translation.shapes import turned_box
from bboxqa.formats.translation.untrusted import (
    EmptyMaskProblemError,
    MaskProblemError,
    ValueProblemError,
    items,
    line_of,
    mapping,
    number_of,
    plain_text,
    size_of,
)
from bboxqa.model.shapes.masks import decode_counts, run_bounds

# Names of shapes that are kept but not compared.
_APART = {
    "label": "image label", "points": "key point", "polyline": "polyline", "caption": "caption",
    "skeleton": "skeleton", "cuboid_3d": "cuboid", "cuboid_2d": "cuboid",
}  # fmt: skip


def shape_of(
    annotation: dict[str, Any], names: Sequence[str], points_of_label: Sequence[str] = ()
) -> Record:
    """Return the COCO geometry keys of a shape.

    `names` are the names of labels, and `points_of_label` the point names of the shape's label.
    Raises ValueProblemError if the values are not as Datumaro writes them.
    """
    kind = plain_text(annotation.get("type"))
    if kind == "bbox":
        return _box(_flat(annotation.get("bbox"), "bbox", 4), mapping(annotation.get("attributes")))
    if kind == "rotated_bbox":
        x, y, width, height, degrees = _flat(annotation.get("points"), "points", 5)
        return _box([x - width / 2, y - height / 2, width, height], {"rotation": degrees})
    if kind == "polygon":
        points = _pairs(annotation.get("points"))
        return shapes.outlined(points)
    if kind == "ellipse":
        left, top, right, bottom = _flat(annotation.get("points"), "points", 4)
        centre, radii = ((left + right) / 2, (top + bottom) / 2), (right - left, bottom - top)
        points = shapes.ellipse(centre, (radii[0] / 2, radii[1] / 2))
        return shapes.outlined(points)
    if kind == "mask":
        return _mask(mapping(annotation.get("rle")))
    if not kind:
        raise ValueProblemError("has no type")
    of_points: Record = {}
    if kind == "polyline":
        flat = items(annotation.get("points"))
        of_points = line_of([[*pair] for pair in zip(flat[::2], flat[1::2], strict=False)])
    elif kind == "skeleton" and not items(annotation.get("elements")):
        of_points = _joints(items(annotation.get("points")), points_of_label)
    elif kind in ("points", "skeleton"):
        of_points = _key_points(annotation, names)
    return {"shape": _APART.get(kind, kind.replace("_", " ")), **of_points}


def _key_points(annotation: dict[str, Any], names: Sequence[str]) -> Record:
    """Return the key points, with names, of a points shape or of a skeleton's elements."""
    elements = items(annotation.get("elements"))
    keypoints: list[float] = []
    joints = []
    for part in map(mapping, elements or [annotation]):
        points = _pairs(part.get("points"))
        given = items(part.get("visibility"))
        for place, (x, y) in enumerate(points.tolist()):
            seen = given[place] if place < len(given) else 2
            keypoints += [x, y, number_of(seen, "visibility")]
        number = part.get("label_id")
        is_known = type(number) is int and 0 <= number < len(names)
        name = names[number] if is_known else ""  # type: ignore[index]
        joints += [name] * len(points)
    return {"keypoints": keypoints, **({"joints": joints} if elements else {})}


def _joints(values: list[Any], names: Sequence[str]) -> Record:
    """Return the key points of a skeleton without elements, from x, y, visibility triples."""
    if not values or len(values) % 3:
        found = repr(values)[:40] if values else "missing"
        raise ValueProblemError(f"points are {found}; expected x, y and visibility of each point")
    keypoints = [number_of(each, "a coordinate") for each in values]
    joints = {"joints": [*names]} if len(names) == len(values) // 3 else {}
    return {"keypoints": keypoints, **joints}


def _box(box: list[float], attributes: dict[str, Any]) -> Record:
    """Return a box, rotated about its centre if CVAT has written a rotation."""
    given = attributes.get("rotation")
    degrees = number_of(given, "rotation") % 360 if given else 0.0
    if not degrees:
        return {"bbox": box}
    return {**turned_box(box, degrees), WRITTEN_ANGLE: given}


def _flat(values: object, name: str, length: int) -> list[float]:
    if not isinstance(values, list) or len(values) != length:
        found = "missing" if values is None else repr(values)[:40]
        raise ValueProblemError(f"{name} is {found}; expected {length} numbers")
    return [number_of(each, name) for each in values]


def _pairs(values: object) -> FloatArray:
    flat = items(values)
    if not flat or len(flat) % 2:
        found = "missing" if values is None else repr(values)[:40]
        raise ValueProblemError(f"points are {found}; expected x and y of each point")
    return np.array([number_of(each, "a coordinate") for each in flat], np.float64).reshape(-1, 2)


def _mask(rle: dict[str, Any]) -> Record:
    sides = items(rle.get("size"))
    size = size_of(sides[1], sides[0]) if len(sides) == 2 else None
    if size is None:
        raise MaskProblemError("does not say its height and width")
    width, height = checked_size(size)
    try:
        runs = decode_counts(plain_text(rle.get("counts")).encode())
    except ValueError as error:
        raise MaskProblemError(f"has counts with {error}") from None
    if runs.sum() != width * height:
        found = f"has {runs.sum():,} pixels"
        raise MaskProblemError(f"{found}; its size is {width} × {height}")
    left, top, right, bottom = run_bounds(runs, height)
    if np.isnan(left):
        raise EmptyMaskProblemError("has no pixels")
    bbox = [float(left), float(top), float(right - left), float(bottom - top)]
    counts = plain_text(rle.get("counts"))
    return {"bbox": bbox, "segmentation": {"size": [height, width], "counts": counts}}
