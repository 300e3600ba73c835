"""Pixels of shapes as runs along columns, and how many pixels two shapes share."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    frozen_arrays,
    rows,
    run_starts,
)
from bboxqa.geometry.kernels.boxes import overlap

# The places of two pixels beside each other in a row differ by this, which is more than any height.
_COLUMN = 1 << 32
# Runs that are looked up at once.
_CHUNK = 1 << 18


@frozen_arrays
class PixelRuns:
    """The pixels of N shapes, as runs along columns.

    Attributes
    ----------
    start, stop : (R,) int64
        The place of the first pixel of each run, and the place after its last one, sorted within a
        shape. The place of a pixel is ``x * 2**32 + y``.
    offsets : (N + 1,) int64
        Shape n has the runs ``offsets[n]:offsets[n + 1]``.
    area : (N,) float64
        The number of pixels.
    bounds : (N, 4) float64
        Left, top, right and bottom in pixels; zeros without pixels.
    """

    start: IndexArray
    stop: IndexArray
    offsets: IndexArray
    area: FloatArray
    bounds: FloatArray

    @property
    def is_box(self) -> BoolArray:
        """Whether each shape fills its bounds, (N,) bool."""
        width, height = (self.bounds[:, 2:] - self.bounds[:, :2]).T
        filled: BoolArray = self.area == width * height
        return filled


def runs_of(canvas: BoolArray, left: int, top: int) -> tuple[IndexArray, IndexArray]:
    """Return start and stop of the runs of drawn pixels, (height, width) bool, each (R,) int64.

    `left` and `top` are the place of the canvas.

    Examples
    --------
    >>> start, stop = runs_of(np.array([[True, False], [True, True]]), 0, 7)
    >>> start, stop - start
    (array([         7, 4294967304]), array([2, 1]))
    """
    height, width = canvas.shape
    columns = np.zeros((width, height + 2), np.bool_)
    columns[:, 1:-1] = canvas.T
    ends = np.flatnonzero(columns[:, 1:] != columns[:, :-1])
    x, y = np.divmod(ends, height + 1)
    place = (x + left) * _COLUMN + (y + top)
    return place[::2], place[1::2]


def pixel_runs(parts: Sequence[tuple[IndexArray, IndexArray]]) -> PixelRuns:
    """Join the runs of N shapes, each what `runs_of` returns."""
    none = np.zeros(0, np.int64)
    start = np.concatenate([none, *(each[0] for each in parts)])
    stop = np.concatenate([none, *(each[1] for each in parts)])
    offsets = np.cumsum([0, *(len(each[0]) for each in parts)])
    area, bounds = np.zeros(len(parts)), np.zeros((len(parts), 4))
    drawn = np.flatnonzero(np.diff(offsets))
    if len(drawn):
        begin = offsets[:-1][drawn]
        # Rows may be negative, so that the column is that of the nearest place in row 0.
        x = (start + _COLUMN // 2) // _COLUMN
        area[drawn] = np.add.reduceat(stop - start, begin)
        bounds[drawn, 0] = np.minimum.reduceat(x, begin)
        bounds[drawn, 1] = np.minimum.reduceat(start - x * _COLUMN, begin)
        bounds[drawn, 2] = np.maximum.reduceat(x, begin) + 1
        bounds[drawn, 3] = np.maximum.reduceat(stop - x * _COLUMN, begin)
    return PixelRuns(start, stop, offsets, area, bounds)


def shared_pixels(runs: PixelRuns, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return how many pixels each pair of shapes shares, (P,) float64.

    It takes longest if pairs are not sorted by left.
    """
    result = overlap(runs.bounds[left], runs.bounds[right])
    box = runs.is_box
    other = np.flatnonzero(~(box[left] & box[right]) & (result > 0))
    left, right = left[other], right[other]
    n_runs = runs.offsets[right + 1] - runs.offsets[right]
    for start, stop in _parts(left, n_runs):
        a = int(left[start])
        own = slice(runs.offsets[a], runs.offsets[a + 1])
        result[other[start:stop]] = _shared(runs, own, right[start:stop])
    return result


def _parts(left: IndexArray, n_runs: IndexArray) -> Iterator[tuple[int, int]]:
    """Yield start and stop of pairs of one left shape, with a limited number of runs."""
    total = np.concatenate([[0], np.cumsum(n_runs)])
    for first, last in pairwise([*run_starts(left).tolist(), len(left)]):
        while first < last:
            stop = int(np.searchsorted(total, total[first] + _CHUNK, side="right")) - 1
            stop = min(max(stop, first + 1), last)
            yield first, stop
            first = stop  # noqa: PLW2901


def _shared(runs: PixelRuns, own: slice, others: IndexArray) -> FloatArray:
    """Return how many pixels one shape shares with each of the others."""
    start, stop = runs.start[own], runs.stop[own]
    filled = np.concatenate([[0], np.cumsum(stop - start)])
    ends = np.concatenate([start[:1], stop])

    def before(place: IndexArray) -> IndexArray:
        """Return the number of pixels of the shape before each place."""
        n = np.searchsorted(start, place, side="right")
        # Less the pixels of the run that the place is in.
        return filled[n] - np.where(n > 0, np.maximum(ends[n], place) - place, 0)

    index, offsets = rows(runs.offsets[others], runs.offsets[others + 1])
    pixels = before(runs.stop[index]) - before(runs.start[index])
    total = np.concatenate([[0], np.cumsum(pixels)])
    shared: FloatArray = (total[offsets[1:]] - total[offsets[:-1]]).astype(np.float64)
    return shared
