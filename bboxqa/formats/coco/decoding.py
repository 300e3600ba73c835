"""Decoding the records of COCO JSON: a list window by window, and the rest as one document."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from bboxqa.core.types import Steps
from bboxqa.formats.annotations.records import (
    ID_EXPECTED,
    LISTS,
    Category,
    Image,
    TopLevel,
    is_id,
    whole_number,
)
from bboxqa.formats.windows import BETWEEN_RECORDS, Cut, Text, next_cut, release_before

_END = re.compile(rb"\s*\]")
_LIST_KEY = re.compile(rb'"(images|annotations|categories)"\s*:\s*')
# Bytes.
_COMPARED = 1 << 10
# Marks the beginning of the rest of the list.
_MARK = b'"the list that was cut"'

Add = Callable[[list[Any]], None]
"""Called with the decoded records of one window."""


class MalformedError(Exception):
    """The fast reader cannot decode the file."""


def decode_windows(
    text: Text,
    place: int,
    kind: type[msgspec.Struct],
    add: Add,
    progress: Steps | None = None,
    *,
    last: Cut | None = None,
    between: re.Pattern[bytes] = BETWEEN_RECORDS,
) -> int:
    """Decode windows up to a cut, or until one fails; return where the next one begins.

    Parameters
    ----------
    place : int
        The first byte of the first record.
    kind : type
        The type of records.
    add : callable
        Called with the records of each window.
    last : re.Match of bytes, optional
        The cut at which to stop.
    between : re.Pattern of bytes
        The pattern of a cut.
    """
    decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
    # With a second process, reaching the cut is all of this process's work.
    total = len(text) if last is None else last.end()
    while last is None or place < last.start():
        cut = next_cut(text, place, last, between)
        if cut is None:
            break
        try:
            records = decoder.decode(_enclosed(text, place, cut.start() + 1))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            break
        add(records)
        place = cut.end() - 1
        release_before(text, place)
        if progress is not None:
            progress(place, total)
    return place


def decode_rest(
    text: Text,
    first: int,
    place: int,
    kind: type[msgspec.Struct],
    add: Add,
    image_type: type[Image],
) -> tuple[list[Image], list[Category]]:
    """Decode all but the windows of annotations; return the images and categories.

    The part of the list after the last window is decoded together with the beginning of the file,
    as one document. `first` is where the list begins, `place` where its rest begins. Raises
    MalformedError if the file is not as expected, or has a list twice.
    """
    try:
        mark = _MARK if _END.match(text, place) else _MARK + b","
        document = text[:first] + mark + text[place:]
        top = msgspec.json.decode(document, type=TopLevel)
        rest = bytes(top.annotations)
        # A nested list may have the same name as the top-level list.
        if not rest.startswith(b"[" + mark):
            raise MalformedError
        add(msgspec.json.decode(b"[" + rest[1 + len(mark) :], type=list[kind]))  # type: ignore[valid-type]
        if _is_list_repeated(document, top):
            raise MalformedError
        images = msgspec.json.decode(top.images, type=list[image_type])  # type: ignore[valid-type]
        categories = msgspec.json.decode(top.categories, type=list[Category])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedError from None
    return images, categories


def _is_list_repeated(document: bytes, top: TopLevel) -> bool:
    """Return whether the top level of a document, which is valid JSON, has one of its lists twice.

    Decoding keeps the last of equal keys.
    """
    if _are_lists_alone(document, top):
        return False
    for value in (top.images, top.annotations, top.categories):
        document = document.replace(bytes(value), b"0", 1)
    try:
        keys = [key for key, _ in json.loads(document, object_pairs_hook=list)]
    except (ValueError, RecursionError):
        raise MalformedError from None
    return any(keys.count(key) > 1 for key in LISTS)


def _are_lists_alone(document: bytes, top: TopLevel) -> bool:
    """Return whether the text outside of the lists has their keys once.

    Only that text is searched, as the lists are known.
    """
    values = {key: memoryview(getattr(top, key)) for key in LISTS}
    place = 0
    known: set[str] = set()
    while found := _LIST_KEY.search(document, place):
        key, start = found[1].decode(), found.end()
        value = values[key]
        place = start + len(value)
        # Of the whole list, only both ends are compared.
        begins = document[start : min(place, start + _COMPARED)] == value[:_COMPARED]
        ends = document[max(start, place - _COMPARED) : place] == value[-_COMPARED:]
        if key in known or not begins or not ends:
            return False
        known.add(key)
    return True


def numbered(key: str, name: str, records: Sequence[Image | Category]) -> Iterator[str]:
    """Convert numbers written as text, in place; yield a problem for each value that is no id."""
    for place, record in enumerate(records):
        if type(record.id) is int:
            continue
        if not is_id(record.id):
            yield f"{name}: {key}[{place}]: id is {record.id!r}; expected {ID_EXPECTED}"
        elif (number := whole_number(record.id)) is not None:
            record.id = number


def _enclosed(text: Text, start: int, stop: int) -> bytes:
    """Return a part of the text as a list, copied once."""
    with memoryview(text) as view, view[start:stop] as part:
        return b"".join((b"[", part, b"]"))
