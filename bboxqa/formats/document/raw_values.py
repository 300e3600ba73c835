"""Classifying values of raw records, and converting them to numbers."""

import math
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray
from bboxqa.formats.document.annotation_columns import Kind

NUMBERS = {int, float}
"""The types of numbers, without bool."""


class Missing:
    """The value of a key that is missing."""


MISSING = Missing()
_KINDS: dict[type, int] = {
    Missing: Kind.MISSING, type(None): Kind.NULL, bool: Kind.BOOL, int: Kind.INT,
    float: Kind.FLOAT, str: Kind.TEXT, list: Kind.LIST, dict: Kind.DICT,
}  # fmt: skip


def kinds_of(values: Sequence[Any]) -> tuple[ByteArray, set[type]]:
    """Return the kind of each value, and the set of their types."""
    types = set(map(type, values))
    if len(types) == 1:
        return np.full(len(values), _KINDS[next(iter(types))], np.uint8), types
    return np.fromiter(map(_KINDS.__getitem__, map(type, values)), np.uint8, len(values)), types


def are_numbers(values: Sequence[Any]) -> bool:
    """Return whether all values are numbers; booleans are not."""
    return set(map(type, values)) <= NUMBERS


def column_of(records: Sequence[dict[str, Any]], key: str, keys: set[str]) -> list[Any]:
    """Return the value of a key in each record; MISSING where the key is absent."""
    if key not in keys:
        return [MISSING] * len(records)
    try:
        return list(map(itemgetter(key), records))
    except KeyError:
        return [record.get(key, MISSING) for record in records]


def floats(values: Sequence[Any]) -> FloatArray:
    """Return numbers as floats; integers beyond the range of floats become infinite."""
    try:
        return np.fromiter(values, np.float64, len(values))
    except OverflowError:
        return np.array([_float(value) for value in values])


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def boxes_of(column: list[Any], types: set[type]) -> FloatArray:
    """Return boxes, (N, 4); NaN where a value is not four finite numbers."""
    n = len(column)
    boxes = None
    if types == {list} and set(map(len, column)) <= {4}:
        flat = list(chain.from_iterable(column))
        if are_numbers(flat):
            boxes = floats(flat).reshape(n, 4)
    if boxes is None:
        sound = [type(v) is list and len(v) == 4 and are_numbers(v) for v in column]
        boxes = np.full((n, 4), np.nan)
        for place in np.flatnonzero(sound).tolist():
            boxes[place] = floats(column[place])
    boxes[~np.isfinite(boxes).all(1)] = np.nan
    return boxes


def captioned(column: list[Any]) -> BoolArray:
    """Return which values are non-blank texts, (N,) bool."""
    return np.array([type(v) is str and bool(v.strip()) for v in column], np.bool_)


def numbers_of(column: list[Any], types: set[type]) -> FloatArray:
    """Return numbers, (N,) float64; NaN where a value is not a finite number."""
    if not types <= NUMBERS:
        column = [value if type(value) in NUMBERS else np.nan for value in column]
    numbers = floats(column)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers
