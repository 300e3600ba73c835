"""Outlines of annotations: polygons, and masks as runs of pixels, as flat arrays."""

from collections.abc import Callable
from enum import IntEnum
from itertools import pairwise
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    IndexArray,
    IntArray,
    RowArrays,
    rows,
)


class SegmentationKind(IntEnum):
    """How the outline of an annotation is given."""

    NONE = 0
    POLYGON = 1
    RLE = 2


class Segmentations(RowArrays, frozen=True, eq=False):
    """Outlines of N annotations: polygons of several rings, or COCO run lengths."""

    shared = frozenset({"xy", "ring_offsets", "counts"})
    refers = {  # noqa: RUF012 - a field of the class
        "ring_offsets": "xy", "part_start": "ring_offsets", "part_stop": "ring_offsets",
        "counts_start": "counts", "counts_stop": "counts",
    }  # fmt: skip
    kind: ByteArray
    """(N,) uint8. A `SegmentationKind` per annotation."""
    xy: FloatArray
    """(V, 2) float64. The vertices of all rings, in pixels."""
    ring_offsets: IndexArray
    """(R + 1,) int64. Ring r has the vertices ``xy[ring_offsets[r]:ring_offsets[r + 1]]``."""
    part_start: IndexArray
    part_stop: IndexArray
    """(N,) int64. Annotation n has the rings ``part_start[n]:part_stop[n]``."""
    counts: ByteArray
    """(C,) uint8. COCO's compressed run lengths of all masks."""
    counts_start: IndexArray
    counts_stop: IndexArray
    """(N,) int64. Annotation n has the bytes ``counts[counts_start[n]:counts_stop[n]]``."""
    size: IntArray
    """(N, 2) int32. Height and width of each mask in pixels; 0 where there is none."""

    def rings(self, annotation: int) -> list[FloatArray]:
        """Return the rings of one annotation, each (V, 2) in pixels."""
        bounds = self.ring_offsets[self.part_start[annotation] : self.part_stop[annotation] + 1]
        return [self.xy[a:b] for a, b in pairwise(bounds)]

    def rle(self, annotation: int) -> dict[str, Any]:
        """Return the mask of one annotation in the form that pycocotools expects."""
        text = self.counts[self.counts_start[annotation] : self.counts_stop[annotation]]
        return {"size": self.size[annotation].tolist(), "counts": text.tobytes()}

    def packed(self) -> "Segmentations":
        """Return the same outlines without unused vertices, in the order of annotations."""
        rings, parts = rows(self.part_start, self.part_stop)
        vertices, ring_offsets = rows(self.ring_offsets[:-1][rings], self.ring_offsets[1:][rings])
        places, texts = rows(self.counts_start, self.counts_stop)
        return replace(
            self,
            xy=self.xy.take(vertices, axis=0),
            ring_offsets=ring_offsets,
            part_start=parts[:-1],
            part_stop=parts[1:],
            counts=self.counts[places],
            counts_start=texts[:-1],
            counts_stop=texts[1:],
        )

    def scaled(self, factors: FloatArray) -> "Segmentations":
        """Return the polygons with x and y multiplied by (N, 2) factors per annotation."""
        packed = self.packed()
        of_rings = np.repeat(factors, packed.part_stop - packed.part_start, axis=0)
        of_vertices = np.repeat(of_rings, np.diff(packed.ring_offsets), axis=0)
        return replace(packed, xy=packed.xy * of_vertices)


def spans_of_runs(runs: IndexArray) -> IndexArray:
    """Return the spans of run lengths, which begin with a run outside the mask."""
    ends = np.cumsum(runs)
    spans = np.stack([ends[:-1:2], ends[1::2]], 1)
    return joined(spans[spans[:, 0] < spans[:, 1]])


def spans_of_pixels(pixels: BoolArray) -> IndexArray:
    """Return the spans of (H, W) pixels, row by row."""
    return np.flatnonzero(np.diff(pixels.ravel(), prepend=False, append=False)).reshape(-1, 2)


def joined(spans: IndexArray) -> IndexArray:
    """Join spans that touch."""
    apart = spans[1:, 0] != spans[:-1, 1]
    starts = spans[np.concatenate([np.ones(len(spans[:1]), np.bool_), apart]), 0]
    stops = spans[np.concatenate([apart, np.ones(len(spans[:1]), np.bool_)]), 1]
    return np.stack([starts, stops], 1)


