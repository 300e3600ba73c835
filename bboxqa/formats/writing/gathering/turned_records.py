"""Adding outlines to rotated boxes that COCO files give without an outline."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.formats.annotations.columns import BoxForm, RotatedColumns
from bboxqa.formats.writing.outlines import Record
from bboxqa.model.shapes.rotated_boxes import bounds, corners

_PLAIN, _CORNERS = 4, 8


def turned_rows(columns: RotatedColumns | None, records: Sequence[Record]) -> dict[int, FloatArray]:
    """Return the rotated boxes of annotations without an outline, by row."""
    if columns is None:
        return {}
    rows = np.flatnonzero((columns.form == BoxForm.ANGLE) | _have_more(records))
    return {row: columns.box[row] for row in rows.tolist() if not records[row].get("segmentation")}


def _have_more(records: Sequence[Record]) -> BoolArray:
    """Return which boxes have more than four numbers, (N,) bool."""
    lengths = (
        isinstance(each.get("bbox"), list) and len(each["bbox"]) > _PLAIN for each in records
    )
    return np.fromiter(lengths, np.bool_, len(records))


def turned_keys(record: Record, box: FloatArray) -> Record:
    """Return the keys of a rotated box: its bounds, corners and angle."""
    given: Sequence[Any] = record["bbox"]
    points = np.array(given).reshape(-1, 2) if len(given) == _CORNERS else corners(box[None])[0]
    left, top, right, bottom = bounds(box[None])[0].tolist()
    inside = record.get("attributes")
    attributes = inside if isinstance(inside, dict) else {}
    return {
        "bbox": [left, top, right - left, bottom - top],
        "segmentation": [points.ravel().tolist()],
        "attributes": {**attributes, "rotation": float(box[4])},
    }
