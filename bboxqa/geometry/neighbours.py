"""Finding the pairs to compare: one image, two annotators, overlapping bounds."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, run_starts
from bboxqa.model.annotations import Annotations

# Pairs per chunk, so that a chunk fits into the cache of one core.
_CHUNK = 1 << 14
# With more pairs in an image, a tree is faster than comparing all bounds.
_CROWDED = 40_000
# Annotations of a crowded image from which the share of overlaps is estimated.
_SAMPLE = 64
# If a larger share overlaps, comparing all bounds is faster than a tree.
_DENSE = 0.02


def _groups(annotations: Annotations) -> tuple[IndexArray, IndexArray]:
    """Return, for each annotation, where the next annotator and the next image begin."""
    n = len(annotations)
    image, annotator = annotations.image, annotations.annotator
    new_image = np.flatnonzero(np.diff(image)) + 1
    new_group = np.flatnonzero((np.diff(image) != 0) | (np.diff(annotator) != 0)) + 1
    places = np.arange(n)

    def following(starts: IndexArray) -> IndexArray:
        return np.append(starts, n)[np.searchsorted(starts, places, side="right")]

    return following(new_group), following(new_image)


def _overlapping(
    bounds: FloatArray, left: IndexArray, right: IndexArray
) -> tuple[IndexArray, IndexArray]:
    a, b = bounds.take(left, axis=0), bounds.take(right, axis=0)
    keep = np.flatnonzero(
        (a[:, 0] < b[:, 2]) & (b[:, 0] < a[:, 2]) & (a[:, 1] < b[:, 3]) & (b[:, 1] < a[:, 3])
    )
    return left[keep], right[keep]


def _in_crowd(
    bounds: FloatArray, annotations: Annotations, group_end: IndexArray, first: int, last: int
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the overlapping pairs of one crowded image, in chunks of annotations."""
    import shapely

    shapes = shapely.box(*bounds[first:last].T)
    tree = shapely.STRtree(shapes)
    sample = shapes[:: -(-len(shapes) // _SAMPLE)]
    if tree.query(sample).shape[1] > _DENSE * len(sample) * len(shapes):
        yield from _from_grid(bounds[first:last], group_end[first:last], first)
        return
    # The pairs of this many annotations fit into memory even if many overlap.
    step = max(_CROWDED * 16 // len(shapes), 1)
    for start in range(0, len(shapes), step):
        left, right = tree.query(shapes[start : start + step])
        left, right = left + (first + start), right + first
        other = annotations.annotator[left] < annotations.annotator[right]
        left, right = left[other], right[other]
        order = np.lexsort((right, left))
        yield _overlapping(bounds, left[order], right[order])


def _from_grid(
    bounds: FloatArray, group_end: IndexArray, first: int
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the overlapping pairs of one image, whose first annotation is `first`.

    All bounds are compared, which is faster than a tree if many overlap, as no sorting is needed.
    """
    n = len(bounds)
    columns = np.ascontiguousarray(bounds.T)
    later = group_end - first
    start = 0
    while (begin := int(later[start])) < n:
        stop = min(start + max(_CHUNK // (n - begin), 1), n - 1)
        a, b = columns[:, start:stop, None], columns[:, None, begin:]
        # The first column to compare depends on the annotator of the row.
        cells = np.arange(begin, n) >= later[start:stop, None]
        for low, high in ((0, 2), (1, 3)):
            cells &= a[low] < b[high]
            cells &= b[low] < a[high]
        row, column = np.divmod(np.flatnonzero(cells), n - begin)
        yield row + (first + start), column + (first + begin)
        start = stop


def neighbours(
    annotations: Annotations, bounds: FloatArray | None
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the pairs of annotations by two annotators in one image, in chunks.

    Annotations are ordered by image, then annotator. With bounds, (N, 4) left, top, right, bottom,
    only pairs whose bounds overlap are yielded. In each pair ``left < right``; pairs are sorted by
    left, then right, within and across chunks.
    """
    group_end, image_end = _groups(annotations)
    partners = image_end - group_end
    total = np.concatenate([[0], np.cumsum(partners)])
    crowded: IndexArray = np.zeros(0, np.int64)
    if bounds is not None:
        image_start = run_starts(annotations.image)
        ends = np.append(image_start[1:], len(annotations))
        crowded = np.flatnonzero(total[ends] - total[image_start] > _CROWDED)
        special = [(int(image_start[i]), int(ends[i])) for i in crowded]
    else:
        special = []
    place = 0
    for first, last in [*special, (len(annotations), len(annotations))]:
        yield from _flat(bounds, group_end, total, place, first)
        if bounds is not None and last > first:
            yield from _in_crowd(bounds, annotations, group_end, first, last)
        place = last


def _flat(
    bounds: FloatArray | None, group_end: IndexArray, total: IndexArray, place: int, stop: int
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the pairs of the annotations `place` to `stop` by comparing all bounds."""
    while place < stop:
        end = int(np.searchsorted(total, total[place] + _CHUNK, side="right")) - 1
        end = min(max(end, place + 1), stop)
        counts = np.diff(total[place : end + 1])
        left = np.repeat(np.arange(place, end), counts)
        shift = group_end[place:end] - (total[place:end] - total[place])
        right = np.arange(total[end] - total[place]) + np.repeat(shift, counts)
        yield (left, right) if bounds is None else _overlapping(bounds, left, right)
        place = end
