"""Speed of annotators."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray
from bboxqa.diagnostics.annotators.image_ratios import RatioSums
from bboxqa.model.table import Column
from bboxqa.model.times import Times

# Faster annotations were imported, or made by a machine.
_AT_ONCE = 0.2


def are_at_once(times: Times, annotator: IntArray, n_annotators: int) -> BoolArray:
    """Return (A,) bool: annotators most of whose annotations were made at once."""
    known = ~np.isnan(times.step)
    n_steps = np.bincount(annotator[known], minlength=n_annotators)
    at_once = np.bincount(annotator[known & (times.step < _AT_ONCE)], minlength=n_annotators)
    result: BoolArray = 2 * at_once > n_steps
    return result


def speeds(
    step: FloatArray,
    key: IndexArray,
    n_keys: int,
    image: IntArray,
    n_images: int,
    bootstrap: int,
    seed: int,
) -> dict[str, Column]:
    """Return columns of K keys: annotations per minute, and median seconds between two of them.

    Parameters
    ----------
    step : (N,) float64
        Seconds since the previous annotation of the session; NaN for the first, which does not
        count.
    key : (N,) int64
        The annotator or session of each.
    image : (N,) int32
        The image of each; intervals are over images.
    """
    rows = np.flatnonzero(~np.isnan(step))
    step, key, image = step[rows], key[rows], image[rows]
    sums = RatioSums(n_keys, n_images)
    sums.add(key, image, np.full(len(step), 60.0), step)
    found = sums.ratios(bootstrap, seed)
    return {
        "per_minute": found.value,
        "per_minute_low": found.interval[:, 0],
        "per_minute_high": found.interval[:, 1],
        "median_seconds": _medians(step, key, n_keys),
    }


def _medians(values: FloatArray, key: IndexArray, n_keys: int) -> FloatArray:
    """Return the median of the values of each key, (K,); NaN without values."""
    order = np.lexsort((values, key))
    number = np.bincount(key, minlength=n_keys)
    start = np.cumsum(number) - number
    result = np.full(n_keys, np.nan)
    some = np.flatnonzero(number)
    low, high = (start[some] + (number[some] - 1 + side) // 2 for side in (0, 1))
    result[some] = (values[order[low]] + values[order[high]]) / 2
    return result
