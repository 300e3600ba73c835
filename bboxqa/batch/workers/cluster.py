"""Projects, and parts of large ones, as tasks of a Dask cluster."""

import logging
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from bboxqa.batch.projects.discovery import Project
from bboxqa.batch.rows import Row, Settings
from bboxqa.batch.validation import ValidationOutcome
from bboxqa.batch.workers.partition import count_on_cluster
from bboxqa.batch.workers.pool import Outcome, WorkerDied
from bboxqa.batch.workers.transport import (
    PackedResult,
    Task,
    run_packed,
    validate_fetched,
    write_packed,
)
from bboxqa.core.errors import BboxqaError, ConfigError
from bboxqa.core.parallel import cores
from bboxqa.core.version import __version__

if TYPE_CHECKING:
    from distributed import Client, Future

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://[^\s/]+:\d+")
_LOCAL = re.compile(r"local(?::([1-9]\d*))?")
_GONE = "the scheduler has closed; what was done is kept: run it again"
_SECONDS_TO_ANSWER = 5
# Clusters that grow on demand may take minutes to start the first worker.
_SECONDS_TO_JOIN = 600
# A project with more bytes of JSON stays in the memory of its worker while other workers validate
# it and match its parts; hence a worker measures one such project at a time.
_LARGE = 1 << 26


