"""Areas that polygons share, with holes and parts, and rings that cross themselves."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    IndexArray,
    IntArray,
    blocks,
    chunks,
    pairs_within,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.geometry.boxes import bbox_iou, iou_of
from bboxqa.model.masks import Segmentations

# Pairs of edges that are compared, and the fewest edges that are compared with all others.
_COMPARED = 1 << 22
_FEWEST = 128
# Numbers per temporary array; few, so that counting stops early.
_CROSSING_CHUNK = 1 << 16
# GEOS compares this many pairs of edges in a twentieth of a second; real outlines have fewer.
_MOST_PAIRS = 1 << 20
_SAMPLE = 64

FEWEST_INTRICATE = int((2 * _MOST_PAIRS) ** 0.5)
"""Rings with fewer vertices are never intricate."""


def is_intricate(rings: Sequence[FloatArray]) -> bool:
    """Return whether an estimated million pairs of edges or more have overlapping bounds.

    The time of GEOS grows with this number, even if edges do not cross: a comb with slanted teeth
    takes minutes. `rings` are the rings of one annotation, each (V, 2) float64.
    """
    n = sum(map(len, rings))
    if n < FEWEST_INTRICATE:
        return False
    start = np.concatenate(rings)
    stop = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    low, high = np.minimum(start, stop), np.maximum(start, stop)
    edge = np.linspace(0, n, _SAMPLE, endpoint=False).astype(np.int64)[:, None]
    n_pairs = ((low <= high[edge]) & (low[edge] <= high)).all(axis=2).sum() * n / _SAMPLE / 2
    return bool(n_pairs > _MOST_PAIRS)


def n_crossings(xy: FloatArray, most: float = np.inf) -> int:
    """Return the number of pairs of edges of a ring that cross or touch, other than neighbours.

    It is an estimate for rings of more than 2,048 vertices. Counting stops when there are more than
    `most`; the number is then too low, but above `most`.
    """
    start = xy[(xy != np.roll(xy, 1, axis=0)).any(axis=1)]
    n, stop = len(start), np.roll(start, -1, axis=0)
    low, high = np.minimum(start, stop).T, np.maximum(start, stop).T
    n_compared = min(n, max(_COMPARED // max(n, 1), _FEWEST))
    compared = np.linspace(0, n, n_compared, endpoint=False).astype(np.int64)
    found, number, step = 0, 0, max(_CROSSING_CHUNK // max(n, 1), 1)
    for first in range(0, len(compared), step):
        edge = compared[first : first + step]
        a, b = edge[:, None], np.arange(n)
        near = (a - b + 1) % n > 2
        for of_low, of_high in zip(low, high, strict=True):
            near &= of_low <= of_high[a]
            near &= of_low[a] <= of_high
        row, b = np.divmod(np.flatnonzero(near), n)
        a = edge[row]
        meets = _side(start[a], stop[a], start[b]) * _side(start[a], stop[a], stop[b]) <= 0
        meets &= _side(start[b], stop[b], start[a]) * _side(start[b], stop[b], stop[a]) <= 0
        found += int(meets.sum())
        number = round(found * n / len(compared) / 2)
        if number > most:
            break
    return number


def _side(a: FloatArray, b: FloatArray, point: FloatArray) -> FloatArray:
    """Return the side of the lines from `a` to `b` on which points lie: -1, 0 or 1."""
    along, across = b - a, point - a
    return np.sign(along[..., 0] * across[..., 1] - along[..., 1] * across[..., 0])


def even_odd_parts(xy: FloatArray) -> Any:
    """Return the parts of a ring that the even-odd rule fills, as (K,) shapely polygons.

    They share no edges. `shapely.make_valid` gives the same parts unless edges coincide, but its
    time grows quadratically with the number of crossings, and here linearly.
    """
    import shapely

    lines = shapely.union_all([shapely.linearrings(xy)])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(lines)))
    inside = shapely.get_coordinates(shapely.point_on_surface(faces))
    start, stop = xy, np.roll(xy, -1, axis=0)
    filled, step = np.zeros(len(faces), np.bool_), max(_CROSSING_CHUNK // len(xy), 1)
    for first in range(0, len(faces), step):
        x, y = inside[first : first + step].T[:, :, None]
        spans = (start[:, 1] > y) != (stop[:, 1] > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (y - start[:, 1]) / (stop[:, 1] - start[:, 1])
            right = start[:, 0] + share * (stop[:, 0] - start[:, 0]) > x
        filled[first : first + step] = (spans & right).sum(axis=1) % 2 == 1
    return faces[filled]


# Edges are compared in blocks first; this block size was the fastest on real outlines.
BLOCK = 8
# Shapely repairs this many crossings in milliseconds; its time grows quadratically.
_FEW_CROSSINGS = 20
# With more rings, a polygon is checked whether or not their bounds overlap.
_MANY_RINGS = 30
# Rings with more crossings would have too many edges to compare after repair.
_MOST_CROSSINGS = 500


class PreparedPolygons(msgspec.Struct, frozen=True, eq=False):
    """N polygons, prepared for computing intersections.

    Their edges are in order along the rings, padded to whole blocks: after repair, no rings of a
    polygon cross themselves or each other.
    """

    area: FloatArray
    """(N,) float64. Areas in square pixels."""
    bounds: FloatArray
    """(N, 4) float64. Left, top, right and bottom in pixels; zeros if there is no ring."""
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
    repaired: BoolArray
    """(N,) bool. Whether the rings were invalid and have been repaired."""
    tangled: BoolArray
    """(N,) bool. Whether rings are intricate, or cross themselves too often to be repaired; such
    polygons have no area and no edges.
    """


class _Rings(msgspec.Struct, frozen=True, eq=False):
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
    return _Rings(segmentations.xy.take(vertices, axis=0), offsets, owner[usable], hole)


def _valid_rings(rings: _Rings, n: int) -> tuple[_Rings, BoolArray, BoolArray]:
    """Return valid rings, and which of the n polygons were repaired, and which are tangled."""
    import shapely

    tangled, repaired = np.zeros((2, n), np.bool_)
    # Polygons with too many overlapping edges for GEOS to check.
    n_vertices = sum_by(rings.owner, np.diff(rings.offsets), n)
    for polygon in np.flatnonzero(n_vertices >= FEWEST_INTRICATE).tolist():
        own = slice(*np.searchsorted(rings.owner, [polygon, polygon + 1]).tolist())
        tangled[polygon] = is_intricate(_xy_of(rings, own))
    if tangled.any():
        kept = np.flatnonzero(~tangled[rings.owner])
        vertices, offsets = rows(rings.offsets[kept], rings.offsets[kept + 1])
        xy = rings.xy.take(vertices, axis=0)
        rings = _Rings(xy, offsets, rings.owner[kept], rings.hole[kept])
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
    several = several[_may_meet(shapes, starts[several], stops[several])]
    parts = [shapely.multipolygons(shapes[starts[i] : stops[i]]) for i in several.tolist()]
    sound[several] = shapely.is_valid(parts)
    owners, unions = [], []
    for place in np.flatnonzero(~sound).tolist():
        own, owner = slice(starts[place], stops[place]), rings.owner[starts[place]]
        given = _xy_of(rings, own)
        wrong = np.flatnonzero(~valid[own]).tolist()
        crossings = {ring: n_crossings(given[ring], _MOST_CROSSINGS) for ring in wrong}
        if sum(crossings.values()) > _MOST_CROSSINGS:
            tangled[owner] = True
        else:
            owners.append(owner)
            parts = [*shapes[own]]
            for ring, number in crossings.items():
                if number <= _FEW_CROSSINGS:
                    parts[ring] = shapely.make_valid(parts[ring])
                else:
                    parts[ring] = shapely.multipolygons(even_odd_parts(given[ring]))
            unions.append(shapely.union_all(parts) if len(parts) > 1 else parts[0])
    keep = np.repeat(sound, stops - starts)
    repaired &= ~tangled
    return _with_shapes(rings, keep, np.array(owners, np.int64), unions), repaired, tangled


def _may_meet(shapes: Any, start: IndexArray, stop: IndexArray) -> BoolArray:
    """Return whether the bounds of two of the rings start:stop of each polygon overlap, (P,)."""
    import shapely

    # Of many rings, the check itself is faster than looking at all pairs.
    found: BoolArray = stop - start > _MANY_RINGS
    few = np.flatnonzero(~found)
    ring, _ = rows(start[few], stop[few])
    polygon = np.repeat(few, (stop - start)[few])
    bounds = shapely.bounds(shapes[ring])
    left, right = pairs_within(polygon)
    a, b = bounds.take(left, axis=0), bounds.take(right, axis=0)
    found[polygon[left[((a[:, :2] <= b[:, 2:]) & (b[:, :2] <= a[:, 2:])).all(axis=1)]]] = True
    return found


def _xy_of(rings: _Rings, which: slice) -> list[FloatArray]:
    """Return the vertices of some consecutive rings."""
    ends = rings.offsets[which.start : which.stop + 1]
    return np.split(rings.xy[ends[0] : ends[-1]], ends[1:-1] - ends[0])


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
    return _Rings(xy.take(vertices, axis=0), offsets, all_owners[order], hole[order])


def polygon_outlines(segmentations: Segmentations) -> PreparedPolygons:
    """Return areas, bounds and edges of N outlines; outlines other than polygons have no area."""
    n, given = len(segmentations), _given_rings(segmentations)
    rings, repaired, tangled = _valid_rings(given, n)
    bounds = _bounds(rings, n)
    if tangled.any():
        bounds[tangled] = _bounds(given, n)[tangled]
    n_rings = len(rings.owner)
    ring_of = np.repeat(np.arange(n_rings), np.diff(rings.offsets))
    x, y = np.ascontiguousarray(rings.xy.T)
    next_x, next_y = np.roll(x, -1), np.roll(y, -1)
    last, first = rings.offsets[1:] - 1, rings.offsets[:-1]
    next_x[last], next_y[last] = x[first], y[first]
    run = x - next_x
    ring_area = sum_by(ring_of, run * (y + next_y) / 2, n_rings)
    # Rings have either direction; outer rings are oriented one way, and holes the other.
    turned = np.where((ring_area < 0) != rings.hole, -1.0, 1.0)
    area = sum_by(rings.owner, ring_area * turned, n)
    used = np.flatnonzero(run != 0)
    start, stop = x[used], next_x[used]
    slope = (next_y[used] - y[used]) / (stop - start)
    sign = np.sign(run[used]) * turned[ring_of[used]]
    counts = np.bincount(rings.owner[ring_of[used]], minlength=n)
    offsets = np.concatenate([[0], np.cumsum(-(-counts // BLOCK))])
    shift = offsets[:-1] * BLOCK - (np.cumsum(counts) - counts)
    place = np.arange(len(used)) + np.repeat(shift, counts)
    columns = np.repeat([[np.inf], [-np.inf], [0.0], [0.0], [0.0]], offsets[-1] * BLOCK, axis=1)
    lines = np.minimum(start, stop), np.maximum(start, stop), slope, y[used] - slope * start, sign
    for column, values in zip(columns, lines, strict=True):
        column[place] = values
    low, high, slope, intercept, sign = columns
    return PreparedPolygons(
        area, bounds, low, high, slope, intercept, sign, offsets, repaired, tangled
    )


def polygon_bounds(segmentations: Segmentations) -> FloatArray:
    """Return the bounds of polygons without repairing them, (N, 4) float64."""
    return _bounds(_given_rings(segmentations), len(segmentations))


def _bounds(rings: _Rings, n: int) -> FloatArray:
    bounds = np.zeros((n, 4))
    first = run_starts(rings.owner)
    polygon, vertex = rings.owner[first], rings.offsets[first]
    bounds[polygon, :2] = np.minimum.reduceat(rings.xy, vertex)
    bounds[polygon, 2:] = np.maximum.reduceat(rings.xy, vertex)
    return bounds


# Pixels on the longer side of the polygons of an image, and the minimum if there are many rings.
_SIDE, _LEAST_SIDE = 512, 64
# Number of rings drawn at full resolution; with more rings, pixels are larger.
_RINGS = 256
# Numbers per temporary array.
_PIXEL_CHUNK = 1 << 20
# Bytes that are counted at once.
_WORD = 8
_BITS = np.array([byte.bit_count() for byte in range(256)], np.uint8)


def tangled_iou(
    segmentations: Segmentations, outlines: PreparedPolygons, image: IntArray, drawn: BoolArray
) -> Callable[[IndexArray, IndexArray], FloatArray]:
    """Return a comparison of pairs of polygons in one image, at least one of which is `drawn`.

    The grid of an image has 512 pixels on the longer side of the bounds of its drawn polygons, and
    fewer if they have many rings. Intersections are counted in these pixels; areas are exact,
    except for tangled polygons.
    """
    n_rings = segmentations.part_stop - segmentations.part_start

    def of_image(left: IndexArray, right: IndexArray) -> FloatArray:
        number = image[left[0]]
        own = np.arange(*np.searchsorted(image, [number, number + 1]))
        own = own[drawn[own]]
        bounds, total = outlines.bounds[own], int(n_rings[own].sum())
        side = max(_SIDE * min(_RINGS / max(total, 1), 1.0) ** 0.5, _LEAST_SIDE)
        low, extent = bounds[:, :2].min(0), bounds[:, 2:].max(0) - bounds[:, :2].min(0)
        pixel = max(float(extent.max()) / side, np.finfo(float).tiny)
        size = np.ceil(extent / pixel).astype(np.int64)
        slot = np.zeros(len(image), np.int64)
        slot[left] = slot[right] = 1
        nodes = np.flatnonzero(slot)
        slot[nodes] = np.arange(len(nodes))
        rasters = np.zeros((len(nodes), -(-int(size.prod()) // (8 * _WORD)) * _WORD), np.uint8)
        for raster, place in zip(rasters, nodes.tolist(), strict=True):
            canvas = np.zeros(size[::-1], np.bool_)
            for ring in segmentations.rings(place):
                canvas |= even_odd_pixels(ring, low, pixel, size)
            bits = np.packbits(canvas)
            raster[: len(bits)] = bits
        in_pixels = _n_pixels(rasters) * pixel**2
        area = np.where(outlines.tangled[nodes], in_pixels, outlines.area[nodes])
        iou, step = np.zeros(len(left)), max(_PIXEL_CHUNK // max(rasters.shape[1], 1), 1)
        for first in range(0, len(left), step):
            part = slice(first, first + step)
            a, b = slot[left[part]], slot[right[part]]
            shared = _n_pixels(rasters[a] & rasters[b]) * pixel**2
            iou[part] = iou_of(area[a], area[b], shared)
        return np.minimum(iou, 1.0, out=iou)

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        starts = run_starts(image[left])
        parts = zip(np.split(left, starts[1:]), np.split(right, starts[1:]), strict=True)
        return np.concatenate([np.zeros(0), *(of_image(*part) for part in parts if len(part[0]))])

    return compare


def _n_pixels(rasters: ByteArray) -> IndexArray:
    """Return the number of pixels of each packed raster."""
    counts: IndexArray
    if hasattr(np, "bitwise_count"):  # numpy 2
        counts = np.bitwise_count(rasters.view(np.uint64)).sum(axis=1, dtype=np.int64)
    else:
        counts = _BITS[rasters].sum(axis=1, dtype=np.int64)
    return counts


def even_odd_pixels(
    xy: FloatArray, origin: FloatArray, pixel: float, size: IndexArray
) -> BoolArray:
    """Return the pixels whose centre is inside by the even-odd rule, (height, width) bool."""
    width, height = size.tolist()
    # In units of pixels, with pixel centres at integers.
    start = (xy - origin) / pixel - 0.5
    stop = np.roll(start, -1, axis=0)
    low = np.clip(np.ceil(np.minimum(start[:, 1], stop[:, 1])), 0, height).astype(np.int64)
    high = np.clip(np.ceil(np.maximum(start[:, 1], stop[:, 1])), 0, height).astype(np.int64)
    toggles = np.zeros(height * (width + 1), np.int64)
    step = max(_PIXEL_CHUNK // max(height, 1), 1)
    for first in range(0, len(xy), step):
        part = slice(first, first + step)
        count = high[part] - low[part]
        edge = first + np.repeat(np.arange(len(count)), count)
        row = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + low[edge]
        share = (row - start[edge, 1]) / (stop[edge, 1] - start[edge, 1])
        x = start[edge, 0] + share * (stop[edge, 0] - start[edge, 0])
        column = np.clip(np.ceil(x), 0, width).astype(np.int64)
        toggles += np.bincount(row * (width + 1) + column, minlength=len(toggles))
    return np.asarray(np.cumsum(toggles.reshape(height, width + 1), axis=1)[:, :-1] % 2 == 1)


# Pairs of blocks per chunk, so that temporary arrays fit into the cache of one core.
_CHUNK = 1 << 12
# Added to denominators, so that 0 / 0 becomes 0; far below any distance in pixels.
_TINY = 1e-300
# The share of its area that a sum over edges may be off.
_ROUNDING = 1e-9


def polygon_iou(outlines: PreparedPolygons, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the exact IoU of each pair of polygons, in [0, 1]; 0 for polygons without area."""
    # One row per position within a block, so that the long axis is contiguous.
    low = np.ascontiguousarray(outlines.low.reshape(-1, BLOCK).T)
    high = np.ascontiguousarray(outlines.high.reshape(-1, BLOCK).T)
    block_low, block_high = low.min(0, initial=np.inf), high.max(0, initial=-np.inf)
    block_offsets = outlines.block_offsets
    # A row is a pair of a block of the left polygon and all blocks of the right polygon.
    block, _ = rows(block_offsets[left], block_offsets[left + 1])
    pair = np.repeat(np.arange(len(left)), np.diff(block_offsets)[left])
    first, last = block_offsets[right[pair]], block_offsets[right[pair] + 1]
    of_left, of_right = np.divmod(np.arange(BLOCK**2), BLOCK)
    result = np.zeros(len(left))
    for start, stop in chunks(last - first, _CHUNK):
        b, offsets = rows(first[start:stop], last[start:stop])
        row = np.repeat(np.arange(start, stop), np.diff(offsets))
        a = block[row]
        near = np.flatnonzero((block_low[a] < block_high[b]) & (block_low[b] < block_high[a]))
        a, b, row = a[near], b[near], row[near]
        meets = low.take(a, axis=1)[:, None] < high.take(b, axis=1)[None]
        meets &= low.take(b, axis=1)[None] < high.take(a, axis=1)[:, None]
        hits = np.flatnonzero(meets)
        # Hits at the same two positions within their blocks are together.
        ends = np.arange(BLOCK**2 + 1) * len(near)
        counts = np.diff(np.searchsorted(hits, ends))
        which = hits - np.repeat(ends[:-1], counts)
        e = (a * BLOCK)[which] + np.repeat(of_left, counts)
        f = (b * BLOCK)[which] + np.repeat(of_right, counts)
        of_pair = pair[row][which]
        low_pair, high_pair = int(pair[start]), int(pair[stop - 1]) + 1
        result[low_pair:high_pair] += sum_by(
            of_pair - low_pair, _shared(outlines, e, f), high_pair - low_pair
        )
    areas = outlines.area[left], outlines.area[right]
    # Due to rounding, the sum may be slightly below 0 or above the area of the smaller polygon.
    return iou_of(*areas, np.clip(result, 0, np.minimum(*areas)))


