"""Tasks in processes of this machine, or on a Dask cluster; if one dies, only its task is lost."""

import os
import re
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import msgspec
from threadpoolctl import threadpool_limits

from bboxqa.core.errors import BboxqaError, ConfigError, OutputError
from bboxqa.core.interrupts import blocked_signals
from bboxqa.core.machine import cores, limit_threads

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

    from distributed import Client, Future

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

# Keeps processes, and the server that forks them, from importing modules of the current folder.
_SAFE = "PYTHONSAFEPATH"
# Threads of libraries in several processes would compete for the same cores.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Exit status of a process that ran out of memory, and the seconds that one may take to end.
_NO_MEMORY, _SECONDS_TO_END = 112, 5
_ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://[^\s/]+:\d+")
_LOCAL = re.compile(r"local(?::([1-9]\d*))?")
_GONE = "the scheduler has closed; what was done is kept: run it again"
_SECONDS_TO_ANSWER = 5
# Clusters that grow on demand may take minutes to start the first worker.
_SECONDS_TO_JOIN = 600


class WorkerDied(msgspec.Struct, frozen=True):
    """A process that ended before its task was done, and why."""

    reason: str


class TimedOut(WorkerDied, frozen=True):
    """A process that was ended because its task took too long."""


Outcome = tuple[_Task, _Result | WorkerDied]


def exit_reason(exit_code: int | None) -> str:
    """Return in words how a process ended; a negative code is the signal that ended it."""
    if exit_code in (-9, _NO_MEMORY):
        how = "was ended by signal 9" if exit_code == -9 else "ended"
        return f"its process {how} (out of memory?)"
    return f"its process ended with status {exit_code}"


def run_all(
    tasks: Sequence[_Task],
    work: Callable[[_Task], _Result],
    module: str,
    jobs: int,
    seconds: float | None = None,
) -> Generator[Outcome[_Task, _Result]]:
    """Run each task in a process of its own; yield it with its result, or WorkerDied, when done.

    A task whose process died is run once more at the end, alone; fewer than `jobs` share the cores.
    """
    is_wide = len(tasks) < jobs or jobs == 1
    n_threads = max(1, cores() // min(jobs, max(1, len(tasks)))) if is_wide else 1
    again = []
    first = _run_here(tasks, partial(_start, work, module, n_threads), jobs, seconds)
    with closing(first) as outcomes:
        for task, result in outcomes:
            if isinstance(result, WorkerDied) and not isinstance(result, TimedOut):
                again.append(task)
            else:
                yield task, result
    for task in again:
        # With one thread and no others beside it, a process needs the least memory.
        yield from _run_here([task], partial(_start, work, module, 1), jobs, seconds)


def _run_here(
    tasks: Sequence[_Task],
    start: Callable[[_Task], tuple[Connection, BaseProcess]],
    jobs: int,
    seconds: float | None,
) -> Generator[Outcome[_Task, Any]]:
    waiting = deque(tasks)
    running: dict[Connection, tuple[_Task, BaseProcess, float]] = {}
    try:
        while running or waiting:
            while waiting and len(running) < jobs:
                pipe, process = start(waiting[0])
                running[pipe] = waiting.popleft(), process, time.monotonic()
            first = min(begun for *_, begun in running.values())
            left = None if seconds is None else max(0.0, first + seconds - time.monotonic())
            ready = {*wait([*running], left)}
            for pipe, (task, process, begun) in [*running.items()]:
                if pipe in ready:
                    try:
                        result = pipe.recv()
                    except (EOFError, OSError):
                        process.join()
                        result = WorkerDied(exit_reason(process.exitcode))
                elif seconds is not None and time.monotonic() >= begun + seconds:
                    result = TimedOut(f"took more than {seconds:g} s, see --project-timeout")
                    process.kill()
                else:
                    continue
                del running[pipe]
                _end(pipe, process)
                yield task, result
    finally:
        for _, process, _ in running.values():
            process.kill()
        for pipe, (_, process, _) in running.items():
            _end(pipe, process)


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
    is_forked = sys.platform == "linux"
    context: ForkServerContext | SpawnContext = get_context("spawn")
    if is_forked:
        context = get_context("forkserver")
        context.set_forkserver_preload([module])
    ours, theirs = context.Pipe()
    # A process with several cores may start processes, which a daemon may not.
    process = context.Process(
        target=_serve, args=(work, task, theirs, n_threads, {**os.environ, _SAFE: "1"}),
        daemon=n_threads == 1,
    )  # fmt: skip
    before, os.environ[_SAFE] = os.environ.get(_SAFE), "1"
    try:
        if is_forked:
            from multiprocessing import forkserver, resource_tracker

            # The start of the tracker unblocks signals.
            resource_tracker.ensure_running()
        # An interrupt while a process receives its arguments would print a traceback.
        with blocked_signals():
            if is_forked:
                forkserver.ensure_running()
            process.start()
    except (EOFError, OSError) as error:
        # Unchanged, the error would look like an interrupted run.
        reason = str(error) or "the server that forks them has ended"
        problem = f"no process can be started ({reason}); what was done is kept: run it again"
        raise OutputError(problem) from None
    finally:
        # The program that called this keeps its own environment.
        os.environ.pop(_SAFE)
        os.environ.update({} if before is None else {_SAFE: before})
    theirs.close()
    return ours, process


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
    warnings.simplefilter("ignore", RuntimeWarning, append=True)
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
    """End this process, which must not outlive its run, once the pipe is closed."""
    try:
        pipe.recv()
    except (EOFError, OSError):
        os._exit(0)


@contextmanager
def connected(scheduler: str) -> "Iterator[Client]":
    """Connect to ``tcp://host:port``, or start a cluster of N processes here for ``local:N``."""
    local = _LOCAL.fullmatch(scheduler)
    if local is None and _ADDRESS.fullmatch(scheduler) is None:
        raise ConfigError(
            f"--scheduler is {scheduler!r}; expected tcp://host:port, local, or local:N"
        )
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ConfigError(
            "a scheduler needs Dask, which is not installed: pip install 'bboxqa[dask]'"
        ) from None
    if local is not None:
        # Any free port, since other clusters may run here.
        cluster = LocalCluster(  # type: ignore[no-untyped-call,unused-ignore]
            n_workers=int(local[1] or cores()), threads_per_worker=1, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs="ERROR",
        )  # fmt: skip
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=_SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, TimeoutError):
        raise ConfigError(
            f"{scheduler}: no Dask scheduler answers; start one with `dask scheduler`"
        ) from None
    with client:
        yield client


