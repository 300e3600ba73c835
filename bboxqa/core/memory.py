"""Pausing the garbage collector, and returning memory to the system."""

import ctypes
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from gc import disable, enable, isenabled
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.errors import ConfigError

# The number of a parameter of `mallopt`, and its value in bytes.
_MMAP_THRESHOLD, _LARGE = -3, 4 << 20


def check_limit(memory: object) -> None:
    """Refuse a memory limit that is not a number of bytes.

    Raises
    ------
    ConfigError
    """
    if memory is not None and (not isinstance(memory, int) or isinstance(memory, bool)):
        raise ConfigError(
            f"memory is {memory!r}; expected a number of bytes, such as 2 * 10**9 for 2 GB"
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


def release_pages(array: Any) -> None:
    """Release the pages of an array or text that is mapped from a file."""
    base = _base(array)
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def is_mapped(array: NDArray[Any]) -> bool:
    """Return whether an array is mapped from a file."""
    return isinstance(_base(array), mmap.mmap)


def _base(array: Any) -> Any:
    """Return the object that owns the memory of an array or text."""
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array


def return_large_blocks() -> None:
    """Let arrays of several megabytes return to the system once they are not used.

    By default glibc keeps blocks of up to 32 MB for later ones, after it has freed some of that
    size; whether later ones fit varies from run to run.
    """
    if sys.platform == "linux":
        # Other C libraries have no `mallopt`.
        with suppress(AttributeError):
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)


def trim_memory() -> None:
    """Return free memory to the system.

    Decoding leaves many small free blocks, so that glibc would keep twice the memory of the
    columns.
    """
    if sys.platform == "linux":
        # Other C libraries have no `malloc_trim`.
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
