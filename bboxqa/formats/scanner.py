"""Reading a JSON document in one pass: in windows where it is plain, else value by value."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.json_values import TOO_DEEP, nests_deep, pointer_to
from bboxqa.core.machine import gc_paused
from bboxqa.formats.column_builder import PLAIN_TYPES, ColumnsBuilder, TypedWindow
from bboxqa.formats.columns import MARK_KEYS, MISSING
from bboxqa.formats.document import BYTE_ORDER_MARK, RESULTS_LIST, RawDocument, Section
from bboxqa.formats.heads import MARKS, is_lines
from bboxqa.formats.records import ID_KEYS, LISTS, WHOLE, ReadSettings, image_type

LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
"""The beginning of a list at the top level."""

# The keys by which a result is recognised even if a long mask follows.
_OF_IMAGE, _OF_RESULTS = b'"image_id"', (b'"score"', b'"caption"')
_FIRST_RESULT = 1 << 20

# The first keys of a record, with values that are not nested deeply.
_SEGMENTS = re.compile(rb'\s*\{(?:[^{}\[\]]|\{[^{}]*\}|\[[^{}\[\]]*\])*?"segments_info"\s*:')

BETWEEN_RECORDS = re.compile(rb"\}\s*,\s*\{")
"""The end of an object in a list and the beginning of the next; strings may also contain it."""

BETWEEN_SEGMENTS = re.compile(rb'\}\s*,\s*\{(?=\s*"(?:segments_info|file_name|image_id)")')
"""The same in panoptic COCO, whose segments have none of these keys."""

WINDOW = 1 << 20
"""Bytes per window: few enough objects to stay in the processor's cache."""


def begins_with_results(text: bytes, place: int = 0) -> bool:
    """Return whether a list at a place begins like one of results."""
    head = text[place : place + _FIRST_RESULT]
    is_list = LIST.match(head) is not None
    return is_list and _OF_IMAGE in head and any(key in head for key in _OF_RESULTS)


def may_be_rows(plain: bytes) -> bool:
    """Return whether a text begins like JSON objects in lines, or like a list without results."""
    return is_lines(plain) or (LIST.match(plain) is not None and not begins_with_results(plain))


_ENDED_KEY = re.compile(rb'"\s*:')
_COLON, _QUOTE, _SPACE = b':" '


def decoded_entirely(
    text: bytes, typed: msgspec.json.Decoder[Any] | None = None
) -> list[Any] | None:
    """Return the records of a list; None if it is not plain JSON or repeats a key.

    With a decoder, records are `typed` unless one has an odd value; all keys are kept then.
    """
    if nests_deep(text):
        return None
    if typed is not None:
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            found: list[Any] = typed.decode(text)
            return found
    try:
        records: list[Any] = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
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


# The keys of values that are typed as lists of numbers.
_TYPED = ("bbox", "segmentation")
_PLAIN: dict[str, Any] = dict.fromkeys(ID_KEYS, int) | {"bbox": tuple[float, float, float, float]}


