"""Masks as COCO's run lengths: checking, making them from polygons, and their IoU."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.arrays import run_starts
from bboxqa.model import FloatArray, IndexArray, SegmentationKind, Segmentations

__all__ = ["compress_counts", "decode_counts", "mask_bounds", "mask_iou", "masks"]


def decode_counts(counts: bytes) -> IndexArray:
    """Return the run lengths of a compressed mask.

    Each number is written in groups of five bits, lowest first, with 32 as the mark that more
    follow and 48 added to each character; from the fourth number on, it is the difference from
    the number two places before (COCO's `maskApi.c`).

    Parameters
    ----------
    counts : bytes
        COCO's compressed form.

    Returns
    -------
    (R,) int64
        Lengths of runs in pixels, beginning with a run outside the mask.

    Raises
    ------
    ValueError
        If the text is not of this form.

    Examples
    --------
    >>> decode_counts(b"04")
    array([0, 4])
    """
    text = np.frombuffer(counts, np.uint8).astype(np.int64) - 48
    if len(text) == 0:
        return np.zeros(0, np.int64)
    if text.min() < 0 or text.max() > 63:
        raise ValueError("a character outside of '0' to 'o'")
    last = (text & 32) == 0
    if not last[-1]:
        raise ValueError("the last number is cut off")
    starts = np.flatnonzero(np.concatenate([[True], last[:-1]]))
    place = np.arange(len(text)) - np.repeat(starts, np.diff(np.append(starts, len(text))))
    if place.max() > 9:
        raise ValueError("a number of more than 50 bits")
    numbers = np.add.reduceat((text & 31) << (5 * place), starts)
    ends = np.flatnonzero(last)
    negative = (text[ends] & 16) != 0
    numbers[negative] -= np.int64(1) << (5 * (place[ends[negative]] + 1))
    numbers[1::2] = np.cumsum(numbers[1::2])
    numbers[2::2] = np.cumsum(numbers[2::2])
    if numbers.min() < 0:
        raise ValueError("a run of negative length")
    return numbers


def compress_counts(runs: IndexArray, height: int, width: int) -> bytes:
    """Return COCO's compressed form of run lengths.

    Parameters
    ----------
    runs : (R,) int64
        Lengths of runs in pixels that add up to `height` times `width`.
    height, width : int
        Of the mask in pixels.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import numpy as np
    >>> compress_counts(np.array([0, 4]), 2, 2)
    b'04'
    """
    from pycocotools import mask

    encoded = mask.frPyObjects({"size": [height, width], "counts": runs.tolist()}, height, width)
    counts: bytes = encoded["counts"]
    return counts


def masks(segmentations: Segmentations, image_size: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return every outline as a mask, polygons rasterised by COCO's rule.

    Parameters
    ----------
    segmentations : Segmentations
        N outlines.
    image_size : (N, 2) int64
        Width and height of each image in pixels, for the polygons.

    Returns
    -------
    list of dict
        N masks with `size` and `counts`, as pycocotools takes them.
    """
    from pycocotools import mask

    result = []
    for index, (width, height) in enumerate(image_size.tolist()):
        if segmentations.kind[index] == SegmentationKind.RLE:
            result.append(segmentations.rle(index))
            continue
        # A ring of two points would be taken for a box.
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


def mask_iou(rles: list[dict[str, Any]], left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of each pair of masks.

    Parameters
    ----------
    rles : list of dict
        N masks.
    left, right : (P,) int64
        Which to compare, sorted by `left`; both masks of a pair have one size. P may be 0.

    Returns
    -------
    (P,) float64
        In [0, 1]; 0 for empty masks.
    """
    from pycocotools import mask

    result = np.zeros(len(left))
    for start, stop in pairwise([*run_starts(left).tolist(), len(left)]):
        others = [rles[index] for index in right[start:stop].tolist()]
        result[start:stop] = mask.iou([rles[int(left[start])]], others, [0] * len(others))[0]
    return result
