"""Similarities of boxes, rotated boxes and key points."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import inf, log, sqrt

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count
from bboxqa.geometry import boxes
from bboxqa.geometry.boxes import key_point_similarity, rotated_iou
from bboxqa.geometry.similarity import Comparison, Options, Similarity
from bboxqa.model.annotations import Dataset
from bboxqa.model.keypoints import coco_places
from bboxqa.model.masks import SegmentationKind, Segmentations
from bboxqa.model.rotated_boxes import bounds, from_corners, smallest_angle

Measure = Callable[[FloatArray, FloatArray], FloatArray]


def _boxes(measure: Measure, dataset: Dataset, options: Options) -> Comparison:
    """Return the comparison of upright boxes by a measure of their corners."""
    bbox = dataset.annotations.bbox
    corners = boxes.corners(bbox)
    bounds: FloatArray | None = corners
    if measure is boxes.bbox_giou and options.iou_threshold <= 0:
        # Only the GIoU of boxes that overlap is above 0.
        bounds = None
    elif measure is boxes.bbox_centroid:
        centre = (corners[:, :2] + corners[:, 2:]) / 2
        # Pairs whose centres are further apart than this share of the longer diagonal do not reach
        # the threshold; 1e-6 is added to keep pairs that reach it exactly.
        reach = boxes.diagonals(corners)[:, None] * (1 - options.iou_threshold + 1e-6)
        bounds = np.concatenate([centre - reach, centre + reach], axis=1)
    return Comparison(
        compare=lambda left, right: measure(
            corners.take(left, axis=0), corners.take(right, axis=0)
        ),
        bounds=bounds,
        counts=Counter(flat=int((bbox[:, 2:] == 0).any(1).sum())),
    )


# Comparing upright boxes takes no longer than handing them to threads.
BBOX = Similarity(partial(_boxes, boxes.bbox_iou), needs="boxes", threads=False, is_iou=True)
GIOU = Similarity(partial(_boxes, boxes.bbox_giou), needs="boxes", threads=False, lowest=-1.0)
CENTROID = Similarity(partial(_boxes, boxes.bbox_centroid), needs="boxes", threads=False)


_CORNERS = 4
_SAME = 1e-6


def _obb(dataset: Dataset, _: Options) -> Comparison:
    boxes = dataset.annotations.rotated_box
    if boxes is None:
        raise DatasetError(["the rotated boxes were not read"])
    # Makes boxes that differ by half turns, and the four descriptions of a square, equal.
    boxes = smallest_angle(boxes)
    counts = Counter(flat=int((boxes[:, 2:4] == 0).any(1).sum()))
    if dataset.annotations.segmentation is not None:
        counts.update(other_shapes(dataset.annotations.segmentation, boxes))
    return Comparison(
        compare=lambda left, right: rotated_iou(
            boxes.take(left, axis=0), boxes.take(right, axis=0)
        ),
        bounds=bounds(boxes),
        counts=counts,
    )


def other_shapes(outlines: Segmentations, boxes: FloatArray) -> dict[str, int]:
    """Return the number of outlines that are no rotated boxes, as "quadrilaterals" and others."""
    outlines = outlines.packed()
    is_polygon = outlines.kind == SegmentationKind.POLYGON
    single = np.flatnonzero(is_polygon & (outlines.part_stop - outlines.part_start == 1))
    ring = outlines.part_start[single]
    first, last = outlines.ring_offsets[ring], outlines.ring_offsets[ring + 1] - 1
    # The ring may be closed by a fifth point.
    closed = (last - first == _CORNERS) & (outlines.xy[first] == outlines.xy[last]).all(1)
    quads = closed | (last - first == _CORNERS - 1)
    rectangles, fits = from_corners(outlines.xy[first[quads][:, None] + np.arange(_CORNERS)])
    # A box given by five numbers or an angle takes precedence over the outline.
    is_box = np.abs(rectangles - boxes[single[quads]]).max(1, initial=0) < _SAME
    n_others = np.count_nonzero(outlines.kind != SegmentationKind.NONE) - np.count_nonzero(quads)
    return {"quadrilaterals": int((is_box & ~fits).sum()), "other_outlines": int(n_others)}


OBB = Similarity(_obb, needs="rotated boxes", is_iou=True)


COCO_SIGMAS = (
    0.026, 0.025, 0.025, 0.035, 0.035, 0.079, 0.079, 0.072, 0.072, 0.062, 0.062, 0.107, 0.107,
    0.087, 0.087, 0.089, 0.089,
)  # fmt: skip
"""COCO's sigmas of the 17 joints of people."""


