"""Converting LabelMe shapes to keys of COCO annotations."""

from dataclasses import replace
from typing import Any

import numpy as np

from bboxqa.core.text import count, one_line
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import Record
from bboxqa.formats.translation.masks import Masks, checked_size, picture_mask
from bboxqa.formats.translation.untrusted import (
    MaskProblemError,
    ValueProblemError,
    line_of,
    plain_text,
    points_of,
)

_APART = {
    "line": "line", "linestrip": "polyline", "point": "key point", "points": "point",
    "polyline": "polyline",
}  # fmt: skip
"""Names of shapes without an area, for messages."""
_QUADRANGLES = ("rotation", "oriented_rectangle", "quadrilateral")


def shape_of(
    value: dict[str, Any],
    size: tuple[int, int] | None,
    masks: Masks,
    *,
    keypoints: bool = False,
) -> Record:
    """Return the COCO geometry keys of a shape.

    Raises ValueProblemError if the shape is not as LabelMe writes it.

    Parameters
    ----------
    value : dict
        The shape.
    size : tuple of int or None
        Width and height of the image, if known.
    masks : Masks
        The masks of the source; they say whether outlines are requested.
    keypoints : bool
        Whether to return the coordinates of points.
    """
    # Old versions have polygons only, without a `shape_type`.
    kind = plain_text(value.get("shape_type")) or "polygon"
    if kind == "mask":
        return _mask(value, size, masks)
    if kind in _APART:
        if kind == "point":
            return {"shape": _APART[kind], **(_key_point(value) if keypoints else {})}
        return {"shape": _APART[kind], **line_of(value.get("points"))}
    points = points_of(value.get("points"))
    if kind == "rectangle" and len(points) == 2:
        return {"bbox": shapes.bounds(points)}
    if len(points) != 2 and (kind == "circle" or (kind == "rectangle" and len(points) < 2)):
        raise ValueProblemError(f"a {kind} has {count(len(points), 'point')}; expected 2")
    if kind == "circle":
        centre, radius = points[0], float(np.hypot(*(points[1] - points[0])))
        points = shapes.ellipse((float(centre[0]), float(centre[1])), (radius, radius))
    elif kind not in ("polygon", "rectangle", *_QUADRANGLES):
        return {"shape": one_line(kind[:40])}
    if len(points) < 3:
        raise ValueProblemError(f"a {kind} has {count(len(points), 'point')}; expected 3 or more")
    record: Record = {"bbox": shapes.bounds(points)}
    if kind in ("rectangle", *_QUADRANGLES) and len(points) == 4:
        record["attributes"] = {"rotation": _rotation(points)}
    if masks.outlines:
        record["segmentation"] = [shapes.ring(points)]
    return record


def _key_point(value: dict[str, Any]) -> Record:
    x, y = points_of(value.get("points"))[0].tolist()
    return {"keypoints": [x, y, 2], "num_keypoints": 1}


def _rotation(points: Any) -> float:
    """Return the angle of the first side of a rectangle in degrees, from 0 up to 90."""
    right, down = points[1] - points[0]
    return round(float(np.degrees(np.arctan2(down, right))) % 90, 3) % 90


def _mask(value: dict[str, Any], size: tuple[int, int] | None, masks: Masks) -> Record:
    """Return the box and run lengths of a mask, which is stored as an image between two corners."""
    points = points_of(value.get("points"), least=2)
    left, top = (int(each) for each in points.min(0))
    mask = replace(picture_mask(value.get("mask"), masks), left=left, top=top)
    if masks.outlines and size is not None:
        width, height = checked_size(size)
        if left < 0 or top < 0 or left + mask.width > width or top + mask.height > height:
            raise MaskProblemError(f"lies outside the image of {width} × {height} pixels")
    return masks.record(mask, size)
