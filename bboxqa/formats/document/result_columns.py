"""Converting scores of results and panoptic segments to columns."""

from itertools import chain
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.formats.document.raw_values import MISSING, boxes_of, column_of, numbers_of


def scores_of(column: list[Any]) -> dict[str, Any]:
    """Return the columns of `Scores` for the values of the key score, MISSING where absent.

    Examples
    --------
    >>> {name: part.tolist() for name, part in scores_of([0.5, MISSING, "high"]).items()}
    {'row': [0, 2], 'value': [0.5, nan]}
    """
    rows = [row for row, value in enumerate(column) if value is not MISSING]
    values = [column[row] for row in rows]
    return {"row": np.array(rows, np.int64), "value": numbers_of(values, set(map(type, values)))}


def segments_of(column: list[Any]) -> dict[str, Any]:
    """Return the columns of `Segments` for the values of segments_info, MISSING where absent."""
    places: list[tuple[int, int]] = []
    segments: list[dict[str, Any]] = []
    for row, value in enumerate(column):
        if type(value) is list:
            places += [(row, place) for place in range(len(value))]
            segments += [each if type(each) is dict else {} for each in value]
        elif value is not MISSING:
            places.append((row, -1))
            segments.append({})
    keys = set(chain.from_iterable(segments))
    columns = {key: column_of(segments, key, keys) for key in _KEYS}
    iscrowd = _whole(columns["iscrowd"])
    of_list = np.array(places, np.int64).reshape(-1, 2)
    return {
        "row": of_list[:, 0],
        "place": of_list[:, 1],
        "id": _whole(columns["id"]),
        "category_id": _whole(columns["category_id"]),
        "area": numbers_of(columns["area"], set(map(type, columns["area"]))),
        "iscrowd": np.where(np.isin(iscrowd, (0, 1)), iscrowd, -1),
        "bbox": boxes_of(columns["bbox"], set(map(type, columns["bbox"]))),
    }


_KEYS = ("id", "category_id", "area", "iscrowd", "bbox")


def _whole(column: list[Any]) -> IndexArray:
    """Return whole numbers, (N,) int64; -1 for negative numbers and all other values."""
    return np.array([v if type(v) is int and 0 <= v < 1 << 63 else -1 for v in column], np.int64)
