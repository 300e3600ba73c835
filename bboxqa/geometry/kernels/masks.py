"""Masks as COCO run lengths: rasterising polygons, bounds, outlines and IoU."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import FloatArray, IndexArray, run_starts
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes.run_lengths import decode_counts

_MOST_TRACED = 10**8


def masks(segmentations: Segmentations, image_size: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return N outlines as masks for pycocotools, polygons rasterised by COCO's rule.

    `image_size` holds the width and height of each outline's image in pixels, (N, 2).
    """
    from pycocotools import mask

    result = []
    for index, (width, height) in enumerate(image_size.tolist()):
        if segmentations.kind[index] == SegmentationKind.RLE:
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
    """Return the IoU of each pair of masks, in [0, 1]; 0 for empty masks.

    `left` and `right` are indices of masks of equal size, sorted by `left`.
    """
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


def outline_rings(segmentations: Segmentations | None, annotation: int) -> list[FloatArray]:
    """Return the rings of an annotation's outline, each (V, 2) in pixels; empty without outline."""
    if segmentations is None or segmentations.kind[annotation] == SegmentationKind.NONE:
        return []
    if segmentations.kind[annotation] == SegmentationKind.POLYGON:
        return segmentations.rings(annotation)
    return mask_rings(segmentations.rle(annotation))
