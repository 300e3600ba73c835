"""Converting boxes, angles and corners of decoded records to rotated boxes, by windows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

import numpy as np

from bboxqa.core.arrays import ByteArray, ColumnBuilder, FloatArray, IndexArray
from bboxqa.core.text import count
from bboxqa.formats.annotations.records import Annotation, OutlinedAnnotation, Rle
from bboxqa.formats.annotations.rotations import rotations
from bboxqa.model.shapes.rotated_boxes import corners, from_corners, turned_to, upright

Corners = tuple[IndexArray, FloatArray]

_CORNERS = 8


class BoxForm(IntEnum):
    """How an annotation describes its rotated box."""

    UPRIGHT = 0
    """A box only."""
    RECTANGLE = 1
    """Four corners of a rectangle."""
    QUADRILATERAL = 2
    """Four corners of another shape."""
    OTHER = 3
    """A box with another outline or a mask."""
    ANGLE = 4
    """A box, and the angle in degrees by which it is rotated about its centre."""


@dataclass(frozen=True, slots=True, eq=False)
class RotatedColumns:
    """The rotated boxes of N annotations."""

    box: FloatArray
    """(N, 5) float64. Centre x and y, width, height, and angle in degrees."""
    form: ByteArray
    """(N,) uint8. A `BoxForm` per annotation."""

    def put(self, part: slice, rows: IndexArray, boxes: FloatArray) -> "RotatedColumns":
        """Return a slice of the rotated boxes, with some of its rows replaced by `boxes`."""
        box, form = self.box[part].copy(), self.form[part].copy()
        box[rows], form[rows] = boxes, BoxForm.ANGLE
        return RotatedColumns(box, form)


class RotatedBuilder:
    """Collects rotated boxes; boxes of five numbers are added once their layout is known."""

    def __init__(self) -> None:
        self._box = ColumnBuilder(np.float64, 5)
        self._form = ColumnBuilder(np.uint8)

    def add(self, records: Sequence[Annotation], bbox: FloatArray, quads: Corners | None) -> None:
        """Add the rotated boxes of one window with (N, 4) boxes.

        `quads` are the rows of boxes given by four corners, and these corners.
        """
        box, form = upright(bbox), np.zeros(len(records), np.uint8)
        outlined = [r for r in records if isinstance(r, OutlinedAnnotation)]
        outlines = [record.segmentation for record in outlined]
        said = rotations(records)
        if outlines.count(None) < len(outlines):
            _add_outlines(box, form, outlines)
        if quads is not None:
            _put_corners(box, form, *quads)
        known = np.isfinite(said)
        turned = np.flatnonzero(known & (form == BoxForm.UPRIGHT) & (np.mod(said, 360) != 0))
        if outlines:
            # An outline takes precedence over the angle, also if it is upright.
            has_ring = np.fromiter(map(bool, outlines), np.bool_, len(outlines))
            turned = turned[~has_ring[turned]]
        box[turned, 4], form[turned] = np.mod(said[turned], 360), BoxForm.ANGLE
        named = np.flatnonzero(known & (form == BoxForm.RECTANGLE))
        box[named] = turned_to(box[named], said[named])
        self.add_columns(RotatedColumns(box, form))

    def add_columns(self, columns: RotatedColumns) -> None:
        """Append rotated boxes."""
        self._box.add(columns.box)
        self._form.add(columns.form)

    def done(self) -> RotatedColumns:
        """Return the collected columns."""
        return RotatedColumns(self._box.done(), self._form.done())


def _add_outlines(
    box: FloatArray, form: ByteArray, outlines: Sequence[list[list[float]] | Rle | None]
) -> None:
    """Replace boxes by the rectangles of outlines with four corners, and set their form."""
    n = len(outlines)
    has_outline = np.fromiter(map(bool, outlines), np.bool_, n)
    form[has_outline] = BoxForm.OTHER
    rows, points = quadrilaterals(outlines)
    _put_corners(box, form, rows, points)


def _put_corners(box: FloatArray, form: ByteArray, rows: IndexArray, points: FloatArray) -> None:
    box[rows], is_rectangle = from_corners(points)
    form[rows] = np.where(is_rectangle, BoxForm.RECTANGLE, BoxForm.QUADRILATERAL)


def quadrilaterals(
    outlines: Sequence[list[list[float]] | Rle | None],
) -> tuple[IndexArray, FloatArray]:
    """Return the outlines with four corners, and their corners, (K, 4, 2).

    The ring may be closed by a fifth point.
    """
    rings = [each[0] if type(each) is list and len(each) == 1 else () for each in outlines]
    lengths = np.fromiter(map(len, rings), np.int64, len(rings))
    closed = [
        row
        for row in np.flatnonzero(lengths == _CORNERS + 2).tolist()
        if rings[row][:2] == rings[row][-2:]
    ]
    rows = np.sort(np.concatenate([np.flatnonzero(lengths == _CORNERS), closed]).astype(np.int64))
    if len(rows) == len(rings) and not closed:
        chosen = rings
    else:
        chosen = [rings[row][:_CORNERS] for row in rows.tolist()]
    flat = np.fromiter(chain.from_iterable(chosen), np.float64, _CORNERS * len(rows))
    return rows, flat.reshape(-1, 4, 2)


def rotated_columns(bbox: FloatArray, points: FloatArray | None) -> RotatedColumns:
    """Return boxes as rotated boxes, or the rectangles of (N, 4, 2) corners if given."""
    box, form = upright(bbox), np.zeros(len(bbox), np.uint8)
    if points is not None:
        _put_corners(box, form, np.arange(len(bbox)), points)
    return RotatedColumns(box, form)


def bounding_boxes(boxes: FloatArray) -> FloatArray:
    """Return the bounds of rotated boxes as x, y, width and height, (N, 4)."""
    points = corners(boxes)
    low = points.min(1)
    return np.concatenate([low, points.max(1) - low], axis=1)


def rotated_notes(form: ByteArray) -> Iterator[str]:
    """Yield notes on shapes that comparing rotated boxes simplifies."""
    number = np.bincount(form, minlength=len(BoxForm)).tolist()
    yield from outline_notes(number[BoxForm.QUADRILATERAL], number[BoxForm.OTHER])


def outline_notes(n_quadrilaterals: int, n_others: int) -> Iterator[str]:
    """Yield notes on how outlines other than rotated boxes are compared."""
    if some := n_quadrilaterals:
        is_ = "is not a rectangle: it is" if some == 1 else "are not rectangles: each is"
        yield (
            f"{count(some, 'outline')} with four corners {is_} compared by the smallest rectangle "
            "around it"
        )
    if some := n_others:
        is_ = "is" if some == 1 else "are"
        yield (
            f"{count(some, 'other outline')} {is_} compared by the upright box; --similarity "
            "polygon compares outlines"
        )
