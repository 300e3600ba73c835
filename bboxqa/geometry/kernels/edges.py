"""Preparing the rings of polygons: repair, areas, bounds and edges.

As in COCO, each ring is filled by the even-odd rule, and an annotation is the union of its rings. A
ring inside another ring is therefore not a hole; holes are given as RLE, or by a ring that leads
inside and back.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, rows, run_starts, sum_by
from bboxqa.geometry.kernels.self_crossings import (
    FEWEST_INTRICATE,
    even_odd_parts,
    is_intricate,
    n_crossings,
)
from bboxqa.model.outlines import Segmentations

# Edges are compared in blocks first; this block size was the fastest on real outlines.
BLOCK = 8
# Shapely repairs this many crossings in milliseconds; its time grows quadratically.
_FEW_CROSSINGS = 20
# Rings with more crossings would have too many edges to compare after repair.
_MOST_CROSSINGS = 500


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The edges of N polygons, in order along the rings, padded to whole blocks."""

    low: FloatArray
    high: FloatArray
    slope: FloatArray
    intercept: FloatArray
    sign: FloatArray
    """(E,) float64. The x range of each edge, its line, and whether it bounds its polygon from
    above (1) or from below (-1). Padding has an empty x range.
    """
    block_offsets: IndexArray
    """(N + 1,) int64. Polygon n has the blocks ``block_offsets[n]:block_offsets[n + 1]``."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPolygons:
    """N polygons, prepared for computing intersections."""

    area: FloatArray
    """(N,) float64. Areas in square pixels."""
    bounds: FloatArray
    """(N, 4) float64. Left, top, right and bottom in pixels; zeros if there is no ring."""
    edges: Edges
    """The edges after repair, in which no rings of a polygon cross themselves or each other."""
    repaired: BoolArray
    """(N,) bool. Whether the rings were invalid and have been repaired."""
    tangled: BoolArray
    """(N,) bool. Whether rings are intricate, or cross themselves too often to be repaired; such
    polygons have no area and no edges.
    """


@dataclass(frozen=True, slots=True, eq=False)
class _Rings:
    """The rings of N polygons, sorted by polygon."""

    xy: FloatArray
    """(V, 2) float64."""
    offsets: IndexArray
    """(R + 1,) int64. Ring r has the vertices ``xy[offsets[r]:offsets[r + 1]]``."""
    owner: IndexArray
    """(R,) int64. The polygon of each ring, sorted."""
    hole: BoolArray
    """(R,) bool. Whether each ring is a hole."""


def _given_rings(segmentations: Segmentations) -> _Rings:
    """Return the rings with at least three vertices, without repairing them."""
    counts = segmentations.part_stop - segmentations.part_start
    owner = np.repeat(np.arange(len(segmentations)), counts)
    ring, _ = rows(segmentations.part_start, segmentations.part_stop)
    first, last = segmentations.ring_offsets[:-1][ring], segmentations.ring_offsets[1:][ring]
    usable = np.flatnonzero(last - first >= 3)
    vertices, offsets = rows(first[usable], last[usable])
    hole = np.zeros(len(usable), np.bool_)
    return _Rings(segmentations.xy[vertices], offsets, owner[usable], hole)


def _valid_rings(rings: _Rings, n: int) -> tuple[_Rings, BoolArray, BoolArray]:
    """Return valid rings, and which of the n polygons were repaired, and which are tangled."""
    import shapely

    tangled = _intricate(rings, n)
    rings, repaired = _without(rings, tangled), np.zeros(n, np.bool_)
    if len(rings.owner) == 0:
        return rings, repaired, tangled
    index = np.repeat(np.arange(len(rings.owner)), np.diff(rings.offsets))
    shapes = shapely.polygons(shapely.linearrings(rings.xy, indices=index))
    valid = shapely.is_valid(shapes)
    repaired[rings.owner[~valid]] = True
    starts = run_starts(rings.owner)
    stops = np.append(starts[1:], len(rings.owner))
    sound = np.logical_and.reduceat(valid, starts)
    # The rings of a polygon must also be valid together, that is, not overlap.
    several = np.flatnonzero(sound & (stops - starts > 1))
    parts = [shapely.multipolygons(shapes[starts[i] : stops[i]]) for i in several.tolist()]
    sound[several] = shapely.is_valid(parts)
    owners, unions = [], []
    for place in np.flatnonzero(~sound).tolist():
        own, owner = slice(starts[place], stops[place]), rings.owner[starts[place]]
        given = _xy_of(rings, own)
        crossings = [
            0 if is_valid else n_crossings(xy, _MOST_CROSSINGS)
            for xy, is_valid in zip(given, valid[own], strict=True)
        ]
        if sum(crossings) > _MOST_CROSSINGS:
            tangled[owner] = True
        else:
            owners.append(owner)
            unions.append(_union(given, crossings, shapes[own]))
    keep = np.repeat(sound, stops - starts)
    repaired &= ~tangled
    return _with_shapes(rings, keep, np.array(owners, np.int64), unions), repaired, tangled


def _intricate(rings: _Rings, n: int) -> BoolArray:
    """Return which of the n polygons have too many overlapping edges for GEOS to check."""
    result = np.zeros(n, np.bool_)
    n_vertices = sum_by(rings.owner, np.diff(rings.offsets), n)
    for polygon in np.flatnonzero(n_vertices >= FEWEST_INTRICATE).tolist():
        own = slice(*np.searchsorted(rings.owner, [polygon, polygon + 1]).tolist())
        result[polygon] = is_intricate(_xy_of(rings, own))
    return result


def _without(rings: _Rings, left_out: BoolArray) -> _Rings:
    """Return the rings without the polygons to leave out."""
    if not left_out.any():
        return rings
    keep = np.flatnonzero(~left_out[rings.owner])
    vertices, offsets = rows(rings.offsets[keep], rings.offsets[keep + 1])
    return _Rings(rings.xy[vertices], offsets, rings.owner[keep], rings.hole[keep])


def _xy_of(rings: _Rings, which: slice) -> list[FloatArray]:
    """Return the vertices of some consecutive rings."""
    ends = rings.offsets[which.start : which.stop + 1]
    return np.split(rings.xy[ends[0] : ends[-1]], ends[1:-1] - ends[0])


def _union(given: list[FloatArray], crossings: list[int], shapes: Any) -> Any:
    """Return the area that the rings of one polygon fill, as a shapely geometry."""
    import shapely

    parts = [
        shapely.make_valid(shape)
        if number <= _FEW_CROSSINGS
        else shapely.multipolygons(even_odd_parts(xy))
        for xy, number, shape in zip(given, crossings, shapes, strict=True)
    ]
    return shapely.union_all(parts) if len(parts) > 1 else parts[0]


def _with_shapes(rings: _Rings, keep: BoolArray, owner: IndexArray, shapes: list[Any]) -> _Rings:
    """Return the rings to keep, and the rings of shapely geometries, sorted by owner."""
    import shapely

    if keep.all():
        return rings
    pieces, shape_of = shapely.get_parts(np.array(shapes, object), return_index=True)
    # Repairing a flat part leaves a line, which is not a polygon.
    solid = shapely.get_dimensions(pieces) == 2
    pieces, piece_of = shapely.get_parts(pieces[solid], return_index=True)
    owner = owner[shape_of[solid][piece_of]]
    loops, piece_of = shapely.get_rings(pieces, return_index=True)
    xy, loop_of = shapely.get_coordinates(loops, return_index=True)
    counts = np.concatenate([np.diff(rings.offsets), np.bincount(loop_of, minlength=len(loops))])
    stops = np.cumsum(counts)
    all_owners = np.concatenate([rings.owner, owner[piece_of]])
    # The first ring of a polygon with holes is the outer one.
    hole = np.concatenate([rings.hole, np.diff(piece_of, prepend=-1) == 0])
    used = np.flatnonzero(np.concatenate([keep, np.ones(len(loops), np.bool_)]))
    order = used[np.argsort(all_owners[used], kind="stable")]
    vertices, offsets = rows(stops[order] - counts[order], stops[order])
    xy = np.concatenate([rings.xy, xy])
    return _Rings(xy[vertices], offsets, all_owners[order], hole[order])


def _edges(rings: _Rings, n: int) -> tuple[Edges, FloatArray]:
    """Return the edges and the areas of n polygons."""
    n_rings = len(rings.owner)
    ring_of = np.repeat(np.arange(n_rings), np.diff(rings.offsets))
    x, y = rings.xy.T
    following = np.arange(1, len(x) + 1)
    following[rings.offsets[1:] - 1] = rings.offsets[:-1]
    run = x - x[following]
    ring_area = sum_by(ring_of, run * (y + y[following]) / 2, n_rings)
    # Rings have either direction; outer rings are oriented one way, and holes the other.
    turned = np.where((ring_area < 0) != rings.hole, -1.0, 1.0)
    area = sum_by(rings.owner, ring_area * turned, n)
    used = np.flatnonzero(run != 0)
    start, stop = x[used], x[following[used]]
    slope = (y[following[used]] - y[used]) / (stop - start)
    columns = (
        np.minimum(start, stop),
        np.maximum(start, stop),
        slope,
        y[used] - slope * start,
        np.sign(run[used]) * turned[ring_of[used]],
    )
    return _pad(columns, rings.owner[ring_of[used]], n), area


def _pad(columns: tuple[FloatArray, ...], polygon: IndexArray, n: int) -> Edges:
    """Return edges, which are sorted by polygon, padded to whole blocks."""
    counts = np.bincount(polygon, minlength=n)
    blocks = -(-counts // BLOCK)
    offsets = np.concatenate([[0], np.cumsum(blocks)])
    shift = offsets[:-1] * BLOCK - (np.cumsum(counts) - counts)
    place = np.arange(len(polygon)) + np.repeat(shift, counts)

    def padded(column: FloatArray, filler: float) -> FloatArray:
        result = np.full(offsets[-1] * BLOCK, filler)
        result[place] = column
        return result

    low, high, slope, intercept, sign = columns
    return Edges(
        low=padded(low, np.inf),
        high=padded(high, -np.inf),
        slope=padded(slope, 0.0),
        intercept=padded(intercept, 0.0),
        sign=padded(sign, 0.0),
        block_offsets=offsets,
    )


def polygon_outlines(segmentations: Segmentations) -> PreparedPolygons:
    """Return areas, bounds and edges of N outlines; outlines other than polygons have no area.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.model.outlines import Segmentations
    >>> empty = np.zeros(0, np.uint8)
    >>> square = Segmentations(
    ...     kind=np.array([1], np.uint8), xy=np.array([[0.0, 0], [4, 0], [4, 4], [0, 4]]),
    ...     ring_offsets=np.array([0, 4]), part_start=np.array([0]), part_stop=np.array([1]),
    ...     counts=empty, counts_start=np.array([0]), counts_stop=np.array([0]),
    ...     size=np.zeros((1, 2), np.int32))
    >>> polygon_outlines(square).area
    array([16.])
    """
    n = len(segmentations)
    given = _given_rings(segmentations)
    rings, repaired, tangled = _valid_rings(given, n)
    edges, area = _edges(rings, n)
    bounds = np.where(tangled[:, None], _bounds(given, n), _bounds(rings, n))
    return PreparedPolygons(area, bounds, edges, repaired, tangled)


def polygon_bounds(segmentations: Segmentations) -> FloatArray:
    """Return the bounds of polygons without repairing them, (N, 4) float64.

    Bounds are left, top, right and bottom in pixels; zeros without a ring of three points.
    """
    return _bounds(_given_rings(segmentations), len(segmentations))


def _bounds(rings: _Rings, n: int) -> FloatArray:
    bounds = np.zeros((n, 4))
    first = run_starts(rings.owner)
    if len(first):
        polygon, vertex = rings.owner[first], rings.offsets[first]
        bounds[polygon, :2] = np.minimum.reduceat(rings.xy, vertex)
        bounds[polygon, 2:] = np.maximum.reduceat(rings.xy, vertex)
    return bounds
