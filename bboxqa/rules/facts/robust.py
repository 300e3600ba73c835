"""Robust z-scores from the median and the median absolute deviation."""

from itertools import pairwise

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, run_starts


def deviations(
    values: FloatArray, group: IndexArray, floor: float
) -> tuple[FloatArray, FloatArray]:
    """Return the robust z-score of each value within its group, and the median of the group.

    The score is the distance to the median in units of 1.4826 times the median absolute
    deviation, which estimates the standard deviation of normal values.

    Parameters
    ----------
    values : (N,) float64
        Finite.
    group : (N,) int64
        The group of each value, 0 or more.
    floor : float
        The minimum spread, above 0; smaller spreads are raised to it.

    Returns
    -------
    score, median : (N,) float64

    Examples
    --------
    >>> import numpy as np
    >>> deviations(np.array([1.0, 2.0, 3.0, 30.0]), np.zeros(4, int), 0.1)[0].round(2)
    array([-1.01, -0.34,  0.34, 18.55])
    """
    order = np.argsort(group, kind="stable")
    ordered = values[order]
    middle, spread = np.empty(len(values)), np.empty(len(values))
    for start, stop in pairwise([*run_starts(group[order]).tolist(), len(order)]):
        part = ordered[start:stop]
        here = order[start:stop]
        middle[here] = median = np.median(part)
        spread[here] = 1.4826 * np.median(np.abs(part - median))
    return (values - middle) / np.maximum(spread, floor), middle
