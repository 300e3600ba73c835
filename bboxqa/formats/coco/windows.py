"""Decoding a long list of records window by window, its second half in a process of its own."""

import mmap
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import msgspec

from bboxqa.core.parallel import LONG, can_fork, second_process
from bboxqa.core.types import Steps
from bboxqa.formats.annotations.columns import Columns, ColumnsBuilder

__all__ = ["decode_list"]

# Text decoded in one go: few enough objects at a time to stay near the processor.
_WINDOW = 1 << 20
_BETWEEN_RECORDS = re.compile(rb"\}\s*,\s*\{")
_Cut = re.Match[bytes]


def decode_list(
    text: mmap.mmap,
    start: int,
    new_builder: Callable[[], ColumnsBuilder],
    progress: Steps | None,
) -> tuple[ColumnsBuilder, int]:
    """Decode the records of a list, as far as windows reach.

    Windows are cut between two records, by their look. A cut inside a record or a text leaves a
    bracket or a quote open, and the window does not decode: so every window that does, one after
    the other from the beginning, is sound, wherever its cuts come from.

    Parameters
    ----------
    text : mmap
        The file.
    start : int
        Where the first record begins.
    new_builder : callable
        Returns what takes in the records.
    progress : callable, optional
        Is told how many bytes of how many are read.

    Returns
    -------
    builder : ColumnsBuilder
        With the records of all windows that were decoded.
    place : int
        Where the first record begins that was not.
    """
    builder = new_builder()
    middle = _BETWEEN_RECORDS.search(text, (start + len(text)) // 2)
    short = middle is None or len(text) - start < LONG
    # What a second process sends is there twice for a while.
    if middle is None or short or builder.bounded or not can_fork():
        return builder, _decode(text, start, None, builder, progress)
    with second_process(partial(_decode_rest, text, middle.end() - 1, new_builder)) as receive:
        place = _decode(text, start, middle, builder, progress)
        if place == middle.end() - 1:
            # A process that dies sends nothing, or a part.
            with suppress(EOFError, OSError):
                columns, problems, place = receive()
                builder.absorb(columns, problems)
                return builder, place
    # The middle was not between two records, or something before it is odd, or the process died.
    return builder, _decode(text, place, None, builder, progress)


def _decode(
    text: mmap.mmap,
    place: int,
    last: _Cut | None,
    builder: ColumnsBuilder,
    progress: Steps | None,
) -> int:
    """Decode windows up to a cut, or as long as they decode; return where the next one begins."""
    decoder = msgspec.json.Decoder(list[builder.type])  # type: ignore[name-defined]
    # The half of a file takes half of the time.
    total = len(text) if last is None else last.end()
    while last is None or place < last.start():
        cut = _BETWEEN_RECORDS.search(text, place + _WINDOW)
        if last is not None and (cut is None or cut.end() > last.end()):
            cut = last
        if cut is None:
            break
        try:
            records = decoder.decode(_enclosed(text, place, cut.start() + 1))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            break
        builder.add(records)
        place = cut.end() - 1
        _forget(text, place)
        if progress is not None:
            progress(place, total)
    return place


def _decode_rest(
    text: mmap.mmap, place: int, new_builder: Callable[[], ColumnsBuilder]
) -> tuple[Columns, list[str], int]:
    """Decode what comes after the middle; for another process."""
    builder = new_builder()
    place = _decode(text, place, None, builder, None)
    return builder.done(), builder.problems, place


def _enclosed(text: mmap.mmap, start: int, stop: int) -> bytes:
    """Return a part of the text as a list, copied once."""
    with memoryview(text) as view, view[start:stop] as part:
        return b"".join((b"[", part, b"]"))


def _forget(text: mmap.mmap, place: int) -> None:
    """Let go of the pages before `place`; they would count as memory in use."""
    if hasattr(mmap, "MADV_DONTNEED"):
        text.madvise(mmap.MADV_DONTNEED, 0, place)
