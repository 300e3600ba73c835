"""Computing areas, lengths and bounds of rings in chunks, to limit memory."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, rows, sum_by
from bboxqa.formats.columns import Rings

# Vertices per chunk.
_CHUNK = 1 << 20


def _parts(rings: Rings, which: IndexArray) -> Iterator[tuple[slice, FloatArray, IndexArray]]:
    """Yield chunks of rings, with their vertices and the offset of each ring."""
    size = np.diff(rings.offsets)[which]
    part = np.cumsum(size) // _CHUNK
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    stops = np.append(starts[1:], len(which))[: len(starts)]
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        own = which[start:stop]
        places, offsets = rows(rings.offsets[own], rings.offsets[own + 1])
        xy = rings.xy[places]
        yield slice(start, stop), xy, offsets


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
    result = np.zeros(len(rings.row))
    for part, xy, offsets in _parts(rings, np.arange(len(rings.row))):
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        begin = offsets[owner]
        # Relative to the first vertex, since far from the origin products lose significant digits.
        with np.errstate(over="ignore", invalid="ignore"):
            x, y = (axis - axis[begin] for axis in np.ascontiguousarray(xy.T))
            cross = x * _following(y, offsets) - _following(x, offsets) * y
        result[part] = sum_by(owner, cross, len(offsets) - 1) / 2
    return result


def ring_lengths(rings: Rings, which: IndexArray) -> FloatArray:
    """Return the perimeter of the K rings `which` in pixels, (K,) float64.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> xy = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    >>> ring_lengths(Rings(one, one, one + 6, np.array([0, 3]), xy), one)
    array([12.])
    """
    result = np.zeros(len(which))
    for part, xy, offsets in _parts(rings, which):
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        steps = np.hypot(*(_following(xy, offsets) - xy).T)
        result[part] = sum_by(owner, steps, len(offsets) - 1)
    return result


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
    for part, xy, offsets in _parts(rings, np.arange(len(rings.row))):
        filled = np.flatnonzero(np.diff(offsets))
        if len(filled):
            starts = offsets[filled]
            result[part.start + filled, :2] = np.minimum.reduceat(xy, starts)
            result[part.start + filled, 2:] = np.maximum.reduceat(xy, starts)
    return result
