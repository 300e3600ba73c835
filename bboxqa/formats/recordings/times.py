"""Converting times in tables of segments to whole milliseconds."""

import re
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal

TimeUnit = Literal["ms", "s"]

_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,2})?", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:[.,]\d*)?)", re.ASCII)
_LONGEST_MS = 10**13


def is_number(text: str) -> bool:
    """Return whether a text is a decimal number, with a point or a comma."""
    return _NUMBER.fullmatch(text) is not None


def fraction(texts: Iterable[str]) -> bool:
    """Return whether any of the numbers among the texts has digits after the point.

    Examples
    --------
    >>> fraction(["12", "1:02.5"]), fraction(["12.0"]), fraction(["12", "0,5"])
    (False, False, True)
    """
    numbers = (_decimal(text) for text in texts if is_number(text))
    return any(number != number.to_integral_value() for number in numbers)


def clock_time(text: str) -> Decimal | None:
    """Return a time such as 1:02:03.5 or 02:03.5 in seconds; None if the text is not one.

    Examples
    --------
    >>> clock_time("1:02:03.5"), clock_time("00:61"), clock_time("3.5")
    (Decimal('3723.5'), None, None)
    """
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds = match[1] or "0", int(match[2]), _decimal(match[3])
    if seconds >= 60 or (minutes >= 60 and match[1] is not None):
        return None
    return 3600 * int(hours) + 60 * minutes + seconds


def milliseconds(text: str, unit: TimeUnit) -> tuple[int, bool] | None:
    """Return a time as whole milliseconds, and whether it was rounded (half to even).

    The text is a number in the unit, "ms" or "s", or hours, minutes and seconds separated by
    colons. Decimal arithmetic is used. None if the text is not a time, or is more than three
    centuries.

    Examples
    --------
    >>> milliseconds("1.5", "s"), milliseconds("0:02.0005", "ms"), milliseconds("soon", "s")
    ((1500, False), (2000, True), None)
    """
    exact = clock_time(text)
    if exact is not None:
        exact *= 1000
    elif is_number(text):
        exact = _decimal(text) * (1000 if unit == "s" else 1)
    if exact is None or abs(exact) > _LONGEST_MS:
        return None
    whole = exact.to_integral_value(ROUND_HALF_EVEN)
    return int(whole), whole != exact


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", "."))
