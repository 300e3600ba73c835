"""What similarities of pixels share: the IoU of areas, its limit, and how much work is done."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.core.blocks import blocks
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.kernels.boxes import overlap
from bboxqa.geometry.similarities.base import Compare
from bboxqa.model.annotations import Dataset

# Runs of pixels that are compared in an image, which takes about ten seconds.
_MOST_RUNS = 1 << 29
# Images with fewer pairs per annotation are measured, however long it takes.
_FEW_PAIRS = 32


def pixel_iou(left: FloatArray, right: FloatArray, shared: FloatArray) -> FloatArray:
    """Return the IoU of P pairs from their areas and the area that they share; 0 without area."""
    covered = left + right - shared
    result = np.zeros(len(shared))
    np.divide(shared, covered, out=result, where=covered > 0)
    return result


def pixel_iou_limit(
    area: FloatArray, bounds: FloatArray, left: IndexArray, right: IndexArray
) -> FloatArray:
    """Return an upper bound of the IoU of pairs from areas, (N,), and bounds, (N, 4), of pixels."""
    a, b = area[left], area[right]
    shared = np.minimum(overlap(bounds[left], bounds[right]), np.minimum(a, b))
    return pixel_iou(a, b, shared)


def bounded(compare: Compare, dataset: Dataset, n_runs: IndexArray) -> Compare:
    """Return a comparison that refuses images in which it would take minutes.

    `n_runs`, (N,), are the runs of each annotation, or a number of about this size. Pairs of equal
    or rectangular shapes take no time, and have no runs.
    """
    image = dataset.annotations.image
    most = _FEW_PAIRS * np.bincount(image, minlength=len(dataset.image_names))

    def within(left: IndexArray, right: IndexArray) -> FloatArray:
        n_pairs, work = np.zeros((2, len(dataset.image_names)))
        for part in blocks(len(left)):
            a, b = left[part], right[part]
            n_pairs += np.bincount(image[a], minlength=len(n_pairs))
            work += sum_by(image[a], (n_runs[a] + n_runs[b]).astype(np.float64), len(work))
        too_many = np.flatnonzero((work > _MOST_RUNS) & (n_pairs > most))
        if len(too_many):
            raise DatasetError(
                [
                    f"image {dataset.image_names[number]!r}: too many of its annotations overlap: "
                    f"comparing the pixels of {n_pairs[number]:,.0f} pairs takes minutes"
                    for number in too_many.tolist()
                ],
                "Look for repeated annotations with: bboxqa validate\n"
                "Or compare with --similarity polygon, which takes larger pixels there, or bbox.",
            )
        return compare(left, right)

    return within
