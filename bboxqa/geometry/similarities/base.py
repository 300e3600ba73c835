"""The interface of similarities, and helpers that several of them share."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.similarities.needs import Needs
from bboxqa.model.annotations import Dataset
from bboxqa.model.outlines import Segmentations

ONE_PIXEL = np.array([-1.0, -1.0, 1.0, 1.0])
"""Added to bounds, since rasterising can move an edge by up to a pixel."""
ONE_PIXEL.setflags(write=False)

Compare = Callable[[IndexArray, IndexArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Options:
    """The settings that a similarity may depend on.

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
    """A similarity prepared for N annotations.

    Attributes
    ----------
    compare : callable
        (left, right), each (P,) int64 and sorted by left, → (P,) float64.
    bounds : (N, 4) float64 or None
        left, top, right, bottom; pairs whose bounds do not overlap are not compared. None where
        distant annotations can be similar.
    limit : callable or None
        A cheap upper bound of `compare`.
    counts : Counter
        The number of "flat" and "repaired" annotations, and of "short" rings.
    """

    compare: Compare
    bounds: FloatArray | None
    limit: Compare | None = None
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Similarity:
    """One way to compare two annotations.

    Attributes
    ----------
    prepare : callable
        (dataset, options) → `Comparison`, for a data set of whole images.
    needs : {"boxes", "rotated boxes", "polygons", "outlines", "masks", "keypoints"}
        The shape that every annotation must have; see `bboxqa.geometry.similarities.needs.Needs`.
    threads : bool
        Whether several threads may prepare and compare parts of a data set at once.
    lowest : float
        Lower bound of the similarity; thresholds must be above it.
    is_iou : bool
        Whether it is an intersection over union, so that results call its threshold "IoU"; other
        thresholds have the name of the similarity.
    """

    prepare: Callable[[Dataset, Options], Comparison]
    needs: Needs
    threads: bool = True
    lowest: float = 0.0
    is_iou: bool = False


def packed_outlines(dataset: Dataset) -> tuple[Segmentations, Counter[str]]:
    """Return the outlines, and the number of rings with fewer than three vertices as "short"."""
    segmentation = dataset.annotations.segmentation
    if segmentation is None:
        raise DatasetError(["the segmentations were not read"])
    segmentation = segmentation.packed()
    short = int((np.diff(segmentation.ring_offsets) < 3).sum())
    return segmentation, Counter(short=short)
