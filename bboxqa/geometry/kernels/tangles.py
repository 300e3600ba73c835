"""Polygons that cross themselves too often to be repaired, compared in pixels."""

from collections.abc import Callable

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray
from bboxqa.geometry.kernels.edges import PreparedPolygons
from bboxqa.model.outlines import Segmentations

# Pixels on the longer side of the tangled polygons of an image.
_SIDE = 512
# Numbers per temporary array.
_CHUNK = 1 << 20
_BITS = np.array([byte.bit_count() for byte in range(256)], np.uint8)


def tangle_iou(
    segmentations: Segmentations, outlines: PreparedPolygons, image: IntArray
) -> Callable[[IndexArray, IndexArray], FloatArray]:
    """Return the IoU of pairs of polygons of one image of which one or both are tangled.

    Each image has 512 pixels on the longer side of the bounds of its tangled polygons. The
    intersection is in these bounds, so that areas of other polygons are exact.

    Parameters
    ----------
    segmentations : Segmentations
        N outlines.
    outlines : PreparedPolygons
        The same.
    image : (N,) int32
        Sorted.

    Returns
    -------
    callable
        (left, right), each (P,) int64, → (P,) float64.
    """
    grids: dict[int, tuple[FloatArray, float, IndexArray]] = {}
    drawn: dict[int, ByteArray] = {}

    def grid(number: int) -> tuple[FloatArray, float, IndexArray]:
        if number not in grids:
            start, stop = np.searchsorted(image, [number, number + 1])
            bounds = outlines.bounds[start:stop][outlines.tangled[start:stop]]
            low, extent = bounds[:, :2].min(0), bounds[:, 2:].max(0) - bounds[:, :2].min(0)
            pixel = max(float(extent.max()) / _SIDE, np.finfo(float).tiny)
            grids[number] = low, pixel, np.ceil(extent / pixel).astype(np.int64)
        return grids[number]

    def pixels(place: int) -> ByteArray:
        if place not in drawn:
            origin, pixel, size = grid(int(image[place]))
            canvas = np.zeros(size[::-1], np.bool_)
            for ring in segmentations.rings(place):
                canvas |= even_odd_pixels(ring, origin, pixel, size)
            drawn[place] = np.packbits(canvas)
        return drawn[place]

    def area(place: int) -> float:
        if not outlines.tangled[place]:
            return float(outlines.area[place])
        return float(_BITS[pixels(place)].sum(dtype=np.int64) * grid(int(image[place]))[1] ** 2)

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        result = np.zeros(len(left))
        for pair, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            common = int(_BITS[pixels(a) & pixels(b)].sum(dtype=np.int64))
            shared = common * grid(int(image[a]))[1] ** 2
            union = area(a) + area(b) - shared
            result[pair] = min(shared / union, 1.0) if union > 0 else 0.0
        return result

    return compare


def even_odd_pixels(
    xy: FloatArray, origin: FloatArray, pixel: float, size: IndexArray
) -> BoolArray:
    """Return the pixels whose centre the even-odd rule fills, (height, width) bool.

    Parameters
    ----------
    xy : (V, 2) float64
        A ring.
    origin : (2,) float64
        The left and the top of the pixels.
    pixel : float
        The side of a pixel.
    size : (2,) int64
        Their numbers, width and height.

    Examples
    --------
    >>> square = np.array([[1.0, 1], [3, 1], [3, 3], [1, 3]])
    >>> even_odd_pixels(square, np.zeros(2), 1.0, np.array([4, 3])).astype(int)
    array([[0, 0, 0, 0],
           [0, 1, 1, 0],
           [0, 1, 1, 0]])
    """
    width, height = size.tolist()
    # In pixels, with the centres at whole numbers.
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
