"""Reading a long list of records window by window, with its second half in another process."""

import mmap
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from bboxqa.core.parallel import LONG, can_fork, second_process

Text = bytes | mmap.mmap
Cut = re.Match[bytes]

ANNOTATIONS = re.compile(rb'"annotations"\s*:\s*\[')
"""The beginning of the list of annotations; a nested list may have the same name."""

LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
"""The beginning of a list at the top level."""

# The keys by which a result is recognised even if a long mask follows.
_OF_IMAGE, _OF_RESULTS = b'"image_id"', (b'"score"', b'"caption"')
_FIRST_RESULT = 1 << 20

BETWEEN_RECORDS = re.compile(rb"\}\s*,\s*\{")
"""The end of an object in a list and the beginning of the next; strings may also contain it."""

WINDOW = 1 << 20
"""Bytes per window: few enough objects to stay in the processor's cache."""

_Result = TypeVar("_Result")


def begins_with_results(text: Text, place: int = 0) -> bool:
    """Return whether a list at a place begins like one of results.

    Examples
    --------
    >>> begins_with_results(b'[{"image_id": 1, "score": 1}]'), begins_with_results(b"[7]")
    (True, False)
    """
    head = text[place : place + _FIRST_RESULT]
    is_list = LIST.match(head) is not None
    return is_list and _OF_IMAGE in head and any(key in head for key in _OF_RESULTS)


def next_cut(
    text: Text,
    place: int,
    last: Cut | None = None,
    between: re.Pattern[bytes] = BETWEEN_RECORDS,
) -> Cut | None:
    """Return the end of the window that begins at `place`; None if no record follows.

    Cuts are found by pattern. A cut inside a record or a string leaves a bracket or a quote open,
    so that the window does not decode; every window that decodes is valid. `place` is the first
    byte of a record. If `last` is given, the window does not extend beyond it.
    """
    cut = between.search(text, place + WINDOW)
    if last is not None and (cut is None or cut.end() > last.end()):
        return last
    return cut


def in_two_halves(
    text: Text,
    place: int,
    here: Callable[[int, Cut], int],
    there: Callable[[int], _Result],
    join: Callable[[_Result], int],
) -> int:
    """Read the first half of a long list here and the second half in another process.

    Parameters
    ----------
    place : int
        The first byte of the first record.
    here : callable
        Called as ``here(place, last)``; reads up to a cut and returns where it stopped.
    there : callable
        Called as ``there(place)`` in the other process; reads from a record to the end.
    join : callable
        Called with the result of `there`; returns where it stopped.

    Returns
    -------
    int
        The first byte that was not read; `place` if a second process would save no time.
    """
    if len(text) - place < LONG or not can_fork():
        return place
    middle = BETWEEN_RECORDS.search(text, (place + len(text)) // 2)
    if middle is None:
        return place
    begin = middle.end() - 1
    with second_process(partial(there, begin)) as receive:
        place = here(place, middle)
        # Otherwise, the middle is not between two records, or the first half is irregular.
        if place == begin:
            # A process that dies sends nothing, or only a part of its result.
            with suppress(EOFError, OSError):
                place = join(receive())
    return place


def release_before(text: Text, place: int) -> None:
    """Release the pages of a mapped text before `place`, which count as used memory."""
    if isinstance(text, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        text.madvise(mmap.MADV_DONTNEED, 0, place)