def _shared(edges: PreparedPolygons, e: IndexArray, f: IndexArray) -> FloatArray:
    """Return the contribution of each pair of edges to the area: −½ s_e s_f ∫ |y_e − y_f| dx."""
    start = np.maximum(edges.low[e], edges.low[f])
    stop = np.minimum(edges.high[e], edges.high[f])
    slope = edges.slope[e] - edges.slope[f]
    intercept = edges.intercept[e] - edges.intercept[f]
    first = slope * start
    first += intercept
    last = slope * stop
    last += intercept
    # With S = |first| + |last| and D = first + last, ∫ |y_e − y_f| dx is the length times
    # (S + D² / S) / 4, whether the edges cross or not.
    difference = first + last
    np.abs(first, out=first)
    np.abs(last, out=last)
    size = first
    size += last
    difference *= difference
    difference /= np.add(size, _TINY, out=last)
    difference += size
    stop -= start
    difference *= stop
    difference *= edges.sign[e]
    difference *= edges.sign[f]
    difference *= -0.125
    return difference


def edge_pairs(outlines: PreparedPolygons, left: IndexArray, right: IndexArray) -> FloatArray:
    """Estimate the number of pairs of edges that are compared for each pair of polygons."""
    counts = np.diff(outlines.block_offsets) * BLOCK
    extent = np.where(outlines.high > outlines.low, outlines.high - outlines.low, 0.0)
    width = np.maximum(outlines.bounds[:, 2] - outlines.bounds[:, 0], _TINY)
    # The mean number of edges above each other.
    polygon = np.repeat(np.arange(len(counts)), counts)
    depth = sum_by(polygon, extent, len(counts)) / width
    return np.asarray(depth[left] * counts[right] + depth[right] * counts[left])


def is_box(outlines: PreparedPolygons) -> BoolArray:
    """Return which polygons fill their bounds, up to rounding, (N,) bool."""
    width, height = (outlines.bounds[:, 2:] - outlines.bounds[:, :2]).T
    full = width * height
    return np.asarray((outlines.area >= full * (1 - _ROUNDING)) & (full > 0))


def box_iou(outlines: PreparedPolygons, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of each pair of polygons that fill their bounds."""
    result = np.zeros(len(left))
    for part in blocks(len(left)):
        result[part] = bbox_iou(outlines.bounds[left[part]], outlines.bounds[right[part]])
    return result
