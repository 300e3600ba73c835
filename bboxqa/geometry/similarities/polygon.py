"""Similarity of polygons: the exact IoU, or the IoU of pixels if one is a mask or tangled."""

from collections import Counter
from functools import partial
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, sum_by
from bboxqa.core.blocks import blocks
from bboxqa.geometry.kernels import masks, polygons
from bboxqa.geometry.kernels.edges import PreparedPolygons, polygon_outlines
from bboxqa.geometry.kernels.tangles import pixel_iou
from bboxqa.geometry.similarities.base import (
    ONE_PIXEL,
    Compare,
    Comparison,
    Options,
    Similarity,
    packed_outlines,
)
from bboxqa.geometry.similarities.distinct_outlines import (
    MANY_PAIRS,
    distinct_outlines,
    of_distinct,
)
from bboxqa.model.annotations import Dataset
from bboxqa.model.outlines import SegmentationKind, Segmentations

# Most pairs of edges in an image that are compared exactly, which takes a few seconds.
_MOST_EDGE_PAIRS = 1 << 25


def _polygon(dataset: Dataset, _: Options) -> Comparison:
    segmentation, counts = packed_outlines(dataset)
    outlines = polygon_outlines(segmentation)
    counts["repaired"] = int(outlines.repaired.sum())
    counts["tangled"] = int(outlines.tangled.sum())
    is_mask = segmentation.kind == SegmentationKind.RLE
    counts["flat"] = int(((outlines.area <= 0) & ~is_mask & ~outlines.tangled).sum())
    exact: Compare = partial(polygons.polygon_iou, outlines)
    limit: Compare = partial(polygons.polygon_iou_limit, outlines)
    image = dataset.annotations.image
    if outlines.tangled.any():
        in_pixels = pixel_iou(segmentation, outlines, image, outlines.tangled)
        exact = _split(outlines.tangled, exact, in_pixels)
        limit = _split(outlines.tangled, limit, _one)
    exact = _once(_bounded(exact, segmentation, outlines, image, counts), segmentation, image)
    if not is_mask.any():
        return Comparison(exact, outlines.bounds, limit, counts)
    drawn = np.flatnonzero(np.isin(image, image[is_mask]))
    size = dataset.image_size[image[drawn]].astype(np.int64)
    rles: list[dict[str, Any]] = [{} for _ in range(len(segmentation))]
    for place, rle in zip(drawn.tolist(), masks.masks(segmentation.take(drawn), size), strict=True):
        rles[place] = rle
    bounds = outlines.bounds.copy()
    bounds[drawn] = masks.mask_bounds([rles[place] for place in drawn.tolist()])
    return Comparison(
        compare=_split(is_mask, exact, partial(masks.mask_iou, rles)),
        bounds=bounds + ONE_PIXEL,
        limit=_split(is_mask, limit, _one),
        counts=counts,
    )


def _once(compare: Compare, segmentation: Segmentations, image: IntArray) -> Compare:
    """Return a comparison that compares each two distinct outlines once if there are many pairs."""

    def once(left: IndexArray, right: IndexArray) -> FloatArray:
        if len(left) < MANY_PAIRS:
            return compare(left, right)
        return of_distinct(compare, *distinct_outlines(segmentation, image))(left, right)

    return once


def _bounded(
    exact: Compare,
    segmentation: Segmentations,
    outlines: PreparedPolygons,
    image: IntArray,
    counts: Counter[str],
) -> Compare:
    """Return a comparison that uses pixels in images where exact areas would take too long.

    The polygons of these images are counted as "tangled", but for rectangles, which are compared
    exactly with each other.
    """
    is_box = polygons.is_box(outlines)
    of_boxes: Compare = partial(polygons.box_iou, outlines)

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        work = np.zeros(int(image[-1]) + 1)
        for part in blocks(len(left)):
            pairs = polygons.edge_pairs(outlines, left[part], right[part])
            work += sum_by(image[left[part]], pairs, len(work))
        drawn = (work > _MOST_EDGE_PAIRS)[image]
        if not drawn[left].any():
            return exact(left, right)
        met = np.zeros(len(image), np.bool_)
        met[left] = met[right] = True
        counts["tangled"] += int((met & drawn & ~outlines.tangled & ~is_box).sum())
        in_pixels = pixel_iou(segmentation, outlines, image, drawn)
        crowded = _split(~(drawn & is_box), of_boxes, in_pixels)
        return _split(drawn, exact, crowded)(left, right)

    return compare


def _one(left: IndexArray, _: IndexArray) -> FloatArray:
    return np.ones(len(left))


def _split(is_drawn: BoolArray, of_polygons: Compare, of_pixels: Compare) -> Compare:
    """Return a comparison that uses pixels for pairs with a drawn shape, and areas otherwise."""

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        drawn = is_drawn[left] | is_drawn[right]
        # Millions of pairs are not copied where all are alike.
        if not drawn.any():
            return of_polygons(left, right)
        if drawn.all():
            return of_pixels(left, right)
        result = np.zeros(len(left))
        result[~drawn] = of_polygons(left[~drawn], right[~drawn])
        result[drawn] = of_pixels(left[drawn], right[drawn])
        return result

    return compare


POLYGON = Similarity(_polygon, needs="outlines", is_iou=True)
