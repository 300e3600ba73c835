"""Converting decoded segmentations to flat arrays, window by window."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from bboxqa.core.arrays import ColumnBuilder
from bboxqa.formats.annotations.records import OutlinedAnnotation, Rle
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes.masks import MAX_MASK_PIXELS, compress_counts, decode_counts


class OutlinesBuilder:
    """Collects outlines, and adds a problem to `problems` for each that cannot be used.

    `name` is the name of the file in problems.
    """

    def __init__(self, name: str, problems: list[str]) -> None:
        self._name = name
        self._problems = problems
        self._kind = ColumnBuilder(np.uint8)
        self._xy = ColumnBuilder(np.float64, 2)
        self._ring_lengths = ColumnBuilder(np.int64)
        self._ring_counts = ColumnBuilder(np.int64)
        self._texts = ColumnBuilder(np.uint8)
        self._text_lengths = ColumnBuilder(np.int64)
        self._size = ColumnBuilder(np.int32, 2)

    def add(self, records: Sequence[OutlinedAnnotation]) -> None:
        """Add the outlines of one window."""
        n = len(records)
        outlines = [record.segmentation for record in records]
        polygons = [outline if type(outline) is list else [] for outline in outlines]
        counts = np.fromiter(map(len, polygons), np.int64, n)
        kind = np.where(counts > 0, SegmentationKind.POLYGON, SegmentationKind.NONE)
        texts = np.zeros(n, np.int64)
        size = np.zeros((n, 2), np.int32)
        for place, outline in enumerate(outlines):
            if isinstance(outline, Rle):
                text = self._mask(records[place], outline)
                kind[place] = SegmentationKind.RLE
                texts[place] = len(text)
                size[place] = outline.size if text else (0, 0)
        self._kind.add(kind)
        self._text_lengths.add(texts)
        self._size.add(size)
        self._ring_counts.add(counts)
        self._add_rings(records, polygons)

    def _add_rings(
        self, records: Sequence[OutlinedAnnotation], polygons: list[list[list[float]]]
    ) -> None:
        rings = list(chain.from_iterable(polygons))
        lengths = np.fromiter(map(len, rings), np.int64, len(rings))
        flat = np.fromiter(chain.from_iterable(rings), np.float64, int(lengths.sum()))
        odd = lengths % 2 == 1
        if odd.any():
            owner = np.repeat(np.arange(len(polygons)), [len(rings) for rings in polygons])
            for ring in np.flatnonzero(odd).tolist():
                self._problems.append(
                    f"{self._name}: annotation {records[owner[ring]].id!r}: a polygon has "
                    f"{lengths[ring]} numbers; expected pairs of x and y"
                )
            flat, lengths = flat[:0], lengths * 0
        self._ring_lengths.add(lengths // 2)
        self._xy.add(flat)

    def _mask(self, record: OutlinedAnnotation, rle: Rle) -> bytes:
        """Return the compressed run lengths of a mask; empty if they are invalid."""
        height, width = rle.size
        where = f"{self._name}: annotation {record.id!r}: "
        if height <= 0 or width <= 0 or height * width >= MAX_MASK_PIXELS:
            self._problems.append(
                f"{where}the mask is {height} × {width}; expected a height and a width above 0 "
                f"and fewer than {MAX_MASK_PIXELS:,} pixels"
            )
            return b""
        try:
            if isinstance(rle.counts, str):
                text = rle.counts.encode()
                runs = decode_counts(text)
            else:
                runs = np.array(rle.counts, np.int64)
                text = b""
        except (ValueError, OverflowError) as error:
            self._problems.append(f"{where}the run lengths of the mask cannot be read: {error}")
            return b""
        # Python integers do not overflow.
        total = sum(runs.tolist())
        if runs.min(initial=0) < 0:
            self._problems.append(f"{where}the mask has a run of {runs.min()}; expected 0 or more")
            return b""
        if total != height * width:
            self._problems.append(
                f"{where}the run lengths of the mask add up to {total}; "
                f"expected {height} × {width} = {height * width}"
            )
            return b""
        text = text or compress_counts(runs, height, width)
        self._texts.add(np.frombuffer(text, np.uint8))
        return text

    def absorb(self, segmentations: Segmentations) -> None:
        """Append the outlines that another builder has collected."""
        self._kind.add(segmentations.kind)
        self._xy.add(segmentations.xy)
        self._ring_lengths.add(np.diff(segmentations.ring_offsets))
        self._ring_counts.add(segmentations.part_stop - segmentations.part_start)
        self._texts.add(segmentations.counts)
        self._text_lengths.add(segmentations.counts_stop - segmentations.counts_start)
        self._size.add(segmentations.size)

    def done(self) -> Segmentations:
        """Return the collected columns."""
        ring_counts = self._ring_counts.done()
        part_stop = np.cumsum(ring_counts)
        text_lengths = self._text_lengths.done()
        counts_stop = np.cumsum(text_lengths)
        ring_lengths = self._ring_lengths.done()
        return Segmentations(
            kind=self._kind.done(),
            # Annotations of one image may be far apart in the file.
            xy=self._xy.done(),
            ring_offsets=np.concatenate([[0], np.cumsum(ring_lengths)]),
            part_start=part_stop - ring_counts,
            part_stop=part_stop,
            counts=self._texts.done(),
            counts_start=counts_stop - text_lengths,
            counts_stop=counts_stop,
            size=self._size.done(),
        )
