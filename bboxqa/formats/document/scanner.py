"""Reading a document in one pass: in windows where it is plain JSON, else value by value."""

import json
import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Protocol

from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.annotations.records import LISTS
from bboxqa.formats.document.builder import RecordDecoder
from bboxqa.formats.document.chunk import AGAIN, Chunk, StopReadingError, ValueReader
from bboxqa.formats.document.content import RESULTS_LIST, RawDocument, Section
from bboxqa.formats.document.plain_records import decoded_entirely as _decode_entirely
from bboxqa.formats.windows import (
    BETWEEN_RECORDS,
    BETWEEN_SEGMENTS,
    WINDOW,
    begins_with_results,
    begins_with_segments,
)

_BLANK = re.compile(rb"[ \t\n\r]*")
_EMPTY = re.compile(rb"\[[ \t\n\r]*\]")
_END = re.compile(rb"\}[ \t\n\r]*\]")
# Ends of inner lists that are tried as that of a list.
_TRIED = 4
_KEY = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


class Sink(Protocol):
    """Collects the records of a list."""

    def add(self, values: Sequence[Any], /) -> None:
        """Add the next records, of any type."""


class _NoSink:
    def add(self, values: Sequence[Any], /) -> None:
        """Drop the records of a list that COCO does not have."""


