"""Locating values in a JSON text by their pointers."""

from typing import Any

import msgspec
import numpy as np

from bboxqa.core.json_values import pointer_parts

_KEPT = 16


class JsonPlaces:
    r"""Finds values in a JSON text, caching the contents of recent containers.

    Examples
    --------
    >>> JsonPlaces(b'[{"a": [1, 22]}]').span("/0/a/1")
    (11, 13)
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._start = _address(text)
        self._inside: dict[str, Any] = {}

    def span(self, pointer: str) -> tuple[int, int]:
        """Return where a value begins and ends, or else its container if it does not exist."""
        raw, reached = msgspec.Raw(self._text), ""
        begin, end = 0, len(self._text)
        for part in pointer_parts(pointer):
            try:
                inside = self._items(reached, raw)
                raw = inside[int(part) if isinstance(inside, list) else part]
            except (msgspec.DecodeError, LookupError, ValueError):
                break
            reached = f"{reached}/{part}"
            begin = _address(raw) - self._start
            end = begin + len(memoryview(raw))
        return begin, end

    def _items(self, pointer: str, raw: msgspec.Raw) -> Any:
        if pointer not in self._inside:
            while len(self._inside) > _KEPT:
                # The first entry is the document, which stays.
                del self._inside[list(self._inside)[1]]
            kind = list[msgspec.Raw] if bytes(memoryview(raw)[:64]).lstrip()[:1] == b"[" else None
            self._inside[pointer] = msgspec.json.decode(raw, type=kind or dict[str, msgspec.Raw])
        return self._inside[pointer]


def _address(value: Any) -> int:
    address: int = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
    return address