def _record_decoder(settings: ReadSettings) -> "_Decode":
    """Return a function that decodes the text of records to objects of the keys that are read.

    Without need, outlines and key points are not decoded, as they are most of the text.
    """
    has_outlines = settings.outlines or settings.rotated
    kinds: dict[str, Any] = {
        "bbox": list[float],
        "segmentation": list[list[float]] | dict[str, Any] | None if has_outlines else msgspec.Raw,
        "keypoints": Any if settings.keypoints else msgspec.Raw,
    }
    firsts = (key.partition(".")[0] for key in settings.keys)
    more = ["area"] if settings.keypoints else []
    keys = [*dict.fromkeys((*_PLAIN, "iscrowd", "ignore", "attributes", "score", "segments_info",
                            *MARK_KEYS, *firsts, *kinds, *more))]  # fmt: skip
    tried: list[tuple[Any, Any]] = []
    for plain, known in ((_PLAIN, PLAIN_TYPES), ({}, {})):
        fields = []
        for n, key in enumerate(keys):
            default = {} if key in plain else {"default": MISSING}
            kind = plain.get(key, kinds.get(key, Any))
            fields.append((f"key_{n}", kind, msgspec.field(name=key, **default)))
        record: Any = msgspec.defstruct("Record", fields, gc=False)
        tried.append((msgspec.json.Decoder(list[record]), known))

    def decode(text: bytes) -> Sequence[Any] | TypedWindow | None:
        for decoder, known in tried:
            try:
                found = decoder.decode(text)
            except msgspec.ValidationError:
                continue
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return None
            columns = zip(
                keys, zip(*map(msgspec.structs.astuple, found), strict=True), strict=False
            )
            of_keys = {key: column for key, column in columns if column.count(MISSING) < len(found)}
            records = TypedWindow(len(found), of_keys, known)
            # Only values of any type that are kept can nest: others are typed, or skipped.
            are_nested = settings.records or any(
                records.types(key) & ({dict} if key in _TYPED else {dict, list}) for key in of_keys
            )
            return None if are_nested and nests_deep(text) else records
        return decoded_entirely(text)

    return decode


class StopReadingError(Exception):
    """The rest of the text is not JSON."""


_SCALAR = re.compile(rb"[^\s,\]}]*")
_MARK = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def end_of(text: bytes, place: int) -> int:
    """Return where the value at a place ends, by its brackets; the end of the text if it is cut."""
    if text[place : place + 1] not in (b'"', b"[", b"{"):
        found = _SCALAR.match(text, place)
        return found.end() if found else place
    depth = 0
    for mark in _MARK.finditer(text, place):
        sign = text[mark.start()]
        depth += (sign in b"[{") - (sign in b"]}")
        if depth <= 0:
            return mark.end()
    return len(text)


