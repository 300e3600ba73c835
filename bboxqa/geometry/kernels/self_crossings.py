"""Self-crossing rings: counting crossings, and the area that the even-odd rule fills."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray

# Pairs of edges that are compared, and the fewest edges that are compared with all others.
_COMPARED = 1 << 22
_FEWEST = 128
# Numbers per temporary array; few, so that counting stops early.
_CHUNK = 1 << 16
# GEOS compares this many pairs of edges in a twentieth of a second; real outlines have fewer.
_MOST_PAIRS = 1 << 20
_SAMPLE = 64

FEWEST_INTRICATE = int((2 * _MOST_PAIRS) ** 0.5)
"""Rings with fewer vertices are never intricate."""


def is_intricate(rings: Sequence[FloatArray]) -> bool:
    """Return whether an estimated million pairs of edges or more have overlapping bounds.

    The time of GEOS grows with this number, even if edges do not cross: a comb with slanted teeth
    takes minutes. `rings` are the rings of one annotation, each (V, 2) float64.

    Examples
    --------
    >>> teeth = np.arange(4000.0)
    >>> comb = np.stack([teeth + teeth % 2 * 9000, teeth % 2 * 9000], axis=1)
    >>> is_intricate([comb]), is_intricate([comb[:1000]])
    (True, False)
    """
    n = sum(map(len, rings))
    if n < FEWEST_INTRICATE:
        return False
    start = np.concatenate(rings)
    stop = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    low, high = np.minimum(start, stop), np.maximum(start, stop)
    edge = np.linspace(0, n, _SAMPLE, endpoint=False).astype(np.int64)[:, None]
    n_pairs = ((low <= high[edge]) & (low[edge] <= high)).all(axis=2).sum() * n / _SAMPLE / 2
    return bool(n_pairs > _MOST_PAIRS)


def n_crossings(xy: FloatArray, most: float = np.inf) -> int:
    """Return the number of pairs of edges of a ring that cross or touch, other than neighbours.

    It is an estimate for rings of more than 2,048 vertices. Counting stops when there are more than
    `most`; the number is then too low, but above `most`.

    Examples
    --------
    >>> n_crossings(np.array([[0.0, 0], [4, 4], [4, 0], [0, 4]]))
    1
    """
    start = xy[(xy != np.roll(xy, 1, axis=0)).any(axis=1)]
    n, stop = len(start), np.roll(start, -1, axis=0)
    low, high = np.minimum(start, stop).T, np.maximum(start, stop).T
    n_compared = min(n, max(_COMPARED // max(n, 1), _FEWEST))
    compared = np.linspace(0, n, n_compared, endpoint=False).astype(np.int64)
    found, number, step = 0, 0, max(_CHUNK // max(n, 1), 1)
    for first in range(0, len(compared), step):
        edge = compared[first : first + step]
        a, b = edge[:, None], np.arange(n)
        near = (a - b + 1) % n > 2
        for of_low, of_high in zip(low, high, strict=True):
            near &= of_low <= of_high[a]
            near &= of_low[a] <= of_high
        row, b = np.divmod(np.flatnonzero(near), n)
        a = edge[row]
        meets = _side(start[a], stop[a], start[b]) * _side(start[a], stop[a], stop[b]) <= 0
        meets &= _side(start[b], stop[b], start[a]) * _side(start[b], stop[b], stop[a]) <= 0
        found += int(meets.sum())
        number = round(found * n / len(compared) / 2)
        if number > most:
            break
    return number


def _side(a: FloatArray, b: FloatArray, point: FloatArray) -> FloatArray:
    """Return the side of the lines from `a` to `b` on which points lie: -1, 0 or 1."""
    along, across = b - a, point - a
    side: FloatArray = np.sign(along[..., 0] * across[..., 1] - along[..., 1] * across[..., 0])
    return side


def even_odd_parts(xy: FloatArray) -> Any:
    """Return the parts of a ring that the even-odd rule fills, as (K,) shapely polygons.

    They share no edges. `shapely.make_valid` gives the same parts unless edges coincide, but its
    time grows quadratically with the number of crossings, and here linearly.

    Examples
    --------
    >>> [part.area for part in even_odd_parts(np.array([[0.0, 0], [4, 4], [4, 0], [0, 4]]))]
    [4.0, 4.0]
    """
    import shapely

    lines = shapely.union_all([shapely.linearrings(xy)])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(lines)))
    inside = shapely.get_coordinates(shapely.point_on_surface(faces))
    start, stop = xy, np.roll(xy, -1, axis=0)
    filled, step = np.zeros(len(faces), np.bool_), max(_CHUNK // len(xy), 1)
    for first in range(0, len(faces), step):
        x, y = inside[first : first + step].T[:, :, None]
        spans = (start[:, 1] > y) != (stop[:, 1] > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (y - start[:, 1]) / (stop[:, 1] - start[:, 1])
            right = start[:, 0] + share * (stop[:, 0] - start[:, 0]) > x
        filled[first : first + step] = (spans & right).sum(axis=1) % 2 == 1
    return faces[filled]
