"""The memory and the cores of this machine, and work in threads."""

import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from gc import disable, enable, freeze, get_threshold, isenabled, set_threshold, unfreeze
from itertools import chain, islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bboxqa.core.errors import OutputError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from threadpoolctl import ThreadpoolController

ALLOCATED = 100_000
"""Objects allocated between two searches for cycles at the command line. Python's 700 make a
hundred searches of a start alone, and a command leaves few cycles."""
# Bytes that a byte of annotations takes once it is read and compared.
_OF_BYTE = 2.5
_MEMORY = Path("/proc/meminfo")
# Options of glibc's `mallopt`: the free memory at the end that is kept, and the size of blocks that
# are returned by themselves; and the most that it takes for the second.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _LARGEST = -1, -3, 1 << 25


def check_free_memory(paths: Sequence[Path]) -> None:
    """Refuse files that need more than the free memory, before they are read, with OutputError."""
    needed = int(_OF_BYTE * sum(each.stat().st_size for each in paths if each.is_file()))
    free: float = inf
    # Other systems do not say it there.
    with suppress(OSError, ValueError, IndexError):
        free = 1024 * int(_MEMORY.read_text("ascii").split("MemAvailable:")[1].split()[0])
    if needed > free:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        raise OutputError(
            f"{paths[0]}{more}: reading needs about {needed / 1e9:.1f} GB of memory, and "
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
            # At the command line, what is left counts as old, so that it is not visited at once.
            # Other programs may have frozen objects, as before they fork: these stay so, and
            # counting them would take long.
            if get_threshold()[0] == ALLOCATED:
                freeze()
                unfreeze()
            enable()


def trim_memory() -> None:
    """Return free memory to the system.

    Decoding leaves many small free blocks, so that glibc would keep twice the memory of the
    columns.
    """
    if sys.platform == "linux":
        # Other C libraries have no `malloc_trim`.
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# The number of cores that the parent process assigned to this process.
_share: int | None = None
# The libraries of linear algebra read these when they are loaded.
_BLAS = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"
# Whether they start no threads in this process.
_is_alone = False


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
    """Yield the result of each item in order; few items are in memory at once."""
    n_threads, rest = threads(), iter(items)
    first = list(islice(rest, 2))
    if n_threads < 2 or len(first) < 2:
        # Starting a thread often takes longer than a single item.
        yield from map(work, chain(first, rest))
        return
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for item in chain(first, rest):
            waiting.append(pool.submit(work, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def set_up_process() -> None:
    """Set this process up for a command, before numpy is imported.

    Python seldom looks for cycles, linear algebra starts no threads unless the user chose a number,
    and up to 32 MB of freed memory are kept, which the system would have to clear again.
    """
    global _is_alone  # noqa: PLW0603 - a fact about the process
    set_threshold(ALLOCATED)
    chosen = {os.environ.setdefault(name, "1") for name in _BLAS}
    _is_alone = chosen == {"1"} and "numpy" not in sys.modules
    if sys.platform == "linux":
        # Other C libraries have no `mallopt`.
        with suppress(AttributeError):
            for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
                ctypes.CDLL(None).mallopt(option, _LARGEST)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread.

    With several threads, the order of additions, and so the last bit of a sum, would vary.
    """
    if _is_alone:
        yield
        return
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries() -> "ThreadpoolController":
    """Return the controller of this process's thread pools; cached, as finding them is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
