"""Converting table cells to boxes, and detecting the layout of boxes from their numbers."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import msgspec
import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.box_tables.table_columns import FORMS, Columns
from bboxqa.formats.translation.untrusted import (
    LARGEST,
    ValueProblemError,
    items,
    mapping,
    number_of,
)

Cells = dict[str, Any]
"""The cells of one box, by the keys of `NAMES`."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# What is read of objects, each by the first of its usual names.
_OF_OBJECTS = {
    "bbox": ("bbox", "box"),
    "category": ("category", "label", "category_id", "label_id"),
    "annotator": ("annotator", "annotator_id"),
    "id": ("id", "bbox_id"),
}
_NOTHING = (None, "", "nan", "NaN", "None", "null")


def boxes_in(row: Mapping[str, Any], columns: Columns) -> list[Cells]:
    """Return the cells of each box in a row; for an image without objects, cells without a box.

    Raises ValueProblemError if the column of objects holds anything else.
    """
    cells = {key: row[name] for key, name in columns.of.items() if name in row}
    if "objects" not in columns.of:
        return [cells]
    listed = _listed(cells.pop("objects", None))
    return [{**cells, **_known(mapping(each))} for each in listed] or [cells]


def _listed(objects: object) -> list[Any]:
    """Return the objects of an image, which cells of csv hold as JSON."""
    if _is_empty(objects):
        return []
    if isinstance(objects, str):
        objects = _decoded(objects)
    if isinstance(objects, dict):
        return _by_rows(objects)
    if not isinstance(objects, list):
        raise ValueProblemError(f"objects is {str(objects)[:40]}; expected a list")
    return objects


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise ValueProblemError(f"objects is {text[:40]!r}; expected JSON") from None


def _by_rows(objects: dict[str, Any]) -> list[dict[str, Any]]:
    """Convert an object of parallel lists to a list of objects."""
    n = {key: len(items(objects.get(key))) for names in _OF_OBJECTS.values() for key in names}
    first = next((key for key, length in n.items() if length), None)
    if first is None:
        return []
    if other := next((key for key, length in n.items() if length not in (0, n[first])), None):
        problem = f"objects has {n[first]} {first} and {n[other]} {other}; expected as many"
        raise ValueProblemError(problem)
    whole = {key: each for key, each in objects.items() if len(items(each)) == n[first]}
    return [{key: each[place] for key, each in whole.items()} for place in range(n[first])]


def _known(given: dict[str, Any]) -> Cells:
    """Return the known values of an object, by the keys of `NAMES`."""
    found = {}
    for key, usual in _OF_OBJECTS.items():
        name = next((each for each in usual if given.get(each) is not None), None)
        if name is not None:
            found[key] = given[name]
    return found


def numbers_of_box(cells: Cells, form: str) -> list[float] | None:
    """Return the four numbers of a box; None where all are empty.

    Raises ValueProblemError if they are not numbers.
    """
    if form:
        values = [cells.get(key) for key in FORMS[form]]
        # Fast path: most cells are numbers as text.
        with suppress(ValueError, TypeError):
            box = [*map(float, cast("list[str]", values))]
            if bool not in map(type, values) and sum(map(abs, box)) < LARGEST:
                return box
        if all(_is_empty(each) for each in values):
            return None
        return [_number(each, key) for each, key in zip(values, FORMS[form], strict=True)]
    given = cells.get("bbox")
    if _is_empty(given) or given == []:
        return None
    values = _NUMBER.findall(given) if isinstance(given, str) else items(given)
    if len(values) != 4:
        raise ValueProblemError(f"bbox is {str(given)[:40]}; expected four numbers")
    return [_number(each, "bbox") for each in values]


def _is_empty(value: object) -> bool:
    if isinstance(value, str):
        return value.strip() in _NOTHING
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


def _number(value: object, name: str) -> float:
    if isinstance(value, str):
        try:
            return number_of(float(value), name)
        except ValueError:
            raise ValueProblemError(f"{name} is {value[:40]!r}; expected a number") from None
    return number_of(value, name)


def side_of(value: object) -> int | None:
    """Return a side of an image in pixels; None if the value is not a size."""
    try:
        side = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return int(side) if 1 <= side < 1 << 31 else None


def form_of(boxes: FloatArray, sizes: FloatArray) -> str:
    """Return the only layout that fits the numbers of all boxes; "" if several fit.

    Parameters
    ----------
    boxes : (N, 4) float64
    sizes : (N, 2) float64
        Width and height of the images; NaN where unknown.

    Examples
    --------
    >>> sizes = np.array([[100.0, 100.0]])
    >>> form_of(np.array([[60.0, 50.0, 90.0, 80.0]]), sizes)
    'xyxy'
    >>> form_of(np.array([[60.0, 50.0, 20.0, 30.0]]), sizes)
    'xywh'
    >>> form_of(np.array([[10.0, 10.0, 20.0, 30.0]]), sizes)
    ''
    """
    if (boxes[:, 2:] < boxes[:, :2]).any():
        return "xywh"
    # One pixel is allowed for rounding.
    with np.errstate(invalid="ignore"):
        is_beyond = (boxes[:, :2] + boxes[:, 2:] > sizes + 1).any()
    return "xyxy" if is_beyond else ""


def as_corner_and_size(box: list[float], form: str) -> list[float]:
    """Return a box as left, top, width and height.

    Examples
    --------
    >>> as_corner_and_size([1, 2, 4, 6], "xyxy"), as_corner_and_size([5, 5, 4, 2], "cxcywh")
    ([1, 2, 3, 4], [3.0, 4.0, 4, 2])
    """
    x, y, right, bottom = box
    if form == "xyxy":
        return [x, y, right - x, bottom - y]
    if form == "cxcywh":
        return [x - right / 2, y - bottom / 2, right, bottom]
    return box


def as_corners_and_sizes(boxes: FloatArray, form: str) -> FloatArray:
    """Return (N, 4) boxes as `as_corner_and_size` does."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if form == "xyxy":
        return np.concatenate([first, second - first], 1)
    if form == "cxcywh":
        return np.concatenate([first - second / 2, second], 1)
    return boxes
