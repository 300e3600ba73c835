"""Values of a file as JSON can write them, whatever they are."""

import json
import math
from collections.abc import Mapping
from typing import Any

from bboxqa.core.text import clean

__all__ = ["as_json", "at", "parts_of", "plain", "short"]

# Deeper than this no reader looks, and Python's own limit is not far.
_DEPTH = 32
_BITS = 1024
# Ends of a line for some readers of text, though not for those of JSON.
_LINE_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


def plain(value: Any, depth: int = _DEPTH) -> Any:
    r"""Return a value that JSON can write, in UTF-8, and that says as much.

    Infinite numbers and NaN become their names, half characters their escapes, a number of
    hundreds of digits its beginning.

    Parameters
    ----------
    value : Any
    depth : int
        How many lists inside lists are followed.

    Examples
    --------
    >>> plain([float("nan"), -float("inf"), "half \ud800", {1: (2, 3)}])
    ['NaN', '-Infinity', 'half \\ud800', {'1': [2, 3]}]
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int | float):
        return _number(value)
    return _holder(value, depth - 1) if depth else "…"


def _number(value: float) -> float | str:
    if isinstance(value, int):
        return value if value.bit_length() <= _BITS else hex(value)[:40] + "…"
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _holder(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): plain(inner, depth) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner, depth) for inner in value]
    # Numbers and arrays of numpy, without loading numpy to know them.
    return plain(value.tolist(), depth) if hasattr(value, "tolist") else plain(repr(value))


def _key(key: object) -> str:
    text: str = plain(str(key))
    return text


def as_json(value: Any) -> str:
    r"""Return a value as JSON on one line.

    Examples
    --------
    >>> as_json({"name": "Bär", "x": float("inf"), "half": "\udc80"})
    '{"name": "Bär", "x": "Infinity", "half": "\\\\udc80"}'
    """
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
    return text.translate(_LINE_ENDS)


def at(*parts: str | int) -> str:
    """Return the JSON pointer of keys and places (RFC 6901).

    Examples
    --------
    >>> at("annotations", 7, "bbox", 2), at("odd/key~")
    ('/annotations/7/bbox/2', '/odd~1key~0')
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def short(value: object, limit: int = 60) -> str:
    """Return a value as json writes it, cut where it is long.

    Examples
    --------
    >>> short([1, "a", None]), short("x" * 99, 8)
    ('[1, "a", null]', '"xxxxxx…')
    """
    text = clean(json.dumps(value, ensure_ascii=False, default=repr))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def parts_of(pointer: str) -> list[str]:
    """Return the keys and places of a JSON pointer.

    Examples
    --------
    >>> parts_of("/annotations/7/odd~1key")
    ['annotations', '7', 'odd/key']
    """
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
