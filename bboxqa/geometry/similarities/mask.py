"""Similarity of masks: the IoU of their pixels."""

from functools import partial

import numpy as np

from bboxqa.geometry.kernels import masks
from bboxqa.geometry.similarities.base import Comparison, Options, Similarity, packed_outlines
from bboxqa.model.annotations import Dataset


def _mask(dataset: Dataset, _: Options) -> Comparison:
    segmentation, counts = packed_outlines(dataset)
    size = dataset.image_size[dataset.annotations.image].astype(np.int64)
    rles = masks.masks(segmentation, size)
    return Comparison(partial(masks.mask_iou, rles), masks.mask_bounds(rles), counts=counts)


MASK = Similarity(_mask, needs="masks", is_iou=True)
