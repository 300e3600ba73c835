"""Pairs of annotations that may show one object, and their similarity."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import (
    FloatArray,
    IndexArray,
    Steps,
    chunks,
    distinct,
    pairs_within,
    radix_order,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.core.errors import DatasetError
from bboxqa.core.machine import in_threads, trim_memory
from bboxqa.geometry import registry
from bboxqa.geometry.similarity import Options, Similarity, check_shapes
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.units import CandidatePairs, UnitTable

# Pairs per chunk, so that a chunk fits into the cache of one core.
_CHUNK = 1 << 14
# With more pairs in an image, a tree is faster than comparing all bounds.
_CROWDED = 40_000
# Annotations of a crowded image from which the share of overlaps is estimated.
_SAMPLE = 64
# If a larger share overlaps, comparing all bounds is faster than a tree.
_DENSE = 0.02


def neighbours(
    annotations: Annotations, bounds: FloatArray | None
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the pairs of annotations by two annotators in one image, in chunks.

    Annotations are ordered by image, then annotator. With bounds, (N, 4) left, top, right, bottom,
    only pairs whose bounds overlap are yielded. In each pair ``left < right``; pairs are sorted by
    left, then right, within and across chunks.
    """
    n, new_image = len(annotations), np.diff(annotations.image) != 0
    new_group = new_image | (np.diff(annotations.annotator) != 0)
    # Where the next annotator, and the next image, of each annotation begin.
    group_end, image_end = (
        stops[np.searchsorted(stops, np.arange(n), side="right")]
        for stops in (np.append(np.flatnonzero(new) + 1, n) for new in (new_group, new_image))
    )
    n_others = image_end - group_end
    total = np.concatenate([[0], np.cumsum(n_others)])
    first = run_starts(annotations.image)
    last = np.append(first[1:], n)[: len(first)]
    is_crowd = (total[last] - total[first] > _CROWDED) & (bounds is not None)
    place = 0
    for start, stop in [
        *zip(first[is_crowd].tolist(), last[is_crowd].tolist(), strict=True),
        (n, n),
    ]:
        for low, high in chunks(n_others[place:start], _CHUNK):
            part = slice(place + low, place + high)
            left = np.repeat(np.arange(part.start, part.stop), n_others[part])
            right, _ = rows(group_end[part], image_end[part])
            if bounds is not None:
                left, right = _overlapping(bounds, left, right)
            yield left, right
        if bounds is not None and stop > start:
            yield from _in_crowd(bounds, group_end, start, stop)
        place = stop


def _overlapping(
    bounds: FloatArray, left: IndexArray, right: IndexArray
) -> tuple[IndexArray, IndexArray]:
    a, b = bounds.take(left, axis=0), bounds.take(right, axis=0)
    keep = np.flatnonzero(
        (a[:, 0] < b[:, 2]) & (b[:, 0] < a[:, 2]) & (a[:, 1] < b[:, 3]) & (b[:, 1] < a[:, 3])
    )
    return left[keep], right[keep]