class Scanner:
    """Reads a document in one pass: in windows where it is plain JSON, else value by value.

    Parameters
    ----------
    reading : RawDocument
        Its fields are filled, except for the lists of records.
    new_sink : callable
        Called with the name of a list; returns the sink of its records.
    settings : ReadOptions
        What is read of annotations.

    Attributes
    ----------
    sinks : dict of str to Sink
        Sinks by the name of the list; for a repeated list, the sink of the last one.
    """

    def __init__(
        self,
        reading: RawDocument,
        new_sink: Callable[[str], Sink],
        settings: ReadOptions,
    ) -> None:
        self._out = reading
        self._decode = _decode_entirely if settings.whole else RecordDecoder(settings).decode
        self._new_sink = new_sink
        self.sinks: dict[str, Any] = {name: new_sink(name) for name in LISTS}
        self._is_whole = settings.whole
        self._progress = settings.progress
        self._text = reading.text
        self._values = ValueReader(reading)

    def read(self, start: int) -> None:
        """Read the whole document."""
        out = self._out
        place = self._blank(start)
        try:
            if self._text[place : place + 1] == b"{":
                out.top = {}
                place = self._top(place + 1)
            elif self._text[place : place + 1] == b"[":
                out.top = []
                place = self._top_list(place)
            else:
                out.top, place = self._values.value(place, "")
            place = self._blank(place)
            if place < len(self._text):
                out.trailing = place
        except StopReadingError:
            out.stopped = True

    def _blank(self, place: int) -> int:
        match = _BLANK.match(self._text, place)
        return match.end() if match else place

    def _top(self, place: int) -> int:
        """Read the keys and values of the top level; return where it ends."""
        out = self._out
        comma = None
        while True:
            place = self._blank(place)
            if self._text[place : place + 1] == b"}":
                if comma is not None:
                    out.broken.append((comma, "a comma before '}'"))
                return place + 1
            key_place, (key, place) = place, self._key(place)
            if key in out.spans:
                out.repeated.append(("", key))
            value_place = place
            if self._text[place : place + 1] == b"[":
                if key in LISTS:
                    self.sinks[key] = self._new_sink(key)
                    out.sections[key] = Section()
                out.spans[key] = (key_place, value_place, len(self._text))
                place = self._list(key, place + 1, self.sinks.get(key, _NoSink()))
                out.top[key] = []
            else:
                out.top[key], place = self._values.value(place, f"/{key}")
                # The last of equal keys counts, as in all JSON readers.
                if out.sections.pop(key, None):
                    self.sinks[key] = self._new_sink(key)
            out.spans[key] = (key_place, value_place, place)
            place = self._blank(place)
            sign, comma = self._text[place : place + 1], None
            if sign == b",":
                comma, place = place, place + 1
            elif sign != b"}":
                raise self._values.stop(place, "expected ',' or '}'")

    def _top_list(self, place: int) -> int:
        """Read a list at the top level; results of detectors and an empty list are annotations."""
        out, name = self._out, RESULTS_LIST
        is_empty = _EMPTY.match(self._text, place) is not None
        if self._is_whole and not is_empty and not begins_with_results(self._text, place):
            return self._list("", place + 1, _NoSink())
        out.sections[name] = Section()
        out.spans[name] = (place, place, len(self._text))
        stop = self._list(name, place + 1, self.sinks[name])
        out.spans[name] = (place, place, stop)
        return stop

    def _key(self, place: int) -> tuple[str, int]:
        match = _KEY.match(self._text, place)
        if match is None:
            raise self._values.stop(place, "expected a key or '}'")
        try:
            decoded_key = match[0].decode()
        except UnicodeDecodeError as error:
            self._out.note_not_utf8(place + error.start)
            decoded_key = match[0].decode("utf-8", "replace")
        try:
            key = json.loads(decoded_key, strict=False)
        except ValueError:
            raise self._values.stop(place, "expected a key") from None
        place = self._blank(match.end())
        if self._text[place : place + 1] != b":":
            raise self._values.stop(place, "expected ':'")
        return key, self._blank(place + 1)

    def _list(self, name: str, place: int, sink: Sink) -> int:
        """Read the records of a list; return where it ends."""
        place, ended = self._blank(place), False
        section = self._out.sections.get(name, Section())
        is_annotations = name == RESULTS_LIST
        decode = self._decode if is_annotations else _decode_entirely
        of_segments = is_annotations and begins_with_segments(self._text, place)
        between = BETWEEN_SEGMENTS if of_segments else BETWEEN_RECORDS
        while not ended:
            cut = between.search(self._text, place + WINDOW)
            until = len(self._text) if cut is None else cut.end() - 1
            text = None if cut is None else b"[" + self._text[place : cut.start() + 1] + b"]"
            records = None if text is None else decode(text)
            if records is None:
                records, end = self._last_records(place, until, decode)
                if records is None:
                    place, ended = self._step(name, place, until, section, sink)
                    continue
                until, ended = end, True
            section.rows.append(section.n)
            section.offsets.append(place)
            section.n += len(records)
            sink.add(records)
            place = until
            if self._progress is not None:
                self._progress(place, len(self._text))
        return place

    def _last_records(
        self, place: int, until: int, decode: Callable[[bytes], Sequence[Any] | None]
    ) -> tuple[Sequence[Any] | None, int]:
        """Return the records up to the end of a list, and where it ends; None if that is unclear.

        A bracket that ends an inner list leaves a record open, so that the text does not decode.
        """
        for end in islice(_END.finditer(self._text, place, until), _TRIED):
            records = decode(b"[" + self._text[place : end.end()])
            if records is not None:
                return records, end.end()
        return None, len(self._text)

    def _step(
        self, name: str, place: int, until: int, section: Section, sink: Sink
    ) -> tuple[int, bool]:
        """Read values one by one, up to an offset or the end of the list.

        Return where the next one begins and False, or where the list ends and True.
        """
        for chunk in self._values.chunks(place):
            section.rows.append(section.n)
            section.offsets.append(chunk.place)
            records: list[Any] = []
            try:
                whole, ended = self._records(name, chunk, until, section.n, records)
            finally:
                section.n += len(records)
                if records:
                    sink.add(records)
            if whole:
                return chunk.place + ended, ended
        raise AssertionError

    def _records(
        self, name: str, chunk: Chunk, until: int, row: int, records: list[Any]
    ) -> tuple[bool, bool]:
        """Add the values of a chunk to `records`.

        Return whether the chunk holds all values up to `until`, and whether the list ends there.
        """
        text, comma = self._text, None
        while chunk.place < until:
            if text[chunk.place : chunk.place + 1] == b"]":
                if comma is not None:
                    self._out.broken.append((comma, "a comma before ']'"))
                return True, True
            value = chunk.decode(self._values)
            if value is AGAIN:
                return False, False
            number = row + len(records)
            self._values.note(value, f"/{name}/{number}" if name else f"/{number}")
            records.append(value)
            place, comma = self._blank(chunk.place), None
            sign = text[place : place + 1]
            if sign == b",":
                comma, place = place, self._blank(place + 1)
            elif sign != b"]":
                raise self._values.stop(place, "expected ',' or ']'")
            chunk.move(place)
        if chunk.place >= len(text):
            raise self._values.stop(len(text), "")
        return True, False
