"""Converting Supervisely shapes to keys of COCO annotations."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import Record
from bboxqa.formats.translation.masks import Masks, checked_size, picture_mask
from bboxqa.formats.translation.untrusted import (
    MaskProblemError,
    ValueProblemError,
    items,
    line_of,
    mapping,
    number_of,
    plain_text,
    points_of,
)

# Names of shapes that are kept but not compared.
_APART = {"point": "key point", "line": "polyline", "polyline": "polyline", "graph": "skeleton"}
_MASKS = ("bitmap", "alpha_mask")


def kind_of(figure: dict[str, Any], classes: dict[str, str]) -> str:
    """Return the kind of a shape, from the shape or else from its class.

    Old exports have it in classes only.
    """
    own = plain_text(figure.get("geometryType")) or plain_text(figure.get("shape"))
    if own:
        return own
    if isinstance(figure.get("bitmap"), dict):
        return "bitmap"
    of_class = classes.get(plain_text(figure.get("classTitle")), "")
    return of_class if of_class != "any" else ""


def shape_of(
    figure: dict[str, Any],
    kind: str,
    size: tuple[int, int] | None,
    joints: Mapping[str, str],
    masks: Masks,
) -> tuple[Record, int]:
    """Return the COCO geometry keys of a shape, and its number of holes.

    `joints` are the names of the nodes of graphs. Raises ValueProblemError if the values are not as
    Supervisely writes them.
    """
    points = mapping(figure.get("points"))
    if kind == "rectangle":
        corners = points_of(points.get("exterior"), "points.exterior", least=2)
        return {"bbox": shapes.bounds(corners)}, 0
    if kind == "oriented_bbox":
        return _oriented(figure, points_of(points.get("exterior"), "points.exterior", least=2)), 0
    if kind == "polygon":
        return _polygons([points])
    if kind == "multipolygon":
        return _polygons(items(figure.get("parts")))
    if kind in _MASKS:
        return _mask(mapping(figure.get(kind) or figure.get("bitmap")), size, masks), 0
    if not kind:
        raise ValueProblemError("has no geometryType, and its class in meta.json has none either")
    name = _APART.get(kind, kind.replace("_", " "))
    line = line_of(points.get("exterior")) if name == "polyline" else {}
    return {"shape": name, **line, **_key_points(figure, kind, joints)}, 0


def _key_points(figure: dict[str, Any], kind: str, joints: Mapping[str, str]) -> Record:
    """Return the key points of a point or a graph, with their names; empty for other shapes."""
    if kind == "point":
        exterior = mapping(figure.get("points")).get("exterior")
        return {"keypoints": [*points_of(exterior, "points.exterior", least=1)[0].tolist(), 2]}
    keypoints: list[float] = []
    names = []
    for key, node in mapping(figure.get("nodes")).items() if kind == "graph" else ():
        x, y = points_of([mapping(node).get("loc")], "nodes.loc", least=1)[0].tolist()
        keypoints += [x, y, 1 if mapping(node).get("disabled") is True else 2]
        names.append(joints.get(key, key))
    return {"keypoints": keypoints, "joints": names} if names else {}


def _oriented(figure: dict[str, Any], corners: FloatArray) -> Record:
    """Return a box that is rotated clockwise about its centre by an angle in radians."""
    x, y, width, height = shapes.bounds(corners)
    turned = figure.get("angle")
    degrees = float(np.rad2deg(number_of(turned, "angle"))) % 360 if turned else 0.0
    if not degrees:
        return {"bbox": [x, y, width, height]}
    centre = (x + width / 2, y + height / 2)
    points = shapes.rotated(shapes.corners(x, y, width, height), centre, degrees)
    return {**shapes.outlined(points), "attributes": {"rotation": degrees}}


def _polygons(parts: list[Any]) -> tuple[Record, int]:
    if not parts:
        raise ValueProblemError("has no parts")
    rings = [points_of(mapping(part).get("exterior"), "points.exterior") for part in parts]
    n_holes = sum(len(items(mapping(part).get("interior"))) for part in parts)
    record: Record = {"bbox": shapes.bounds(np.concatenate(rings))}
    return {**record, "segmentation": [shapes.ring(each) for each in rings]}, n_holes


def _mask(bitmap: dict[str, Any], size: tuple[int, int] | None, masks: Masks) -> Record:
    if size is None:
        raise MaskProblemError("is in an image whose size the file does not say")
    width, height = checked_size(size)
    (origin,) = points_of([bitmap.get("origin")], "origin").astype(np.int64).tolist()
    crop = picture_mask(bitmap.get("data"), masks, within=size, packed=True)
    left, top = origin
    if left < 0 or top < 0 or left + crop.width > width or top + crop.height > height:
        found = f"{crop.width} × {crop.height} pixels at ({left}, {top})"
        raise MaskProblemError(f"has {found}, beyond the image of {width} × {height}")
    return masks.record(replace(crop, left=left, top=top), size)
