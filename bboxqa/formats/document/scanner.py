"""Reading a document in one pass: in windows where it is plain JSON, else value by value."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from bboxqa.core.types import Steps
from bboxqa.formats.annotations.records import LISTS
from bboxqa.formats.document.annotation_columns import AnnotationColumns
from bboxqa.formats.document.builder import AnnotationsBuilder
from bboxqa.formats.document.chunk import AGAIN, Chunk, StopReadingError, ValueReader
from bboxqa.formats.document.content import RESULTS_LIST, RawDocument, Section
from bboxqa.formats.document.plain_records import decoded_entirely
from bboxqa.formats.document.record_list import RecordList
from bboxqa.formats.windows import Cut, begins_with_results, in_two_halves, next_cut, release_before

_BLANK = re.compile(rb"[ \t\n\r]*")
_EMPTY = re.compile(rb"\[[ \t\n\r]*\]")
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
    progress : callable, optional
        Called as ``progress(done, total)`` with bytes.

    Attributes
    ----------
    sinks : dict of str to Sink
        Sinks by the name of the list; for a repeated list, the sink of the last one.
    """

    def __init__(
        self,
        reading: RawDocument,
        new_sink: Callable[[str], Sink],
        progress: Steps | None = None,
    ) -> None:
        self._out = reading
        self._new_sink = new_sink
        self.sinks: dict[str, Any] = {name: new_sink(name) for name in LISTS}
        self._progress = progress
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
        if not is_empty and not begins_with_results(self._text, place):
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
        place = self._blank(place)
        section = self._out.sections.get(name, Section())
        # Columns from a second process are in memory twice for a while.
        if not isinstance(sink, AnnotationsBuilder):
            return self._windows(name, place, None, section, sink)[0]
        ended = False

        def here(place: int, last: Cut) -> int:
            nonlocal ended
            place, ended = self._windows(name, place, last, section, sink)
            return place

        def join(found: tuple[AnnotationColumns, Section, int]) -> int:
            columns, rest, place = found
            section.append(rest)
            sink.absorb(columns)
            return place

        place = in_two_halves(self._text, place, here, self._rest, join)
        return place if ended else self._windows(name, place, None, section, sink)[0]

    def _rest(self, place: int) -> tuple[AnnotationColumns, Section, int]:
        """Read the plain records of the second half of a list, in a second process."""
        section, builder = Section(), AnnotationsBuilder()
        while cut := next_cut(self._text, place):
            records = decoded_entirely(self._text[place : cut.start() + 1])
            if records is None:
                break
            place = self._add(records, place, cut, section, builder)
        return builder.done(), section, place

    def _windows(
        self, name: str, place: int, last: Cut | None, section: Section, sink: Sink
    ) -> tuple[int, bool]:
        """Read records up to a cut, or to the end of the list.

        Return where the next one begins and False, or where the list ends and True.
        """
        while last is None or place < last.start():
            cut = next_cut(self._text, place, last)
            if cut is None:
                return self._step(name, place, len(self._text), section, sink)
            records = decoded_entirely(self._text[place : cut.start() + 1])
            if records is None:
                place, ended = self._step(name, place, cut.end() - 1, section, sink)
                if ended:
                    return place, True
                continue
            place = self._add(records, place, cut, section, sink)
            if self._progress is not None:
                self._progress(place, len(self._text) if last is None else last.end())
        return place, False

    def _add(
        self,
        records: list[Any],
        place: int,
        cut: Cut,
        section: Section,
        sink: Sink,
    ) -> int:
        """Add the records of a window; return where the next one begins."""
        section.rows.append(section.n)
        section.offsets.append(place)
        section.n += len(records)
        if isinstance(sink, RecordList):
            sink.add_text(place, cut.start() + 1, len(records))
        else:
            sink.add(records)
        place = cut.end() - 1
        release_before(self._text, place)
        return place

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
