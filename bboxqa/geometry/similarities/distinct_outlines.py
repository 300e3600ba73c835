"""Annotations with the same outline, which are drawn and compared once."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray
from bboxqa.core.blocks import blocks
from bboxqa.geometry.similarities.base import Compare
from bboxqa.model.outlines import Segmentations

MANY_PAIRS = 1 << 14
"""With fewer pairs, comparing them all is faster than finding the same ones."""


def distinct_outlines(
    segmentation: Segmentations, image: IntArray
) -> tuple[IndexArray, IndexArray]:
    """Return an annotation of each distinct outline, (D,), and the outline of each one, (N,).

    Outlines of two images are never the same. They are numbered by their first annotation.

    Parameters
    ----------
    segmentation : Segmentations
        N outlines, packed.
    image : (N,) int32
        Sorted.
    """
    ring = segmentation.ring_offsets
    first, last = segmentation.part_start.tolist(), segmentation.part_stop.tolist()
    bytes_of = zip(
        image.tolist(),
        segmentation.kind.tolist(),
        segmentation.size.tolist(),
        segmentation.counts_start.tolist(),
        segmentation.counts_stop.tolist(),
        strict=True,
    )
    known: dict[tuple[object, ...], int] = {}
    number = np.zeros(len(segmentation), np.int64)
    chosen: list[int] = []
    for place, (of_image, kind, size, start, stop) in enumerate(bytes_of):
        ends = ring[first[place] : last[place] + 1]
        xy = segmentation.xy[ends[0] : ends[-1]].tobytes() if len(ends) > 1 else b""
        mask = segmentation.counts[start:stop].tobytes()
        key = of_image, kind, *size, np.diff(ends).tobytes(), xy, mask
        number[place] = known.setdefault(key, len(known))
        if number[place] == len(chosen):
            chosen.append(place)
    return np.array(chosen, np.int64), number


def of_distinct(compare: Compare, first: IndexArray, number: IndexArray) -> Compare:
    """Return a comparison of annotations that compares each two distinct outlines once.

    `compare` takes annotations, of which `first` has one of each outline. Few pairs are passed on
    as they are, as are pairs of which less than half are repetitions.
    """
    if 2 * len(first) > len(number) + 1:
        return compare

    def once(left: IndexArray, right: IndexArray) -> FloatArray:
        if len(left) < MANY_PAIRS:
            return compare(left, right)
        parts = list(blocks(len(left)))
        keys = np.zeros(0, np.int64)
        for part in parts:
            keys = np.union1d(keys, number[left[part]] * len(first) + number[right[part]])
        if 2 * len(keys) > len(left):
            return compare(left, right)
        similarity = compare(first[keys // len(first)], first[keys % len(first)])
        result = np.zeros(len(left))
        for part in parts:
            key = number[left[part]] * len(first) + number[right[part]]
            result[part] = similarity[np.searchsorted(keys, key)]
        return result

    return once