def is_local(scheduler: str) -> bool:
    """Return whether the workers of a scheduler are processes of this machine."""
    return _LOCAL.fullmatch(scheduler) is not None


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
        with (
            LocalCluster(  # type: ignore[no-untyped-call,unused-ignore]
                n_workers=int(local[1] or cores()),
                threads_per_worker=1,
                host="127.0.0.1",
                # Any free port, since other clusters may run here.
                dashboard_address="127.0.0.1:0",
                silence_logs="ERROR",
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=_SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, TimeoutError):
        raise ConfigError(
            f"{scheduler}: no Dask scheduler answers; start one with `dask scheduler`"
        ) from None
    with _quiet(), client:
        yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress Dask's logs about lost connections, which the error reports."""
    handlers = logging.getLogger("distributed").handlers
    before = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for handler, level in zip(handlers, before, strict=True):
            handler.setLevel(level)


def run_projects(
    client: "Client",
    tasks: Sequence[Task],
    settings: Settings,
    out: Path,
    part_size: int | None = None,
) -> Generator[Outcome[Task, Row]]:
    """Run projects on a cluster; write the folder of each on this machine when it is done.

    Workers need no access to the folder of the run. `part_size` is the number of annotations per
    part; the default takes about half a second to match.
    """
    work = partial(_pack, settings=settings, version=__version__, part_size=part_size)
    for task, outcome in run_on(client, tasks, work, large=lambda task: task[0].size > _LARGE):
        yield task, outcome if isinstance(outcome, WorkerDied) else write_packed(outcome, out)


def _pack(task: Task, settings: Settings, version: str, part_size: int | None) -> PackedResult:
    project, _ = task
    # Splitting a small project would cost more than it saves.
    is_large = project.size > _LARGE or part_size is not None
    return run_packed(
        task,
        settings,
        _scratch(version),
        partial(count_on_cluster, part_size=part_size),
        partial(_validate_on_worker, project, settings, version) if is_large else None,
    )


def _scratch(version: str) -> Path:
    """Return the folder of this worker; refuse a worker with another version than the run."""
    from distributed import get_worker

    if version != __version__:
        raise ConfigError(f"the worker has bboxqa {__version__}, and this run is of {version}")
    # Dask removes the folders of workers that were killed.
    return Path(get_worker().local_directory)


@contextmanager
def _validate_on_worker(
    project: Project, settings: Settings, version: str, here: Callable[[], ValidationOutcome]
) -> Iterator[Callable[[], ValidationOutcome]]:
    """Validate on another worker, or here if there is none; yield a function that waits for it."""
    from distributed import get_client, get_worker, worker_client

    client, worker = get_client(), get_worker()
    others = client.nthreads().keys() - {worker.address, worker.contact_address}
    if not others:
        found = here()
        yield lambda: found
        return
    future = client.submit(
        _validate,
        project,
        settings,
        version,
        key=f"validate-{uuid4().hex}",
        pure=False,
        # Started projects have priority over others.
        priority=1,
        workers=sorted(others),
        # The other workers may have left the cluster by then.
        allow_other_workers=True,
    )

    def wait() -> ValidationOutcome:
        # Meanwhile the thread leaves the pool of its worker, as it may be the only thread.
        with nullcontext() if future.done() else worker_client():
            try:
                result: ValidationOutcome = future.result()
            except Exception as error:
                raise EOFError from error
        return result

    try:
        yield wait
    finally:
        future.cancel()


def _validate(project: Project, settings: Settings, version: str) -> ValidationOutcome:
    return validate_fetched(project, settings, _scratch(version))


def run_on(
    client: "Client",
    tasks: Sequence[_Task],
    work: Callable[[_Task], _Result],
    *,
    large: Callable[[_Task], bool] = lambda task: False,  # noqa: ARG005
) -> Iterator[Outcome[_Task, _Result]]:
    """Run tasks on a cluster; yield each with its result, or WorkerDied, when it is done.

    Dask repeats the tasks of a worker that died. A task that raises, or whose workers die more
    often than ``distributed.scheduler.allowed-failures``, is tried once more at the end, alone, as
    another task may have killed these workers.

    Tasks are started in the given order; they and `work` are pickled. A worker runs only one
    `large` task at a time.
    """
    from distributed.comm import CommClosedError

    again = []
    try:
        for task, result in _run(client, tasks, work, large):
            if isinstance(result, WorkerDied):
                again.append(task)
            else:
                yield task, result
        for task in again:
            yield from _run(client, [task], work, large)
    except CommClosedError:
        raise ConfigError(_GONE) from None


def _run(
    client: "Client",
    tasks: Sequence[_Task],
    work: Callable[[_Task], _Result],
    large: Callable[[_Task], bool],
) -> Iterator[Outcome[_Task, _Result]]:
    from distributed import as_completed

    waiting = {size: deque(task for task in tasks if large(task) == size) for size in (True, False)}
    given: dict[bool, dict[Any, tuple[Future, _Task]]] = {True: {}, False: {}}
    done = as_completed([], loop=client.loop)
    try:
        while any(waiting.values()) or any(given.values()):
            slots = list(client.nthreads().values())
            # One more task per slot keeps workers busy; more would burden the scheduler.
            room = {True: max(1, len(slots)), False: max(2, 2 * sum(slots))}
            for size, queue in waiting.items():
                while queue and len(given[size]) < room[size]:
                    task = queue.popleft()
                    key = f"project-{uuid4().hex}"
                    future = client.submit(work, task, key=key, pure=False)
                    given[size][key] = future, task
                    done.add(future)
            if not slots:
                _wait_for_worker(client)
            finished = next(done)
            size = finished.key in given[True]
            _, task = given[size].pop(finished.key)
            yield task, _result_of(finished)
    finally:
        with suppress(OSError):
            client.cancel([future for part in given.values() for future, _ in part.values()])


def _wait_for_worker(client: "Client") -> None:
    try:
        client.wait_for_workers(1, timeout=_SECONDS_TO_JOIN)
    except TimeoutError:
        raise ConfigError(
            f"no worker has joined the scheduler in {_SECONDS_TO_JOIN // 60} minutes; "
            "start some with `dask worker`"
        ) from None


def _result_of(future: "Future") -> Any:
    from distributed import KilledWorker

    if future.cancelled():
        raise ConfigError(_GONE)
    try:
        return future.result()
    except KilledWorker as error:
        times = error.allowed_failures + 1
        return WorkerDied(f"its workers died {times} times while they ran it (out of memory?)")
    except BboxqaError as error:
        return WorkerDied(str(error))
    except Exception as error:  # noqa: BLE001 - one project never stops the others
        return WorkerDied(f"{type(error).__name__}: {error}")
