"""Masks row by row, as some formats hold them, from COCO's runs column by column.

Only runs take memory, however large an image is. A few characters of COCO can stand for a run in
each of very many rows, so that masks have a limit, as those that are read.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.formats.translation.boxes.masks import Allowance, RowMask
from bboxqa.formats.translation.translated import Record
from bboxqa.formats.translation.untrusted import MaskProblemError
from bboxqa.model.shapes.masks import (
    decode_counts,
    joined,
    runs_of_spans,
    span_bounds,
    spans_of_runs,
    turned,
)

_LONGEST = 1 << 14
"""Pixels in one run of the longest that Label Studio writes."""


def runs_of(annotation: Record) -> tuple[IndexArray, int, int]:
    """Return the run lengths of a mask, column by column, and its height and width."""
    given = annotation["segmentation"]
    height, width = map(int, given["size"])
    counts = given["counts"]
    runs = decode_counts(counts.encode()) if isinstance(counts, str) else np.array(counts, np.int64)
    return runs, height, width


@dataclass(frozen=True, slots=True, eq=False)
class RowMasks:
    """Converts the masks of a content.

    The methods raise DatasetError if the masks so far have too many runs or pixels for their text.
    """

    _runs: Allowance = field(default_factory=lambda: Allowance("runs of pixels", 1 << 22, (2, 32)))
    _pixels: Allowance = field(default_factory=lambda: Allowance("pixels", 1 << 29, (64, 4096)))

    def cropped(self, annotation: Record) -> RowMask:
        """Return a mask inside its bounds; if it is empty, one pixel outside the mask."""
        mask = self._rows(annotation)
        return replace(mask, spans=joined(mask.spans))

    def picture(self, annotation: Record) -> tuple[BoolArray, int, int]:
        """Return the pixels of a mask inside its bounds, and the left and top of the bounds."""
        mask = self._rows(annotation)
        n_pixels = mask.width * mask.height
        self._take(self._pixels, n_pixels, annotation)
        runs = runs_of_spans(joined(mask.spans), n_pixels)
        pixels = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
        return pixels.reshape(mask.height, mask.width), mask.left, mask.top

    def runs_in_image(self, annotation: Record) -> IndexArray:
        """Return run lengths in the whole image, which begin with a run outside the mask."""
        mask = self._rows(annotation)
        _, height, width = runs_of(annotation)
        self._take(self._runs, height * width // _LONGEST, annotation)
        rows, columns = np.divmod(mask.spans[:, :1], mask.width)
        starts = (mask.top + rows) * width + mask.left + columns
        spans = joined(np.concatenate([starts, starts + np.diff(mask.spans)], 1))
        return runs_of_spans(spans, height * width)

    def _rows(self, annotation: Record) -> RowMask:
        """Return a mask inside its bounds, whose runs in neighbouring rows are not joined."""
        runs, height, _ = runs_of(annotation)
        spans = spans_of_runs(runs)
        if not len(spans):
            return RowMask(spans, 1, 1)
        left, top, right, bottom = map(int, span_bounds(spans, height))
        columns, rows = np.divmod(spans[:, :1], height)
        starts = (columns - left) * (bottom - top) + rows - top
        inside = joined(np.concatenate([starts, starts + np.diff(spans)], 1))

        def check(n_runs: int) -> None:
            self._take(self._runs, n_runs, annotation)

        by_rows = turned(inside, right - left, bottom - top, check)
        return RowMask(by_rows, right - left, bottom - top, left, top)

    def _take(self, of: Allowance, n: int, annotation: Record) -> None:
        counts = annotation["segmentation"]["counts"]
        try:
            of.take(n, len(counts) if isinstance(counts, str) else 2 * len(counts))
        except MaskProblemError as error:
            raise DatasetError(
                [f"annotation {annotation.get('own_id') or annotation['id']}: the mask {error}"],
                "Look at its mask: bboxqa draw. COCO holds masks of any size: --to coco",
            ) from None
