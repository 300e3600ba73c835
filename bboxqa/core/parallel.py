"""Work done in a second process beside the first, with what the first already holds."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import Any, TypeVar

__all__ = ["LONG", "can_fork", "cores", "limit_threads", "second_process", "threads"]

LONG = 1 << 25
"""Bytes of json from which on a second process saves more time than its start takes."""

_Result = TypeVar("_Result")

# How many cores the one who started this process has left to it.
_share: int | None = None


def can_fork() -> bool:
    """Return whether a second process saves time here."""
    # A worker of a pool may have no processes of its own.
    return sys.platform == "linux" and threads() > 1 and not current_process().daemon


def cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def limit_threads(number: int) -> None:
    """Say how many threads this process is to use."""
    global _share  # noqa: PLW0603 - a fact about the process
    _share = number


def threads() -> int:
    """Return how many threads save time here: one in a worker, since the others have the rest."""
    if _share is not None:
        return _share
    return 1 if current_process().daemon else cores()


@contextmanager
def second_process(work: Callable[[], _Result]) -> Iterator[Callable[[], _Result]]:
    """Do some work in another process; yield what waits for its result.

    That process has half of the cores that this one had, and this one the others meanwhile.

    Parameters
    ----------
    work : callable
        Takes nothing; what it returns goes through a pipe.

    Yields
    ------
    callable
        Returns the result. Raises EOFError or OSError where the process has died, or could not
        be started: then the work has to be done here.
    """
    global _share  # noqa: PLW0603 - a fact about the process
    before, n_threads = _share, threads()
    theirs = max(1, n_threads // 2)
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(work, theirs, receiver, sender), daemon=True)
    try:
        # Where there are processes enough already, the pipe stays without a sender.
        with suppress(OSError):
            process.start()
        # With no other end open here, a process that dies is noticed.
        sender.close()
        _share = max(1, n_threads - theirs)
        yield receiver.recv
    finally:
        _share = before
        if process.pid is not None:
            process.kill()
            process.join()
        receiver.close()


def _send(work: Callable[[], Any], share: int, receiver: Connection, sender: Connection) -> None:
    global _share  # noqa: PLW0603 - a fact about the process
    _share = share
    # What goes wrong here is tried again by the other process; nobody has to read of it twice.
    with suppress(BaseException):
        # The other process is interrupted too, and ends this one.
        signal(SIGINT, SIG_IGN)
        # With this end open, sending to a process that is gone would never end.
        receiver.close()
        Thread(target=_end_with_reader, args=(sender,), daemon=True).start()
        sender.send(work())


def _end_with_reader(sender: Connection) -> None:
    """End this process as soon as nobody waits for what it sends."""
    # Where there are no such processes, there is no poll either.
    from select import poll

    watch = poll()
    watch.register(sender.fileno(), 0)
    watch.poll()
    os._exit(1)
