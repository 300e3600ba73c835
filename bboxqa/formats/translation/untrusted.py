"""Checking values from untrusted files before they are used."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.text import one_line

LARGEST = 1e9
"""Coordinates have to be smaller."""
MOST_BEYOND = 0.005
"""How far a relative coordinate may exceed the image due to rounding."""
LEAST_PIXELS = 2
"""Coordinates further from 0 are pixels, not relative, as shapes exceed their image by less."""
_SHOWN = 40
_NO_SIDE = "expected a number of pixels, 1 or more"


class ValueProblemError(ValueError):
    """A value that is not as its tool writes it; its text follows "object 7: "."""


class MaskProblemError(ValueProblemError):
    """A mask that cannot be decoded; its text follows "the mask "."""


class EmptyMaskProblemError(MaskProblemError):
    """A mask without pixels."""


def plain_text(value: object) -> str:
    """Return a name or number as text; "" for any other value.

    Examples
    --------
    >>> plain_text(" ann "), plain_text(7.0), plain_text(None)
    ('ann', '7', '')
    """
    if type(value) is str:
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if isinstance(value, bool) or not isinstance(value, int) else str(value)


def mapping(value: object) -> dict[str, Any]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return a JSON list; an empty one for any other value."""
    return value if isinstance(value, list) else []


def number_of(value: object, name: str) -> float:
    """Return a finite number; raises ValueProblemError for any other value.

    Examples
    --------
    >>> number_of(3, "x")
    3
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        shown = "missing" if value is None else repr(value)[:_SHOWN]
        raise ValueProblemError(f"{name} is {shown}; expected {_wanted(value)}")
    return value


def number_in(text: str, name: str) -> float:
    """Return the finite number in a text; raises ValueProblemError for any other text.

    Examples
    --------
    >>> number_in("3", "x")
    3.0
    """
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not abs(value) < LARGEST:
        wanted = "a number without a comma, such as 0.5" if "," in text else _wanted(value)
        raise ValueProblemError(f"{name} is {text[:_SHOWN]!r}; expected {wanted}")
    return value


def _wanted(value: object) -> str:
    is_far = isinstance(value, int | float) and LARGEST <= abs(value) < np.inf
    return f"a number within ±{LARGEST:,.0f}" if is_far else "a number"


def numbers_of(values: object, names: Sequence[str]) -> list[float]:
    """Return the numbers under some keys of an object; raises ValueProblemError if missing."""
    given = mapping(values)
    return [number_of(given.get(name), name) for name in names]


def points_of(values: object, name: str = "points", *, least: int = 1) -> FloatArray:
    """Return (K, 2) points, at least `least`; raises ValueProblemError for any other value.

    Expected is a list of ``[x, y]``, or of objects with the keys x and y.

    Examples
    --------
    >>> points_of([[1, 2], {"x": 3, "y": 4}]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if not isinstance(values, list) or len(values) < least:
        found = "missing" if values is None else repr(values)[:_SHOWN]
        raise ValueProblemError(f"{name} are {found}; expected {least} or more [x, y]")
    pairs = [[p.get("x"), p.get("y")] if isinstance(p, dict) else p for p in values]
    for pair, given in zip(pairs, values, strict=True):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueProblemError(f"a point is {str(given)[:_SHOWN]}; expected [x, y]")
        for each in pair:
            number_of(each, "a coordinate")
    return np.array(pairs, np.float64).reshape(-1, 2)


def line_of(values: object) -> dict[str, list[float]]:
    """Return the points of a line as x and y in turn; nothing if they cannot be read.

    Lines are not compared, so that a broken one does not stop a run.

    Examples
    --------
    >>> line_of([[1, 2], {"x": 3, "y": 4}]), line_of([[1]])
    ({'points': [1.0, 2.0, 3.0, 4.0]}, {})
    """
    try:
        return {"points": points_of(values).ravel().tolist()}
    except ValueProblemError:
        return {}


def side_of(value: object, name: str) -> int | None:
    """Return a side of an image in pixels, from a number or its text; None if missing.

    Raises ValueProblemError if no image can have such a side.

    Examples
    --------
    >>> side_of("640", "width"), side_of(480.0, "height"), side_of("", "width")
    (640, 480, None)
    """
    # Data frames have NaN for empty cells.
    if value is None or value != value or value == "":  # noqa: PLR0124
        return None
    try:
        side = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        side = 0.0
    if isinstance(value, bool) or not 1 <= side < 1 << 31:
        raise ValueProblemError(f"{name} is {one_line(str(value))[:_SHOWN]}; {_NO_SIDE}")
    return int(side)


def size_of(width: object, height: object) -> tuple[int, int] | None:
    """Return the size of an image in pixels; None if a side is missing or invalid.

    Examples
    --------
    >>> size_of(640, 480.0), size_of(0, 480), size_of(None, None)
    ((640, 480), None, None)
    """
    for side in (width, height):
        if isinstance(side, bool) or not isinstance(side, int | float) or not 1 <= side < 1 << 31:
            return None
    return int(width), int(height)  # type: ignore[call-overload]
