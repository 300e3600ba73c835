"""Shapes of annotations: rotated boxes, equal boxes and outlines, and how far they overlap."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.formats.columns import Kind, Rings
from bboxqa.formats.measured import outlines_of
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, from_corners, rotated_iou
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.model.shapes import rotated_boxes as shapes
from bboxqa.rules.facts.box_overlaps import first_equal
from bboxqa.rules.facts.document import Document

_CORNER_FORMATS = ("DOTA labels", "YOLO labels")
"""Formats that write four corners and no angle."""
# Outlines are rotated boxes if this share of the outlined annotations has one ring of four points,
_MOST = 0.9
# this share of the rings are rectangles,
_HALF = 0.5
# and this share of the rectangles is turned.
_FEW_TURNED = 0.1
# The tolerance in degrees within which a box counts as upright.
_UPRIGHT = 0.5


class OrientedBoxes(msgspec.Struct, frozen=True, eq=False):
    """The rotated boxes of a file."""

    row: IndexArray
    """(Q,) int64. The annotation of each box, ascending."""
    corners: FloatArray
    """(Q, 4, 2) float64. Corners in pixels, in the order of the outline in the file. A box with an
    angle and no outline is rotated about its centre. NaN if five numbers are ambiguous.
    """
    is_written: BoolArray
    """(Q,) bool. Whether the file has these corners rather than an angle."""
    angle: FloatArray
    """(Q,) float64. The angle as written; NaN if the file has only corners."""


def is_rotated_file(document: Document) -> bool:
    """Return whether the file has rotated boxes: at least half with five or eight numbers."""
    columns = document.annotations
    n_longer = np.count_nonzero(columns.rotations.n_numbers)
    return bool(n_longer > 0 and n_longer >= np.count_nonzero(np.isfinite(columns.bbox[:, 0])))


def oriented_boxes(document: Document) -> OrientedBoxes:
    """Return the rotated boxes of a file; empty if outlines of four points are polygons."""
    columns = document.annotations
    rings, rotations = columns.rings, columns.rotations
    quads, is_written = _quads(document)
    row = np.union1d(rings.row[quads], _listed(document))
    corners, written, angle = np.full((len(row), 4, 2), np.nan), row < 0, np.full(len(row), np.nan)
    at = np.searchsorted(row, rings.row[quads])
    corners[at] = rings.xy[rings.offsets[quads][:, None] + np.arange(4)]
    written[at] = is_written
    said = np.flatnonzero(np.isin(rotations.row, row))
    at, values = np.searchsorted(row, rotations.row[said]), rotations.values[said]
    five, eight = (rotations.n_numbers[said] == number for number in (5, 8))
    written[at] |= eight
    corners[at[eight]] = values[eight].reshape(-1, 4, 2)
    given = np.where(five, values[:, 4], rotations.angle[said])
    angle[at] = np.where(written[at] & ~five, np.nan, given)
    # Boxes with an angle and no outline are turned.
    turned = at[~five & np.isnan(corners[at, 0, 0]) & np.isfinite(angle[at])]
    outlined = np.union1d(rings.row, columns.rles.row)
    turned = turned[document.has_box[row[turned]] & ~np.isin(row[turned], outlined)]
    boxes = shapes.upright(columns.bbox[row[turned]])
    boxes[:, 4] = angle[turned]
    corners[turned] = shapes.corners(boxes)
    return OrientedBoxes(row, corners, written, angle)


def rows_with_corners(document: Document) -> IndexArray:
    """Return the annotations that are rotated boxes with known corners, ascending."""
    boxes = document.once(oriented_boxes)
    return boxes.row[np.isfinite(boxes.corners[:, 0, 0])]


def _listed(document: Document) -> IndexArray:
    """Return the rows of boxes that have an angle, or more than four numbers."""
    rotations = document.annotations.rotations
    origin = document.reading.origin
    if origin is not None and origin.title in _CORNER_FORMATS:
        # The angle was computed from the corners.
        return np.zeros(0, np.int64)
    if origin is None and not is_rotated_file(document):
        return rotations.row[np.isfinite(rotations.angle)]
    single = _single_rings(document.annotations.rings)
    # Ellipses also have an angle, but more points.
    other = np.setdiff1d(document.annotations.rings.row, document.annotations.rings.row[single])
    return np.setdiff1d(rotations.row, other)


def _single_rings(rings: Rings) -> IndexArray:
    """Return the rings of four points that are the only ring of their annotation."""
    n_rings = np.bincount(rings.row)
    return np.flatnonzero((rings.n_numbers == 8) & (n_rings[rings.row] == 1))


def _quads(document: Document) -> tuple[IndexArray, bool]:
    """Return the rings that are corners of rotated boxes, and whether the file has these only."""
    rings, origin = document.annotations.rings, document.reading.origin
    single = _single_rings(rings)
    title = "" if origin is None else origin.title
    if title and title not in _CORNER_FORMATS:
        return single[np.isin(rings.row[single], _listed(document))], False
    is_all = title == "DOTA labels" or _are_boxes(rings, single)
    return (single if is_all else single[:0]), True


def _are_boxes(rings: Rings, single: IndexArray) -> bool:
    """Return whether nearly all outlines of a file have four corners and are rotated boxes."""
    if len(single) < _MOST * len(np.unique(rings.row)) or not len(single):
        return False
    corners = rings.xy[rings.offsets[single][:, None] + np.arange(4)]
    offset = corners - corners.mean(axis=1, keepdims=True)
    order = np.argsort(np.arctan2(offset[..., 1], offset[..., 0]), axis=1, kind="stable")
    boxes, fits = shapes.from_corners(np.take_along_axis(corners, order[..., None], axis=1))
    turned = fits & (np.abs(boxes[:, 4] - 45) < 45 - _UPRIGHT)
    return bool(fits.mean() >= _HALF and turned.sum() >= _FEW_TURNED * fits.sum() > 0)


# The bounds of thin boxes overlap less than the boxes themselves.
_OF_BOUNDS = 0.75
_FULL_TURN = 2 * np.pi


def turned_boxes(document: Document) -> tuple[IndexArray, FloatArray]:
    """Return the annotations that are rotated boxes, (R,), and their numbers, (R, 5).

    The angles of boxes of five numbers are taken to be clockwise, in radians if none is above a
    whole turn.
    """
    boxes, rotations = document.once(oriented_boxes), document.annotations.rotations
    known = np.isfinite(boxes.corners[:, 0, 0])
    fives = np.flatnonzero((rotations.n_numbers == 5) & ~np.isin(rotations.row, boxes.row[known]))
    numbers = rotations.values[fives, :5].copy()
    if np.abs(numbers[:, 4]).max(initial=0) <= _FULL_TURN:
        numbers[:, 4] = np.degrees(numbers[:, 4])
    cornered, _ = shapes.from_corners(boxes.corners[known])
    rows = np.concatenate([boxes.row[known], rotations.row[fives]])
    return rows, np.concatenate([cornered, numbers])


def compared_boxes(document: Document, threshold: float) -> tuple[FloatArray, float]:
    """Return (N, 4) boxes, and their least IoU for pairs whose `box_iou` reaches a threshold.

    For rotated boxes, these are the bounds.
    """
    rows, turned = document.once(turned_boxes)
    if not len(rows):
        return document.annotations.bbox, threshold
    bbox = document.annotations.bbox.copy()
    bbox[rows] = from_corners(shapes.bounds(turned))
    return bbox, _OF_BOUNDS * threshold


def box_iou(document: Document, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of pairs of annotations, (P,), using rotated boxes where there are any."""
    (rows, turned), bbox = document.once(turned_boxes), document.annotations.bbox
    iou: FloatArray = bbox_iou(corners(bbox[left]), corners(bbox[right]))
    some = np.flatnonzero(np.isin(left, rows) | np.isin(right, rows))
    if len(some):
        boxes = shapes.upright(bbox)
        boxes[rows] = turned
        iou[some] = rotated_iou(boxes[left[some]], boxes[right[some]])
    return iou


