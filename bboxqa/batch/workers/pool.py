"""Processes that work through tasks: one that dies takes one task with it, never the others."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

from bboxqa.core.errors import OutputError
from bboxqa.core.parallel import cores, limit_threads

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

__all__ = ["Outcome", "WorkerDied", "run_all"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

# Tells Python to look for no modules in the current folder.
_SAFE = "PYTHONSAFEPATH"
# Libraries bring threads of their own; with several processes they would fight for the cores.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

# What a process ends with that cannot get the memory it asks for.
_NO_MEMORY = 112


@dataclass(frozen=True, slots=True)
class WorkerDied:
    """A process ended before its task was done.

    Attributes
    ----------
    exit_code : int or None
        Negative for the signal that ended it.
    """

    exit_code: int | None

    def __str__(self) -> str:
        if self.exit_code is not None and self.exit_code < 0:
            hint = " (out of memory?)" if self.exit_code == -9 else ""
            return f"its process was ended by signal {-self.exit_code}{hint}"
        if self.exit_code == _NO_MEMORY:
            return "its process ran out of memory"
        return f"its process ended with status {self.exit_code}"


Outcome = tuple[_Task, _Result | WorkerDied]


@dataclass(frozen=True, slots=True)
class _Lane(Generic[_Task]):
    """Tasks that wait, how many cores each takes, and how many threads it may have there."""

    waiting: deque[_Task]
    n_cores: int
    n_threads: int


@dataclass(slots=True, eq=False)
class _Worker(Generic[_Task]):
    process: BaseProcess
    pipe: Connection
    lane: _Lane[_Task]
    given: deque[_Task] = field(default_factory=deque)


def run_all(
    tasks: Sequence[_Task],
    work: Callable[[_Task], _Result],
    module: str,
    jobs: int,
    n_wide: int = 0,
) -> Iterator[Outcome[_Task, _Result]]:
    """Do tasks in several processes; yield each with its result as it is done.

    A process that dies is one task that has died: it is tried once more at the end, alone, and
    yielded with `WorkerDied` if that ends the same way. With one job the work is done in one
    process
    beside this one all the same.

    Parameters
    ----------
    tasks : sequence
        Whatever can be pickled; they are begun in this order.
    work : callable
        A function of a module, or a partial of one: it is pickled.
    module : str
        The module to load before processes are forked.
    jobs : int
        How many processes there may be.
    n_wide : int
        How many of the first tasks take two cores each; the others begin where a core is left.
        With one job a task may use all cores, and where there are fewer tasks than jobs, the
        cores are shared out among them.

    Yields
    ------
    task, result or Died
    """
    again = []
    lanes = [_Lane(deque(tasks[:n_wide]), 2, 2), _Lane(deque(tasks[n_wide:]), 1, 1)]
    if len(tasks) < jobs or jobs == 1:
        n_workers = min(jobs, max(1, len(tasks)))
        lanes = [_Lane(deque(tasks), 1, max(1, cores() // n_workers))]
    for task, result in _run(lanes, work, module, jobs):
        if isinstance(result, WorkerDied):
            again.append(task)
        else:
            yield task, result
    for task in again:
        # With one process and one thread it takes the least memory.
        yield from _run([_Lane(deque([task]), 1, 1)], work, module, 1)


def _run(
    lanes: Sequence[_Lane[_Task]], work: Callable[[_Task], _Result], module: str, jobs: int
) -> Iterator[Outcome[_Task, _Result]]:
    workers: list[_Worker[_Task]] = []
    ended: list[_Worker[_Task]] = []
    try:
        while workers or any(lane.waiting for lane in lanes):
            for lane in lanes:
                while lane.waiting and _taken(workers) + lane.n_cores <= jobs:
                    workers.append(_start(work, module, lane))
                    _give(workers[-1], 1)
            ready = wait([worker.pipe for worker in workers])
            for worker in [worker for worker in workers if worker.pipe in ready]:
                waiting = worker.lane.waiting
                try:
                    result = worker.pipe.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    worker.process.join()
                    if worker.given:
                        yield worker.given.popleft(), WorkerDied(worker.process.exitcode)
                    # Those behind it are not to blame.
                    waiting.extendleft(reversed(worker.given))
                    continue
                task = worker.given.popleft()
                # A task to go on with, unless it would wait here while others have nothing to do.
                _give(worker, 2 if len(waiting) > len(workers) else 1)
                if not worker.given:
                    # Its cores are for others.
                    worker.pipe.close()
                    workers.remove(worker)
                    ended.append(worker)
                yield task, result
    finally:
        for worker in workers:
            worker.pipe.close()
        for worker in (*ended, *workers):
            worker.process.join(0 if worker.given else 5)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


def _taken(workers: Sequence[_Worker[_Task]]) -> int:
    """Return how many cores are at work."""
    return sum(worker.lane.n_cores for worker in workers)


def _give(worker: _Worker[_Task], most: int) -> None:
    """Give a worker tasks until it has so many."""
    while worker.lane.waiting and len(worker.given) < most:
        worker.given.append(worker.lane.waiting.popleft())
        try:
            worker.pipe.send(worker.given[-1])
        except OSError:
            # It is gone; what it has been given is found when its pipe is read.
            return


def _start(work: Callable[[_Task], Any], module: str, lane: _Lane[_Task]) -> _Worker[_Task]:
    # A process forked from a server that has the libraries loaded starts at once, and, unlike one
    # forked from here, inherits no locks of threads.
    context: ForkServerContext | SpawnContext = get_context("spawn")
    if sys.platform == "linux":
        context = get_context("forkserver")
        context.set_forkserver_preload([module])
    ours, theirs = context.Pipe()
    n_threads = lane.n_threads
    # What has several cores may have processes of its own, which those of a daemon may not.
    process = context.Process(target=_serve, args=(work, theirs, n_threads), daemon=n_threads == 1)
    try:
        with _apart():
            process.start()
    except (EOFError, OSError) as error:
        # Otherwise it would look as if somebody had interrupted the run.
        raise OutputError(
            f"no process can be started ({str(error) or 'the one that forks them is gone'}); "
            "what was done is kept: run the same again"
        ) from None
    theirs.close()
    return _Worker(process, ours, lane)


@contextmanager
def _apart() -> Iterator[None]:
    """Start Python so that it takes no module from the folder that the user is in.

    There may be anything, a file `numpy.py` among it.
    """
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE]
        else:
            os.environ[_SAFE] = before


def _serve(work: Callable[[Any], Any], pipe: Connection, n_threads: int) -> None:
    """Do what comes through the pipe, until nobody is at its other end."""
    # Whoever is interrupted closes the pipe.
    signal(SIGINT, SIG_IGN)
    if n_threads < cores():
        # Libraries that are loaded already no longer look at the environment.
        threadpool_limits(n_threads)
        os.environ.update(dict.fromkeys(_THREADS, str(n_threads)))
        limit_threads(n_threads)
    tasks: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    while True:
        try:
            result = work(tasks.get())
        except MemoryError:
            os._exit(_NO_MEMORY)
        try:
            pipe.send(result)
        except OSError:
            return


def _listen(pipe: Connection, tasks: "SimpleQueue[Any]") -> None:
    while True:
        try:
            tasks.put(pipe.recv())
        except (EOFError, OSError):
            # A run that was killed must not go on writing beside the next one.
            os._exit(0)
