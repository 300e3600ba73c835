"""Similarities of rasterised polygons: the IoU of their pixels."""

from functools import partial

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.kernels import rasters
from bboxqa.geometry.kernels.edges import polygon_bounds
from bboxqa.geometry.kernels.pixel_runs import pixel_runs, shared_pixels
from bboxqa.geometry.similarities.base import (
    ONE_PIXEL,
    Comparison,
    Options,
    Similarity,
    packed_outlines,
)
from bboxqa.geometry.similarities.distinct_outlines import distinct_outlines, of_distinct
from bboxqa.geometry.similarities.needs import describe
from bboxqa.geometry.similarities.pixel_work import bounded, pixel_iou, pixel_iou_limit
from bboxqa.model.annotations import Dataset

# Larger canvases are refused, since a broken file could require any size.
_MAX_CANVAS = 1 << 27
# Places further away have no number.
_FARTHEST = 1 << 31
# Drawing so many pixels takes ten seconds.
_MOST_DRAWN = 1 << 31


def _raster(dataset: Dataset, draw: rasters.Draw) -> Comparison:
    segmentation, counts = packed_outlines(dataset)
    bounds = polygon_bounds(segmentation)
    first, number = distinct_outlines(segmentation, dataset.annotations.image)
    _check_canvases(dataset, bounds, first)
    sizes = dataset.image_size[dataset.annotations.image].tolist()
    none = np.zeros(0, np.int64)
    drawn = []
    for index in first.tolist():
        rings = [ring for ring in segmentation.rings(index) if len(ring) >= 3]
        width, height = sizes[index]
        drawn.append(rasters.drawn_runs(rings, (width, height), draw) if rings else (none, none))
    runs = pixel_runs(drawn)
    n_runs = np.where(runs.is_box, 0, np.diff(runs.offsets))

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        a, b = number[left], number[right]
        return pixel_iou(runs.area[a], runs.area[b], shared_pixels(runs, a, b))

    # Boundary pixels count, so that shapes that only touch may share pixels.
    return Comparison(
        compare=of_distinct(bounded(compare, dataset, n_runs[number]), first, number),
        bounds=bounds + ONE_PIXEL,
        limit=partial(pixel_iou_limit, runs.area[number], runs.bounds[number]),
        counts=counts,
    )


def _check_canvases(dataset: Dataset, bounds: FloatArray, drawn: IndexArray) -> None:
    """Refuse polygons that would take too much memory or time to draw."""
    # The margin is included, as it takes memory even for flat polygons.
    sides = bounds[drawn, 2:] - bounds[drawn, :2] + 3
    n_pixels = sides.prod(axis=1)
    far = np.abs(bounds[drawn]).max(axis=1, initial=0) >= _FARTHEST
    wrong = np.flatnonzero((n_pixels > _MAX_CANVAS) | far)
    problems = [
        f"{describe(dataset, int(drawn[place]))} spans {sides[place, 0] - 3:.0f} × "
        f"{sides[place, 1] - 3:.0f} px from {bounds[drawn[place], 0]:.0f}, "
        f"{bounds[drawn[place], 1]:.0f}; at most {_MAX_CANVAS:,} px are drawn, "
        f"within {_FARTHEST:,} px"
        for place in wrong.tolist()
    ]
    if not problems:
        of_image = sum_by(dataset.annotations.image[drawn], n_pixels, len(dataset.image_names))
        problems = [
            f"image {dataset.image_names[image]!r}: its polygons span {of_image[image]:,.0f} px; "
            f"at most {_MOST_DRAWN:,} px are drawn in an image"
            for image in np.flatnonzero(of_image > _MOST_DRAWN).tolist()
        ]
    if problems:
        raise DatasetError(problems, "Compare with --similarity polygon, which needs no canvas.")


def _pixel(dataset: Dataset, _: Options) -> Comparison:
    return _raster(dataset, rasters.draw_inclusive)


def _burnt(dataset: Dataset, options: Options) -> Comparison:
    return _raster(dataset, partial(rasters.burn, all_touched=options.all_touched))


PIXEL = Similarity(_pixel, needs="polygons", is_iou=True)
# No threads, since rasterio disables the warnings of all threads while it runs.
RASTER = Similarity(_burnt, needs="polygons", threads=False, is_iou=True)
