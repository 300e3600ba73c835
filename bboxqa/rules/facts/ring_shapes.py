"""Rings as shapely polygons."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, rows
from bboxqa.core.memory import release_pages
from bboxqa.core.parallel import threads
from bboxqa.formats.document.annotation_columns import Rings

# Rings per chunk: about ten megabytes as shapely polygons.
_CHUNK = 1 << 14
_MAX_THREADS = 4
# Shapely is inexact beyond it, and no image is that large.
_MAX_COORDINATE = 1e9
# Smaller areas are rounding errors.
_DUST = 1e-6


def shapes(rings: Rings, which: IndexArray) -> Any:
    """Return some rings of at least 3 finite points as shapely polygons."""
    import shapely

    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    owner = np.repeat(np.arange(len(which)), np.diff(offsets))
    return shapely.polygons(shapely.linearrings(rings.xy[places], indices=owner))


def usable(rings: Rings, which: IndexArray) -> IndexArray:
    """Return the places in `which` of rings that can be made polygons."""
    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    near = (np.abs(rings.xy[places]) < _MAX_COORDINATE).all(axis=1)
    n_near = np.concatenate([[0], np.cumsum(near)])
    size = np.diff(offsets)
    return np.flatnonzero((size >= 3) & (np.diff(n_near[offsets]) == size))


def crossing(rings: Rings, which: IndexArray) -> BoolArray:
    """Return (K,) bool: which of the K rings `which` are invalid polygons.

    These cross or touch themselves, or have no area. False for rings of fewer than 3 points.
    """
    import shapely

    result = np.zeros(len(which), np.bool_)
    parts = [slice(start, start + _CHUNK) for start in range(0, len(which), _CHUNK)]

    def invalid(part: slice) -> BoolArray:
        chunk = which[part]
        places = usable(rings, chunk)
        wrong = np.zeros(len(chunk), np.bool_)
        wrong[places] = ~shapely.is_valid(shapes(rings, chunk[places]))
        release_pages(rings.xy)
        return wrong

    if len(parts) < 2:
        for part in parts:
            result[part] = invalid(part)
        return result
    # Shapely releases the GIL.
    with ThreadPoolExecutor(min(threads(), _MAX_THREADS)) as pool:
        for part, wrong in zip(parts, pool.map(invalid, parts), strict=True):
            result[part] = wrong
    return result


def polygons_of(shape: Any) -> list[Any] | None:
    """Return the polygons of a shape; None where one has a hole."""
    import shapely

    parts = [
        part
        for part in shapely.get_parts(shapely.get_parts(shape)).tolist()
        if part.geom_type == "Polygon" and part.area > _DUST
    ]
    return None if any(part.interiors for part in parts) else parts


def flat(shape: Any) -> list[float]:
    """Return the vertices of a polygon as COCO writes them, without a closing vertex."""
    numbers: list[float] = np.asarray(shape.exterior.coords)[:-1, :2].ravel().tolist()
    return [int(v) if v.is_integer() else v for v in numbers]
