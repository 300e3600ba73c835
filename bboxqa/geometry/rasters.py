"""Outlines as pixels: masks of COCO, runs of pixels, and burnt rasters."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    chunks,
    rows,
    run_starts,
)
from bboxqa.geometry.boxes import overlap
from bboxqa.model.annotations import Annotations
from bboxqa.model.masks import SegmentationKind, Segmentations, decode_counts
from bboxqa.model.rotated_boxes import corners, width_marks

_MOST_TRACED = 10**8


def masks(segmentations: Segmentations, image_size: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return N outlines as masks for pycocotools, polygons rasterised by COCO's rule."""
    from pycocotools import mask

    result = []
    for index, (width, height) in enumerate(image_size.tolist()):
        if segmentations.kind.item(index) == SegmentationKind.RLE:
            result.append(segmentations.rle(index))
            continue
        # pycocotools would read a ring of two points as a box.
        shapes: list[Any] = [r.ravel() for r in segmentations.rings(index) if len(r) >= 3]
        shapes = shapes or [{"size": [height, width], "counts": [height * width]}]
        result.append(mask.merge(mask.frPyObjects(shapes, height, width)))
    return result


def mask_bounds(rles: list[dict[str, Any]]) -> FloatArray:
    """Return the left, top, right and bottom of N masks as (N, 4) float64 in pixels."""
    from pycocotools import mask

    if not rles:
        return np.zeros((0, 4))
    bounds: FloatArray = np.asarray(mask.toBbox(rles), np.float64).reshape(-1, 4)
    bounds[:, 2:] += bounds[:, :2]
    return bounds


def mask_areas(rles: list[dict[str, Any]]) -> FloatArray:
    """Return the number of pixels of N masks, (N,) float64."""
    from pycocotools import mask

    # One by one, as pycocotools fails with more than 255 of them.
    return np.array([int(mask.area(rle)) for rle in rles], np.float64)


