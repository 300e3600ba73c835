"""Boxes given by four numbers, by five with an angle, or by the eight of four corners."""

import mmap
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import get_args

import numpy as np

from bboxqa.core.arrays import ColumnBuilder, FloatArray, IndexArray
from bboxqa.formats.annotations.records import Annotation, OutlinedAnnotation
from bboxqa.formats.annotations.rotated_columns import (
    quadrilaterals,
)
from bboxqa.formats.annotations.rotations import FARTHEST
from bboxqa.model.shapes.rotated_boxes import FiveNumbers, corners

FORMS: tuple[FiveNumbers, ...] = get_args(FiveNumbers)
"""The layouts of boxes of five numbers, in order of preference."""

# Bytes of annotations from which the length of boxes is detected.
_BEGINNING = 1 << 16
# Corners this close to the corners of an outline, in pixels or as a share of the longer side, are
# the same corners.
_ROUNDED, _SHARE = 1.0, 0.01
BOX_LENGTHS = (4, 5, 8)
"""The numbers in a box: 4 for x, y, width, height; 5 with an angle; 8 for four corners."""
_BOX = re.compile(rb'"bbox"\s*:\s*\[([^\[\]]*)\]')


@dataclass(frozen=True, slots=True, eq=False)
class TurnedNumbers:
    """Boxes of five numbers among N annotations, before their layout is known."""

    values: FloatArray
    """(N, 5) float64. NaN for annotations with other boxes."""
    fits: Counter[str]
    """For each possible layout, how many boxes agree with their outline."""
    n_outlines: int
    """The number of boxes with an outline of four corners."""
    n_corners: int
    """The number of boxes of eight numbers."""


class NumbersBuilder:
    """Collects boxes of four, five or eight numbers.

    `name` is the name of the file in problems.
    """

    def __init__(self, name: str, problems: list[str]) -> None:
        self._name, self._problems = name, problems
        self._values = ColumnBuilder(np.float64, 5)
        self._fits: Counter[str] = Counter()
        self._n_outlines = self._n_corners = 0

    def add(self, records: Sequence[Annotation]) -> tuple[FloatArray, IndexArray, FloatArray]:
        """Return the (N, 4) boxes of one window, the rows given by corners, and these, (K, 4, 2).

        Boxes of five numbers are zeros until their layout is known.
        """
        n = len(records)
        lengths = np.fromiter((len(record.bbox) for record in records), np.int64, n)
        for row in np.flatnonzero(~np.isin(lengths, BOX_LENGTHS)).tolist():
            self._problems.append(
                f"{self._name}: annotation {records[row].id!r}: bbox has {lengths[row]} numbers; "
                "expected 4, 5 (with an angle) or 8 (corners)"
            )
        rows = {length: np.flatnonzero(lengths == length) for length in BOX_LENGTHS}
        found = {length: _numbers(records, rows[length], length) for length in BOX_LENGTHS}
        bbox = np.zeros((n, 4))
        bbox[rows[4]] = found[4]
        for row in rows[5][np.abs(found[5][:, 4]) > FARTHEST].tolist():
            self._problems.append(
                f"{self._name}: annotation {records[row].id!r}: the angle of bbox is "
                f"{records[row].bbox[4]:g}; expected degrees or radians, at most {FARTHEST:,.0f}"
            )
        values = np.full((n, 5), np.nan)
        values[rows[5]] = found[5]
        self._values.add(values)
        self._count_fits(records, rows[5], found[5])
        points = found[8].reshape(-1, 4, 2)
        self._n_corners += len(points)
        low = points.min(1)
        bbox[rows[8]] = np.concatenate([low, points.max(1) - low], axis=1)
        return bbox, rows[8], points

    def _count_fits(
        self, records: Sequence[Annotation], rows: IndexArray, values: FloatArray
    ) -> None:
        chosen = [records[row] for row in rows.tolist()]
        outlines = [r.segmentation if isinstance(r, OutlinedAnnotation) else None for r in chosen]
        if outlines.count(None) == len(outlines):
            return
        which, points = quadrilaterals(outlines)
        self._n_outlines += len(which)
        for form in FORMS:
            self._fits[form] += int(_fit(rotated_of(values[which], form), points).sum())

    def absorb(self, numbers: TurnedNumbers) -> None:
        """Append the numbers that another builder has collected."""
        self._values.add(numbers.values)
        self._fits += numbers.fits
        self._n_outlines += numbers.n_outlines
        self._n_corners += numbers.n_corners

    def done(self) -> TurnedNumbers:
        """Return the collected numbers."""
        return TurnedNumbers(self._values.done(), self._fits, self._n_outlines, self._n_corners)


def _numbers(records: Sequence[Annotation], rows: IndexArray, length: int) -> FloatArray:
    flat = chain.from_iterable([records[row].bbox for row in rows.tolist()])
    return np.fromiter(flat, np.float64, length * len(rows)).reshape(-1, length)


def _fit(boxes: FloatArray, points: FloatArray) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return which boxes have the same corners as their outline, in any order."""
    apart = np.abs(corners(boxes)[:, :, None] - points[:, None]).max(3).min(2).max(1, initial=0)
    fits: np.ndarray[tuple[int], np.dtype[np.bool_]]
    fits = apart <= np.maximum(_ROUNDED, _SHARE * boxes[:, 2:4].max(1, initial=0))
    return fits


def rotated_of(values: FloatArray, form: FiveNumbers) -> FloatArray:
    """Return rotated boxes, (N, 5), from boxes of five numbers in a layout.

    Examples
    --------
    >>> rotated_of(np.array([[10.0, 20, 4, 2, 30]]), "xywh-ccw-degrees").round(9).tolist()
    [[12.0, 21.0, 4.0, 2.0, 330.0]]
    """
    origin, direction, unit = form.split("-")
    boxes = values.copy()
    if origin == "xywh":
        boxes[:, :2] += boxes[:, 2:4] / 2
    angle = np.rad2deg(values[:, 4]) if unit == "radians" else values[:, 4]
    boxes[:, 4] = np.mod(angle if direction == "cw" else -angle, 360)
    boxes[boxes[:, 4] >= 360, 4] = 0
    return boxes


def has_angles(text: bytes | mmap.mmap, start: int = 0) -> bool:
    """Return whether most of the first boxes after `start` have five or eight numbers."""
    boxes = _BOX.finditer(text, start, start + _BEGINNING)
    turned = [found[1].count(b",") + 1 in BOX_LENGTHS[1:] for found in boxes]
    return 2 * sum(turned) > len(turned)
