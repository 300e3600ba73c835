"""Projects, and parts of large ones, as tasks of a Dask cluster."""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from msgspec.structs import replace

from bboxqa.batch.pool import Outcome, WorkerDied
from bboxqa.batch.project import PackedResult, Task, run_packed, write_packed
from bboxqa.batch.rows import Row, Settings
from bboxqa.core.errors import BboxqaError, ConfigError
from bboxqa.core.parallel import cores
from bboxqa.core.version import __version__
from bboxqa.geometry.similarities.registry import needs_outlines
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import (
    AgreementCounts,
    ImagePart,
    count_part,
    join_counted,
    split_images,
)

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
# A project with more bytes of JSON stays in the memory of its worker while other workers match its
# parts; hence a worker measures one such project at a time.
_LARGE = 1 << 26
# Annotations per part: half a second of work, much longer than sending them.
_BOXES, _OUTLINES = 200_000, 50_000
# The number of parts that one task joins.
_FAN_IN = 8


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
    with client:
        yield client


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
    count_all = partial(count_on_cluster, part_size=part_size)
    return run_packed(task, settings, _scratch(version), count_all)


def _scratch(version: str) -> Path:
    """Return the folder of this worker; refuse a worker with another version than the run."""
    from distributed import get_worker

    if version != __version__:
        raise ConfigError(f"the worker has bboxqa {__version__}, and this run is of {version}")
    # Dask removes the folders of workers that were killed.
    return Path(get_worker().local_directory)


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


def count_on_cluster(
    whole: ImagePart,
    settings: AgreeSettings,
    *,
    greedy: bool,
    progress: Any = None,
    part_size: int | None = None,
) -> AgreementCounts:
    """Count agreement in parts on the workers of a cluster; called on one of them.

    Meanwhile the thread leaves the pool of its worker, so that parts can run there. Parts are sent
    directly to the workers that match them, not through the scheduler.
    """
    count = partial(count_part, settings=settings, greedy=greedy)
    size = part_size or (_OUTLINES if needs_outlines(settings.similarity) else _BOXES)
    n_parts = -(-len(whole.data.annotations) // size)
    # Names are not sent, as counting does not need them.
    parts = list(map(_bare, split_images(whole, n_parts))) if n_parts > 1 else []
    if len(parts) < 2:
        return count(whole, progress=progress)
    from distributed import worker_client

    with worker_client() as client:
        sent = client.scatter(parts, hash=False)
        del parts
        # Started projects have priority over others.
        submit = partial(client.submit, pure=False, priority=1)
        level = [submit(count, part, key=f"part-{uuid4().hex}") for part in sent]
        while len(level) > 1:
            level = [
                submit(join_counted, level[start : start + _FAN_IN], key=f"join-{uuid4().hex}")
                for start in range(0, len(level), _FAN_IN)
            ]
        try:
            counted: AgreementCounts = level[0].result()
        except BboxqaError:
            # In one part, the error has all problems and the names of images.
            return count(whole, progress=progress)
    return counted


def _bare(part: ImagePart) -> ImagePart:
    nameless = ("",) * len(part.data.image_names)
    data = replace(part.data, image_names=nameless, sources=(), notes=(), attribution="")
    return replace(part, data=data)
