"""Measures of boxes and rings that need no document."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, rows, sum_by
from bboxqa.formats.columns import Rings


def _following(values: FloatArray, offsets: IndexArray) -> FloatArray:
    """Return the value of the next vertex in the ring, for each vertex."""
    following = np.empty_like(values)
    following[:-1] = values[1:]
    filled = np.diff(offsets) > 0
    following[offsets[1:][filled] - 1] = values[offsets[:-1][filled]]
    return following


def ring_areas(rings: Rings) -> FloatArray:
    """Return the signed area of each ring in square pixels (shoelace formula), (R,) float64.

    NaN where coordinates are infinite or their products overflow.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> xy = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    >>> ring_areas(Rings(one, one, one + 6, np.array([0, 3]), xy))
    array([6.])
    """
    offsets = rings.offsets
    owner = np.repeat(np.arange(len(rings.row)), np.diff(offsets))
    # Relative to the first vertex, since far from the origin products lose significant digits.
    with np.errstate(over="ignore", invalid="ignore"):
        x, y = (axis - axis[offsets[owner]] for axis in np.ascontiguousarray(rings.xy.T))
        cross = x * _following(y, offsets) - _following(x, offsets) * y
    return sum_by(owner, cross, len(rings.row)) / 2


def ring_lengths(rings: Rings, which: IndexArray) -> FloatArray:
    """Return the perimeter of the K rings `which` in pixels, (K,) float64.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> xy = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    >>> ring_lengths(Rings(one, one, one + 6, np.array([0, 3]), xy), one)
    array([12.])
    """
    places, offsets = rows(rings.offsets[which], rings.offsets[which + 1])
    xy, owner = rings.xy[places], np.repeat(np.arange(len(which)), np.diff(offsets))
    return sum_by(owner, np.hypot(*(_following(xy, offsets) - xy).T), len(which))


def ring_bounds(rings: Rings) -> FloatArray:
    """Return left, top, right and bottom of each ring, (R, 4) float64; NaN for empty rings.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> xy = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    >>> ring_bounds(Rings(one, one, one + 6, np.array([0, 3]), xy))
    array([[0., 0., 3., 4.]])
    """
    result = np.full((len(rings.row), 4), np.nan)
    filled = np.flatnonzero(np.diff(rings.offsets))
    if len(filled):
        result[filled, :2] = np.minimum.reduceat(rings.xy, rings.offsets[filled])
        result[filled, 2:] = np.maximum.reduceat(rings.xy, rings.offsets[filled])
    return result