def runs_of_spans(spans: IndexArray, n_pixels: int) -> IndexArray:
    """Return the run lengths of spans among `n_pixels` pixels; the inverse of `spans_of_runs`."""
    return np.diff(spans.ravel(), prepend=0, append=n_pixels)


def span_bounds(spans: IndexArray, height: int) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of spans column by column in pixels; NaN if there is none.

    Of spans row by row, and with the width instead of the height, these are top, left, bottom and
    right.
    """
    if len(spans) == 0:
        return (np.nan,) * 4
    first, last = spans[:, 0], spans[:, 1] - 1
    left, right = first[0] // height, last[-1] // height + 1
    if (first // height != last // height).any():
        return float(left), 0.0, float(right), float(height)
    top, bottom = (first % height).min(), (last % height).max() + 1
    return float(left), float(top), float(right), float(bottom)


def turned(
    spans: IndexArray, height: int, width: int, check: Callable[[int], None] | None = None
) -> IndexArray:
    """Return the spans column by column of a mask with spans row by row; columns are not joined."""
    first = _without(spans, spans + width)
    if check is not None:
        check(int((first[:, 1] - first[:, 0]).sum()))
    last = _without(spans, spans - width)
    ends: list[IndexArray] = []
    for each in (first, last):
        n = each[:, 1] - each[:, 0]
        pixels = np.repeat(each[:, 0] - np.cumsum(n) + n, n) + np.arange(n.sum())
        rows, columns = np.divmod(pixels, width)
        ends.append(np.sort(columns * height + rows))
    return np.stack([ends[0], ends[1] + 1], 1)


def _without(spans: IndexArray, others: IndexArray) -> IndexArray:
    edges = np.concatenate([spans[:, 0], spans[:, 1], others[:, 0], others[:, 1]])
    # A span adds 1 and one of the others takes 2, so that only pixels in a span alone are at 1.
    steps = np.repeat(np.array([1, -1, -2, 2], np.int8), len(spans))
    order = np.argsort(edges, kind="stable")
    edges, level = edges[order], np.cumsum(steps[order], dtype=np.int8)
    is_kept = (level[:-1] == 1) & (edges[1:] > edges[:-1])
    kept = np.flatnonzero(is_kept)
    return cast("IndexArray", np.stack([edges[kept], edges[kept + 1]], 1))


MAX_MASK_PIXELS = 1 << 31
"""Pixels that a mask must stay below: a file may claim any size, and run lengths have 32 bits."""


def decode_counts(counts: bytes) -> IndexArray:
    """Return the run lengths of a compressed mask.

    Each number is written in groups of five bits, lowest first. 32 is added if more groups follow,
    and 48 is added to make each group a character. From the fourth number on, the difference from
    the number two places before is stored (COCO's `maskApi.c`). Raises ValueError otherwise.
    """
    text = np.frombuffer(counts, np.uint8).astype(np.int64) - 48
    if len(text) == 0:
        return np.zeros(0, np.int64)
    if text.min() < 0 or text.max() > 63:
        raise ValueError("a character outside of '0' to 'o'")
    last = (text & 32) == 0
    if not last[-1]:
        raise ValueError("the last number is cut off")
    starts = np.flatnonzero(np.concatenate([[True], last[:-1]]))
    place = np.arange(len(text)) - np.repeat(starts, np.diff(np.append(starts, len(text))))
    if place.max() > 9:
        raise ValueError("a number of more than 50 bits")
    numbers = np.add.reduceat((text & 31) << (5 * place), starts)
    ends = np.flatnonzero(last)
    negative = (text[ends] & 16) != 0
    numbers[negative] -= np.int64(1) << (5 * (place[ends[negative]] + 1))
    numbers[1::2] = np.cumsum(numbers[1::2])
    numbers[2::2] = np.cumsum(numbers[2::2])
    if numbers.min() < 0:
        raise ValueError("a run of negative length")
    return numbers


def compress_counts(runs: IndexArray, height: int, width: int) -> bytes:
    """Return COCO's compressed form of run lengths, which add up to `height` times `width`."""
    from pycocotools import mask

    encoded = mask.frPyObjects({"size": [height, width], "counts": runs.tolist()}, height, width)
    counts: bytes = encoded["counts"]
    return counts
