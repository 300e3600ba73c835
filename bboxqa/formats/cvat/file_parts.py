"""The parts of a file of CVAT: runs of plain boxes, and text for a parser.

A second process takes the runs out of the second half of a long file.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from io import BufferedReader

from bboxqa.core.parallel import LONG, can_fork, second_process
from bboxqa.core.types import Steps
from bboxqa.formats.cvat.plain_runs import PlainRun, PlainRuns
from bboxqa.formats.translation.member import Member

_WINDOW = 1 << 20
# No attribute can contain it, nor text, but for that from which nothing is taken.
_BETWEEN = re.compile(rb"\n  </(?:image|track)>\r?\n(?=  <(?:image|track) )")


def chunks_of(
    member: Member, progress: Steps | None, begin: int = 0, end: int | None = None
) -> Iterator[bytes]:
    """Yield a file, or a part of one that is not packed, in chunks."""
    done = begin
    for chunk in member.chunks(begin, end):
        yield chunk
        done += len(chunk)
        if progress is not None:
            progress(done, max(done, member.most if end is None else end))


def parts_of(member: Member, runs: PlainRuns, progress: Steps | None) -> Iterator[bytes | PlainRun]:
    """Yield the parts of a file in their order."""
    begin, found = 0, None
    # What a second process sends is in memory twice for a while.
    middle = _middle_of(member)
    if middle is not None:
        begin = middle
        with second_process(partial(_second_half, member, middle, in_full=runs.in_full)) as receive:
            # Half of the file takes half of the time.
            for chunk in chunks_of(member, progress, 0, middle):
                yield from runs.parts(chunk)
            yield runs.last()
            if runs.is_plain:
                # A process that dies sends nothing, or only a part.
                with suppress(EOFError, OSError):
                    found = receive()
    if found is not None:
        yield from found
        return
    for chunk in chunks_of(member, progress, begin):
        yield from runs.parts(chunk)
    yield runs.last()


def _middle_of(member: Member) -> int | None:
    """Return where an image or a track begins in the middle of a long file that is not packed."""
    if not can_fork():
        return None
    with member.open() as stream:
        if not isinstance(stream, BufferedReader):
            return None
        size = os.fstat(stream.fileno()).st_size
        if size < LONG:
            return None
        stream.seek(size // 2)
        text = stream.read(_WINDOW)
    found = _BETWEEN.search(text)
    return None if found is None else size // 2 + found.end()


def _second_half(member: Member, begin: int, *, in_full: bool) -> list[bytes | PlainRun]:
    runs = PlainRuns(in_full=in_full)
    runs.begin_inside(1 + sum(chunk.count(b"\n") for chunk in member.chunks(0, begin)))
    parts = [part for chunk in member.chunks(begin) for part in runs.parts(chunk)]
    return [part for part in [*parts, runs.last()] if part]