def _object(repeated: dict[str, None], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; keys that occur twice go to `repeated`."""
    result = dict(pairs)
    if len(result) < len(pairs):
        times = Counter(key for key, _ in pairs)
        repeated |= dict.fromkeys(key for key in times if times[key] > 1)
    return result


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
            yield from _not_finite(inner, pointer + pointer_to(key))


_BLANK = re.compile(rb"[ \t\n\r]*")
_EMPTY = re.compile(rb"\[[ \t\n\r]*\]")
_END = re.compile(rb"\}[ \t\n\r]*\]")
# Ends of inner lists that are tried as that of a list.
_TRIED = 4

_Add = Callable[[Any], None]
_Decode = Callable[[bytes], Sequence[Any] | TypedWindow | None]


class Scanner:
    """Reads the content of a file in one pass: plain JSON in windows, the rest value by value.

    `annotations` collects the annotations; of a repeated list, the last one counts.
    """

    def __init__(self, text: bytes, name: str, settings: ReadSettings = WHOLE) -> None:
        self._out, self._settings = _decoded(text, name), settings
        self._text = self._out.text
        self.annotations = ColumnsBuilder(settings)
        self._decoders: dict[str, _Decode] = {}
        if not settings.whole:
            images = msgspec.json.Decoder(list[image_type(settings.keys)])  # type: ignore[misc]
            self._decoders["images"] = partial(decoded_entirely, typed=images)
            if settings.on_records is None:
                self._decoders[RESULTS_LIST] = _record_decoder(settings)
        self._repeated: dict[str, None] = {}
        # Not a method of self: a cycle would keep the whole text in memory.
        pairs_hook = partial(_object, self._repeated)
        hooks: dict[str, Any] = {"object_pairs_hook": pairs_hook, "parse_constant": float}
        self._strict = json.JSONDecoder(**hooks)
        self._loose = json.JSONDecoder(strict=False, **hooks)

    @gc_paused()
    def read(self) -> RawDocument:
        """Return the whole document, even if it is broken."""
        out, text = self._out, self._text
        start = self._blank(len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0)
        try:
            if text[start : start + 1] == b"{":
                place = self._read_top(start + 1)
            elif text[start : start + 1] == b"[":
                out.top = []
                is_empty = _EMPTY.match(text, start) is not None
                if self._settings.whole and not is_empty and not begins_with_results(text, start):
                    place = self._read_list("", start + 1, None)
                else:
                    # Results of detectors and an empty list are annotations, but for `on_records`.
                    self.annotations = ColumnsBuilder(replace(self._settings, on_records=None))
                    out.sections[RESULTS_LIST] = Section()
                    out.spans[RESULTS_LIST] = (start, len(text))
                    place = self._read_list(RESULTS_LIST, start + 1, self.annotations.add)
                    out.spans[RESULTS_LIST] = (start, place)
            else:
                out.top, place = self._value(start, "")
            place = self._blank(place)
            if place < len(text):
                out.trailing = place
        except StopReadingError:
            out.stopped = True
        out.annotations = self.annotations.done()
        return out

    def _blank(self, place: int) -> int:
        match = _BLANK.match(self._text, place)
        return match.end() if match else place

    def _begin_list(self, name: str) -> _Add:
        """Forget an earlier list of this name; return the function that adds records."""
        if name == RESULTS_LIST:
            self.annotations = ColumnsBuilder(self._settings)
            return self.annotations.add
        records: list[Any] = []
        setattr(self._out, name, records)
        return records.extend

    def _read_top(self, place: int) -> int:
        """Read the keys and values of the top level; return where it ends."""
        out, text = self._out, self._text
        out.top, comma = {}, None
        while True:
            place = self._blank(place)
            if text[place : place + 1] == b"}":
                if comma is not None:
                    out.broken.append((comma, "a comma before '}'"))
                return place + 1
            if text[place : place + 1] != b'"':
                raise self._stop(place, "expected a key or '}'")
            key, place = self._value(place, "")
            place = self._blank(place)
            if text[place : place + 1] != b":":
                raise self._stop(place, "expected ':'")
            if key in out.spans:
                out.repeated.append(("", key))
            value_place = place = self._blank(place + 1)
            if text[place : place + 1] == b"[":
                add = None
                if key in LISTS:
                    add = self._begin_list(key)
                    out.sections[key] = Section()
                out.spans[key] = (value_place, len(text))
                place = self._read_list(key, place + 1, add)
                out.top[key] = []
            else:
                out.top[key], place = self._value(place, f"/{key}")
                # The last of equal keys counts, as in all JSON readers.
                if out.sections.pop(key, None):
                    self._begin_list(key)
            out.spans[key] = (value_place, place)
            place = self._blank(place)
            sign, comma = text[place : place + 1], None
            if sign == b",":
                comma, place = place, place + 1
            elif sign != b"}":
                raise self._stop(place, "expected ',' or '}'")

    def _read_list(self, name: str, place: int, add: _Add | None) -> int:
        """Read the records of a list; return where it ends."""
        text, place, ended = self._text, self._blank(place), False
        section = self._out.sections.get(name, Section())
        decode = self._decoders.get(name, decoded_entirely)
        of_segments = name == RESULTS_LIST and _SEGMENTS.match(text, place) is not None
        between = BETWEEN_SEGMENTS if of_segments else BETWEEN_RECORDS
        while not ended:
            cut = between.search(text, place + WINDOW)
            until = len(text) if cut is None else cut.end() - 1
            # A bracket that ends an inner list leaves a record open, so that it does not decode.
            last = islice(_END.finditer(text, place, until), _TRIED)
            stops = chain(
                () if cut is None else [(cut.start() + 1, until, False)],
                ((end.end() - 1, end.end(), True) for end in last),
            )
            for stop, then, ended in stops:  # noqa: B007 - the last ones count
                with memoryview(text) as view, view[place:stop] as part:
                    window = b"".join((b"[", part, b"]"))
                if (records := decode(window)) is not None:
                    break
            else:
                place, ended = self._step(name, place, until, section, add)
                continue
            section.rows.append(section.n)
            section.offsets.append(place)
            section.n += len(records)
            if add is not None:
                add(records)
            place = then
            if self._settings.progress is not None:
                self._settings.progress(place, len(text))
        return place

    def _step(
        self, name: str, place: int, until: int, section: Section, add: _Add | None
    ) -> tuple[int, bool]:
        """Read values one by one, up to an offset or the end of the list."""
        text, comma = self._text, None
        records: list[Any] = []
        try:
            while place < until:
                if text[place : place + 1] == b"]":
                    if comma is not None:
                        self._out.broken.append((comma, "a comma before ']'"))
                    return place + 1, True
                number, begin = section.n, place
                pointer = f"/{name}/{number}" if name else f"/{number}"
                value, place = self._value(place, pointer)
                records.append(value)
                section.rows.append(number)
                section.offsets.append(begin)
                section.n += 1
                place, comma = self._blank(place), None
                sign = text[place : place + 1]
                if sign == b",":
                    comma, place = place, self._blank(place + 1)
                elif sign != b"]":
                    raise self._stop(place, "expected ',' or ']'")
        finally:
            if add is not None:
                add(records)
        if place >= len(text):
            raise self._stop(len(text), "")
        return place, False

    def _value(self, place: int, pointer: str) -> tuple[Any, int]:
        """Return the value at a byte offset of the text, and where it ends."""
        out, end = self._out, end_of(self._text, place)
        raw, encoding = self._text[place:end], "utf-8"
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            encoding = "latin-1"
            text = raw.decode(encoding)
            if out.not_utf8 is None:
                out.not_utf8 = place + error.start
                wrong = f"not UTF-8 (byte {out.not_utf8:,} is 0x{out.text[out.not_utf8]:02x})"
                out.encoding = out.encoding or wrong
        if nests_deep(raw):
            raise self._stop(place, TOO_DEEP)
        self._repeated.clear()
        try:
            try:
                value, stop = self._strict.raw_decode(text)
            except json.JSONDecodeError as error:
                if not error.msg.startswith("Invalid control character"):
                    raise
                self._repeated.clear()
                value, stop = self._loose.raw_decode(text)
                out.broken.append((place, "a control character in a text"))
        except json.JSONDecodeError as error:
            is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
            why = "the file ends here" if is_cut and end == len(out.text) else error.msg
            offset = place + len(text[: error.pos].encode(encoding, "surrogatepass"))
            raise self._stop(offset, why) from None
        except ValueError:
            raise self._stop(place, "a number of too many digits") from None
        out.repeated += [(pointer, key) for key in self._repeated]
        out.not_finite += _not_finite(value, pointer)
        return value, place + len(text[:stop].encode(encoding, "surrogatepass"))

    def _stop(self, place: int, why: str) -> StopReadingError:
        """Record where and why reading ends, and return the error to raise."""
        self._out.broken.append((place, "the file ends here" if place >= len(self._text) else why))
        return StopReadingError()


_FIRST = b' \t\r\n{["-0123456789ntf'


def _decoded(text: bytes, name: str) -> RawDocument:
    """Return the document with the content of a file in UTF-8, before it is read."""
    reading = RawDocument(name, text, len(text))
    mark, encoding = next((each for each in MARKS if text.startswith(each[0])), (b"", ""))
    # JSON begins with an ASCII character, so zero bytes show the width of characters.
    first = text[:2].replace(b"\0", b"")
    if mark == BYTE_ORDER_MARK:
        reading.encoding = "UTF-8 with a byte order mark"
    elif mark:
        reading.encoding = encoding[: len("UTF-16")].upper()
    elif len(text) > 1 and len(first) == 1 and first in _FIRST:
        encoding = "utf-16-le" if text[1] == 0 else "utf-16-be"
        reading.encoding = encoding.upper()
    if encoding and mark != BYTE_ORDER_MARK:
        reading.text = text[len(mark) :].decode(encoding, "replace").encode()
    return reading
