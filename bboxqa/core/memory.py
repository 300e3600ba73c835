"""The free memory, returning memory to the system, and pausing the garbage collector."""

import ctypes
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from gc import disable, enable, isenabled
from pathlib import Path

from bboxqa.core.errors import OutputError

# Bytes that a byte of annotations takes once it is read and compared.
_OF_BYTE = 2.5
# Options of glibc's `mallopt`: the free memory at the end that is kept, and the size of blocks that
# are returned by themselves; and the most that it takes for the second.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _LARGEST = -1, -3, 1 << 25


def free_memory() -> int | None:
    """Return the bytes of memory that programs may still take; None where that is unknown."""
    with suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text("ascii")
        return 1024 * int(text.split("MemAvailable:")[1].split()[0])
    return None


def check_free_memory(files: Iterable[Path]) -> None:
    """Refuse files that need more than the free memory, before they are read.

    Raises
    ------
    OutputError
    """
    files = list(files)
    size = sum(file.stat().st_size for file in files if file.is_file())
    needed, free = int(_OF_BYTE * size), free_memory()
    if free is not None and needed > free:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        raise OutputError(
            f"{files[0]}{more}: reading needs about {needed / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB are free; divide the data, or use a larger machine"
        )


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switch the cyclic garbage collector off.

    Records contain no cycles; visiting them repeatedly would double the time.
    """
    was_on = isenabled()
    disable()
    try:
        yield
    finally:
        if was_on:
            enable()


def keep_freed_memory() -> None:
    """Let this process keep up to 32 MB that it frees, for its next array.

    glibc returns blocks from 128 kB on to the system, which has to clear their pages again: a tenth
    of the time of a small data set.
    """
    if sys.platform == "linux":
        # Other C libraries have no `mallopt`.
        with suppress(AttributeError):
            for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
                ctypes.CDLL(None).mallopt(option, _LARGEST)


def trim_memory() -> None:
    """Return free memory to the system.

    Decoding leaves many small free blocks, so that glibc would keep twice the memory of the
    columns.
    """
    if sys.platform == "linux":
        # Other C libraries have no `malloc_trim`.
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
