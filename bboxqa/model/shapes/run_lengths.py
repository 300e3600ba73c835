"""Run lengths of masks: decoding and encoding COCO's compressed counts."""

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.model.shapes.mask_spans import joined, runs_of_spans, span_bounds, spans_of_runs, turned

MAX_MASK_PIXELS = 1 << 31
"""Pixels that a mask must stay below: a file may claim any size, and run lengths have 32 bits."""


def decode_counts(counts: bytes) -> IndexArray:
    """Return the run lengths of a compressed mask.

    Each number is written in groups of five bits, lowest first. 32 is added if more groups follow,
    and 48 is added to make each group a character. From the fourth number on, the difference from
    the number two places before is stored (COCO's `maskApi.c`). Raises ValueError if the text does
    not have this form.

    Parameters
    ----------
    counts : bytes
        COCO's compressed form.

    Returns
    -------
    (R,) int64
        Lengths of runs in pixels, beginning with a run outside the mask.

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


def run_bounds(runs: IndexArray, height: int) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a mask in pixels; NaN where it is empty.

    Runs go column by column, beginning with a run outside the mask.

    Examples
    --------
    >>> import numpy as np
    >>> run_bounds(np.array([5, 2, 2, 1, 6]), 4)
    (1.0, 1.0, 3.0, 3.0)
    """
    return span_bounds(spans_of_runs(runs), height)


def transposed_runs(runs: IndexArray, height: int, width: int) -> IndexArray:
    """Convert the run lengths of a mask from row by row to column by column.

    Both begin with a run outside the mask.

    Examples
    --------
    >>> import numpy as np
    >>> transposed_runs(np.array([1, 2, 3]), 2, 3)
    array([2, 1, 1, 1, 1])
    """
    spans = joined(turned(spans_of_runs(runs), height, width))
    columnwise = runs_of_spans(spans, height * width)
    return columnwise if columnwise[-1] else columnwise[:-1]


def compress_counts(runs: IndexArray, height: int, width: int) -> bytes:
    """Return COCO's compressed form of run lengths, which add up to `height` times `width`.

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
