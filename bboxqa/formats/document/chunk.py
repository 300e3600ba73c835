"""Reading values one by one from a text, in chunks of growing length."""

import json
import math
from collections.abc import Iterator
from typing import Any

from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.windows import Text

AGAIN = object()
"""Returned if a value may continue after the end of the chunk."""

# Most values are short, and decoding a long chunk takes longer than reading a short value.
_FIRST_CHUNK, _GROWTH = 1 << 10, 8
# An error at most this many characters before the end may be due to the cut.
_NEAR = 64


class StopReadingError(Exception):
    """The rest of the text is not JSON."""


class ValueReader:
    """Reads single values of a document, and records their irregularities in it."""

    def __init__(self, out: RawDocument) -> None:
        self._out = out
        self._repeated: dict[str, None] = {}
        self._has_controls = False
        hooks: dict[str, Any] = {"object_pairs_hook": self._object, "parse_constant": float}
        self._strict = json.JSONDecoder(**hooks)
        self._loose = json.JSONDecoder(strict=False, **hooks)

    def stop(self, place: int, why: str) -> StopReadingError:
        """Record where and why reading ends, and return the error to raise."""
        if place >= len(self._out.text):
            why = "the file ends here"
        self._out.broken.append((place, why))
        return StopReadingError()

    def value(self, place: int, pointer: str) -> tuple[Any, int]:
        """Return the value at a byte offset of the text, and where it ends."""
        for chunk in self.chunks(place):
            value = chunk.decode(self)
            if value is not AGAIN:
                self.note(value, pointer)
                return value, chunk.place
        raise AssertionError

    def chunks(self, place: int) -> "Iterator[Chunk]":
        """Yield chunks of the text that begin at `place`, each longer than the previous one."""
        size = _FIRST_CHUNK
        while True:
            chunk = Chunk(self._out.text, place, size, self._out)
            yield chunk
            self._repeated.clear()
            place, size = chunk.place, _GROWTH * size

    def note(self, value: Any, pointer: str) -> None:
        """Record the repeated keys and infinite numbers of a value that was just decoded."""
        self._out.repeated += [(pointer, key) for key in self._repeated]
        self._repeated.clear()
        if not _is_finite(value):
            self._out.not_finite += _not_finite(value, pointer)

    def decoded(self, text: str, start: int, offset: int) -> tuple[Any, int]:
        """Return the value at index `start` of `text` and its end; `offset` is its byte offset.

        Control characters in its strings are recorded.
        """
        if not self._has_controls:
            try:
                return self._strict.raw_decode(text, start)
            except json.JSONDecodeError as error:
                if not error.msg.startswith("Invalid control character"):
                    raise
            self._has_controls = True
            self._repeated.clear()
        value, end = self._loose.raw_decode(text, start)
        try:
            # Raising a JSON error counts the lines of the text, so a short text is decoded.
            self._strict.raw_decode(text[start:end])
        except json.JSONDecodeError:
            self._out.broken.append((offset, "a control character in a text"))
        return value, end

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    self._repeated[key] = None
                seen.add(key)
        return result


class Chunk:
    """A part of the text, decoded from bytes, from which values are read one by one."""

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
        """Move to a byte offset at or after the current one."""
        between = self._text[self.place : place]
        self._index += len(between.decode(self._encoding))
        self.place = place

    def decode(self, reader: ValueReader) -> Any:
        """Return the current value and move past it; `AGAIN` if a longer chunk is needed."""
        try:
            value, end = reader.decoded(self._decoded, self._index, self.place)
        except json.JSONDecodeError as error:
            cut = error.pos > len(self._decoded) - _NEAR or error.msg.startswith("Unterminated")
            if cut and not self._last:
                return AGAIN
            offset = self.place + self._bytes(self._index, error.pos)
            ends = error.pos >= len(self._decoded.rstrip()) or error.msg.startswith("Unterminated")
            why = "the file ends here" if ends and self._last else error.msg
            raise reader.stop(offset, why) from None
        except (RecursionError, ValueError) as error:
            # Nesting a thousand levels deep raises RecursionError, a number of thousands of digits
            # ValueError.
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


def _is_finite(value: Any) -> bool:
    """Return whether no number in a value is infinite or NaN."""
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is list:
        try:
            # Most lists contain only numbers.
            return all(map(math.isfinite, value))
        except (TypeError, OverflowError):
            return all(map(_is_finite, value))
    return type(value) is not dict or all(map(_is_finite, value.values()))


def _not_finite(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield pointer and name of every number in a value that is infinite or NaN."""
    if type(value) is float:
        if not math.isfinite(value):
            yield pointer, "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124
    elif type(value) is list:
        for place, inner in enumerate(value):
            yield from _not_finite(inner, f"{pointer}/{place}")
    elif type(value) is dict:
        for key, inner in value.items():
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from _not_finite(inner, f"{pointer}/{escaped}")