def written_numbers(document: Document) -> FloatArray:
    """Return the numbers of boxes as written, (N, 4), or (N, 8) if any box has five or eight.

    Boxes of fewer numbers have 0 for the rest; annotations without a box have NaN for the first.
    """
    rotations, bbox = document.annotations.rotations, document.annotations.bbox
    longer = rotations.n_numbers > 0
    if not longer.any():
        return bbox
    result = np.hstack([bbox, np.zeros((len(bbox), 4))])
    result[rotations.row[longer]] = rotations.values[longer]
    result[:, 4:] = np.nan_to_num(result[:, 4:])
    return result


# Pairs of edges that are compared, which takes a few seconds; other pairs are compared by boxes.
_MOST_EDGE_PAIRS = 1 << 26


def in_equal_boxes(document: Document) -> IndexArray:
    """Return the rows of annotations whose box equals that of another one of their image."""
    boxes, columns = document.once(written_numbers)[:, :4], document.annotations
    is_object = columns.record == Kind.DICT
    if (is_object & ~np.isfinite(boxes).all(axis=1)).any():
        boxes = np.where(np.isfinite(boxes), boxes, document.outline_bounds)
    rows = np.flatnonzero(is_object & np.isfinite(boxes).all(axis=1))
    return with_equals(rows, [*boxes.T, columns.image_id])


