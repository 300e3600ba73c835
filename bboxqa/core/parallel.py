"""Work in threads, and in a forked second process, which shares the memory of this one."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain, islice
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

LONG = 1 << 25
"""Bytes of JSON above which a second process saves more time than it takes to start."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# The number of cores that the parent process assigned to this process.
_share: int | None = None


def can_fork() -> bool:
    """Return whether a second process saves time here."""
    # Daemonic processes, such as pool workers, may not start processes.
    return sys.platform == "linux" and threads() > 1 and not current_process().daemon


def cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def limit_threads(number: int) -> None:
    """Limit the number of threads of this process."""
    global _share  # noqa: PLW0603 - a fact about the process
    _share = number


def threads() -> int:
    """Return how many threads save time: 1 in a pool worker, as the others use the other cores."""
    if _share is not None:
        return _share
    return 1 if current_process().daemon else cores()


def in_threads(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """Yield the result of each item in order, for work in which numpy releases the lock.

    Items are taken from the iterator as threads need them, so that few are in memory at once.

    Examples
    --------
    >>> list(in_threads(len, ["left", "right"]))
    [4, 5]
    """
    n_threads = threads()
    if n_threads < 2:
        yield from map(work, items)
        return
    rest = iter(items)
    first = list(islice(rest, 2))
    if len(first) < 2:
        # Starting a thread often takes longer than a single item.
        yield from map(work, first)
        return
    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for item in chain(first, rest):
            waiting.append(pool.submit(work, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread.

    With several threads, the order of additions, and so the last bit of a sum, would vary.
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries() -> "ThreadpoolController":
    """Return the controller of this process's thread pools; cached, as finding them is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def second_process(work: Callable[[], _Result]) -> Iterator[Callable[[], _Result]]:
    """Run a function in another process; yield a function that waits for its result.

    The other process gets half of the cores, and this one keeps the other half meanwhile. The
    result is sent through a pipe. The waiting function raises EOFError or OSError if the process
    died or could not be started; the caller then has to do the work.
    """
    global _share  # noqa: PLW0603 - a fact about the process
    before, n_threads = _share, threads()
    theirs = max(1, n_threads // 2)
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(work, theirs, receiver, sender), daemon=True)
    try:
        # Starting fails at the system's process limit; reading the pipe then raises EOFError.
        with suppress(OSError):
            process.start()
        # With the sender closed here, reading fails if the process dies.
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
    # If the work fails here, the parent repeats it and raises the error.
    with suppress(BaseException):
        # The parent receives SIGINT as well, and ends this process.
        signal(SIGINT, SIG_IGN)
        # With a receiver open here, sending to a dead parent would block forever.
        receiver.close()
        Thread(target=_end_with_reader, args=(sender,), daemon=True).start()
        sender.send(work())


def _end_with_reader(sender: Connection) -> None:
    """End this process when the reader of its result is gone."""
    # Imported here, since systems without fork may have no `poll`.
    from select import poll

    watch = poll()
    watch.register(sender.fileno(), 0)
    watch.poll()
    os._exit(1)
