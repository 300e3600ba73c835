"""Converting rings to shapely polygons, and checking their validity."""

from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, rows
from bboxqa.core.parallel import threads
from bboxqa.formats.document.annotation_columns import Rings
from bboxqa.geometry.kernels.polygons import FEWEST_INTRICATE, is_intricate, n_crossings
from bboxqa.rules.facts.document import Document

# Rings per chunk, which take about ten megabytes as shapely polygons.
_CHUNK = 1 << 14
_MAX_THREADS = 4
# Shapely is inexact for larger coordinates, and no image is that large.
_MAX_COORDINATE = 1e9
# Smaller areas are rounding errors.
_DUST = 1e-6


def ring_rows(document: Document, row: int) -> IndexArray:
    """Return the indices of the rings of one annotation."""
    owner = document.annotations.rings.row
    start, stop = np.searchsorted(owner, [row, row + 1])
    return np.arange(start, stop)


def shapes(rings: Rings, which: IndexArray) -> Any:
    """Return rings, each with at least 3 finite points, as shapely polygons."""
    import shapely

    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    owner = np.repeat(np.arange(len(which)), np.diff(offsets))
    return shapely.polygons(shapely.linearrings(rings.xy[places], indices=owner))


def usable(rings: Rings, which: IndexArray) -> IndexArray:
    """Return the indices into `which` of rings that can be converted to polygons."""
    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    near = (np.abs(rings.xy[places]) < _MAX_COORDINATE).all(axis=1)
    n_near = np.concatenate([[0], np.cumsum(near)])
    size = np.diff(offsets)
    return np.flatnonzero((size >= 3) & (np.diff(n_near[offsets]) == size))


class RingState(IntEnum):
    """The validity of a ring as a polygon.

    A ring is invalid if it crosses or touches itself, or has no area. It is unchecked if it has so
    many edges side by side that checking would take minutes.
    """

    SOUND = 0
    INVALID = 1
    UNCHECKED = 2


def ring_states(document: Document) -> ByteArray:
    """Return the `RingState` of each ring, (R,) uint8; sound for rings of fewer than 3 points."""
    rings = document.annotations.rings
    state = np.full(len(rings.row), RingState.SOUND, np.uint8)
    intricate = np.zeros(len(state), np.bool_)
    large = np.flatnonzero(np.diff(rings.offsets) >= FEWEST_INTRICATE)
    for ring in large[usable(rings, large)].tolist():
        xy = ring_xy(rings, ring)
        intricate[ring] = is_intricate([xy])
        if intricate[ring]:
            crosses = n_crossings(xy, 0) > 0
            state[ring] = RingState.INVALID if crosses else RingState.UNCHECKED
    rest = np.flatnonzero(~intricate)
    state[rest[invalid(rings, rest)]] = RingState.INVALID
    return state


def ring_xy(rings: Rings, ring: int) -> FloatArray:
    """Return the vertices of one ring, (V, 2) float64."""
    xy: FloatArray = rings.xy[rings.offsets[ring] : rings.offsets[ring + 1]]
    return xy


def invalid(rings: Rings, which: IndexArray) -> BoolArray:
    """Return which of the K rings `which` are invalid polygons, (K,) bool.

    False for rings of fewer than 3 points.
    """
    import shapely

    result = np.zeros(len(which), np.bool_)
    parts = [slice(start, start + _CHUNK) for start in range(0, len(which), _CHUNK)]

    def of_part(part: slice) -> BoolArray:
        chunk = which[part]
        places = usable(rings, chunk)
        wrong = np.zeros(len(chunk), np.bool_)
        wrong[places] = ~shapely.is_valid(shapes(rings, chunk[places]))
        return wrong

    if len(parts) < 2:
        for part in parts:
            result[part] = of_part(part)
        return result
    # Shapely releases the GIL.
    with ThreadPoolExecutor(min(threads(), _MAX_THREADS)) as pool:
        for part, wrong in zip(parts, pool.map(of_part, parts), strict=True):
            result[part] = wrong
    return result


def invalid_reason(rings: Rings, ring: int) -> str:
    """Return GEOS's reason why a ring is an invalid polygon, with the location."""
    import shapely

    if is_intricate([ring_xy(rings, ring)]):
        return "Self-intersection"
    return str(shapely.is_valid_reason(shapes(rings, np.array([ring]))[0]))


def reason_in_words(reason: str) -> str:
    """Translate GEOS's reason for an invalid polygon to plain words.

    Examples
    --------
    >>> reason_in_words("Self-intersection[20 25]")
    'crosses itself at (20, 25)'
    """
    what, _, where = reason.rstrip("]").partition("[")
    near = ", ".join(f"{float(number):.6g}" for number in where.split()[:2])
    words = {
        "Self-intersection": "crosses itself",
        "Ring Self-intersection": "touches itself",
        "Too few points in geometry component": "has fewer than 3 different points",
    }
    return words.get(what, f"is not valid ({what.lower()})") + (f" at ({near})" if near else "")


def polygons_of(shape: Any) -> list[Any] | None:
    """Return the polygons of a shape; None if one has a hole."""
    import shapely

    parts = [
        part
        for part in shapely.get_parts(shapely.get_parts(shape)).tolist()
        if part.geom_type == "Polygon" and part.area > _DUST
    ]
    return None if any(part.interiors for part in parts) else parts


def flat(shape: Any) -> list[float]:
    """Return the vertices of a polygon as in COCO, without a closing vertex."""
    numbers: list[float] = np.asarray(shape.exterior.coords)[:-1, :2].ravel().tolist()
    return [int(v) if v.is_integer() else v for v in numbers]
