"""Similarity of masks: the IoU of their pixels."""

from functools import partial

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.geometry.kernels import masks
from bboxqa.geometry.kernels.boxes import overlap
from bboxqa.geometry.similarities.base import Comparison, Options, Similarity, packed_outlines
from bboxqa.geometry.similarities.distinct_outlines import distinct_outlines, of_distinct
from bboxqa.geometry.similarities.pixel_work import bounded, pixel_iou, pixel_iou_limit
from bboxqa.model.annotations import Dataset


def _mask(dataset: Dataset, _: Options) -> Comparison:
    segmentation, counts = packed_outlines(dataset)
    image = dataset.annotations.image
    first, number = distinct_outlines(segmentation, image)
    size = dataset.image_size[image[first]].astype(np.int64)
    rles = masks.masks(segmentation.take(first), size)
    bounds, area = masks.mask_bounds(rles), masks.mask_areas(rles)
    is_box = area == (bounds[:, 2:] - bounds[:, :2]).prod(axis=1)
    n_bytes = np.array([len(rle["counts"]) for rle in rles], np.int64)

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        a, b = number[left], number[right]
        boxes = is_box[a] & is_box[b]
        result = np.zeros(len(a))
        result[~boxes] = masks.mask_iou(rles, a[~boxes], b[~boxes])
        a, b = a[boxes], b[boxes]
        result[boxes] = pixel_iou(area[a], area[b], overlap(bounds[a], bounds[b]))
        return result

    work = np.where(is_box, 0, n_bytes)[number]
    return Comparison(
        compare=of_distinct(bounded(compare, dataset, work), first, number),
        bounds=bounds[number],
        limit=partial(pixel_iou_limit, area[number], bounds[number]),
        counts=counts,
    )


MASK = Similarity(_mask, needs="masks", is_iou=True)
