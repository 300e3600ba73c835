"""Where the values of a document stand in its text."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from bboxqa.findings import Spot
from bboxqa.rules.reading import BYTE_ORDER_MARK, Reading, Text

__all__ = ["Locator", "Span", "parts_of", "spots"]

_SPACE = re.compile(r"[ \t\n\r]*")
_BLANKS = b" \t\n\r"
_SIZE = 1 << 20
_Part = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes of a value, and of the key before it if it has one.

    Attributes
    ----------
    key : int or None
        Where the key begins.
    start, stop : int
        Where the value begins and ends.
    """

    key: int | None
    start: int
    stop: int


def parts_of(pointer: str) -> list[str]:
    """Return the keys and places of a JSON pointer.

    Examples
    --------
    >>> parts_of("/annotations/7/odd~1key")
    ['annotations', '7', 'odd/key']
    """
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


class Locator:
    """Finds values by their pointers; in one direction it walks each record once.

    Parameters
    ----------
    reading : Reading
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._decoder = json.JSONDecoder(strict=False)
        self._list = ""
        self._row = 0
        self._place = 0
        self._decoded = ""
        self._index = 0
        self._size = _SIZE

    def span(self, pointer: str) -> Span | None:
        """Return where a value stands; None where there is no such value."""
        reading = self._reading
        parts = parts_of(pointer)
        if not parts:
            return _document(reading)
        try:
            if parts[0] in reading.sections and len(parts) > 1 and parts[1].isdecimal():
                begin, text, index = self._record(parts[0], int(parts[1]))
                rest = parts[2:]
            elif parts[0] in reading.spans:
                key, begin, stop = reading.spans[parts[0]]
                if len(parts) == 1:
                    return Span(key, begin, stop)
                text, index, rest = _decode(reading.text, begin, stop), 0, parts[1:]
            else:
                return None
            key_at, start, end = self._walk(text, index, rest)
        except (ValueError, IndexError, RecursionError):
            return None

        def byte(place: int) -> int:
            return begin + len(text[index:place].encode("utf-8", "surrogateescape"))

        return Span(None if key_at < 0 else byte(key_at), byte(start), byte(end))

    def text(self, name: str, row: int) -> str:
        """Return a record as the file writes it; "" where there is none."""
        span = self.span(f"/{name}/{row}")
        return "" if span is None else _decode(self._reading.text, span.start, span.stop)

    def value(self, name: str, row: int) -> Any:
        """Return a record; None where there is none."""
        text = self.text(name, row)
        return json.loads(text, strict=False) if text else None

    def _record(self, name: str, row: int) -> tuple[int, str, int]:
        """Return the byte at which a record begins, a text that holds it, and its index there."""
        section = self._reading.sections[name]
        if row >= section.n:
            raise IndexError(row)
        known = bisect_right(section.rows, row) - 1
        if name != self._list or row < self._row or section.rows[known] > self._row:
            self._list, self._row = name, section.rows[known]
            self._place, self._decoded, self._index = section.offsets[known], "", 0
        while True:
            try:
                start, end = self._next()
            except ValueError:
                # What was decoded ends inside the record.
                self._more()
                continue
            if self._row == row:
                return self._place, self._decoded, start
            # A comma and blanks, then the next record.
            self._row += 1
            after = _SPACE.match(self._decoded, end).end()  # type: ignore[union-attr]
            after = _SPACE.match(self._decoded, after + 1).end()  # type: ignore[union-attr]
            passed = self._decoded[self._index : after]
            self._place += len(passed.encode("utf-8", "surrogateescape"))
            self._index = after

    def _next(self) -> tuple[int, int]:
        _, end = self._decoder.raw_decode(self._decoded, self._index)
        # A number can go on behind the end of what was decoded.
        if end == len(self._decoded):
            raise ValueError
        return self._index, end

    def _more(self) -> None:
        """Decode from the present record on, twice as far as before if it did not fit."""
        new = self._index > 0 or not self._decoded
        if not new and self._place + self._size >= len(self._reading.text):
            raise IndexError(self._place)
        self._size = _SIZE if new else 2 * self._size
        self._decoded = _decode(self._reading.text, self._place, self._place + self._size)
        self._index = 0
        if not self._decoded:
            raise IndexError(self._place)

    def _walk(self, text: str, index: int, parts: list[str]) -> _Part:
        """Follow keys and places from the value at `index`."""
        key, start = -1, index
        for part in parts:
            found = None
            for name, key_at, value_at, _ in self._inside(text, start):
                if name == part:
                    # The last of equal keys counts, as for every reader.
                    found = key_at, value_at
            if found is None:
                raise IndexError(part)
            key, start = found
        return key, start, self._decoder.raw_decode(text, start)[1]

    def _inside(self, text: str, start: int) -> Iterator[tuple[str, int, int, int]]:
        """Yield the name, key place, value place and end of what an object or a list holds."""
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
            yield name, key, place, end
            place, number = _skip(text, end), number + 1
            if text[place] == ",":
                place = _skip(text, place + 1)


def _document(reading: Reading) -> Span:
    """Return where the document itself stands, without what is around it."""
    text = reading.text
    start, stop = 0, len(text) if reading.trailing is None else reading.trailing
    if text[:3] == BYTE_ORDER_MARK:
        start = 3
    while start < stop and text[start] in _BLANKS:
        start += 1
    while start < stop and text[stop - 1] in _BLANKS:
        stop -= 1
    return Span(None, start, stop)


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _decode(text: Text, start: int, stop: int) -> str:
    """Decode bytes so that every one of them can be found again."""
    return text[start:stop].decode("utf-8", "surrogateescape")


def spots(text: Text, offsets: Iterable[int]) -> Iterator[Spot]:
    r"""Yield line and column of bytes that are in ascending order.

    Examples
    --------
    >>> list(spots(b"ab\ncd", [1, 4]))
    [Spot(line=1, column=2, offset=1), Spot(line=2, column=2, offset=4)]
    """
    last, line, column = 0, 1, 1
    for offset in offsets:
        between = text[last:offset]
        newline = between.rfind(b"\n")
        if newline >= 0:
            line, column = line + between.count(b"\n"), 1
        column += len(between[newline + 1 :].decode("utf-8", "replace"))
        last = offset
        yield Spot(line, column, offset)