def run_on(
    client: "Client", tasks: Sequence[_Task], work: Callable[[_Task], _Result]
) -> Iterator[Outcome[_Task, _Result]]:
    """Run tasks on a cluster; yield each with its result, or WorkerDied, when it is done."""
    from distributed import KilledWorker, as_completed
    from distributed.comm import CommClosedError

    waiting = deque(tasks)
    given: dict[Any, tuple[Future, _Task]] = {}
    done = as_completed([], loop=client.loop)
    try:
        while waiting or given:
            slots = sum(client.nthreads().values())
            # One more task per slot keeps workers busy; more would burden the scheduler.
            while waiting and len(given) < max(2, 2 * slots):
                key = f"project-{uuid4().hex}"
                future = client.submit(work, waiting[0], key=key, pure=False)
                given[key] = future, waiting.popleft()
                done.add(future)
            if not slots:
                try:
                    client.wait_for_workers(1, timeout=_SECONDS_TO_JOIN)
                except TimeoutError:
                    problem = "no worker has joined the scheduler; start some with `dask worker`"
                    raise ConfigError(problem) from None
            finished = next(done)
            if finished.cancelled():
                raise ConfigError(_GONE)
            result: Any
            try:
                result = finished.result()
            except KilledWorker:
                result = WorkerDied("its workers died while they ran it (out of memory?)")
            except BboxqaError as error:
                result = WorkerDied(str(error))
            except Exception as error:  # noqa: BLE001 - one project never stops the others
                result = WorkerDied(f"{type(error).__name__}: {error}")
            yield given.pop(finished.key)[1], result
    except CommClosedError:
        raise ConfigError(_GONE) from None
    finally:
        with suppress(OSError):
            client.cancel([future for future, _ in given.values()])
