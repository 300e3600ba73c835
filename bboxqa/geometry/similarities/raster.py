"""Similarities of rasterised polygons: the IoU of their pixels."""

from functools import partial

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.kernels import rasters
from bboxqa.geometry.kernels.edges import polygon_bounds
from bboxqa.geometry.similarities.base import (
    ONE_PIXEL,
    Comparison,
    Options,
    Similarity,
    packed_outlines,
)
from bboxqa.geometry.similarities.needs import describe
from bboxqa.model.annotations import Dataset

# Larger canvases are refused, since a broken file could require any size.
_MAX_CANVAS = 1 << 27


def _raster(dataset: Dataset, draw: rasters.Draw) -> Comparison:
    segmentation, counts = packed_outlines(dataset)
    bounds = polygon_bounds(segmentation)
    rings = [
        [ring for ring in segmentation.rings(index) if len(ring) >= 3]
        for index in range(len(segmentation))
    ]
    sizes = dataset.image_size[dataset.annotations.image].tolist()

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        result = np.zeros(len(left))
        for pair, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            if rings[a] and rings[b]:
                _check_canvas(dataset, bounds, a, b)
                width, height = sizes[a]
                shared, covered = rasters.raster_areas(rings[a], rings[b], (width, height), draw)
                result[pair] = shared / covered if covered else 0.0
        return result

    # Boundary pixels count, so that shapes that only touch may share pixels.
    return Comparison(compare, bounds + ONE_PIXEL, counts=counts)


def _check_canvas(dataset: Dataset, bounds: FloatArray, a: int, b: int) -> None:
    last, first = np.maximum(bounds[a], bounds[b])[2:], np.minimum(bounds[a], bounds[b])[:2]
    width, height = (last - first).tolist()
    # The margin is included, as it takes memory even for flat polygons.
    if (width + 3) * (height + 3) > _MAX_CANVAS:
        raise DatasetError(
            [
                (
                    f"{describe(dataset, a)} and {describe(dataset, b)} span "
                    f"{width:.0f} × {height:.0f} px; at most {_MAX_CANVAS:,} px are drawn"
                )
            ],
            "Compare with --similarity polygon, which needs no canvas.",
        )


def _pixel(dataset: Dataset, _: Options) -> Comparison:
    return _raster(dataset, rasters.draw_inclusive)


def _burnt(dataset: Dataset, options: Options) -> Comparison:
    return _raster(dataset, partial(rasters.burn, all_touched=options.all_touched))


PIXEL = Similarity(_pixel, needs="polygons", is_iou=True)
# No threads, since rasterio disables the warnings of all threads while it runs.
RASTER = Similarity(_burnt, needs="polygons", threads=False, is_iou=True)
