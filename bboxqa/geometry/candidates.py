"""The pairs of annotations that reach a threshold under a similarity."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.memory import release_pages, trim_memory
from bboxqa.core.parallel import threads
from bboxqa.core.types import Steps
from bboxqa.geometry.neighbours import neighbours
from bboxqa.geometry.similarities import registry
from bboxqa.geometry.similarities.base import Options, Similarity
from bboxqa.geometry.similarities.needs import check_shapes
from bboxqa.model.annotations import Dataset
from bboxqa.model.units import CandidatePairs

TOLERANCE = 1e-9
"""A similarity so little below the threshold reaches it, so that identical shapes match at 1."""

# Annotations at a time, so that memory for outlines does not grow with the data set.
_SHARD = 1 << 13
# Bytes that a pair takes until it is matched.
_OF_PAIR = 300
# Pairs of a shard: a thousand per annotation without a limit of memory, and at least a hundred.
_MOST_PAIRS = 1 << 22
_LEAST_PAIRS = 1 << 19

Found = tuple[IndexArray, IndexArray, FloatArray]


def candidate_pairs(
    dataset: Dataset,
    similarity: str,
    iou_threshold: float,
    *,
    all_touched: bool = False,
    memory: int | None = None,
    progress: Steps | None = None,
) -> tuple[CandidatePairs, Counter[str]]:
    """Return the pairs of annotations of one image and two annotators that reach a threshold.

    Parameters
    ----------
    dataset : Dataset
        N annotations.
    similarity : str
        One of `bboxqa.geometry.similarities.registry.names()`.
    iou_threshold : float
        The lowest similarity of interest; reached up to 1e-9.
    all_touched : bool
        For `raster`: burn every pixel that a ring touches.
    memory : int, optional
        Limits memory, in bytes: with more pairs, a crowded image is refused.
    progress : callable, optional
        Called as ``progress(done, total)``, in annotations.

    Returns
    -------
    pairs : CandidatePairs
    counts : Counter
        How many annotations are "flat" or "repaired", and how many rings are "short".

    Raises
    ------
    ConfigError
        If there is no such similarity.
    DatasetError
        If the annotations do not have what the similarity compares, or an image has too many
        pairs.
    """
    chosen = registry.similarity(similarity)
    check_shapes(dataset, similarity, chosen.needs)
    options = Options(iou_threshold, all_touched)
    most = _MOST_PAIRS if memory is None else max(memory // _OF_PAIR, _LEAST_PAIRS)
    counts: Counter[str] = Counter()
    found: list[Found] = []
    shards = list(_shards(dataset))
    # Threads suffice, since numpy and GEOS release the lock, and nothing has to be copied.
    with ThreadPoolExecutor(threads() if chosen.threads else 1) as pool:
        jobs = [pool.submit(_compare, dataset, chosen, options, most, *shard) for shard in shards]
        try:
            for (_, stop), job in zip(shards, jobs, strict=True):
                part, of_part = job.result()
                found += part
                counts += of_part
                if progress is not None:
                    progress(stop, len(dataset.annotations))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    none: Found = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    left, right, iou = (np.concatenate(parts) for parts in zip(none, *found, strict=True))
    trim_memory()
    return CandidatePairs(left, right, iou), counts


def _shards(dataset: Dataset) -> Iterator[tuple[int, int]]:
    """Yield the bounds of parts of whole images, each of about `_SHARD` annotations."""
    n = len(dataset.annotations)
    ends = np.append(np.flatnonzero(np.diff(dataset.annotations.image)) + 1, n)
    start = 0
    while start < n:
        stop = int(ends[np.searchsorted(ends, min(start + _SHARD, n))])
        yield start, stop
        start = stop


def _compare(
    dataset: Dataset, similarity: Similarity, options: Options, most: int, start: int, stop: int
) -> tuple[list[Found], Counter[str]]:
    """Return the pairs of one part that reach the threshold."""
    part = replace(dataset, annotations=dataset.annotations.take(np.arange(start, stop)))
    comparison = similarity.prepare(part, options)
    if part.annotations.segmentation is not None:
        # The vertices that are needed have been copied from the mapped file.
        release_pages(part.annotations.segmentation.xy)
    lowest = options.iou_threshold - TOLERANCE

    def reaching(left: IndexArray, right: IndexArray, iou: FloatArray) -> Found:
        keep = np.flatnonzero(iou >= lowest)
        return left[keep], right[keep], iou[keep]

    measure = comparison.limit or comparison.compare
    found, n_found = [], 0
    for pair in neighbours(part.annotations, comparison.bounds):
        found.append(reaching(*pair, measure(*pair)))
        n_found += len(found[-1][0])
        if n_found > most:
            raise _crowded(part, found, options.iou_threshold)
    if comparison.limit is not None and found:
        left, right, _ = (np.concatenate(parts) for parts in zip(*found, strict=True))
        found = [reaching(left, right, comparison.compare(left, right))]
    return [(left + start, right + start, iou) for left, right, iou in found], comparison.counts


def _crowded(part: Dataset, found: list[Found], threshold: float) -> DatasetError:
    """Return the error of a part with too many pairs, which names the image with the most."""
    image, annotator = part.annotations.image, part.annotations.annotator
    worst = np.bincount(image[np.concatenate([left for left, _, _ in found])]).argmax()
    by_annotator = np.bincount(annotator[image == worst]).tolist()
    n = sum(by_annotator)
    n_pairs = (n * n - sum(k * k for k in by_annotator)) // 2
    problem = (
        f"image {part.image_names[worst]!r}: too many of its {n:,} annotations overlap: up to "
        f"{n_pairs:,} pairs reach the threshold {threshold:g}; expected annotations of different "
        "objects"
    )
    return DatasetError(
        [problem],
        "Look for repeated annotations with: bboxqa validate\n"
        f"To compare them all the same, give --memory {n_pairs * _OF_PAIR // 10**9 + 1}GB.",
    )


def similarity_of_pairs(
    dataset: Dataset,
    similarity: str,
    left: IndexArray,
    right: IndexArray,
    *,
    all_touched: bool = False,
) -> FloatArray:
    """Return how similar pairs of annotations of one image are, (P,) float64.

    Raises DatasetError if the annotations do not have what the similarity compares.

    Parameters
    ----------
    similarity : str
        One of `bboxqa.geometry.similarities.registry.names()`.
    left, right : (P,) int64
        Sorted by left; P may be 0.
    all_touched : bool
        For `raster`: burn every pixel that a ring touches.
    """
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

    with ThreadPoolExecutor(threads() if chosen.threads else 1) as pool:
        return np.concatenate([np.zeros(0), *pool.map(measure, _shards(dataset))])
