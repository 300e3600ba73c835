"""Outlines of annotations as flat arrays."""

from enum import IntEnum
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import ByteArray, FloatArray, FrozenArrays, IndexArray, IntArray, rows


class SegmentationKind(IntEnum):
    """How the outline of an annotation is given."""

    NONE = 0
    POLYGON = 1
    RLE = 2


class Segmentations(FrozenArrays, frozen=True, eq=False):
    """Outlines of N annotations: polygons of several rings, or COCO run lengths."""

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

    def __len__(self) -> int:
        return len(self.kind)

    def rings(self, annotation: int) -> list[FloatArray]:
        """Return the rings of one annotation, each (V, 2) in pixels."""
        bounds = self.ring_offsets[self.part_start[annotation] : self.part_stop[annotation] + 1]
        return [self.xy[a:b] for a, b in pairwise(bounds)]

    def rle(self, annotation: int) -> dict[str, Any]:
        """Return the mask of one annotation in the form that pycocotools expects."""
        text = self.counts[self.counts_start[annotation] : self.counts_stop[annotation]]
        return {"size": self.size[annotation].tolist(), "counts": text.tobytes()}

    def take(self, index: IndexArray) -> "Segmentations":
        """Return the outlines at `index`, in that order, over the same vertices."""
        return Segmentations(
            kind=self.kind[index],
            xy=self.xy,
            ring_offsets=self.ring_offsets,
            part_start=self.part_start[index],
            part_stop=self.part_stop[index],
            counts=self.counts,
            counts_start=self.counts_start[index],
            counts_stop=self.counts_stop[index],
            size=self.size[index],
        )

    def packed(self) -> "Segmentations":
        """Return the same outlines without unused vertices, in the order of annotations."""
        rings, parts = rows(self.part_start, self.part_stop)
        vertices, ring_offsets = rows(self.ring_offsets[:-1][rings], self.ring_offsets[1:][rings])
        places, texts = rows(self.counts_start, self.counts_stop)
        return Segmentations(
            kind=self.kind,
            xy=self.xy[vertices],
            ring_offsets=ring_offsets,
            part_start=parts[:-1],
            part_stop=parts[1:],
            counts=self.counts[places],
            counts_start=texts[:-1],
            counts_stop=texts[1:],
            size=self.size,
        )

    def scaled(self, factors: FloatArray) -> "Segmentations":
        """Return the polygons with x and y multiplied by (N, 2) factors per annotation."""
        packed = self.packed()
        of_rings = np.repeat(factors, packed.part_stop - packed.part_start, axis=0)
        of_vertices = np.repeat(of_rings, np.diff(packed.ring_offsets), axis=0)
        return replace(packed, xy=packed.xy * of_vertices)
