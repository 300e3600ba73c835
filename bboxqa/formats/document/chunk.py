"""Reading values one by one from a part of a text."""

import json
from typing import Any, Protocol

from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.windows import Text

AGAIN = object()
"""Returned where a value may continue after the end of a chunk."""

# An error within so many characters of the end may be due to the end of the chunk.
_NEAR = 64


class ValueReader(Protocol):
    """Reads one JSON value of a text, and says where and why it cannot."""

    repeated: list[str]

    def decoded(self, text: str, start: int, offset: int) -> tuple[Any, int]:
        """Return the value at `start`, a byte `offset` of the file, and where it ends."""

    def stop(self, place: int, why: str) -> Exception:
        """Return the error that ends reading at a byte of the file."""


class Chunk:
    """A decoded part of the text, from which values are read one by one."""

    def __init__(self, text: Text, place: int, size: int, out: RawDocument) -> None:
        self.place = place
        self._text = text
        raw = text[place : place + size]
        self._last = place + size >= len(text)
        self._encoding = "utf-8"
        try:
            self._decoded = raw.decode()
        except UnicodeDecodeError as error:
            if not self._last and error.start > len(raw) - 4:
                raw = raw[: error.start]
                self._decoded = raw.decode()
            else:
                self._encoding = "latin-1"
                self._decoded = raw.decode("latin-1")
                out.note_not_utf8(place + error.start)
        self._one_byte = self._encoding == "latin-1" or self._decoded.isascii()
        self._index = 0

    def move(self, place: int) -> None:
        """Move to a byte of the text at or after the present one."""
        between = self._text[self.place : place]
        self._index += len(between.decode(self._encoding))
        self.place = place

    def decode(self, reader: ValueReader) -> Any:
        """Return the value here and move past it; `AGAIN` where a longer chunk is needed."""
        try:
            value, end = reader.decoded(self._decoded, self._index, self.place)
        except json.JSONDecodeError as error:
            cut = error.pos > len(self._decoded) - _NEAR or error.msg.startswith("Unterminated")
            if cut and not self._last:
                reader.repeated.clear()
                return AGAIN
            offset = self.place + self._bytes(self._index, error.pos)
            ends = error.pos >= len(self._decoded.rstrip()) or error.msg.startswith("Unterminated")
            why = "the file ends here" if ends and self._last else error.msg
            raise reader.stop(offset, why) from None
        except (RecursionError, ValueError) as error:
            # Values nested a thousand deep raise the one, numbers of thousands of digits the other.
            deep = isinstance(error, RecursionError)
            why = "lists nested too deep" if deep else "a number of too many digits"
            raise reader.stop(self.place, why) from None
        if end == len(self._decoded) and not self._last:
            return AGAIN
        self.place += self._bytes(self._index, end)
        self._index = end
        return value

    def _bytes(self, start: int, stop: int) -> int:
        if self._one_byte:
            return stop - start
        return len(self._decoded[start:stop].encode(self._encoding, "surrogatepass"))
