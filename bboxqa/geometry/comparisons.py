"""Each similarity, made ready for a part of a data set."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from bboxqa.errors import DatasetError
from bboxqa.geometry import boxes, masks, polygons, rasters
from bboxqa.geometry.outlines import polygon_bounds, polygon_outlines
from bboxqa.geometry.similarities.needs import describe
from bboxqa.model import BoolArray, Dataset, FloatArray, IndexArray, SegmentationKind, Segmentations

__all__ = ["ONE_THREAD", "SIMILARITIES", "Compare", "Comparison", "Options"]

# A canvas of more pixels than this is refused, whatever the file says.
_MAX_CANVAS = 1 << 27
# Rasterising can move an edge by up to a pixel.
_ONE_PIXEL = np.array([-1.0, -1.0, 1.0, 1.0])

Compare = Callable[[IndexArray, IndexArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Options:
    """What a similarity has to know.

    Attributes
    ----------
    iou_threshold : float
        The lowest similarity of interest.
    all_touched : bool
        For `raster`: burn every pixel that a ring touches.
    """

    iou_threshold: float
    all_touched: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A similarity made ready for N annotations.

    Attributes
    ----------
    compare : callable
        Takes left and right, each (P,) int64 and sorted by left, and returns (P,) float64.
    bounds : (N, 4) float64 or None
        left, top, right, bottom; pairs whose bounds do not overlap are not similar. None where
        distant annotations can be similar, too.
    limit : callable or None
        Like `compare`, cheap, and never below it.
    counts : Counter
        How many annotations are "flat" or "repaired", and how many rings "short".
    """

    compare: Compare
    bounds: FloatArray | None
    limit: Compare | None = None
    counts: Counter[str] = field(default_factory=Counter)


def _corners(dataset: Dataset) -> tuple[FloatArray, Counter[str]]:
    corners = boxes.corners(dataset.annotations.bbox)
    flat = (dataset.annotations.bbox[:, 2:] == 0).any(1)
    return corners, Counter(flat=int(flat.sum()))


def _bbox(dataset: Dataset, options: Options) -> Comparison:
    del options
    corners, counts = _corners(dataset)
    return Comparison(
        compare=lambda left, right: boxes.bbox_iou(corners[left], corners[right]),
        bounds=corners,
        counts=counts,
    )


def _giou(dataset: Dataset, options: Options) -> Comparison:
    corners, counts = _corners(dataset)
    return Comparison(
        compare=lambda left, right: boxes.bbox_giou(corners[left], corners[right]),
        # Boxes that do not overlap have a GIoU of 0 at most.
        bounds=corners if options.iou_threshold > 0 else None,
        counts=counts,
    )


def _centroid(dataset: Dataset, options: Options) -> Comparison:
    corners, counts = _corners(dataset)
    centre = (corners[:, :2] + corners[:, 2:]) / 2
    # Centres further apart than this share of the longer diagonal do not reach the threshold; a
    # little more keeps what reaches it exactly.
    reach = boxes.diagonals(corners)[:, None] * (1 - options.iou_threshold + 1e-6)
    return Comparison(
        compare=lambda left, right: boxes.bbox_centroid(corners[left], corners[right]),
        bounds=np.concatenate([centre - reach, centre + reach], axis=1),
        counts=counts,
    )


def _segmentation(dataset: Dataset) -> tuple[Segmentations, Counter[str]]:
    """Return the outlines, which `check_shapes` has seen, and the count of short rings."""
    segmentation = dataset.annotations.segmentation
    if segmentation is None:
        raise DatasetError(["the segmentations were not read"])
    segmentation = segmentation.packed()
    short = int((np.diff(segmentation.ring_offsets) < 3).sum())
    return segmentation, Counter(short=short)


def _mask(dataset: Dataset, options: Options) -> Comparison:
    del options
    segmentation, counts = _segmentation(dataset)
    size = dataset.image_size[dataset.annotations.image].astype(np.int64)
    rles = masks.masks(segmentation, size)
    return Comparison(partial(masks.mask_iou, rles), masks.mask_bounds(rles), counts=counts)


def _polygon(dataset: Dataset, options: Options) -> Comparison:
    del options
    segmentation, counts = _segmentation(dataset)
    outlines = polygon_outlines(segmentation)
    counts["repaired"] = int(outlines.repaired.sum())
    is_mask = segmentation.kind == SegmentationKind.RLE
    counts["flat"] = int(((outlines.area <= 0) & ~is_mask).sum())
    exact = partial(polygons.polygon_iou, outlines)
    limit = partial(polygons.polygon_iou_limit, outlines)
    if not is_mask.any():
        return Comparison(exact, outlines.bounds, limit, counts)
    image = dataset.annotations.image
    drawn = np.flatnonzero(np.isin(image, image[is_mask]))
    size = dataset.image_size[image[drawn]].astype(np.int64)
    rles: list[dict[str, Any]] = [{} for _ in range(len(segmentation))]
    for place, rle in zip(drawn.tolist(), masks.masks(segmentation.take(drawn), size), strict=True):
        rles[place] = rle
    bounds = outlines.bounds.copy()
    bounds[drawn] = masks.mask_bounds([rles[place] for place in drawn.tolist()])
    return Comparison(
        compare=_split(is_mask, exact, partial(masks.mask_iou, rles)),
        bounds=bounds + _ONE_PIXEL,
        limit=_split(is_mask, limit, lambda left, _: np.ones(len(left))),
        counts=counts,
    )


def _split(is_mask: BoolArray, of_polygons: Compare, of_masks: Compare) -> Compare:
    """Return what compares polygons in one way, and pairs with a mask in another."""

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        result = np.zeros(len(left))
        drawn = is_mask[left] | is_mask[right]
        result[~drawn] = of_polygons(left[~drawn], right[~drawn])
        result[drawn] = of_masks(left[drawn], right[drawn])
        return result

    return compare


def _raster(dataset: Dataset, draw: rasters.Draw) -> Comparison:
    segmentation, counts = _segmentation(dataset)
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

    # Pixels on the boundary count, so shapes that only touch can share some.
    return Comparison(compare, bounds + _ONE_PIXEL, counts=counts)


def _check_canvas(dataset: Dataset, bounds: FloatArray, a: int, b: int) -> None:
    last, first = np.maximum(bounds[a], bounds[b])[2:], np.minimum(bounds[a], bounds[b])[:2]
    width, height = (last - first).tolist()
    # The canvas has a margin, so that a flat polygon takes memory, too.
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


def _pixel(dataset: Dataset, options: Options) -> Comparison:
    del options
    return _raster(dataset, rasters.draw_inclusive)


def _burnt(dataset: Dataset, options: Options) -> Comparison:
    return _raster(dataset, partial(rasters.burn, all_touched=options.all_touched))


SIMILARITIES: dict[str, Callable[[Dataset, Options], Comparison]] = {
    "bbox": _bbox,
    "giou": _giou,
    "centroid": _centroid,
    "polygon": _polygon,
    "mask": _mask,
    "pixel": _pixel,
    "raster": _burnt,
}
"""Each similarity by its name; a new one is one function and one line here."""

ONE_THREAD = frozenset({"raster"})
"""Similarities that threads cannot share: rasterio switches warnings off for all while it runs."""
