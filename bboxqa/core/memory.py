"""Python's search for objects that hold each other in a ring, and when not to have it."""

import ctypes
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from gc import disable, enable, isenabled
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["gc_paused", "is_mapped", "release_pages", "trim_memory"]


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switch the cyclic garbage collector off.

    It would go through all records again and again, which hold no cycles, and double the time.
    """
    was_on = isenabled()
    disable()
    try:
        yield
    finally:
        if was_on:
            enable()


def release_pages(array: Any) -> None:
    """Let go of the pages of what is mapped from a file, array or text; others stay as they are."""
    base = _base(array)
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def is_mapped(array: NDArray[Any]) -> bool:
    """Return whether an array is mapped from a file."""
    return isinstance(_base(array), mmap.mmap)


def _base(array: Any) -> Any:
    """Return what the memory of an array, or of a text, belongs to."""
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array


def trim_memory() -> None:
    """Give memory that is free back to the system.

    Decoding leaves it in small pieces, of which glibc keeps twice what the columns need.
    """
    if sys.platform == "linux":
        # Other libraries of C have no such function.
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
