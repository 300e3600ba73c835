"""Key points of annotations as flat arrays."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, frozen_arrays, rows
from bboxqa.core.spool import column_limit, concatenate, take_rows, vertex_limit


@frozen_arrays
class Keypoints:
    """The key points of N annotations, each with any number of joints."""

    xy: FloatArray
    """(V, 2) float64. The joints of all annotations, in pixels."""
    visibility: ByteArray
    """(V,) uint8. 0 for a joint that is not labelled, 1 for a hidden one, 2 for a visible one."""
    start: IndexArray
    stop: IndexArray
    """(N,) int64. Annotation n has the joints ``xy[start[n]:stop[n]]``."""
    area: FloatArray
    """(N,) float64. The area that the file gives, in square pixels; NaN where it gives none."""

    def __len__(self) -> int:
        return len(self.start)

    def take(self, index: IndexArray) -> "Keypoints":
        """Return the key points at `index`, in that order, over the same joints."""
        of = {name: take_rows(getattr(self, name), index) for name in ("start", "stop", "area")}
        return replace(self, **of)

    def packed(self) -> "Keypoints":
        """Return the same key points without unused joints, in the order of annotations."""
        places, offsets = rows(self.start, self.stop)
        return replace(
            self,
            xy=self.xy[places],
            visibility=self.visibility[places],
            start=offsets[:-1],
            stop=offsets[1:],
        )

    def scaled(self, factors: FloatArray) -> "Keypoints":
        """Return the key points with their x and y multiplied by (N, 2) factors."""
        packed = self.packed()
        of_joints = np.repeat(factors, packed.stop - packed.start, axis=0)
        return replace(packed, xy=packed.xy * of_joints, area=packed.area * factors.prod(1))

    def labelled(self) -> tuple[BoolArray, IndexArray]:
        """Return which joints of packed key points are labelled, (V,), and how many each has."""
        is_labelled = self.visibility > 0
        before = np.concatenate([[0], np.cumsum(is_labelled)])
        return is_labelled, before[self.stop] - before[self.start]

    def extent(self) -> FloatArray:
        """Return the box around the labelled joints of each, (N, 4) x, y, width, height.

        NaN where none is labelled.
        """
        packed = self.packed()
        is_labelled, n_labelled = packed.labelled()
        result = np.full((len(self), 4), np.nan)
        some = np.flatnonzero(n_labelled)
        if len(some):
            xy = packed.xy[is_labelled]
            first = np.cumsum(n_labelled[some]) - n_labelled[some]
            low = np.minimum.reduceat(xy, first, axis=0)
            result[some] = np.column_stack([low, np.maximum.reduceat(xy, first, axis=0) - low])
        return result


def join_keypoints(
    parts: Sequence[Keypoints], index: Sequence[IndexArray], memory: int | None
) -> Keypoints:
    """Return key points of several files, one file after the other; `index` are those to take.

    Examples
    --------
    >>> one = Keypoints(
    ...     np.zeros((2, 2)), np.ones(2, np.uint8), np.array([0]), np.array([2]), np.array([9.0])
    ... )
    >>> join_keypoints([one, one], [np.array([0]), np.array([0])], None).stop.tolist()
    [2, 4]
    """
    before = list(accumulate((len(part.xy) for part in parts), initial=0))
    limit = column_limit(memory)
    taken = [
        (part.start[rows_of] + shift, part.stop[rows_of] + shift, part.area[rows_of])
        for part, rows_of, shift in zip(parts, index, before, strict=False)
    ]
    start, stop, area = (concatenate(column, limit) for column in zip(*taken, strict=True))
    return Keypoints(
        xy=concatenate((part.xy for part in parts), vertex_limit(memory), scattered=True),
        visibility=concatenate((part.visibility for part in parts), vertex_limit(memory)),
        start=start,
        stop=stop,
        area=area,
    )
