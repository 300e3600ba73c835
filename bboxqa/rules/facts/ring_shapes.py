"""Rings as shapes of shapely."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, rows
from bboxqa.core.memory import release_pages
from bboxqa.core.parallel import threads
from bboxqa.formats.document.annotation_columns import Rings

__all__ = ["crossing", "flat", "polygons_of", "shapes", "usable"]

# So many rings are some ten megabytes as shapes.
_CHUNK = 1 << 14
_MAX_THREADS = 4
# Shapely's arithmetic is not exact beyond it, and no image is that large.
_MAX_COORDINATE = 1e9
# A shape that is smaller than this is dust of the arithmetic.
_DUST = 1e-6


def shapes(rings: Rings, which: IndexArray) -> Any:
    """Return some rings of at least 3 finite points as shapely polygons."""
    import shapely

    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    owner = np.repeat(np.arange(len(which)), np.diff(offsets))
    return shapely.polygons(shapely.linearrings(rings.xy[places], indices=owner))


def usable(rings: Rings, which: IndexArray) -> IndexArray:
    """Return the places in `which` of rings that are shapes at all."""
    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    near = (np.abs(rings.xy[places]) < _MAX_COORDINATE).all(axis=1)
    n_near = np.concatenate([[0], np.cumsum(near)])
    size = np.diff(offsets)
    return np.flatnonzero((size >= 3) & (np.diff(n_near[offsets]) == size))


def crossing(rings: Rings, which: IndexArray) -> BoolArray:
    """Return which rings are no valid polygons: they cross or touch themselves, or have no area.

    Parameters
    ----------
    rings : Rings
    which : (K,) int64
        The rings to look at; K may be 0.

    Returns
    -------
    (K,) bool
        False for rings of fewer than 3 points, which are no polygons at all.
    """
    import shapely

    result = np.zeros(len(which), np.bool_)
    parts = [slice(start, start + _CHUNK) for start in range(0, len(which), _CHUNK)]

    def invalid(part: slice) -> BoolArray:
        own = which[part]
        places = usable(rings, own)
        wrong = np.zeros(len(own), np.bool_)
        wrong[places] = ~shapely.is_valid(shapes(rings, own[places]))
        release_pages(rings.xy)
        return wrong

    if len(parts) < 2:
        for part in parts:
            result[part] = invalid(part)
        return result
    # Shapely lets other threads run while it looks at shapes.
    with ThreadPoolExecutor(min(threads(), _MAX_THREADS)) as pool:
        for part, wrong in zip(parts, pool.map(invalid, parts), strict=True):
            result[part] = wrong
    return result


def polygons_of(shape: Any) -> list[Any] | None:
    """Return the polygons that a shape consists of; None where one has a hole."""
    import shapely

    parts = [
        part
        for part in shapely.get_parts(shapely.get_parts(shape)).tolist()
        if part.geom_type == "Polygon" and part.area > _DUST
    ]
    return None if any(part.interiors for part in parts) else parts


def flat(shape: Any) -> list[float]:
    """Return the vertices of a polygon as COCO writes them, the first one not again at the end."""
    numbers: list[float] = np.asarray(shape.exterior.coords)[:-1, :2].ravel().tolist()
    return [int(v) if v.is_integer() else v for v in numbers]
