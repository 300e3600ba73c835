"""Which annotations are compared: one image, two annotators, overlapping bounds."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, run_starts
from bboxqa.model.annotations import Annotations

# Pairs per chunk, so that a chunk fits into the cache of one core.
_CHUNK = 1 << 14
# In images with more pairs, a tree is faster than comparing all bounds.
_CROWDED = 40_000


def _groups(annotations: Annotations) -> tuple[IndexArray, IndexArray]:
    """Return for each annotation where the next annotator and where the next image begin."""
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
    a, b = bounds[left], bounds[right]
    keep = np.flatnonzero(
        (a[:, 0] < b[:, 2]) & (b[:, 0] < a[:, 2]) & (a[:, 1] < b[:, 3]) & (b[:, 1] < a[:, 3])
    )
    return left[keep], right[keep]


def _from_tree(
    bounds: FloatArray, annotations: Annotations, first: int, last: int
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the overlapping pairs of one crowded image, some annotations at a time."""
    import shapely

    shapes = shapely.box(*bounds[first:last].T)
    tree = shapely.STRtree(shapes)
    # Even if all overlap, the pairs of so many annotations fit into memory.
    step = max(_CROWDED * 16 // (last - first), 1)
    for start in range(first, last, step):
        stop = min(start + step, last)
        left, right = tree.query(shapes[start - first : stop - first])
        left, right = left + start, right + first
        other = annotations.annotator[left] < annotations.annotator[right]
        left, right = left[other], right[other]
        order = np.lexsort((right, left))
        yield _overlapping(bounds, left[order], right[order])


def neighbours(
    annotations: Annotations, bounds: FloatArray | None
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the pairs of annotations of one image and two annotators, in chunks.

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
            yield from _from_tree(bounds, annotations, first, last)
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
