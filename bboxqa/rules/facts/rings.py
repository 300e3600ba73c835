"""Outlines: rings as polygons, their validity and visible parts, and masks read row by row."""

from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from bboxqa.core.arrays import ByteArray, FloatArray, IndexArray, rows
from bboxqa.core.parallel import threads
from bboxqa.formats.columns import Rings
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.geometry.kernels.polygons import FEWEST_INTRICATE, is_intricate, n_crossings
from bboxqa.model.shapes.masks import decode_counts, run_bounds
from bboxqa.rules.facts.layout import in_other_layout, swapped_images

if TYPE_CHECKING:
    from bboxqa.rules.facts.document import Document

# Rings per chunk, which take about ten megabytes as shapely polygons.
_CHUNK = 1 << 14
_MAX_THREADS = 4
# Shapely is inexact for larger coordinates, and no image is that large.
_MAX_COORDINATE = 1e9
# Cutting out more rings takes long.
_MOST_RINGS = 1000
# Smaller areas are rounding errors.
_DUST = 1e-6


class RingState(IntEnum):
    """The validity of a ring as a polygon.

    A ring is invalid if it crosses or touches itself, or has no area. It is unchecked if it has so
    many edges side by side that checking would take minutes.
    """

    SOUND = 0
    INVALID = 1
    UNCHECKED = 2


def ring_rows(document: "Document", row: int) -> IndexArray:
    """Return the indices of the rings of one annotation."""
    start, stop = np.searchsorted(document.annotations.rings.row, [row, row + 1])
    return np.arange(start, stop)


def ring_xy(rings: Rings, ring: int) -> FloatArray:
    """Return the vertices of one ring, (V, 2) float64."""
    xy: FloatArray = rings.xy[rings.offsets[ring] : rings.offsets[ring + 1]]
    return xy


def outline_xy(document: "Document", row: int) -> list[FloatArray]:
    """Return the vertices of the rings of one annotation, each (V, 2) float64."""
    rings = document.annotations.rings
    return [ring_xy(rings, ring) for ring in ring_rows(document, row).tolist()]


def shapes(rings: Rings, which: IndexArray) -> Any:
    """Return rings, each with at least 3 finite points, as shapely polygons."""
    import shapely

    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    owner = np.repeat(np.arange(len(which)), np.diff(offsets))
    return shapely.polygons(shapely.linearrings(rings.xy[places], indices=owner))


def usable(rings: Rings, which: IndexArray) -> IndexArray:
    """Return those of some rings that can be converted to polygons."""
    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    near = (np.abs(rings.xy[places]) < _MAX_COORDINATE).all(axis=1)
    n_near = np.concatenate([[0], np.cumsum(near)])
    size = np.diff(offsets)
    result: IndexArray = which[(size >= 3) & (np.diff(n_near[offsets]) == size)]
    return result


def ring_states(document: "Document") -> ByteArray:
    """Return the `RingState` of each ring, (R,) uint8; sound for rings of fewer than 3 points."""
    rings = document.annotations.rings
    state = np.full(len(rings.row), RingState.SOUND, np.uint8)
    if not len(state):
        return state
    import shapely

    rest = usable(rings, np.arange(len(state)))
    large = rest[np.diff(rings.offsets)[rest] >= FEWEST_INTRICATE].tolist()
    intricate = [ring for ring in large if is_intricate([ring_xy(rings, ring)])]
    for ring in intricate:
        crosses = n_crossings(ring_xy(rings, ring), 0) > 0
        state[ring] = RingState.INVALID if crosses else RingState.UNCHECKED
    rest = np.setdiff1d(rest, intricate, assume_unique=True)

    def check(start: int) -> None:
        chunk = rest[start : start + _CHUNK]
        state[chunk[~shapely.is_valid(shapes(rings, chunk))]] = RingState.INVALID

    # Shapely releases the GIL.
    with ThreadPoolExecutor(min(threads(), _MAX_THREADS)) as pool:
        list(pool.map(check, range(0, len(rest), _CHUNK)))
    return state


