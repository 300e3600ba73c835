"""Comparing polygons as pixels if exact comparison would take too long."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray, run_starts
from bboxqa.geometry.kernels.edges import PreparedPolygons
from bboxqa.model.outlines import Segmentations

# Pixels on the longer side of the polygons of an image, and the minimum if there are many rings.
_SIDE, _LEAST_SIDE = 512, 64
# Number of rings drawn at full resolution; with more rings, pixels are larger.
_RINGS = 256
# Numbers per temporary array.
_CHUNK = 1 << 20
# Bytes that are counted at once.
_WORD = 8
_BITS = np.array([byte.bit_count() for byte in range(256)], np.uint8)


@dataclass(frozen=True, slots=True)
class _Grid:
    """The pixel grid of one image: left and top, pixel side, and numbers (width, height)."""

    origin: FloatArray
    pixel: float
    size: IndexArray


def pixel_iou(
    segmentations: Segmentations, outlines: PreparedPolygons, image: IntArray, drawn: BoolArray
) -> Callable[[IndexArray, IndexArray], FloatArray]:
    """Return the IoU of pairs of polygons in one image, at least one of which is `drawn`.

    The grid of an image has 512 pixels on the longer side of the bounds of its drawn polygons, and
    fewer if they have many rings. Intersections are counted in these pixels; areas are exact,
    except for tangled polygons.

    Parameters
    ----------
    segmentations : Segmentations
        N outlines.
    image : (N,) int32
        Sorted.
    drawn : (N,) bool

    Returns
    -------
    callable
        (left, right), each (P,) int64 and sorted by left, → (P,) float64.
    """
    n_rings = segmentations.part_stop - segmentations.part_start

    def grid_of(number: int) -> _Grid:
        start, stop = np.searchsorted(image, [number, number + 1])
        bounds = outlines.bounds[start:stop][drawn[start:stop]]
        total = int(n_rings[start:stop][drawn[start:stop]].sum())
        side = max(_SIDE * min(_RINGS / max(total, 1), 1.0) ** 0.5, _LEAST_SIDE)
        low, extent = bounds[:, :2].min(0), bounds[:, 2:].max(0) - bounds[:, :2].min(0)
        pixel = max(float(extent.max()) / side, np.finfo(float).tiny)
        return _Grid(low, pixel, np.ceil(extent / pixel).astype(np.int64))

    def pixels(place: int, grid: _Grid) -> ByteArray:
        canvas = np.zeros(grid.size[::-1], np.bool_)
        for ring in segmentations.rings(place):
            canvas |= even_odd_pixels(ring, grid.origin, grid.pixel, grid.size)
        bits = np.packbits(canvas)
        return np.pad(bits, (0, -len(bits) % _WORD))

    def of_image(left: IndexArray, right: IndexArray) -> FloatArray:
        grid = grid_of(int(image[left[0]]))
        slot = np.zeros(len(image), np.int64)
        slot[left] = slot[right] = 1
        nodes = np.flatnonzero(slot)
        slot[nodes] = np.arange(len(nodes))
        rasters = np.stack([pixels(place, grid) for place in nodes.tolist()])
        in_pixels = _n_pixels(rasters) * grid.pixel**2
        area = np.where(outlines.tangled[nodes], in_pixels, outlines.area[nodes])
        iou, step = np.zeros(len(left)), max(_CHUNK // max(rasters.shape[1], 1), 1)
        for first in range(0, len(left), step):
            part = slice(first, first + step)
            a, b = slot[left[part]], slot[right[part]]
            shared = _n_pixels(rasters[a] & rasters[b]) * grid.pixel**2
            union = area[a] + area[b] - shared
            np.divide(shared, union, out=iou[part], where=union > 0)
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
    """Return the pixels whose centre is inside by the even-odd rule, (height, width) bool.

    `xy`, (V, 2), is a ring. `origin` is the left and top of the grid, `pixel` the side of a pixel,
    and `size` the numbers of pixels, width and height.

    Examples
    --------
    >>> square = np.array([[1.0, 1], [3, 1], [3, 3], [1, 3]])
    >>> even_odd_pixels(square, np.zeros(2), 1.0, np.array([4, 3])).astype(int)
    array([[0, 0, 0, 0],
           [0, 1, 1, 0],
           [0, 1, 1, 0]])
    """
    width, height = size.tolist()
    # In units of pixels, with pixel centres at integers.
    start = (xy - origin) / pixel - 0.5
    stop = np.roll(start, -1, axis=0)
    low = np.clip(np.ceil(np.minimum(start[:, 1], stop[:, 1])), 0, height).astype(np.int64)
    high = np.clip(np.ceil(np.maximum(start[:, 1], stop[:, 1])), 0, height).astype(np.int64)
    toggles = np.zeros(height * (width + 1), np.int64)
    step = max(_CHUNK // max(height, 1), 1)
    for first in range(0, len(xy), step):
        part = slice(first, first + step)
        count = high[part] - low[part]
        edge = first + np.repeat(np.arange(len(count)), count)
        row = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + low[edge]
        share = (row - start[edge, 1]) / (stop[edge, 1] - start[edge, 1])
        x = start[edge, 0] + share * (stop[edge, 0] - start[edge, 0])
        column = np.clip(np.ceil(x), 0, width).astype(np.int64)
        toggles += np.bincount(row * (width + 1) + column, minlength=len(toggles))
    inside: BoolArray = np.cumsum(toggles.reshape(height, width + 1), axis=1)[:, :-1] % 2 == 1
    return inside
