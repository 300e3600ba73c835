"""Coordinates that are equal but for the rounding of files."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray

ROUNDED_PX = 0.01 + 1e-9
"""Coordinates that differ by no more are the same, in pixels: formats round them to two decimals,
or to six decimals of the size of the image."""

# Boxes in other units than pixels may be small: the tolerance is no more of their shorter side.
_OF_SIDE = 1e-3


def equal_edges(left: FloatArray, right: FloatArray) -> BoolArray:
    """Return which edges of paired boxes are the same, but for rounding, (P, 4), (P, 4) → (P, 4).

    Edges are left, top, right and bottom.

    Examples
    --------
    >>> box = np.array([[10.0, 20.0, 50.0, 60.0]])
    >>> equal_edges(box, box + [[0.0004, -0.01, 0.02, 1]]).tolist()
    [[True, True, False, False]]
    """
    side = np.minimum(right[:, 2] - right[:, 0], right[:, 3] - right[:, 1])
    tolerance = np.minimum(_OF_SIDE * side, ROUNDED_PX)[:, None]
    result: BoolArray = np.abs(left - right) <= tolerance
    return result


def beyond_rounding(offset: FloatArray, percent: FloatArray) -> BoolArray:
    """Return which mean offsets rounding does not explain, (N,), (N,) → (N,).

    Offsets are in pixels or degrees, and in percent of a size; NaN where they have none.

    Examples
    --------
    >>> beyond_rounding(np.array([0.004, -0.4, 0.004]), np.array([0.01, 0.9, 4.0])).tolist()
    [False, True, True]
    """
    result: BoolArray = (np.abs(offset) > ROUNDED_PX) | (np.abs(percent) > 100 * _OF_SIDE)
    return result
