"""Similarity of key points: COCO's object key point similarity (OKS)."""

from functools import partial
from math import inf, log, sqrt

import numpy as np

from bboxqa.core.arrays import FloatArray, IntArray
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.kernels.oks import key_point_similarity
from bboxqa.geometry.similarities.base import Comparison, Options, Similarity
from bboxqa.geometry.similarities.sigmas import sigmas_of
from bboxqa.model.annotations import Dataset
from bboxqa.model.shapes.keypoints import Keypoints

# Bounds that only touch do not overlap, and equal points must be compared.
_MARGIN = 1e-3


def variances_of(keypoints: Keypoints, category: IntArray, dataset: Dataset) -> FloatArray:
    """Return k² = (2 sigma)² of each joint of packed key points, (V,)."""
    table = sigmas_of(dataset)
    width = max((len(each) for each in table), default=0)
    # Annotations with more joints than their category has names match nothing.
    sigmas = np.ones((len(table), width + 1))
    for row, each in enumerate(table):
        sigmas[row, : len(each)] = each
    number = np.repeat(np.arange(len(keypoints)), keypoints.stop - keypoints.start)
    joint = np.minimum(np.arange(len(number)) - keypoints.start[number], width)
    k: FloatArray = 2 * sigmas[category[number], joint]
    return k * k


def _keypoints(dataset: Dataset, options: Options) -> Comparison:
    annotations = dataset.annotations
    if annotations.keypoints is None:
        raise DatasetError(["the key points were not read"])
    keypoints = annotations.keypoints.packed()
    area, counts = keypoints.scales(annotations.bbox)
    variance = variances_of(keypoints, annotations.category, dataset)
    return Comparison(
        compare=partial(key_point_similarity, keypoints, area, variance),
        bounds=_bounds(keypoints, area, variance, options.iou_threshold),
        counts=counts,
    )


def _bounds(
    keypoints: Keypoints, area: FloatArray, variance: FloatArray, threshold: float
) -> FloatArray | None:
    """Return bounds that overlap for any two annotations that reach the threshold.

    If the mean reaches the threshold, at least one joint does. The two points of this joint are
    then no further apart than the larger scale allows.
    """
    if threshold <= 0:
        return None
    extent = keypoints.extent()
    reach = np.sqrt(area * variance.max(initial=0)) * sqrt(2 * log(1 / min(threshold, 1)))
    reach = (reach * (1 + _MARGIN) + _MARGIN)[:, None]
    low, high = extent[:, :2] - reach, extent[:, :2] + extent[:, 2:] + reach
    bounds: FloatArray = np.nan_to_num(np.concatenate([low, high], axis=1), nan=-inf)
    return bounds


KEYPOINTS = Similarity(_keypoints, needs="keypoints")