def with_equals(rows: IndexArray, columns: Sequence[Any]) -> IndexArray:
    """Return the rows that equal another row in all columns, in ascending order."""
    first = first_equal([each[rows] for each in columns])
    repeats = first != np.arange(len(first))
    result: IndexArray = rows[np.union1d(first[repeats], np.flatnonzero(repeats))]
    return result


def _outlines(document: Document) -> Segmentations:
    return outlines_of(document.annotations)


def outline_numbers(document: Document) -> IndexArray:
    """Return a number for each distinct outline among equal boxes, (N,) int64; 0 elsewhere."""
    numbers, rows = np.zeros(len(document.annotations), np.int64), document.once(in_equal_boxes)
    if np.isfinite(document.outline_bounds[rows]).any():
        from bboxqa.geometry.similarities.outlines import distinct_outlines

        found = document.once(_outlines).take(rows)
        numbers[rows] = 1 + distinct_outlines(found, np.zeros(len(rows), np.int32))[1]
    return numbers


def outline_iou(document: Document, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the IoU of the outlines of pairs, (P,); NaN without two polygons or two masks."""
    result = np.full(len(left), np.nan)
    known = ~np.isnan(document.outline_bounds[:, 0])
    pairs = np.flatnonzero(known[left] & known[right])
    if not len(pairs):
        return result
    from bboxqa.geometry.kernels import polygons, rasters

    rows, place = np.unique(np.stack([left[pairs], right[pairs]]), return_inverse=True)
    first, second = place.reshape(2, -1)
    outlines = document.once(_outlines).take(rows).packed()
    drawn = polygons.polygon_outlines(outlines)
    exact = np.flatnonzero((drawn.area[first] > 0) & (drawn.area[second] > 0))
    work = np.cumsum(polygons.edge_pairs(drawn, first[exact], second[exact]))
    exact = exact[work <= _MOST_EDGE_PAIRS]
    result[pairs[exact]] = polygons.polygon_iou(drawn, first[exact], second[exact])
    is_mask = outlines.kind == SegmentationKind.RLE
    sizes = np.equal(outlines.size[first], outlines.size[second]).all(axis=1)
    masks = np.flatnonzero(is_mask[first] & is_mask[second] & sizes)
    some = masks[np.argsort(first[masks], kind="stable")]
    rles = [outlines.rle(row) if is_mask[row] else {} for row in range(len(rows))]
    result[pairs[some]] = rasters.mask_iou(rles, first[some], second[some])
    return result
