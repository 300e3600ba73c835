"""The threshold that best separates annotations of one object from chance overlaps."""

from dataclasses import dataclass
from math import nan

import numpy as np

from bboxqa.core.arrays import FloatArray

# Thresholds whose distance is at most this much below the largest separate about as well.
_SAME = 0.02
# With a smaller distance, annotators hardly agree more than by chance.
_LEAST = 0.2
# The level of significance: the share of chance similarities above the limit for sigma.
_SIGNIFICANCE = 0.05
# If a larger part of the range of thresholds does about as well, no threshold stands out.
_WIDE = 0.35


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """The threshold that the data suggest, and the range that separates about as well.

    Attributes
    ----------
    threshold : float
        NaN if there is no clear best threshold.
    interval : tuple of float
        The 95 % interval of the threshold, over images; NaN where there is none.
    distance : float
        The largest Kolmogorov-Smirnov distance; NaN where chance was not measured.
    lowest, highest : float
        The thresholds whose distance is at most 0.02 less.
    reason : str
        Why there is no threshold; empty if there is one.
    """

    threshold: float
    interval: tuple[float, float]
    distance: float
    lowest: float
    highest: float
    reason: str = ""


def threshold_choice(
    thresholds: FloatArray,
    observed: FloatArray,
    by_chance: FloatArray,
    interval: tuple[float, float] = (nan, nan),
) -> ThresholdChoice:
    """Return the threshold at which observed and expected similarity differ most [1]_.

    F1 at a threshold is the share of annotations with a similarity of at least the threshold to
    that of another annotator; F1 by chance is this share for annotations of other images. Their
    difference is the distance of the two distributions of similarity. It is largest where the
    densities cross: similarities above are more frequent for annotations of one object, those
    below are more frequent by chance.

    Parameters
    ----------
    thresholds : (T,) float64
        Sorted.
    observed, by_chance : (T,) float64
        F1 at each threshold; NaN where not measured.
    interval : tuple of float
        The 95 % interval of the threshold with the largest difference.

    References
    ----------
    .. [1] A. Braylan, O. Alonso and M. Lease (2022), Measuring annotator agreement generally across
           complex structured, multi-object, and free-text annotation tasks, Proceedings of the ACM
           Web Conference 2022, doi:10.1145/3485447.3512242.

    Examples
    --------
    >>> choice = threshold_choice(
    ...     np.array([0.1, 0.3, 0.5, 0.7]),
    ...     np.array([0.9, 0.85, 0.7, 0.3]),
    ...     np.array([0.4, 0.1, 0.02, 0.0]),
    ... )
    >>> choice.threshold, choice.distance
    (0.3, 0.75)
    """
    distance = observed - by_chance
    if np.isnan(distance).any() or len(distance) == 0:
        return ThresholdChoice(nan, (nan, nan), nan, nan, nan, "agreement by chance is not known")
    largest = float(distance.max())
    near = np.flatnonzero(distance >= largest - _SAME)
    low, high = float(thresholds[near[0]]), float(thresholds[near[-1]])
    reason = ""
    if largest < _LEAST:
        reason = f"at no threshold is F1 more than {largest:.2f} above F1 by chance"
    elif high - low > _WIDE:
        reason = f"all thresholds from {low:g} to {high:g} separate objects from chance as well"
    elif interval[1] - interval[0] > _WIDE:
        first, last = (f"{round(each, 2):g}" for each in interval)
        reason = f"the choice of images decides which of the thresholds {first} to {last} is best"
    elif near[0] == 0:
        reason = f"F1 is most above F1 by chance at the lowest threshold, {low:g}"
    best = nan if reason else float(thresholds[np.argmax(distance)])
    return ThresholdChoice(best, interval, largest, low, high, reason)


def sigma(
    thresholds: FloatArray, observed: FloatArray, by_chance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return sigma, and the lowest similarity that counts for it [1]_.

    Sigma is the share of annotations that are significantly similar to that of another annotator:
    their distance is below the 5th percentile of distances by chance. Both shares are interpolated
    linearly between thresholds. If fewer than 5 % reach the lowest threshold by chance, this
    threshold is the limit.

    Parameters
    ----------
    thresholds : (T,) float64
        Sorted.
    observed, by_chance : (T, …) float64
        F1 at each threshold; `by_chance` falls with the threshold. NaN where not measured.

    Returns
    -------
    sigma, from : (…) float64
        NaN if chance is not measured, or more than 5 % by chance reach all thresholds.

    References
    ----------
    .. [1] A. Braylan, O. Alonso and M. Lease (2022), Measuring annotator agreement generally across
           complex structured, multi-object, and free-text annotation tasks, Proceedings of the ACM
           Web Conference 2022, doi:10.1145/3485447.3512242.

    Examples
    --------
    By chance, 10 % reach 0.3 and 2 % reach 0.5, so that 5 % reach 0.3 + 0.2 · 5/8 = 0.425.

    >>> share, start = sigma(
    ...     np.array([0.1, 0.3, 0.5, 0.7]),
    ...     np.array([0.9, 0.85, 0.7, 0.3]),
    ...     np.array([0.4, 0.1, 0.02, 0.0]),
    ... )
    >>> round(float(share), 5), round(float(start), 5)
    (0.75625, 0.425)
    """
    significant = by_chance <= _SIGNIFICANCE
    row = significant.argmax(0)[None]
    before = np.maximum(row - 1, 0)
    levels = np.broadcast_to(thresholds.reshape(-1, *[1] * (observed.ndim - 1)), observed.shape)
    (low, high), (from_low, from_high), (chance_low, chance_high) = (
        (np.take_along_axis(values, before, 0)[0], np.take_along_axis(values, row, 0)[0])
        for values in (observed, levels, by_chance)
    )
    step = chance_low - chance_high
    part = np.where(step > 0, (chance_low - _SIGNIFICANCE) / np.where(step > 0, step, 1.0), 0.0)
    known = significant.any(0) & ~np.isnan(by_chance).any(0)
    return (
        np.where(known, low + part * (high - low), np.nan),
        np.where(known, from_low + part * (from_high - from_low), np.nan),
    )
