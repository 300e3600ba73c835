"""A process for each task; if one dies, only its task is lost."""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
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
# Exit status of a process that ran out of memory, and the seconds that one may take to end.
_NO_MEMORY, _SECONDS_TO_END = 112, 5


class WorkerDied(msgspec.Struct, frozen=True):
    """A process that ended before its task was done; `str` gives the reason."""

    reason: str

    def __str__(self) -> str:
        return self.reason


class TimedOut(WorkerDied, frozen=True):
    """A process that was ended because its task took too long."""


Outcome = tuple[_Task, _Result | WorkerDied]


class _Running(msgspec.Struct, Generic[_Task], frozen=True):
    """A process at work on a task, and when it began."""

    task: _Task
    process: BaseProcess
    begun: float = msgspec.field(default_factory=time.monotonic)


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


def run_all(
    tasks: Sequence[_Task],
    work: Callable[[_Task], _Result],
    module: str,
    jobs: int,
    seconds: float | None = None,
) -> Generator[Outcome[_Task, _Result]]:
    """Run each task in a process of its own; yield it with its result, or WorkerDied, when done.

    Tasks are started in the given order, at most `jobs` at a time, in processes that are forked
    with `module` loaded. Tasks and `work` are pickled. A task whose process died is tried once more
    at the end, alone. With one job a task may use all cores; if there are fewer tasks than jobs,
    they share the cores. A task that takes more than `seconds` is ended, and not tried again.
    """
    again = []
    is_wide = len(tasks) < jobs or jobs == 1
    n_threads = max(1, cores() // min(jobs, max(1, len(tasks)))) if is_wide else 1
    with closing(_run(tasks, partial(_start, work, module, n_threads), jobs, seconds)) as outcomes:
        for task, result in outcomes:
            if isinstance(result, WorkerDied) and not isinstance(result, TimedOut):
                again.append(task)
            else:
                yield task, result
    # With one thread and no others beside it, a process needs the least memory.
    yield from _run(again, partial(_start, work, module, 1), 1, seconds)


def _run(
    tasks: Sequence[_Task],
    start: Callable[[_Task], tuple[Connection, BaseProcess]],
    jobs: int,
    seconds: float | None,
) -> Generator[Outcome[_Task, Any]]:
    waiting = deque(tasks)
    running: dict[Connection, _Running[_Task]] = {}
    try:
        while running or waiting:
            while waiting and len(running) < jobs:
                task = waiting.popleft()
                pipe, process = start(task)
                running[pipe] = _Running(task, process)
            ready = set(
                wait([*running], _seconds_left((one.begun for one in running.values()), seconds))
            )
            for pipe, one in [*running.items()]:
                if pipe in ready:
                    result = _result_of(pipe, one.process)
                elif seconds is not None and time.monotonic() >= one.begun + seconds:
                    result = TimedOut(f"took more than {seconds:g} s, see --project-timeout")
                    one.process.kill()
                else:
                    continue
                del running[pipe]
                _end(pipe, one.process)
                yield one.task, result
    finally:
        for one in running.values():
            one.process.kill()
        for pipe, one in running.items():
            _end(pipe, one.process)


def _seconds_left(begun: Iterable[float], seconds: float | None) -> float | None:
    """Return the seconds until the next task is late; None if there is no limit."""
    if seconds is None:
        return None
    return max(0.0, min(begun) + seconds - time.monotonic())


def _result_of(pipe: Connection, process: BaseProcess) -> Any:
    try:
        return pipe.recv()
    except (EOFError, OSError):
        process.join()
        return WorkerDied(exit_reason(process.exitcode))


def _end(pipe: Connection, process: BaseProcess) -> None:
    pipe.close()
    process.join(_SECONDS_TO_END)
    if process.is_alive():
        process.kill()
        process.join()


def _start(
    work: Callable[[_Task], Any], module: str, n_threads: int, task: _Task
) -> tuple[Connection, BaseProcess]:
    # A process forked from a server that has the libraries loaded starts at once; unlike one
    # forked from this process, it does not inherit locks that threads hold.
    context: ForkServerContext | SpawnContext = get_context("spawn")
    if sys.platform == "linux":
        context = get_context("forkserver")
        context.set_forkserver_preload([module])
    ours, theirs = context.Pipe()
    # A process with several cores may start processes, which a daemon may not.
    process = context.Process(
        target=_serve,
        args=(work, task, theirs, n_threads, {**os.environ, _SAFE: "1"}),
        daemon=n_threads == 1,
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
    return ours, process


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
    work: Callable[[_Task], Any],
    task: _Task,
    pipe: Connection,
    n_threads: int,
    environment: Mapping[str, str],
) -> None:
    """Run a task, and send its result."""
    # A forked process has the environment of the first run, maybe without the keys of a store.
    os.environ.clear()
    os.environ.update(environment)
    # The parent process is interrupted as well, and ends this one.
    signal(SIGINT, SIG_IGN)
    if n_threads < cores():
        # Loaded libraries do not read the environment again.
        threadpool_limits(n_threads)
        os.environ.update(dict.fromkeys(_THREADS, str(n_threads)))
        limit_threads(n_threads)
    Thread(target=_end_with_parent, args=(pipe,), daemon=True).start()
    try:
        result = work(task)
    except MemoryError:
        os._exit(_NO_MEMORY)
    with suppress(OSError):
        pipe.send(result)


def _end_with_parent(pipe: Connection) -> None:
    """End this process once the other end of the pipe is closed.

    The processes of a killed run must not write while the next run does.
    """
    try:
        pipe.recv()
    except (EOFError, OSError):
        os._exit(0)
