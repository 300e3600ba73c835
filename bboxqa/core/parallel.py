"""Work in threads, and the cores that a process may use."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# The number of cores that the parent process assigned to this process.
_share: int | None = None


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
    # A pool worker has loaded it; loading it takes others longer than they gain.
    loaded = sys.modules.get("multiprocessing.process")
    return 1 if loaded is not None and loaded.current_process().daemon else cores()


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
