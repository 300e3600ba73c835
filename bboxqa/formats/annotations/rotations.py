"""The angles by which attributes rotate boxes."""

import re
from collections.abc import Iterator, Sequence
from operator import attrgetter

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.annotations.records import Annotation

_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", re.ASCII | re.IGNORECASE)

FARTHEST = 1e6
"""The largest accepted angle in degrees; no tool writes a larger one."""


def rotations(records: Sequence[Annotation]) -> FloatArray:
    """Return the rotation of each annotation in degrees, (N,); NaN where it has none."""
    said = _written(records)
    said[~(np.abs(said) < FARTHEST)] = np.nan
    return said


def rotation_problems(name: str, records: Sequence[Annotation]) -> Iterator[str]:
    """Yield a problem for each annotation whose rotation is not an angle; `name` is the file."""
    said = _written(records)
    for row in np.flatnonzero(np.abs(said) >= FARTHEST).tolist():
        yield (
            f"{name}: annotation {records[row].id!r}: attributes.rotation is {said[row]:g}; "
            f"expected degrees, less than {FARTHEST:,.0f}"
        )


def _written(records: Sequence[Annotation]) -> FloatArray:
    attributes = list(map(attrgetter("attributes"), records))
    said = np.full(len(records), np.nan)
    if attributes.count(None) == len(attributes):
        return said
    for row, each in enumerate(attributes):
        if each is None:
            continue
        value = each.get("rotation") if isinstance(each, dict) else getattr(each, "rotation", None)
        said[row] = degrees(value)
    return said


def degrees(value: object) -> float:
    """Return a rotation as a number, which may be written as text; NaN for anything else.

    Examples
    --------
    >>> degrees(30), degrees("-1.5e1"), degrees("left"), degrees("1e999")
    (30.0, -15.0, nan, inf)
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and _NUMBER.fullmatch(value)):
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return np.inf


def count_turned(records: Sequence[Annotation]) -> int:
    """Return the number of annotations with a rotation other than full turns."""
    said = rotations(records)
    return int((np.mod(said[np.isfinite(said)], 360) != 0).sum())
