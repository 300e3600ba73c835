"""Locating the values of a document in its text."""

import json
import re
from bisect import bisect_right
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.json_values import pointer_parts
from bboxqa.formats.document import BYTE_ORDER_MARK, RawDocument
from bboxqa.formats.scanner import Text
from bboxqa.model.findings import Spot

BLANKS = b" \t\n\r"
"""The whitespace of JSON."""

_SPACE = re.compile(r"[ \t\n\r]*")
_SIZE = 1 << 20
_WINDOWS_KEPT = 32
# Characters of a record that are decoded first.
_SHORT = 1 << 12
_Part = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """The byte range of a value, and the start of its key if it has one."""

    key: int | None
    """The offset at which the key begins."""
    start: int
    stop: int
    """The offsets at which the value begins and ends."""


class Locator:
    """Finds values by their pointers."""

    def __init__(self, reading: RawDocument) -> None:
        self._reading = reading
        self._decoder = json.JSONDecoder(strict=False)
        self._windows: dict[tuple[str, int], tuple[bytes, list[msgspec.Raw]]] = {}
        self._record_of: tuple[str, int] = ("", -1)
        self._record: tuple[int, str, int, int] = (0, "", 0, 0)
        self._parsed: Any = None
        self._inner: dict[int, dict[str, tuple[int, int]]] = {}

    def span(self, pointer: str) -> Span | None:
        """Return the byte range of a value; None if it does not exist."""
        reading = self._reading
        parts = pointer_parts(pointer)
        if not parts:
            return _document(reading)
        try:
            if parts[0] in reading.sections and len(parts) > 1 and parts[1].isdecimal():
                begin, text, index, end = self._find(parts[0], int(parts[1]))
                inner, rest = self._inner, parts[2:]
                if not rest:
                    return Span(None, begin, begin + len(_encode(text[index:end])))
            elif parts[0] in reading.spans:
                key, begin, stop = reading.spans[parts[0]]
                if len(parts) == 1:
                    return Span(key, begin, stop)
                text, index, rest = _decode(reading.text, begin, stop), 0, parts[1:]
                inner = {}
            else:
                return None
            key_at, start, end = self._walk(text, index, rest, inner)
        except (ValueError, IndexError, KeyError, RecursionError):
            return None

        def byte(place: int) -> int:
            return begin + len(_encode(text[index:place]))

        return Span(None if key_at < 0 else byte(key_at), byte(start), byte(end))

    def value(self, name: str, row: int) -> Any:
        """Return a record; None if it does not exist."""
        if (origin := self._reading.origin) is not None:
            is_row = name == "annotations"
            return origin.record(row) if is_row else getattr(self._reading, name)[row]
        if name not in self._reading.sections:
            span = self.span(f"/{name}/{row}")
            if span is None:
                return None
            return json.loads(_decode(self._reading.text, span.start, span.stop), strict=False)
        try:
            self._find(name, row)
        except (ValueError, IndexError, KeyError, RecursionError):
            return None
        return self._parsed

    def _find(self, name: str, row: int) -> tuple[int, str, int, int]:
        """Return the offset of a record, a text that contains it, and its start and end there."""
        if self._record_of != (name, row):
            start, stop = self._bounds(name, row)
            # Where records begin in windows is known, but not where the first one ends.
            text = _decode(self._reading.text, start, min(stop, start + _SHORT))
            index = _skip(text, 0)
            try:
                self._parsed, end = self._decoder.raw_decode(text, index)
            except ValueError:
                text = _decode(self._reading.text, start, stop)
                self._parsed, end = self._decoder.raw_decode(text, index)
            self._record = start + len(_encode(text[:index])), text, index, end
            self._record_of, self._inner = (name, row), {}
        return self._record

    def _bounds(self, name: str, row: int) -> tuple[int, int]:
        """Return where a record begins, and where the next one or the list ends at the latest."""
        reading, section = self._reading, self._reading.sections[name]
        if row >= section.n:
            raise IndexError(row)
        known = bisect_right(section.rows, row) - 1
        is_last = known + 1 == len(section.rows)
        start = section.offsets[known]
        stop = reading.spans[name][2] if is_last else section.offsets[known + 1]
        if row == section.rows[known]:
            return start, stop
        window = self._windows.pop((name, known), None)
        if window is None:
            part = reading.text[start:stop].rstrip(BLANKS)[:-1].rstrip(BLANKS)
            text = b"".join((b"[", part, b"]"))
            window = text, msgspec.json.decode(text, type=list[msgspec.Raw])
        # The windows used last are kept, as rules compare records in different places.
        self._windows[name, known] = window
        if len(self._windows) > _WINDOWS_KEPT:
            del self._windows[next(iter(self._windows))]
        text, records = window
        record = records[row - section.rows[known]]
        begin = start + _address(record) - _address(text) - 1
        return begin, begin + len(memoryview(record))

    def _walk(
        self, text: str, index: int, parts: list[str], known: dict[int, dict[str, tuple[int, int]]]
    ) -> _Part:
        """Return the position of the value that keys and list indices lead to from `index`."""
        key, start = -1, index
        for part in parts:
            if start not in known:
                # The last of equal keys counts, as in all JSON readers.
                known[start] = {name: (at, value) for name, at, value in self._inside(text, start)}
            key, start = known[start][part]
        return key, start, self._decoder.raw_decode(text, start)[1]

    def _inside(self, text: str, start: int) -> Iterator[tuple[str, int, int]]:
        """Yield name, position of key and position of value of each item of an object or list."""
        is_object = text[start] == "{"
        if not is_object and text[start] != "[":
            return
        place, number = _skip(text, start + 1), 0
        while text[place] not in "}]":
            key, name = -1, str(number)
            if is_object:
                key = place
                name, place = scanstring(text, place + 1, False)
                place = _skip(text, _skip(text, place) + 1)
            end = self._decoder.raw_decode(text, place)[1]
            yield name, key, place
            place, number = _skip(text, end), number + 1
            if text[place] == ",":
                place = _skip(text, place + 1)


def _document(reading: RawDocument) -> Span:
    """Return the byte range of the document, without blanks and trailing text."""
    text = reading.text
    start, stop = 0, len(text) if reading.trailing is None else reading.trailing
    if text[:3] == BYTE_ORDER_MARK:
        start = 3
    while start < stop and text[start] in BLANKS:
        start += 1
    while start < stop and text[stop - 1] in BLANKS:
        stop -= 1
    return Span(None, start, stop)


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _decode(text: Text, start: int, stop: int) -> str:
    """Decode bytes reversibly."""
    return text[start:stop].decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def spots(text: Text, offsets: Iterable[int]) -> Iterator[Spot]:
    r"""Yield line and column of byte offsets, which must be in ascending order.

    Examples
    --------
    >>> list(spots(b"ab\ncd", [1, 4]))
    [Spot(line=1, column=2, offset=1), Spot(line=2, column=2, offset=4)]
    """
    last, line, column = 0, 1, 1
    for offset in offsets:
        # Text between offsets, maybe gigabytes, is decoded in parts. The decoder is new for each
        # offset, which may be inside a character.
        decoder = getincrementaldecoder("utf-8")("replace")
        for start in range(last, offset, _SIZE):
            between = text[start : min(start + _SIZE, offset)]
            newline = between.rfind(b"\n")
            if newline >= 0:
                line, column = line + between.count(b"\n"), 1
                decoder.reset()
            column += len(decoder.decode(between[newline + 1 :]))
        column += len(decoder.decode(b"", final=True))
        last = offset
        yield Spot(line, column, offset)


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
