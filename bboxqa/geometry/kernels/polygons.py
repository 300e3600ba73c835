"""Exact areas of the intersections of polygons, without building the intersections.

If the rings within each of two polygons A and B do not cross, the area of A ∩ B is a sum over pairs
of edges, one of each polygon, that share a range of x:

    −½ Σ s_e s_f ∫ |y_e(x) − y_f(x)| dx

with s = +1 for an edge that bounds its polygon from above and −1 for one from below. (The area is
the integral of the product of both winding numbers; each is a sum of s over the edges above a
point, and min(a, b) = (a + b − |a − b|) / 2, whose linear part cancels because s sums to 0 on every
vertical line.) Polygons that are invalid for shapely are repaired by shapely first.
"""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, rows, sum_by
from bboxqa.core.blocks import blocks
from bboxqa.geometry.kernels.boxes import bbox_iou, overlap
from bboxqa.geometry.kernels.edges import BLOCK, Edges, PreparedPolygons

# Pairs of blocks per chunk, so that temporary arrays fit into the cache of one core.
_CHUNK = 1 << 12
# Added to denominators, so that 0 / 0 becomes 0; far below any distance in pixels.
_TINY = 1e-300
# The share of its area that a sum over edges may be off.
_ROUNDING = 1e-9


def _parts(total: IndexArray, size: int) -> Iterator[tuple[int, int]]:
    """Cut rows into parts of about `size` work; `total` is the cumulative work."""
    start = 0
    while start < len(total) - 1:
        stop = int(np.searchsorted(total, total[start] + size, side="right")) - 1
        stop = max(stop, start + 1)
        yield start, stop
        start = stop


def _by_edges(edges: Edges, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the areas of the intersections of valid polygons."""
    # One row per position within a block, so that the long axis is contiguous.
    low = np.ascontiguousarray(edges.low.reshape(-1, BLOCK).T)
    high = np.ascontiguousarray(edges.high.reshape(-1, BLOCK).T)
    block_low, block_high = low.min(0, initial=np.inf), high.max(0, initial=-np.inf)
    blocks = np.diff(edges.block_offsets)
    # A row is a pair of a block of the left polygon and all blocks of the right polygon.
    block, _ = rows(edges.block_offsets[left], edges.block_offsets[left + 1])
    pair = np.repeat(np.arange(len(left)), blocks[left])
    first, last = edges.block_offsets[right[pair]], edges.block_offsets[right[pair] + 1]
    total = np.concatenate([[0], np.cumsum(last - first)])
    result = np.zeros(len(left))
    for start, stop in _parts(total, _CHUNK):
        b, offsets = rows(first[start:stop], last[start:stop])
        row = np.repeat(np.arange(start, stop), np.diff(offsets))
        a = block[row]
        near = np.flatnonzero((block_low[a] < block_high[b]) & (block_low[b] < block_high[a]))
        a, b, row = a[near], b[near], row[near]
        meets = low[:, a][:, None] < high[:, b][None]
        meets &= low[:, b][None] < high[:, a][:, None]
        hits = np.flatnonzero(meets)
        within, which = np.divmod(hits, max(len(near), 1))
        e, f = a[which] * BLOCK + within // BLOCK, b[which] * BLOCK + within % BLOCK
        of_pair = pair[row[which]]
        low_pair, high_pair = int(pair[start]), int(pair[stop - 1]) + 1
        result[low_pair:high_pair] += sum_by(
            of_pair - low_pair, _shared(edges, e, f), high_pair - low_pair
        )
    return result


def _shared(edges: Edges, e: IndexArray, f: IndexArray) -> FloatArray:
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


def intersection_areas(
    outlines: PreparedPolygons, left: IndexArray, right: IndexArray
) -> FloatArray:
    """Return the area of the intersection of each pair of polygons, in square pixels.

    It equals the area of shapely's intersection up to about 1e-9 of the polygons' areas.
    """
    shared = _by_edges(outlines.edges, left, right)
    # Due to rounding, the sum may be slightly below 0 or above the area of the smaller polygon.
    return np.clip(shared, 0, np.minimum(outlines.area[left], outlines.area[right]))


def edge_pairs(outlines: PreparedPolygons, left: IndexArray, right: IndexArray) -> FloatArray:
    """Estimate the number of pairs of edges that are compared for each pair of polygons.

    These are the pairs of edges that share a range of x.
    """
    edges, n = outlines.edges, len(outlines.area)
    counts = np.diff(edges.block_offsets) * BLOCK
    extent = np.where(edges.high > edges.low, edges.high - edges.low, 0.0)
    width = np.maximum(outlines.bounds[:, 2] - outlines.bounds[:, 0], _TINY)
    # The mean number of edges above each other.
    depth = sum_by(np.repeat(np.arange(n), counts), extent, n) / width
    result: FloatArray = depth[left] * counts[right] + depth[right] * counts[left]
    return result


def polygon_iou(outlines: PreparedPolygons, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the exact IoU of each pair of polygons, in [0, 1]; 0 for polygons without area."""
    shared = intersection_areas(outlines, left, right)
    return _iou(outlines, left, right, shared)


def polygon_iou_limit(
    outlines: PreparedPolygons, left: IndexArray, right: IndexArray
) -> FloatArray:
    """Return an upper bound of the IoU of each pair of polygons, from areas and bounds alone."""
    shared = overlap(outlines.bounds[left], outlines.bounds[right])
    shared = np.minimum(shared, np.minimum(outlines.area[left], outlines.area[right]))
    return _iou(outlines, left, right, shared)


def is_box(outlines: PreparedPolygons) -> BoolArray:
    """Return which polygons fill their bounds, up to rounding, (N,) bool."""
    width, height = (outlines.bounds[:, 2:] - outlines.bounds[:, :2]).T
    full = width * height
    filled: BoolArray = (outlines.area >= full * (1 - _ROUNDING)) & (full > 0)
    return filled


def box_iou(outlines: PreparedPolygons, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of each pair of polygons that fill their bounds."""
    result = np.zeros(len(left))
    for part in blocks(len(left)):
        result[part] = bbox_iou(outlines.bounds[left[part]], outlines.bounds[right[part]])
    return result


def _iou(
    outlines: PreparedPolygons, left: IndexArray, right: IndexArray, shared: FloatArray
) -> FloatArray:
    union = outlines.area[left] + outlines.area[right] - shared
    result = np.zeros(len(left))
    np.divide(shared, union, out=result, where=union > 0)
    return result
