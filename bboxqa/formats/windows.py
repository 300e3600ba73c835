"""Reading a long list of records window by window, its second half in a second process."""

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
"""Where the list of annotations begins; an inner list may have the same name."""

BETWEEN_RECORDS = re.compile(rb"\}\s*,\s*\{")
"""Where one object of a list ends and the next begins; a string can contain the same bytes."""

WINDOW = 1 << 20
"""Bytes decoded in one go: few enough objects at a time to stay in the processor's cache."""

_Result = TypeVar("_Result")


def next_cut(text: Text, place: int, last: Cut | None = None) -> Cut | None:
    """Return where the window that begins at `place` ends; None where no record follows.

    Cuts are found by their look. A cut inside a record or a string leaves a bracket or a quote
    open, so that window does not decode: every window that does is sound. `place` is the first byte
    of a record; the window ends at `last`, if given, at the latest.
    """
    cut = BETWEEN_RECORDS.search(text, place + WINDOW)
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
        Called as ``there(place)`` in the other process; reads from a record on.
    join : callable
        Takes what `there` returned, and returns where that stopped.

    Returns
    -------
    int
        The first byte that was not read; `place` where a second process saves no time.
    """
    if len(text) - place < LONG or not can_fork():
        return place
    middle = BETWEEN_RECORDS.search(text, (place + len(text)) // 2)
    if middle is None:
        return place
    begin = middle.end() - 1
    with second_process(partial(there, begin)) as receive:
        place = here(place, middle)
        # Elsewhere the middle is not between two records, or something before it is odd.
        if place == begin:
            # A process that dies sends nothing, or only a part.
            with suppress(EOFError, OSError):
                place = join(receive())
    return place


def release_before(text: Text, place: int) -> None:
    """Release the pages of a mapped text before `place`; they would count as memory in use."""
    if isinstance(text, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        text.madvise(mmap.MADV_DONTNEED, 0, place)
