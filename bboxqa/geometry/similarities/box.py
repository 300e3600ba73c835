"""Similarities of boxes: IoU, generalised IoU and closeness of centres."""

from collections import Counter

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.geometry.kernels import boxes
from bboxqa.geometry.similarities.base import Comparison, Options, Similarity
from bboxqa.model.annotations import Dataset


def _corners(dataset: Dataset) -> tuple[FloatArray, Counter[str]]:
    corners = boxes.corners(dataset.annotations.bbox)
    flat = (dataset.annotations.bbox[:, 2:] == 0).any(1)
    return corners, Counter(flat=int(flat.sum()))


def _bbox(dataset: Dataset, _: Options) -> Comparison:
    corners, counts = _corners(dataset)
    return Comparison(
        compare=lambda left, right: boxes.bbox_iou(
            corners.take(left, axis=0), corners.take(right, axis=0)
        ),
        bounds=corners,
        counts=counts,
    )


def _giou(dataset: Dataset, options: Options) -> Comparison:
    corners, counts = _corners(dataset)
    return Comparison(
        compare=lambda left, right: boxes.bbox_giou(
            corners.take(left, axis=0), corners.take(right, axis=0)
        ),
        # The GIoU of boxes that do not overlap is at most 0.
        bounds=corners if options.iou_threshold > 0 else None,
        counts=counts,
    )


def _centroid(dataset: Dataset, options: Options) -> Comparison:
    corners, counts = _corners(dataset)
    centre = (corners[:, :2] + corners[:, 2:]) / 2
    # Pairs whose centres are further apart than this share of the longer diagonal do not reach the
    # threshold; 1e-6 is added to keep pairs that reach it exactly.
    reach = boxes.diagonals(corners)[:, None] * (1 - options.iou_threshold + 1e-6)
    return Comparison(
        compare=lambda left, right: boxes.bbox_centroid(
            corners.take(left, axis=0), corners.take(right, axis=0)
        ),
        bounds=np.concatenate([centre - reach, centre + reach], axis=1),
        counts=counts,
    )


BBOX = Similarity(_bbox, needs="boxes", is_iou=True)
GIOU = Similarity(_giou, needs="boxes", lowest=-1.0)
CENTROID = Similarity(_centroid, needs="boxes")
