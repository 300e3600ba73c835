"""Decoding a part of a list at once if it is plain JSON."""

import re
from typing import Any

import msgspec
import numpy as np

_ENDED_KEY = re.compile(rb'"\s*:')
_COLON, _QUOTE, _SPACE = b':" '


def decoded_entirely(text: bytes) -> list[Any] | None:
    """Return the records of a list; None if it is not plain JSON or repeats a key.

    Examples
    --------
    >>> decoded_entirely(b'[{"id": 1}, {"id": 2}]')
    [{'id': 1}, {'id': 2}]
    >>> decoded_entirely(b'[{"id": 1}, {"id": 2, "id": 3}]')
    """
    try:
        records: list[Any] = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    # Decoding drops repeated keys, so the number of keys shows whether there were any.
    content = np.frombuffer(text, np.uint8)
    # Decoded text cannot begin with a colon, so each colon has a byte before it.
    before = content[np.flatnonzero(content == _COLON) - 1]
    spaced = (before <= _SPACE).any()
    n_keys = len(_ENDED_KEY.findall(text)) if spaced else np.count_nonzero(before == _QUOTE)
    try:
        n_own = sum(map(len, records))
    except TypeError:
        # A number or null is in place of a record.
        return None
    return records if n_keys == n_own or n_keys == _n_keys(records) else None


def _n_keys(values: list[Any]) -> int:
    """Return the number of keys of all objects, including nested objects."""
    stack = list(values)
    total = 0
    while stack:
        value = stack.pop()
        if type(value) is dict:
            total += len(value)
            stack += [v for v in value.values() if type(v) is dict or type(v) is list]
        elif type(value) is list and value and type(value[0]) is not float:
            stack += [v for v in value if type(v) is dict or type(v) is list]
    return total