def mask_iou(rles: list[dict[str, Any]], left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of each pair of masks, in [0, 1]; 0 for empty masks."""
    from pycocotools import mask

    result = np.zeros(len(left))
    for start, stop in pairwise([*run_starts(left).tolist(), len(left)]):
        others = [rles[index] for index in right[start:stop].tolist()]
        result[start:stop] = mask.iou([rles[int(left[start])]], others, [0] * len(others))[0]
    return result


def mask_rings(rle: dict[str, Any]) -> list[FloatArray]:
    """Return the outline of a mask along the edges of its pixels, each ring (V, 2) in pixels.

    Holes are separate rings, so that the even-odd rule fills the mask. No rings are returned for
    masks of more than 100 million pixels.
    """
    from rasterio.features import shapes

    height, width = rle["size"]
    if height * width > _MOST_TRACED:
        return []
    runs = decode_counts(rle["counts"])
    value = np.arange(len(runs)) % 2
    pixels = np.zeros(height * width, np.uint8)
    filled = np.repeat(value.astype(np.uint8), runs)[: height * width]
    pixels[: len(filled)] = filled
    pixels = np.ascontiguousarray(pixels.reshape(width, height).T)
    return [
        np.array(ring, np.float64)
        for shape, _ in shapes(pixels, mask=pixels.astype(np.bool_), connectivity=8)
        for ring in shape["coordinates"]
    ]


def outline_rings(of: Annotations, row: int) -> list[FloatArray]:
    """Return the rings of an annotation's outline or rotated box, each (V, 2) in pixels."""
    outlines, boxes, rings = of.segmentation, of.rotated_box, []
    if outlines is not None and outlines.kind.item(row) == SegmentationKind.POLYGON:
        rings = outlines.rings(row)
    elif outlines is not None and outlines.kind.item(row) == SegmentationKind.RLE:
        rings = mask_rings(outlines.rle(row))
    if boxes is not None and boxes[row, 4]:
        box = boxes[row : row + 1]
        rings = [*(rings or corners(box)), width_marks(box)[0]]
    return rings


# The places of two pixels beside each other in a row differ by this, which is more than any height.
_COLUMN = 1 << 32
# Runs that are looked up at once.
_CHUNK = 1 << 18


class PixelRuns(FrozenArrays, frozen=True, eq=False):
    """The pixels of N shapes, as runs along columns."""

    start: IndexArray
    stop: IndexArray
    """(R,) int64. The place of the first pixel of each run, and the place after its last one,
    sorted within a shape. The place of a pixel is ``x * 2**32 + y``."""
    offsets: IndexArray
    """Shape n has the runs ``offsets[n]:offsets[n + 1]``."""
    area: FloatArray
    """(N,) float64. The number of pixels."""
    bounds: FloatArray
    """(N, 4) float64. Left, top, right and bottom in pixels; zeros without pixels."""

    @property
    def is_box(self) -> BoolArray:
        """Whether each shape fills its bounds, (N,) bool."""
        width, height = (self.bounds[:, 2:] - self.bounds[:, :2]).T
        return np.asarray(self.area == width * height)


def runs_of(canvas: BoolArray, left: int, top: int) -> tuple[IndexArray, IndexArray]:
    """Return start and stop of the runs of drawn pixels, (height, width) bool, each (R,) int64."""
    height, width = canvas.shape
    columns = np.zeros((width, height + 2), np.bool_)
    columns[:, 1:-1] = canvas.T
    ends = np.flatnonzero(columns[:, 1:] != columns[:, :-1])
    x, y = np.divmod(ends, height + 1)
    place = (x + left) * _COLUMN + (y + top)
    return place[::2], place[1::2]


def pixel_runs(parts: Sequence[tuple[IndexArray, IndexArray]]) -> PixelRuns:
    """Join the runs of N shapes, each what `runs_of` returns."""
    none = np.zeros(0, np.int64)
    start = np.concatenate([none, *(each[0] for each in parts)])
    stop = np.concatenate([none, *(each[1] for each in parts)])
    offsets = np.cumsum([0, *(len(each[0]) for each in parts)])
    area, bounds = np.zeros(len(parts)), np.zeros((len(parts), 4))
    drawn = np.flatnonzero(np.diff(offsets))
    begin = offsets[:-1][drawn]
    # Rows may be negative, so that the column is that of the nearest place in row 0.
    x = (start + _COLUMN // 2) // _COLUMN
    area[drawn] = np.add.reduceat(stop - start, begin)
    bounds[drawn, 0] = np.minimum.reduceat(x, begin)
    bounds[drawn, 1] = np.minimum.reduceat(start - x * _COLUMN, begin)
    bounds[drawn, 2] = np.maximum.reduceat(x, begin) + 1
    bounds[drawn, 3] = np.maximum.reduceat(stop - x * _COLUMN, begin)
    return PixelRuns(start, stop, offsets, area, bounds)


def shared_pixels(runs: PixelRuns, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return how many pixels each pair of shapes shares, (P,) float64."""
    result = overlap(runs.bounds[left], runs.bounds[right])
    box = runs.is_box
    other = np.flatnonzero(~(box[left] & box[right]) & (result > 0))
    left, right = left[other], right[other]
    n_runs = runs.offsets[right + 1] - runs.offsets[right]
    for first, last in pairwise([*run_starts(left).tolist(), len(left)]):
        own = slice(runs.offsets[left[first]], runs.offsets[left[first] + 1])
        begin, end = runs.start[own], runs.stop[own]
        filled = np.concatenate([[0], np.cumsum(end - begin)])
        ends = np.concatenate([begin[:1], end])
        for start, stop in chunks(n_runs[first:last], _CHUNK):
            others = right[first + start : first + stop]
            index, offsets = rows(runs.offsets[others], runs.offsets[others + 1])
            before = []
            for place in (runs.start[index], runs.stop[index]):
                n = np.searchsorted(begin, place, side="right")
                # The pixels of the shape before a place, less those of the run that it is in.
                before.append(filled[n] - np.where(n > 0, np.maximum(ends[n], place) - place, 0))
            total = np.concatenate([[0], np.cumsum(before[1] - before[0])])
            result[other[first + start : first + stop]] = total[offsets[1:]] - total[offsets[:-1]]
    return result


Ring = FloatArray
Draw = Callable[[list[Ring], int, int], BoolArray]
"""Called as ``draw(rings, width, height)``; returns the drawn pixels, (height, width) bool."""


def draw_inclusive(rings: list[Ring], width: int, height: int) -> BoolArray:
    """Draw rings with Pillow, including boundaries, as (height, width) bool."""
    from PIL import Image, ImageDraw

    canvas = Image.new("1", (width, height))
    draw = ImageDraw.Draw(canvas)
    for ring in rings:
        draw.polygon(ring.ravel().tolist(), fill=1, outline=1)
    return np.asarray(canvas, np.bool_)


def burn(rings: list[Ring], width: int, height: int, *, all_touched: bool = False) -> BoolArray:
    """Burn rings with rasterio, as (height, width) bool."""
    from rasterio.features import rasterize

    shapes = [
        ({"type": "Polygon", "coordinates": [np.concatenate([ring, ring[:1]]).tolist()]}, 1)
        for ring in rings
    ]
    burnt = rasterize(shapes, (height, width), all_touched=all_touched, dtype="uint8")
    return np.asarray(burnt, np.bool_)


def drawn_runs(
    rings: list[Ring], size: tuple[int, int], draw: Draw
) -> tuple[IndexArray, IndexArray]:
    """Draw an annotation on its own extent, and return the runs of its pixels; see `runs_of`."""
    vertices = np.concatenate(rings)
    first = np.floor(vertices.min(0)) - 1
    last = np.ceil(vertices.max(0)) + 2
    if size != (0, 0):
        first, last = np.maximum(first, 0), np.minimum(last, size)
    width, height = np.maximum(last - first, 0).astype(int).tolist()
    if width == 0 or height == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    canvas = draw([ring - first for ring in rings], width, height)
    return runs_of(canvas, *first.astype(int).tolist())


def raster_areas(
    left: list[Ring], right: list[Ring], size: tuple[int, int], draw: Draw
) -> tuple[int, int]:
    """Return how many pixels two annotations share, and how many their union has."""
    runs = pixel_runs([drawn_runs(rings, size, draw) for rings in (left, right)])
    shared = int(shared_pixels(runs, np.zeros(1, np.int64), np.ones(1, np.int64))[0])
    return shared, int(runs.area.sum()) - shared