def given_sigmas(dataset: Dataset, sigmas: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Return the sigma of each joint of each category from the settings; else COCO's.

    A single sigma is for all joints; several are for the categories with as many joints. Raises
    ConfigError if a category with key points has none, or if no category has as many joints.
    """
    found: list[tuple[float, ...]] = []
    fits_none = all(len(joints) != len(sigmas) for joints in dataset.joint_names)
    for name, joints in zip(dataset.category_names, dataset.joint_names, strict=True):
        places, n_points = coco_places(joints), count(len(joints), "key point")
        if not joints:
            found.append(())
        elif len(sigmas) == 1:
            found.append(tuple(sigmas) * len(joints))
        elif len(sigmas) == len(joints):
            found.append(tuple(sigmas))
        elif places and not (sigmas and fits_none):
            found.append(tuple(COCO_SIGMAS[place] for place in places))
        elif sigmas:
            raise ConfigError(
                f"--sigmas has {len(sigmas)} numbers, but category {name!r} has {n_points}; "
                "expected one number for all, as many as there are key points, or: --sigmas "
                "estimated"
            )
        else:
            why = "not COCO's 17" if len(joints) != 17 else "whose names are not COCO's"
            raise ConfigError(
                f"category {name!r} has {n_points}, {why}: similarity 'keypoints' needs the sigma "
                "of each. Give one number for all (--sigmas 0.05), one for each in their order "
                "(--sigmas 0.03,0.05,...), or have them estimated from the annotators (--sigmas "
                "estimated)"
            )
    return tuple(found)


# Bounds that only touch do not overlap, and equal points must be compared.
_MARGIN = 1e-3


def _keypoints(dataset: Dataset, options: Options) -> Comparison:
    annotations = dataset.annotations
    if annotations.keypoints is None:
        raise DatasetError(["the key points were not read"])
    keypoints = annotations.keypoints.packed()
    area, counts = keypoints.scales(annotations.bbox)
    table = dataset.joint_sigmas or given_sigmas(dataset, ())
    width = max((len(each) for each in table), default=0)
    # Annotations with more joints than their category has names match nothing.
    sigmas = np.ones((len(table), width + 1))
    for row, each in enumerate(table):
        sigmas[row, : len(each)] = each
    number = np.repeat(np.arange(len(keypoints)), keypoints.stop - keypoints.start)
    joint = np.minimum(np.arange(len(number)) - keypoints.start[number], width)
    variance: FloatArray = (2 * sigmas[annotations.category[number], joint]) ** 2
    bounds: FloatArray | None = None
    if options.iou_threshold > 0:
        # Bounds that overlap for any two annotations that reach the threshold.
        extent = keypoints.extent()
        reach = np.sqrt(area * variance.max(initial=0))
        reach *= sqrt(2 * log(1 / min(options.iou_threshold, 1)))
        reach = (reach * (1 + _MARGIN) + _MARGIN)[:, None]
        low, high = extent[:, :2] - reach, extent[:, :2] + extent[:, 2:] + reach
        bounds = np.nan_to_num(np.concatenate([low, high], axis=1), nan=-inf)
    return Comparison(
        compare=partial(key_point_similarity, keypoints, area, variance),
        bounds=bounds,
        counts=counts,
    )


KEYPOINTS = Similarity(_keypoints, needs="keypoints")
