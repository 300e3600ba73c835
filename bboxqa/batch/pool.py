"""Pool of processes that run tasks; if one dies, only its task is lost."""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

from bboxqa.core.errors import OutputError
from bboxqa.core.interrupts import blocked_signals
from bboxqa.core.parallel import cores, limit_threads

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

# Keeps Python from importing modules of the current folder.
_SAFE = "PYTHONSAFEPATH"
# Threads of libraries in several processes would compete for the same cores.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

# Exit status of a worker that ran out of memory.
_NO_MEMORY = 112


@dataclass(frozen=True, slots=True)
class WorkerDied:
    """A process that ended before its task was done; `str` gives the reason."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class TimedOut(WorkerDied):
    """A process that was ended because its task took too long."""


def exit_reason(exit_code: int | None) -> str:
    """Return in words how a process ended; a negative code is the signal that ended it.

    Examples
    --------
    >>> exit_reason(-9), exit_reason(3)
    ('its process was ended by signal 9 (out of memory?)', 'its process ended with status 3')
    """
    if exit_code is not None and exit_code < 0:
        hint = " (out of memory?)" if exit_code == -9 else ""
        return f"its process was ended by signal {-exit_code}{hint}"
    if exit_code == _NO_MEMORY:
        return "its process ran out of memory"
    return f"its process ended with status {exit_code}"


Outcome = tuple[_Task, _Result | WorkerDied]


@dataclass(slots=True, eq=False)
class _Worker(Generic[_Task]):
    process: BaseProcess
    pipe: Connection
    given: deque[_Task] = field(default_factory=deque)
    begun: float = field(default_factory=time.monotonic)
    is_late: bool = False


def run_all(
    tasks: Sequence[_Task],
    work: Callable[[_Task], _Result],
    module: str,
    jobs: int,
    seconds: float | None = None,
) -> Generator[Outcome[_Task, _Result]]:
    """Run tasks in several processes; yield each with its result, or WorkerDied, when it is done.

    Tasks are started in the given order, in at most `jobs` processes, which are forked with
    `module` loaded. Tasks and `work` are pickled. A task whose process died is tried once more at
    the end, alone. With one job a task may use all cores; if there are fewer tasks than jobs, they
    share the cores. A task that takes more than `seconds` is ended, and not tried again.
    """
    again = []
    is_wide = len(tasks) < jobs or jobs == 1
    n_threads = max(1, cores() // min(jobs, max(1, len(tasks)))) if is_wide else 1
    start = partial(_start, work, module, n_threads)
    with closing(_run(deque(tasks), start, jobs, seconds)) as outcomes:
        for task, result in outcomes:
            if isinstance(result, WorkerDied) and not isinstance(result, TimedOut):
                again.append(task)
            else:
                yield task, result
    # One process with one thread needs the least memory.
    start = partial(_start, work, module, 1)
    for task in again:
        yield from _run(deque([task]), start, 1, seconds)


def _run(
    waiting: deque[_Task],
    start: Callable[[], _Worker[_Task]],
    jobs: int,
    seconds: float | None,
) -> Generator[Outcome[_Task, Any]]:
    workers: list[_Worker[_Task]] = []
    ended: list[_Worker[_Task]] = []
    try:
        while workers or waiting:
            while waiting and len(workers) < jobs:
                workers.append(start())
                _give(workers[-1], waiting, 1)
            ready = wait([worker.pipe for worker in workers], _remaining(workers, seconds))
            _end_late(workers, ready, seconds)
            for worker in [worker for worker in workers if worker.pipe in ready]:
                try:
                    result = worker.pipe.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    worker.process.join()
                    if worker.given:
                        yield worker.given.popleft(), _death(worker, seconds)
                    # The worker's other tasks return to the queue.
                    waiting.extendleft(reversed(worker.given))
                    continue
                task = worker.given.popleft()
                worker.begun = time.monotonic()
                # Each worker holds one more task, unless another worker would be idle for it.
                _give(worker, waiting, 2 if len(waiting) > len(workers) else 1)
                if not worker.given:
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


def _remaining(workers: Sequence[_Worker[_Task]], seconds: float | None) -> float | None:
    """Return the seconds until the next task is late; None if there is no limit."""
    if seconds is None:
        return None
    return max(0, min(worker.begun for worker in workers) + seconds - time.monotonic())


def _end_late(
    workers: Sequence[_Worker[_Task]], ready: Sequence[object], seconds: float | None
) -> None:
    """End the workers whose tasks take too long; their pipes are read next."""
    if seconds is None:
        return
    for worker in workers:
        if worker.pipe not in ready and time.monotonic() >= worker.begun + seconds:
            worker.is_late = True
            worker.process.kill()


def _death(worker: _Worker[_Task], seconds: float | None) -> WorkerDied:
    if worker.is_late:
        return TimedOut(f"took more than {seconds:g} s, see --project-timeout")
    return WorkerDied(exit_reason(worker.process.exitcode))


def _give(worker: _Worker[_Task], waiting: deque[_Task], most: int) -> None:
    """Send a worker tasks until it has `most`."""
    while waiting and len(worker.given) < most:
        worker.given.append(waiting.popleft())
        try:
            worker.pipe.send(worker.given[-1])
        except OSError:
            # The worker has died; this is handled when its pipe is read.
            return


def _start(work: Callable[[_Task], Any], module: str, n_threads: int) -> _Worker[_Task]:
    # A process forked from a server that has the libraries loaded starts at once; unlike one
    # forked from this process, it does not inherit locks that threads hold.
    context: ForkServerContext | SpawnContext = get_context("spawn")
    if sys.platform == "linux":
        context = get_context("forkserver")
        context.set_forkserver_preload([module])
    ours, theirs = context.Pipe()
    # A worker with several cores may start processes, which a daemon may not.
    environment = {**os.environ, _SAFE: "1"}
    process = context.Process(
        target=_serve, args=(work, theirs, n_threads, environment), daemon=n_threads == 1
    )
    try:
        with _apart():
            if sys.platform == "linux":
                _start_server()
            # An interrupt while the process receives its arguments would print a traceback.
            with blocked_signals():
                process.start()
    except (EOFError, OSError) as error:
        # Unchanged, the error would look like an interrupted run.
        raise OutputError(
            f"no process can be started ({str(error) or 'the server that forks them has ended'}); "
            "what was done is kept: run it again"
        ) from None
    theirs.close()
    return _Worker(process, ours)


def _start_server() -> None:
    """Start the server that forks processes, unless it runs, with interrupts blocked."""
    from multiprocessing import forkserver, resource_tracker

    # The start of the tracker unblocks signals.
    resource_tracker.ensure_running()
    with blocked_signals():
        forkserver.ensure_running()


@contextmanager
def _apart() -> Iterator[None]:
    """Keep new processes from importing modules of the current folder, such as a `numpy.py`."""
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE]
        else:
            os.environ[_SAFE] = before


def _serve(
    work: Callable[[Any], Any], pipe: Connection, n_threads: int, environment: Mapping[str, str]
) -> None:
    """Run the tasks that come through the pipe until its other end is closed."""
    # A forked process has the environment of the first run, maybe without the keys of a store.
    os.environ.clear()
    os.environ.update(environment)
    # The parent process is interrupted as well, and closes the pipe.
    signal(SIGINT, SIG_IGN)
    if n_threads < cores():
        # Loaded libraries do not read the environment again.
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
            # The workers of a killed run must not write while the next run does.
            os._exit(0)