def overlapping_rings(document: "Document") -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the annotations whose sound rings share area, with two areas in square pixels.

    These are the area that all rings of each cover, and how much less it is than their sum.
    """
    rings, none = document.annotations.rings, np.zeros(0)
    several = document.has_rings & (np.bincount(rings.row, minlength=len(document.annotations)) > 1)
    several[rings.row[document.once(ring_states) != RingState.SOUND]] = False
    which = usable(rings, np.flatnonzero(several[rings.row]))
    if not len(which):
        return none.astype(np.int64), none, none
    import shapely

    rows, owner = np.unique(rings.row[which], return_inverse=True)
    together = shapely.multipolygons(shapes(rings, which), indices=owner)
    # Rings that meet nowhere are valid together, which is fast to check.
    meet = ~shapely.is_valid(together)
    unions = [shapely.union_all(shapely.get_parts(each)) for each in together[meet].tolist()]
    filled = np.array(shapely.area(unions), np.float64)
    shared = shapely.area(together[meet]) - filled
    kept = shared > _DUST
    return rows[meet][kept], filled[kept], shared[kept]


def even_odd_area(document: "Document", row: int) -> float:
    """Return the area of rings that cut each other out, by the even-odd rule; NaN of many."""
    import shapely

    parts = shapes(document.annotations.rings, ring_rows(document, row))
    if len(parts) > _MOST_RINGS:
        return float("nan")
    while len(parts) > 1:
        pairs = np.append(parts, [shapely.Polygon()] * (len(parts) % 2)).reshape(-1, 2)
        parts = shapely.symmetric_difference(*pairs.T)
    return float(parts[0].area)


def invalid_reason(rings: Rings, ring: int) -> str:
    """Return why a ring is an invalid polygon, and where, in words."""
    import shapely

    if is_intricate([ring_xy(rings, ring)]):
        return "crosses itself"
    reason = str(shapely.is_valid_reason(shapes(rings, np.array([ring]))[0]))
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


def visible_areas(document: "Document", suspects: IndexArray) -> FloatArray:
    """Return the areas of outlines, clipped to the image for the suspects.

    pycocotools also clips outlines to the image before measuring them. Images whose sizes look
    swapped are left out.
    """
    outline = document.outline_area.copy()
    bounds, size = document.outline_bounds[suspects], document.size[suspects]
    swapped = np.append(document.once(swapped_images), False)[document.image[suspects]]
    beyond = (bounds[:, :2] < 0).any(axis=1) | (bounds[:, 2:] > size).any(axis=1)
    for row in suspects[beyond & ~swapped & ~np.isnan(size).any(axis=1)].tolist():
        if parts := outline_xy(document, row):
            outline[row] = sum(clipped_area(xy, document.size[row]) for xy in parts)
    return outline


def visible_bounds(document: "Document", rows: IndexArray) -> FloatArray:
    """Return left, top, right and bottom of outlines inside their images, (K, 4); NaN for none."""
    result = np.full((len(rows), 4), np.nan)
    for place, row in enumerate(rows.tolist()):
        xy = np.concatenate([_clipped(r, document.size[row]) for r in outline_xy(document, row)])
        if len(xy):
            result[place] = *xy.min(axis=0), *xy.max(axis=0)
    return result


def clipped_area(xy: FloatArray, size: FloatArray) -> float:
    """Return the area of a ring, (V, 2), inside an image of a size, (2,), in square pixels.

    The ring is clipped at one edge of the image after another (Sutherland and Hodgman, 1974,
    doi:10.1145/360767.360802). If clipping leaves several parts, they are joined by edges along the
    border, which have no area.

    Examples
    --------
    >>> ring = np.array([[-5.0, 2], [5, 2], [5, 4], [-5, 4]])
    >>> clipped_area(ring, np.array([20.0, 10]))
    10.0
    """
    xy = _clipped(xy, size)
    x, y = (xy - xy[:1]).T
    return float(abs((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) / 2)


def _clipped(xy: FloatArray, size: FloatArray) -> FloatArray:
    for axis, far in ((0, False), (0, True), (1, False), (1, True)):
        depth = size[axis] - xy[:, axis] if far else xy[:, axis]
        after, below = np.roll(xy, -1, axis=0), np.roll(depth, -1)
        crosses = (depth < 0) != (below < 0)
        share = np.divide(depth, depth - below, out=np.zeros(len(depth)), where=crosses)
        points = np.stack([xy, xy + share[:, None] * (after - xy)], axis=1)
        xy = points[np.stack([depth >= 0, crosses], axis=1)]
    return xy


def runs_of(document: "Document", row: int) -> IndexArray:
    """Return the run lengths of a mask that can be read."""
    counts = document.record(row)["segmentation"]["counts"]
    return decode_counts(counts.encode()) if isinstance(counts, str) else np.array(counts, np.int64)


def row_major_masks(document: "Document", tolerance: float) -> IndexArray:
    """Return the annotations whose mask fits its box, up to a tolerance, only if read row by row.

    Most masks span the full width when they are read in the wrong order, so such a box proves
    nothing.
    """
    rles, box = document.annotations.rles, corners(document.annotations.bbox)
    off = (np.abs(box - document.outline_bounds) > tolerance).any(axis=1)
    off &= document.has_box & ~document.once(in_other_layout)
    found = []
    for mask in np.flatnonzero(off[rles.row]).tolist():
        row, (height, width) = int(rles.row[mask]), rles.size[mask].tolist()
        if height != width and box[row, 0] <= tolerance and box[row, 2] >= width - tolerance:
            continue
        top, left, bottom, right = run_bounds(runs_of(document, row), width)
        if (np.abs(box[row] - [left, top, right, bottom]) <= tolerance).all():
            found.append(row)
    return np.array(found, np.int64)
