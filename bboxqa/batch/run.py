"""A run over many projects: what is unchanged is taken over, the rest is done in parallel."""

import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bboxqa.batch.history import Regression, append, last_rows, names_of_last_run, regressions
from bboxqa.batch.keys import result_key
from bboxqa.batch.outputs import WRITTEN, write_outputs
from bboxqa.batch.project import LONG, recorded, worth_two_processes
from bboxqa.batch.projects.discovery import Discovered, Project, discover, home_of
from bboxqa.batch.projects.store import is_url
from bboxqa.batch.projects.store_discovery import find_projects
from bboxqa.batch.result_folders import FAILURE, folder_of, note_failure
from bboxqa.batch.rows import FAILED, Row, Settings
from bboxqa.batch.workers.pool import Outcome, WorkerDied, run_all
from bboxqa.batch.workers.schedule import n_two_core
from bboxqa.batch.workers.transport import Task, run_task
from bboxqa.core.errors import BboxqaError, DatasetError, OutputError
from bboxqa.core.files import UNFINISHED_FOLDERS, unfinished
from bboxqa.core.parallel import can_fork
from bboxqa.core.text import clean
from bboxqa.core.version import __version__

__all__ = ["BatchResult", "Step", "run_batch"]

_LOCK = ".lock"

_Engine = Callable[[Sequence[Task], Settings, Path], Iterator[Outcome[Task, Row]]]


