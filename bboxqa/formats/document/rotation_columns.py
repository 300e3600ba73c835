"""Converting rotated boxes and tracks to columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.formats.annotations.rotations import degrees
from bboxqa.formats.document.raw_values import MISSING, are_numbers, floats

WRITTEN_ANGLE = "written_angle"
"""The key of a translated annotation that holds the angle as its tool wrote it."""
MOST_NUMBERS = 8
"""The most numbers of a box: x and y of four corners."""
_LENGTHS = (5, MOST_NUMBERS)


def rotations_of(
    boxes: Sequence[Any], attributes: Sequence[Any], angles: Sequence[Any]
) -> dict[str, NDArray[Any]]:
    """Return the columns of `Rotations` for the values of bbox, attributes and written angle.

    ``row`` is an index into these values.

    Examples
    --------
    >>> found = rotations_of([[9, 9, 4, 2, 30]], [MISSING], [MISSING])
    >>> found["n_numbers"].tolist(), found["values"][0, :5].tolist()
    ([5], [9.0, 9.0, 4.0, 2.0, 30.0])
    """
    turned = [_angle(*each) for each in zip(attributes, angles, strict=True)]
    numbers = [_numbers(value) for value in boxes]
    rows = [n for n, box in enumerate(numbers) if box or turned[n] is not None]
    values = np.full((len(rows), MOST_NUMBERS), np.nan)
    for place, row in enumerate(rows):
        values[place, : len(numbers[row])] = numbers[row]
    n_numbers = np.array([len(numbers[row]) for row in rows], np.int64)
    wrong = ~np.isfinite(values[:, : _LENGTHS[0]]).all(axis=1)
    n_numbers[wrong] = 0
    written = [turned[row] for row in rows]
    return {
        "row": np.array(rows, np.int64),
        "n_numbers": n_numbers,
        "values": values,
        "angle": np.array([np.nan if angle is None else angle for angle in written], np.float64),
    }


def tracks_of(
    tracks: Sequence[Any], attributes: Sequence[Any], names: dict[str, int]
) -> dict[str, NDArray[Any]]:
    """Return the columns of `Tracks`; new names are added to `names`."""
    rows, codes = [], []
    for row, (given, said) in enumerate(zip(tracks, attributes, strict=True)):
        track = _said(said, "track_id") if given is MISSING else given
        if type(track) in (int, str) and track != "":
            rows.append(row)
            codes.append(names.setdefault(str(track), len(names)))
    return {"row": np.array(rows, np.int64), "code": np.array(codes, np.int64)}


def _said(attributes: object, key: str) -> Any:
    return attributes.get(key) if isinstance(attributes, Mapping) else None


def _angle(attributes: object, written: object) -> float | None:
    angle = _said(attributes, "rotation") if written is MISSING else written
    said = degrees(angle)
    return None if np.isnan(said) or said == 0 else said


def _numbers(value: object) -> list[float]:
    if isinstance(value, list) and len(value) in _LENGTHS and are_numbers(value):
        found: list[float] = floats(value).tolist()
        return found
    return []
