"""Converting any value read from a file to one that JSON can hold."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean

# Readers do not descend further, and Python's recursion limit is not much higher.
_DEPTH = 32
_MOST_DEEP = 500
TOO_DEEP = f"lists nested more than {_MOST_DEEP} deep"
"""Why a text that `nests_deep` is not read."""
_ESCAPE, _TEXT = re.compile(rb"\\.", re.DOTALL), re.compile(rb'"[^"]*"?')
_UNMARKED = bytes({*range(256)} - {*b'[]{}"'})
_BITS = 1024
_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}
# Characters that some text readers, though not JSON readers, take as line ends, and characters that
# reverse the direction of text.
_ESCAPED = {
    number: f"\\u{number:04x}"
    for number in (
        0x85, 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A),
    )
}  # fmt: skip


def json_safe(value: Any, depth: int = _DEPTH) -> Any:  # noqa: PLR0911
    """Return an equivalent value that JSON can hold and UTF-8 can encode."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int):
        return value if value.bit_length() <= _BITS else hex(value)[:40] + "…"
    if isinstance(value, float):
        return value if math.isfinite(value) else _NOT_FINITE.get(value, "NaN")
    if not depth:
        return "…"
    if isinstance(value, Mapping):
        return {json_safe(str(key)): json_safe(each, depth - 1) for key, each in value.items()}
    # Recognises numpy's numbers and arrays without importing numpy.
    if not isinstance(value, list | tuple | set | frozenset):
        return json_safe(value.tolist() if hasattr(value, "tolist") else repr(value), depth - 1)
    return [json_safe(each, depth - 1) for each in value]


def nests_deep(text: bytes) -> bool:
    """Return whether lists and objects of a JSON text are nested more than 500 deep.

    Decoders fail at a depth that varies with what has called them.
    """
    if len(text) <= _MOST_DEEP:
        return False
    import numpy as np

    if b"\\" in text:
        text = _ESCAPE.sub(b"", text)
    marks = text.translate(None, _UNMARKED).replace(b'""', b"")
    codes = np.frombuffer(_TEXT.sub(b"", marks), np.uint8)
    # Both of the codes that open have this bit, and none of those that close.
    steps = (codes & 2).astype(np.int8) - 1
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0)) > _MOST_DEEP


def json_line(value: Any) -> str:
    """Return a value as JSON on one line."""
    text = json.dumps(json_safe(value), ensure_ascii=False, allow_nan=False)
    return text.translate(_ESCAPED)


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON; half of a character, which UTF-8 does not have, as its escape."""
    import msgspec

    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def pointer_to(*parts: str | int) -> str:
    """Return the JSON pointer (RFC 6901) made of keys and indices."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def shortened(value: object, limit: int = 60) -> str:
    """Return a value as JSON, cut to `limit` characters."""
    return cut(clean(json.dumps(value, ensure_ascii=False, default=repr)), limit)


def cut(text: str, limit: int = 60) -> str:
    """Return a text, cut to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def pointer_parts(pointer: str) -> list[str]:
    """Return the keys and indices of a JSON pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a document as the bytes of a JSON file; numpy's numbers and arrays are accepted."""

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        raise TypeError(f"a value is of type {type(value).__name__}; expected what JSON can hold")

    try:
        return json.dumps(dict(document), default=plain).encode()
    except (TypeError, ValueError) as error:
        raise DatasetError([f"document: cannot be written as JSON: {error}"]) from None
    except RecursionError:
        raise DatasetError([f"document: {TOO_DEEP}"]) from None
