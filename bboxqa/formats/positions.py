"""Where values are in the text of a JSON document, by their pointers."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.json_values import pointer_parts
from bboxqa.formats.document import BLANKS, BYTE_ORDER_MARK, RawDocument
from bboxqa.formats.scanner import end_of
from bboxqa.model.findings import Spot

_KEPT = 16
_DECODER = json.JSONDecoder(strict=False)
_AS_BLANKS = bytes.maketrans(b"\t\n\r", b"   ")
# The bytes of a character in UTF-8 behind its first.
_FURTHER_BYTES = bytes(range(0x80, 0xC0))
_NOT_PLAIN = re.compile(rb"NaN|-?Infinity|[\x00-\x1f\x80-\xff]")


class Span(msgspec.Struct, frozen=True):
    """The byte range of a value."""

    start: int
    stop: int


class JsonPlaces:
    """Finds values in a JSON text, caching the contents of recent containers."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._start = _address(text)
        self._inside: dict[tuple[str, ...], Any] = {}

    def find(self, parts: Sequence[str]) -> tuple[int, int, int]:
        """Return how many parts of a pointer lead to values, and where the last one is."""
        raw = msgspec.Raw(self._text)
        begin, end = 0, len(self._text)
        for number, part in enumerate(parts):
            place = tuple(parts[:number])
            try:
                if place not in self._inside:
                    while len(self._inside) > _KEPT:
                        # The first entry is the document, which stays.
                        del self._inside[list(self._inside)[1]]
                    is_list = bytes(memoryview(raw)[:64]).lstrip()[:1] == b"["
                    kind: Any = list[msgspec.Raw] if is_list else dict[str, msgspec.Raw]
                    self._inside[place] = msgspec.json.decode(raw, type=kind)
                inside = self._inside[place]
                raw = inside[int(part) if isinstance(inside, list) else part]
            except (msgspec.DecodeError, UnicodeDecodeError, LookupError, ValueError):
                return number, begin, end
            begin = _address(raw) - self._start
            end = begin + len(memoryview(raw))
        return len(parts), begin, end


class Locator:
    """Finds the values of a document by their pointers."""

    def __init__(self, reading: RawDocument) -> None:
        self._reading = reading
        # The texts used last: rules compare records in different places.
        self._places: dict[tuple[int, int], JsonPlaces] = {}

    def span(self, pointer: str) -> Span | None:
        """Return the byte range of a value; None if it does not exist."""
        reading = self._reading
        parts = pointer_parts(pointer)
        if not parts:
            # Without blanks and trailing text.
            text = reading.text[: reading.trailing]
            whole = text.removeprefix(BYTE_ORDER_MARK).lstrip(BLANKS)
            start = len(text) - len(whole)
            return Span(start, start + len(whole.rstrip(BLANKS)))
        if parts[0] in reading.sections and len(parts) > 1 and parts[1].isdecimal():
            found, rest = self._record(parts[0], int(parts[1])), parts[2:]
        else:
            found, rest = reading.spans.get(parts[0]), parts[1:]
        if found is None:
            return None
        begin, stop = found
        if not rest:
            return Span(begin, stop)
        n, start, end = self._within(begin, stop).find(rest)
        return Span(begin + start, begin + end) if n == len(rest) else None

    def value(self, name: str, row: int) -> Any:
        """Return a record; None if it does not exist."""
        reading = self._reading
        if (origin := reading.origin) is not None:
            return origin.record(row) if name == "annotations" else getattr(reading, name)[row]
        if (span := self.span(f"/{name}/{row}")) is None:
            return None
        text = reading.text[span.start : span.stop].decode("utf-8", "surrogateescape")
        # Like the reader, which stops after a value such as the 1 of `1"id"`.
        return _DECODER.raw_decode(text)[0]

    def _record(self, name: str, row: int) -> tuple[int, int] | None:
        """Return the byte range of a record."""
        reading, section = self._reading, self._reading.sections[name]
        if row >= section.n:
            return None
        known = bisect_right(section.rows, row) - 1
        start = section.offsets[known]
        if row == section.rows[known]:
            while reading.text[start : start + 1] in (b" ", b"\t", b"\n", b"\r"):
                start += 1
            return start, end_of(reading.text, start)
        is_last = known + 1 == len(section.rows)
        stop = reading.spans[name][1] if is_last else section.offsets[known + 1]
        window = self._within(start, stop, is_window=True)
        _, begin, end = window.find([str(row - section.rows[known])])
        return start + begin - 1, start + end - 1

    def _within(self, begin: int, stop: int, *, is_window: bool = False) -> JsonPlaces:
        """Return the places in a value, or in a window of records as a list of them."""
        places = self._places.pop((begin, stop), None)
        if places is None:
            text = self._reading.text[begin:stop]
            if is_window:
                # Without the comma or the bracket that follows.
                text = b"[%b]" % text.rstrip(BLANKS)[:-1].rstrip(BLANKS)
            try:
                msgspec.json.decode(text, type=msgspec.Raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                # A text of the same length that is JSON, in which values are where they are.
                text = text.translate(_AS_BLANKS)
                text = _NOT_PLAIN.sub(lambda found: b"1" * len(found[0]), text)
            places = JsonPlaces(text)
        self._places[begin, stop] = places
        if len(self._places) > 2 * _KEPT:
            del self._places[next(iter(self._places))]
        return places


def spots(text: bytes, offsets: Iterable[int]) -> Iterator[Spot]:
    """Yield line and column of byte offsets, which must be in ascending order."""
    last, line, column = 0, 1, 1
    for offset in offsets:
        newline = text.rfind(b"\n", last, offset)
        if newline >= 0:
            line, column = line + text.count(b"\n", last, offset), 1
        # An offset may be inside a character, which is counted at its first byte.
        column += len(text[max(last, newline + 1) : offset].translate(None, _FURTHER_BYTES))
        last = offset
        yield Spot(line, column, offset)


def _address(value: Any) -> int:
    address: int = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
    return address
