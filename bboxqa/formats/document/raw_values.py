"""The values of raw records: their kinds, and numbers from them."""

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from bboxqa.core.arrays import ByteArray, FloatArray
from bboxqa.formats.document.annotation_columns import Kind

NUMBERS = {int, float}
"""The types of numbers; bool is not one of them."""


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
    """Return whether all values are numbers; true and false are not."""
    return set(map(type, values)) <= NUMBERS


def column_of(records: Sequence[dict[str, Any]], key: str, keys: set[str]) -> list[Any]:
    """Return the value of a key in each record; MISSING where it has none."""
    if key not in keys:
        return [MISSING] * len(records)
    try:
        return list(map(itemgetter(key), records))
    except KeyError:
        return [record.get(key, MISSING) for record in records]


def floats(values: Sequence[Any]) -> FloatArray:
    """Return numbers as floats; integers beyond their range become infinite."""
    try:
        return np.fromiter(values, np.float64, len(values))
    except OverflowError:
        return np.array([_float(value) for value in values])


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
