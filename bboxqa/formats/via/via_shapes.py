"""Converting VIA shapes to keys of COCO annotations."""

from typing import Any

import numpy as np

from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import Record
from bboxqa.formats.translation.untrusted import (
    ValueProblemError,
    mapping,
    number_of,
    numbers_of,
    plain_text,
    points_of,
)

_APART = {"point": "key point", "polyline": "polyline", "line": "polyline"}


def shape_of(given: object) -> Record:
    """Return the COCO geometry keys of a region.

    Raises ValueProblemError if the values are not as VIA writes them.
    """
    shape = mapping(given)
    kind = plain_text(shape.get("name"))
    if not kind:
        found = str(given)[:40] if given else "missing"
        raise ValueProblemError(f"shape_attributes are {found}; expected the name of a shape")
    if kind == "rect":
        return {"bbox": numbers_of(shape, ("x", "y", "width", "height"))}
    if kind in {"polygon", "polyline"}:
        points = _points(shape)
        if kind == "polyline":
            return {"shape": _APART[kind], "points": points.ravel().tolist()}
        return shapes.outlined(points)
    if kind in {"circle", "ellipse"}:
        return _ellipse(shape, kind)
    return {"shape": _APART.get(kind, kind)}


def _points(shape: dict[str, Any]) -> "np.ndarray[Any, np.dtype[np.float64]]":
    xs, ys = shape.get("all_points_x"), shape.get("all_points_y")
    if not isinstance(xs, list) or not isinstance(ys, list) or len(xs) != len(ys):
        raise ValueProblemError("all_points_x and all_points_y are not two lists of equal length")
    return points_of([list(pair) for pair in zip(xs, ys, strict=True)])


def _ellipse(shape: dict[str, Any], kind: str) -> Record:
    x, y = numbers_of(shape, ("cx", "cy"))
    radii = numbers_of(shape, ("r",)) * 2 if kind == "circle" else numbers_of(shape, ("rx", "ry"))
    turned = shape.get("theta")
    degrees = float(np.rad2deg(number_of(turned, "theta"))) if turned else 0.0
    points = shapes.ellipse((x, y), (radii[0], radii[1]), degrees)
    return shapes.outlined(points)