def _in_crowd(
    bounds: FloatArray, group_end: IndexArray, first: int, last: int
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
        other = right >= group_end[left]
        left, right = left[other], right[other]
        order = np.lexsort((right, left))
        yield _overlapping(bounds, left[order], right[order])


def _from_grid(
    bounds: FloatArray, group_end: IndexArray, first: int
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the overlapping pairs of one image, whose first annotation is `first`."""
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


TOLERANCE = 1e-9
"""The tolerance of the threshold, so that identical shapes match at a threshold of 1."""

# Annotations per shard, so that the memory for outlines does not grow with the data set.
_SHARD = 1 << 13
# Most bytes for the pairs of a shard, and the most of a pair from comparison to matching.
_MEMORY, _PAIR_BYTES = 10**9, 160
# Bytes of a column of pairs from which on those of its parts are returned to the system.
_LARGE = 1 << 25
Found = tuple[IndexArray, IndexArray, FloatArray]


def candidate_pairs(
    dataset: Dataset,
    similarity: str,
    iou_threshold: float,
    *,
    all_touched: bool = False,
    progress: Steps | None = None,
) -> tuple[CandidatePairs, Counter[str]]:
    """Return pairs of annotations by two annotators in one image that reach a threshold.

    The threshold has a tolerance of 1e-9; `all_touched` is for "raster". Also return the number of
    "flat" and "repaired" annotations, of "short" rings and the like. Raises ConfigError if there is
    no such similarity, and DatasetError if the annotations lack the shapes that it compares, or if
    an image has too many pairs.
    """
    chosen = registry.similarity(similarity)
    check_shapes(dataset, similarity, chosen.needs)
    options = Options(iou_threshold, all_touched)
    counts: Counter[str] = Counter()
    found: list[Found] = []
    shards = list(_shards(dataset))
    # Threads suffice, since numpy and GEOS release the GIL, and share memory without copies.
    run = in_threads if chosen.threads else map
    work = partial(_compare, dataset, chosen, options)
    for (_, stop), (part, of_part) in zip(shards, run(work, shards), strict=True):
        found += part
        counts += of_part
        if progress is not None:
            progress(stop, len(dataset.annotations))
    return CandidatePairs(*_joined(found)), counts


def _joined(found: list[Found]) -> Found:
    """Concatenate all parts column by column; `found` is emptied, as it may be large."""
    none: Found = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    columns = [list(column) for column in zip(none, *found, strict=True)]
    found.clear()
    joined = []
    while columns:
        joined.append(np.concatenate(columns.pop(0)))
        # Memory that is returned has to be cleared again when it is used next.
        if joined[-1].nbytes > _LARGE:
            trim_memory()
    left, right, iou = joined
    return left, right, iou


def _shards(dataset: Dataset) -> Iterator[tuple[int, int]]:
    """Yield start and stop of shards of whole images, each of about `_SHARD` annotations."""
    n = len(dataset.annotations)
    ends = np.append(np.flatnonzero(np.diff(dataset.annotations.image)) + 1, n)
    start = 0
    while start < n:
        stop = int(ends[np.searchsorted(ends, min(start + _SHARD, n))])
        yield start, stop
        start = stop


def _compare(
    dataset: Dataset, similarity: Similarity, options: Options, shard: tuple[int, int]
) -> tuple[list[Found], Counter[str]]:
    """Return the pairs of one shard that reach the threshold."""
    start, stop = shard
    part = replace(dataset, annotations=dataset.annotations.take(np.arange(start, stop)))
    comparison = similarity.prepare(part, options)
    lowest = options.iou_threshold - TOLERANCE
    measure = comparison.limit or comparison.compare
    found, n_found = [], 0
    for left, right in neighbours(part.annotations, comparison.bounds):
        iou = measure(left, right)
        keep = np.flatnonzero(iou >= lowest)
        found.append((left[keep], right[keep], iou[keep]))
        n_found += len(keep)
        if n_found > _MEMORY // _PAIR_BYTES:
            raise _crowded(part, found, options.iou_threshold)
    if comparison.limit is not None and found:
        left, right, _ = _joined(found)
        iou = comparison.compare(left, right)
        keep = np.flatnonzero(iou >= lowest)
        found = [(left[keep], right[keep], iou[keep])]
        del left, right, iou
    for left, right, _ in found:
        np.add(left, start, out=left)
        np.add(right, start, out=right)
    return found, comparison.counts


def possible_pairs(annotations: Annotations, n_images: int) -> IndexArray:
    """Return the number of pairs of annotations by two annotators in each image, (I,) int64."""
    image = annotations.image
    starts = np.flatnonzero(
        (np.diff(image, prepend=-1) != 0) | (np.diff(annotations.annotator, prepend=-1) != 0)
    )
    squares = sum_by(image[starts], np.diff(starts, append=len(image)) ** 2, n_images)
    n_drawn = np.bincount(image, minlength=n_images)
    return (n_drawn**2 - squares.astype(np.int64)) // 2


def _crowded(part: Dataset, found: list[Found], threshold: float) -> DatasetError:
    """Return the error for a shard with too many pairs, which names the image with the most."""
    image = part.annotations.image
    worst = np.bincount(image[np.concatenate([left for left, _, _ in found])]).argmax()
    n_pairs = int(possible_pairs(part.annotations, len(part.image_names))[worst])
    problem = (
        f"image {part.image_names[worst]!r}: too many of its {np.sum(image == worst):,} "
        f"annotations overlap: up to {n_pairs:,} pairs reach the threshold {threshold:g}, "
        "and matching needs all of them at once; expected annotations of different objects"
    )
    return DatasetError([problem], "Look for repeated annotations with: bboxqa validate")


def similarity_of_pairs(
    dataset: Dataset,
    similarity: str,
    left: IndexArray,
    right: IndexArray,
    *,
    all_touched: bool = False,
) -> FloatArray:
    """Return the similarity of pairs of annotations in the same image, (P,), sorted by left."""
    chosen = registry.similarity(similarity)
    check_shapes(dataset, similarity, chosen.needs)
    options = Options(chosen.lowest, all_touched)

    def measure(shard: tuple[int, int]) -> FloatArray:
        start, stop = shard
        low, high = np.searchsorted(left, shard)
        if low == high:
            return np.zeros(0)
        part = replace(dataset, annotations=dataset.annotations.take(np.arange(start, stop)))
        compare = chosen.prepare(part, options).compare
        return compare(left[low:high] - start, right[low:high] - start)

    run = in_threads if chosen.threads else map
    return np.concatenate([np.zeros(0), *run(measure, _shards(dataset))])


def unit_pairs(
    data: Dataset,
    units: UnitTable,
    known: CandidatePairs,
    similarity: str,
    *,
    all_touched: bool = False,
) -> CandidatePairs:
    """Return all pairs of annotations of the same unit, including pairs below the threshold.

    In a unit of three annotations, only two pairs have to reach the threshold, and are `known`;
    this function computes the similarity of the third.
    """
    unit = units.unit
    size = np.bincount(unit, minlength=len(units))
    if len(known) == (size * (size - 1)).sum() // 2:
        return known
    order = radix_order(unit, len(units))
    left, right = (order[side] for side in pairs_within(unit[order]))
    key = left * len(unit) + right
    by_left = np.argsort(key)
    left, right, key = left[by_left], right[by_left], key[by_left]
    values = np.full(len(key), np.nan)
    values[np.searchsorted(key, known.left * len(unit) + known.right)] = known.similarity
    absent = np.flatnonzero(np.isnan(values))
    ends = distinct(np.concatenate([left[absent], right[absent]]))
    part = replace(data, annotations=data.annotations.take(ends))
    values[absent] = similarity_of_pairs(
        part,
        similarity,
        np.searchsorted(ends, left[absent]),
        np.searchsorted(ends, right[absent]),
        all_touched=all_touched,
    )
    return CandidatePairs(left, right, values)
