"""Python's search for objects that hold each other in a ring, and when not to have it."""

from collections.abc import Iterator
from contextlib import contextmanager
from gc import disable, enable, isenabled

__all__ = ["collector_off"]


@contextmanager
def collector_off() -> Iterator[None]:
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
