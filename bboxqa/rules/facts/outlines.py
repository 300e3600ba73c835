"""Outlines of several annotations: which are equal, and how far pairs of them overlap."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.formats.columns import Kind
from bboxqa.formats.measured import outlines_of
from bboxqa.model.outlines import SegmentationKind, Segmentations
from bboxqa.rules.facts.box_overlaps import first_equal
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.oriented_boxes import written_numbers

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
