"""Reading a document once: in windows where it is plain json, value by value elsewhere."""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from bboxqa.core.types import Steps
from bboxqa.formats import windows
from bboxqa.formats.annotations.records import LISTS
from bboxqa.formats.document.annotation_columns import AnnotationColumns
from bboxqa.formats.document.builder import AnnotationsBuilder
from bboxqa.formats.document.chunk import AGAIN, Chunk
from bboxqa.formats.document.content import RawDocument, Section
from bboxqa.formats.document.record_list import RecordList, decoded
from bboxqa.formats.windows import Cut, in_two_halves, next_cut, release_before

_BLANK = re.compile(rb"[ \t\n\r]*")
_ENDED_KEY = re.compile(rb'"\s*:')
_COLON, _QUOTE, _SPACE = b':" '
_KEY = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


class Sink(Protocol):
    """Collects the records of a list."""

    def add(self, values: Sequence[Any], /) -> None:
        """Add the next records, of any type."""


class _NoSink:
    def add(self, values: Sequence[Any], /) -> None:
        pass


class _StopError(Exception):
    """The rest of the text is not json."""


class Scanner:
    """Reads a document once: in windows where it is plain json, value by value elsewhere.

    Parameters
    ----------
    reading : RawDocument
        Its fields are filled, but for the lists of records.
    new_sink : callable
        Called with the name of a list; returns the sink of its records.
    progress : callable, optional
        Called as ``progress(done, total)`` with bytes.

    Attributes
    ----------
    sinks : dict of str to Sink
        By the name of the list; of a list that is repeated, the last one.
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
        self.repeated: list[str] = []
        hooks: dict[str, Any] = {
            "object_pairs_hook": self._object, "parse_constant": self._constant,
        }  # fmt: skip
        self._strict = json.JSONDecoder(**hooks)
        self._loose = json.JSONDecoder(strict=False, **hooks)

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
                place = self._list("", place + 1, _NoSink())
            else:
                out.top, place = self._value(place, "")
            place = self._blank(place)
            if place < len(self._text):
                out.trailing = place
        except _StopError:
            out.stopped = True

    def _blank(self, place: int) -> int:
        match = _BLANK.match(self._text, place)
        return match.end() if match else place

    def stop(self, place: int, why: str) -> _StopError:
        """Record where and why reading ends, and return the error to raise."""
        if place >= len(self._text):
            why = "the file ends here"
        self._out.broken.append((place, why))
        return _StopError()

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
                out.top[key], place = self._value(place, f"/{key}")
                # Of equal keys the last counts, as in every reader of json.
                if out.sections.pop(key, None):
                    self.sinks[key] = self._new_sink(key)
            out.spans[key] = (key_place, value_place, place)
            place = self._blank(place)
            sign, comma = self._text[place : place + 1], None
            if sign == b",":
                comma, place = place, place + 1
            elif sign != b"}":
                raise self.stop(place, "expected ',' or '}'")

    def _key(self, place: int) -> tuple[str, int]:
        match = _KEY.match(self._text, place)
        if match is None:
            raise self.stop(place, "expected a key or '}'")
        try:
            decoded_key = match[0].decode()
        except UnicodeDecodeError as error:
            self._out.note_not_utf8(place + error.start)
            decoded_key = match[0].decode("utf-8", "replace")
        try:
            key = json.loads(decoded_key, strict=False)
        except ValueError:
            raise self.stop(place, "expected a key") from None
        place = self._blank(match.end())
        if self._text[place : place + 1] != b":":
            raise self.stop(place, "expected ':'")
        return key, self._blank(place + 1)

    def _list(self, name: str, place: int, sink: Sink) -> int:
        """Read the records of a list; return where it ends."""
        place = self._blank(place)
        section = self._out.sections.get(name, Section())
        # What a second process sends is in memory twice for a while.
        if not isinstance(sink, AnnotationsBuilder) or sink.bounded:
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
        """Read plain records from the middle of a list on; for another process."""
        section, builder = Section(), AnnotationsBuilder()
        while cut := next_cut(self._text, place):
            records = self._window(place, cut.start() + 1)
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
            records = self._window(place, cut.start() + 1)
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

    def _window(self, place: int, stop: int) -> list[Any] | None:
        """Decode a part of a list at once; None where it has to be read value by value."""
        text = self._text[place:stop]
        try:
            records = decoded(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        # Decoding drops repeated keys: the number of keys shows whether there were any.
        content = np.frombuffer(text, np.uint8)
        # Text that was decoded does not begin with a colon.
        before = content[np.flatnonzero(content == _COLON) - 1]
        spaced = (before <= _SPACE).any()
        n_keys = len(_ENDED_KEY.findall(text)) if spaced else np.count_nonzero(before == _QUOTE)
        same = n_keys == _n_keys(records, deep=False) or n_keys == _n_keys(records, deep=True)
        return records if same else None

    def _step(
        self, name: str, place: int, until: int, section: Section, sink: Sink
    ) -> tuple[int, bool]:
        """Read value after value up to a place or the end of the list.

        Return where the next one begins and False, or where the list ends and True.
        """
        for chunk in self._chunks(place):
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

        Return whether it holds all that are wanted, and whether the list ends there.
        """
        text, comma = self._text, None
        while chunk.place < until:
            if text[chunk.place : chunk.place + 1] == b"]":
                if comma is not None:
                    self._out.broken.append((comma, "a comma before ']'"))
                return True, True
            value = chunk.decode(self)
            if value is AGAIN:
                return False, False
            number = row + len(records)
            self._note(value, f"/{name}/{number}" if name else f"/{number}")
            records.append(value)
            place, comma = self._blank(chunk.place), None
            sign = text[place : place + 1]
            if sign == b",":
                comma, place = place, self._blank(place + 1)
            elif sign != b"]":
                raise self.stop(place, "expected ',' or ']'")
            chunk.move(place)
        if chunk.place >= len(text):
            raise self.stop(len(text), "")
        return True, False

    def _value(self, place: int, pointer: str) -> tuple[Any, int]:
        """Read one value other than a list of records."""
        for chunk in self._chunks(place):
            value = chunk.decode(self)
            if value is not AGAIN:
                self._note(value, pointer)
                return value, chunk.place
        raise AssertionError

    def _chunks(self, place: int) -> Iterator[Chunk]:
        """Yield chunks of the text from a place on, each twice as long as the one before."""
        size = 2 * windows.WINDOW
        while True:
            chunk = Chunk(self._text, place, size, self._out)
            yield chunk
            place, size = chunk.place, 2 * size

    def _note(self, value: Any, pointer: str) -> None:
        """Record the repeated keys and infinite numbers of a value."""
        self._out.repeated += [(pointer, key) for key in self.repeated]
        self.repeated.clear()
        self._out.not_finite += _not_finite(value, pointer)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen and key not in self.repeated:
                    self.repeated.append(key)
                seen.add(key)
        return result

    @staticmethod
    def _constant(name: str) -> float:
        return float(name)

    def decoded(self, text: str, start: int, offset: int) -> tuple[Any, int]:
        """Decode the value at a place of a text, and record control characters in its strings."""
        try:
            return self._strict.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Invalid control character"):
                raise
        self.repeated.clear()
        result = self._loose.raw_decode(text, start)
        self._out.broken.append((offset, "a control character in a text"))
        return result


def _n_keys(values: Any, *, deep: bool) -> int:
    """Return the number of keys of the objects in a list, including nested ones if `deep`."""
    try:
        total = sum(map(len, values))
    except TypeError:
        return -1
    if deep:
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