@dataclass(frozen=True, slots=True)
class Step:
    """A project that is done.

    Attributes
    ----------
    row : Row
    reused : bool
        Whether its last result was taken over.
    done, total : int
        How many projects are done, and how many there are.
    """

    row: Row
    reused: bool
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came of a run.

    Attributes
    ----------
    found : Discovered
    rows : tuple of Row
        Sorted by project.
    n_reused : int
        How many were unchanged.
    n_left : int
        How many were not run, since the run was stopped.
    worse : tuple of Worse
        What became worse since the last run.
    """

    found: Discovered
    rows: tuple[Row, ...]
    n_reused: int
    n_left: int
    worse: tuple[Regression, ...]

    @property
    def passed(self) -> bool:
        """Whether no project failed and no gate did."""
        return all(row.passed for row in self.rows)


def run_batch(
    root: str | Path,
    out: Path,
    settings: Settings,
    *,
    pattern: str | None = None,
    jobs: int = 1,
    fresh: bool = False,
    fail_fast: bool = False,
    scheduler: str | None = None,
    part_size: int | None = None,
    tell: Callable[[Step], None] | None = None,
) -> BatchResult:
    """Validate and measure every project below a folder.

    Parameters
    ----------
    root : path or URL
        A URL such as ``s3://bucket/prefix`` is read through fsspec.
    out : Path
        The folder of the results; made if it is not there.
    settings : Settings
    pattern : str, optional
        A glob that the names of COCO files have to match.
    jobs : int
        How many projects are worked on at a time.
    fresh : bool
        Do all of them again, also what is unchanged.
    fail_fast : bool
        Stop at the first project that fails or misses a gate; what is done by then is kept.
    scheduler : str, optional
        Run on a cluster of Dask: ``tcp://host:port``, or ``local:N``; see `connected`.
    part_size : int, optional
        Annotations of a part of a large project there.
    tell : callable, optional
        Is told of each project that is done.

    Returns
    -------
    BatchResult

    Raises
    ------
    ConfigError
        If the scheduler is none, or does not answer.
    DatasetError
        If there is no such folder.
    OutputError
        If the results cannot be written, or another run is at work on them.
    """
    _check_out(out, root)
    found = find_projects(root, pattern, skip=out)
    if not found.projects:
        # A folder that is not mounted must not take the place of what is known.
        return BatchResult(found, (), 0, 0, ())
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with _locked(out), _engine(scheduler, jobs, part_size) as run:
        _tidy(out)
        before = last_rows(out)
        spoiled = _spoiled(found, before)
        names = {row.project for row in spoiled}
        projects = [project for project in found.projects if project.name not in names]
        rows, n_reused = _rows(
            run, projects, spoiled, settings, out,
            jobs=jobs, fresh=fresh, fail_fast=fail_fast, tell=tell,
        )  # fmt: skip
        # What processes that died have left.
        _tidy(out)
        n_left = len(projects) + len(spoiled) - len(rows)
        worse = (*regressions(before, rows), *_gone(root, out, rows, pattern))
        write_outputs(out, found, rows, worse)
        if not n_left:
            append(out, started, __version__, rows)
    return BatchResult(found, rows, n_reused, n_left, worse)


def _rows(
    run: _Engine,
    projects: Sequence[Project],
    spoiled: Sequence[Row],
    settings: Settings,
    out: Path,
    *,
    jobs: int,
    fresh: bool,
    fail_fast: bool,
    tell: Callable[[Step], None] | None,
) -> tuple[tuple[Row, ...], int]:
    """Return what came of each project, sorted, and how many of them were unchanged."""
    rows: dict[str, Row] = {}
    n_projects = len(projects) + len(spoiled)

    def done(row: Row, *, reused: bool) -> None:
        rows[row.project] = row
        if tell is not None:
            tell(Step(row, reused, len(rows), n_projects))

    for row in spoiled:
        _explain(out, row)
        done(row, reused=False)
    pending = []
    n_reused = 0
    # Hashing lets go of the lock of the interpreter.
    with ThreadPoolExecutor(jobs) as threads:
        all_known = threads.map(partial(_known, settings=settings, out=out), projects)
        try:
            for project, (key, known) in zip(projects, all_known, strict=True):
                if known is not None and (key is None or not fresh):
                    n_reused += key is not None
                    done(known, reused=key is not None)
                elif key is not None:
                    pending.append((project, key))
        except BaseException:
            # Nobody waits for the hashes of a run that is interrupted.
            threads.shutdown(cancel_futures=True)
            raise
    # The largest first: a long one at the end would leave the other processes idle.
    pending.sort(key=lambda task: (-task[0].size, task[0].name))
    if fail_fast and any(not row.passed for row in rows.values()):
        pending = []
    for (project, _), outcome in run(pending, settings, out):
        row = _died(project, outcome) if isinstance(outcome, WorkerDied) else outcome
        _explain(out, row)
        done(row, reused=False)
        if fail_fast and not row.passed:
            break
    return tuple(rows[name] for name in sorted(rows)), n_reused


def _check_out(out: Path, root: str | Path) -> None:
    """Refuse a folder of projects: it would not be looked into the next time."""
    used = (out / _LOCK).exists()
    own = [] if used or not out.is_dir() else [each.folder for each in discover(out).projects]
    if out in own or (not is_url(str(root)) and out.resolve() == Path(root).resolve()):
        raise OutputError(
            f"{out}: holds the projects, or one of them; name another folder with --out"
        )


def _spoiled(found: Discovered, before: Mapping[str, Row]) -> list[Row]:
    """Return projects that cannot be run as they are, and are not to be missed for that.

    What is in their files is not COCO now, and was; or one of their files cannot be read.
    """
    names = {clean(project.name) for project in found.projects}
    rows: dict[str, Row] = {}
    for file in found.left_alone:
        name = home_of(Path(file)).as_posix()
        if clean(name) in before and clean(name) not in names:
            message = f"{file}: is not COCO json now, but was in the last run"
            rows[name] = Row(name, FAILED, 0, passed=False, message=message)
    for unreadable in found.unreadable:
        path = Path(unreadable.path)
        is_json = path.suffix.lower() == ".json"
        # A folder is that of the project, or a part of it.
        name = home_of(path if is_json else path / "_").as_posix()
        # A name that leads out of a store is not an export; what a folder holds is not known.
        is_export = is_json and ".." not in path.parts
        if is_export or clean(name) in before or clean(name) in names:
            rows[name] = Row(name, FAILED, 0, passed=False, message=str(unreadable))
    return list(rows.values())


def _gone(
    root: str | Path, out: Path, rows: Sequence[Row], pattern: str | None
) -> Iterator[Regression]:
    """Yield projects of the last run whose folder, or whose files, are not there any more."""
    if is_url(str(root)):
        return
    here = {clean(row.project) for row in rows}
    for name in names_of_last_run(out):
        # A name with an escape in it is not that of the folder.
        if name in here or "\\" in name:
            continue
        if _is_gone(Path(root) / name):
            yield Regression(name, "project folder no longer exists")
        elif pattern is None and _is_bare(Path(root) / name):
            yield Regression(name, "project folder no longer holds COCO json")


def _is_gone(folder: Path) -> bool:
    """Return whether a folder is not there; of one that cannot be looked into nobody knows."""
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _is_bare(folder: Path) -> bool:
    """Return whether there is no project in a folder; where it cannot be read nobody knows."""
    try:
        found = discover(folder)
    except DatasetError:
        return False
    return not found.projects and not found.unreadable


def _known(project: Project, settings: Settings, out: Path) -> tuple[str | None, Row | None]:
    """Return the key of a project, and its row if that is known.

    Without a key it cannot be run, and the row says why.
    """
    with suppress(OSError):
        (folder_of(out, project.name) / FAILURE).unlink(missing_ok=True)
    try:
        key = result_key(project, settings)
    except (BboxqaError, OSError) as error:
        note_failure(out, project.name, "".join(traceback.format_exception(error)))
        return None, _unread(project, error)
    record = recorded(out, project.name)
    return key, record[1] if record is not None and record[0] == key else None


@contextmanager
def _engine(scheduler: str | None, jobs: int, part_size: int | None) -> Iterator[_Engine]:
    """Yield what runs projects: the processes of this machine, or a cluster."""
    if scheduler is None:

        def run(tasks: Sequence[Task], settings: Settings, out: Path) -> Iterator[Any]:
            work = partial(run_task, settings=settings, out=out)
            sizes = [project.size for project, _ in tasks]
            # Where memory is scarce, or no process can be forked, a project keeps to one core. It
            # is the largest ones that get two, so the largest decides.
            gains = tasks and can_fork() and worth_two_processes(sizes[0], settings.memory)
            n_wide = n_two_core(sizes, jobs, LONG) if gains else 0
            return run_all(tasks, work, "bboxqa.batch.workers.transport", jobs, n_wide)

        yield run
        return
    from bboxqa.batch.workers.cluster import connected, run_projects

    with connected(scheduler) as client:
        yield partial(run_projects, client, part_size=part_size)


def _unread(project: Project, error: BboxqaError | OSError) -> Row:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    message = str(reason or error)
    return Row(project.name, FAILED, len(project.files), passed=False, message=message)


def _died(project: Project, outcome: WorkerDied) -> Row:
    return Row(project.name, FAILED, len(project.files), passed=False, message=str(outcome))


def _explain(out: Path, row: Row) -> None:
    """Write why a project failed where it could not do so itself: it died, or ran elsewhere."""
    if row.status != FAILED or (folder_of(out, row.project) / FAILURE).exists():
        return
    known = recorded(out, row.project)
    if known is None or known[1] != row:
        note_failure(out, row.project, f"{row.message}\n")


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Keep other runs out of a folder; the lock goes with the process that holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(out / _LOCK, timeout=0)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise OutputError(
            f"{out}: another run is at work here; wait for it, or choose another --out"
        ) from None
    except FileExistsError:
        raise OutputError(f"{out}: is a file; name a folder with --out") from None
    except OSError as error:
        raise OutputError(f"{out}: cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()


def _tidy(out: Path) -> None:
    """Remove what killed runs have left of unfinished projects and files."""
    for rest in (out / "projects").glob(UNFINISHED_FOLDERS):
        shutil.rmtree(rest, ignore_errors=True)
    # Only what this command writes: another one may be writing into the same folder.
    for name in WRITTEN:
        for rest in out.glob(unfinished(name)):
            with suppress(OSError):
                rest.unlink(missing_ok=True)
