"""A run over many projects: unchanged ones keep their results, the others run in parallel."""

import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bboxqa.batch.cluster import is_local
from bboxqa.batch.discovery import Discovered, Project, Unreadable, discover, home_of
from bboxqa.batch.history import Regression, append, last_rows, names_of_last_run, regressions
from bboxqa.batch.keys import result_key
from bboxqa.batch.outputs import write_outputs
from bboxqa.batch.pool import Outcome, WorkerDied, run_all
from bboxqa.batch.project import recorded
from bboxqa.batch.results import (
    FAILURE,
    LOCK,
    claim,
    folder_of,
    locked,
    note_failure,
    refuse_foreign,
    remove_unfinished,
)
from bboxqa.batch.rows import FAILED, Row, Settings, failed_row, shown, shown_row, unused_by_all
from bboxqa.batch.store import find_projects, is_url
from bboxqa.batch.tasks import Task, run_task
from bboxqa.core.errors import ConfigError, DatasetError, OutputError
from bboxqa.core.pseudonyms import check_key
from bboxqa.core.text import clean
from bboxqa.core.version import __version__
from bboxqa.formats.member import ARCHIVES
from bboxqa.formats.registry import suffixes

_Engine = Callable[[Sequence[Task], Settings, Path], Generator[Outcome[Task, Row]]]


@dataclass(frozen=True, slots=True)
class Step:
    """A finished project; `reused` if it is unchanged and keeps its last result."""

    row: Row
    reused: bool
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a run."""

    found: Discovered
    rows: tuple[Row, ...]
    """Sorted by project."""
    n_reused: int
    n_left: int
    """Unchanged projects, and those not run because the run was stopped."""
    worse: tuple[Regression, ...]
    """Results that are worse than in the last run."""
    unused_names: tuple[str, ...] = ()
    """Names of the category map of all projects that no measured project has."""

    @property
    def passed(self) -> bool:
        """Whether all projects ran and passed their gates."""
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
    force: bool = False,
    follow_links: bool = False,
    project_timeout: float | None = None,
    scheduler: str | None = None,
    part_size: int | None = None,
    on_project: Callable[[Step], None] | None = None,
) -> BatchResult:
    """Validate and measure every project below a folder.

    Parameters
    ----------
    root : path or URL
        A URL such as ``s3://bucket/prefix`` is read through fsspec.
    out : Path
        The folder of the results; made if it does not exist.
    settings : Settings
    pattern : str, optional
        A glob that the names of files have to match.
    jobs : int
        Number of projects that run at a time.
    fresh, fail_fast : bool
        Run unchanged projects again; stop at the first project that fails or misses a gate.
    force : bool
        Write to a folder with the results of another root, or with other files.
    follow_links : bool
        Follow links that lead out of the root.
    project_timeout : float, optional
        Seconds after which a project fails; on this machine only.
    scheduler : str, optional
        Run on a Dask cluster: ``tcp://host:port``, or ``local:N``; see `connected`.
    part_size : int, optional
        On a cluster, the number of annotations per part of a large project.
    on_project : callable, optional
        Called with a `Step` after each project.
    """
    _check_out(out, root)
    if settings.pseudonyms is not None:
        check_key(settings.pseudonyms, [out])
        _check_workers(scheduler)
    if not force:
        refuse_foreign(out)
    found = find_projects(root, pattern, skip=out, follow_links=follow_links)
    if not found.projects:
        # Nothing is found if a folder is not mounted: this must not replace the results.
        return BatchResult(_shown_files(found, settings), (), 0, 0, ())
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with locked(out), _engine(scheduler, jobs, part_size, project_timeout) as run:
        claim(out, root, settings.pseudonyms, force=force)
        remove_unfinished(out)
        before = last_rows(out)
        unusable = [shown_row(row, settings) for row in _unusable_projects(found, before)]
        names = {row.project for row in unusable}
        projects = [project for project in found.projects if project.name not in names]
        try:
            how = _How(jobs, fresh, fail_fast, on_project)
            rows, n_reused = _rows(run, projects, unusable, settings, out, how)
        finally:
            # Worker processes that died or were ended may have left some as well.
            remove_unfinished(out)
        n_left = len(projects) + len(unusable) - len(rows)
        worse = (*regressions(before, rows), *_missing_projects(root, out, rows, pattern))
        # Measuring adds people to the key.
        named = _shown_files(found, settings)
        write_outputs(out, named, rows, worse, settings, started)
        if not n_left:
            append(out, started, __version__, rows)
    mapped = {**settings.agree, **settings.agree_over}.get("category_map") or {}
    unused = tuple(unused_by_all(rows, mapped))
    return BatchResult(named, rows, n_reused, n_left, worse, unused)


def _check_workers(scheduler: str | None) -> None:
    """Refuse workers on other machines, which cannot add names to the key of this one."""
    if scheduler is not None and not is_local(scheduler):
        raise ConfigError(
            f"--pseudonyms with --scheduler {scheduler}: its workers may be on other machines, and "
            "cannot add names to the key; run without --scheduler or with local:N, or convert the "
            "files first: bboxqa convert FILE OUT --pseudonyms KEY"
        )


def _check_out(out: Path, root: str | Path) -> None:
    """Refuse a folder of projects as output: the next run would skip it."""
    used = (out / LOCK).exists()
    folders = [] if used or not out.is_dir() else [each.folder for each in discover(out).projects]
    place = None if is_url(str(root)) else Path(root).resolve()
    # The folders of results would replace projects in a folder of that name.
    in_results = place is not None and place.is_relative_to(folder_of(out, ".").parent.resolve())
    if out in folders or in_results or out.resolve() == place:
        raise OutputError(
            f"{out}: holds the projects, or one of them; name another folder with --out"
        )


class _How(NamedTuple):
    """How many projects run at a time, which ones, and who is told."""

    jobs: int
    fresh: bool
    fail_fast: bool
    on_project: Callable[[Step], None] | None


def _rows(
    run: _Engine,
    projects: Sequence[Project],
    unusable: Sequence[Row],
    settings: Settings,
    out: Path,
    how: _How,
) -> tuple[tuple[Row, ...], int]:
    """Return the row of each project, sorted, and the number of unchanged projects."""
    rows: dict[str, Row] = {}
    n_projects = len(projects) + len(unusable)

    def done(row: Row, *, reused: bool) -> None:
        rows[row.project] = row
        if how.on_project is not None:
            how.on_project(Step(row, reused, len(rows), n_projects))

    for row in unusable:
        _explain(out, row)
        done(row, reused=False)
    pending, n_reused = [], 0
    for project, key, last in _last_results(projects, settings, out, how.jobs):
        if last is not None and (key is None or not how.fresh):
            n_reused += key is not None
            done(last, reused=key is not None)
        elif key is not None:
            pending.append((project, key))
    # The largest first: a long one at the end would leave the other processes idle.
    pending.sort(key=lambda task: (-task[0].size, task[0].name))
    if how.fail_fast and any(not row.passed for row in rows.values()):
        pending = []
    # Closing the generator ends its processes.
    with closing(run(pending, settings, out)) as outcomes:
        for (project, _), outcome in outcomes:
            row = failed_row(project, outcome) if isinstance(outcome, WorkerDied) else outcome
            row = shown_row(row, settings)
            _explain(out, row)
            done(row, reused=False)
            if how.fail_fast and not row.passed:
                break
    return tuple(rows[name] for name in sorted(rows)), n_reused


def _last_results(
    projects: Sequence[Project], settings: Settings, out: Path, jobs: int
) -> Iterator[tuple[Project, str | None, Row | None]]:
    """Yield each project with its key, and its row if its result is still valid."""
    # Threads are enough: hashing releases the interpreter lock.
    with ThreadPoolExecutor(jobs) as threads:
        results = threads.map(partial(_last_result, settings=settings, out=out), projects)
        try:
            for project, result in zip(projects, results, strict=True):
                yield project, *result
        except BaseException:
            # An interrupted run does not wait for the other hashes.
            threads.shutdown(cancel_futures=True)
            raise


def _last_result(project: Project, settings: Settings, out: Path) -> tuple[str | None, Row | None]:
    """Return the key of a project, and its row if its result is still valid."""
    with suppress(OSError):
        (folder_of(out, project.name) / FAILURE).unlink(missing_ok=True)
    try:
        key = result_key(project, settings)
    except Exception as error:  # noqa: BLE001 - one project never stops the others
        text = "".join(traceback.format_exception(error))
        note_failure(out, project.name, shown(text, settings))
        return None, shown_row(failed_row(project, error), settings)
    record = recorded(out, project.name, pages=settings.pages)
    return key, record[1] if record is not None and record[0] == key else None


@contextmanager
def _engine(
    scheduler: str | None, jobs: int, part_size: int | None, seconds: float | None
) -> Iterator[_Engine]:
    """Yield a function that runs projects: in processes of this machine, or on a cluster."""
    if scheduler is None:
        yield partial(_run_here, jobs=jobs, seconds=seconds)
        return
    from bboxqa.batch.cluster import connected, run_projects

    with connected(scheduler) as client:
        yield partial(run_projects, client, part_size=part_size)


def _run_here(
    tasks: Sequence[Task], settings: Settings, out: Path, *, jobs: int, seconds: float | None
) -> Generator[Any]:
    work = partial(run_task, settings=settings, out=out)
    return run_all(tasks, work, "bboxqa.batch.tasks", jobs, seconds)


def _explain(out: Path, row: Row) -> None:
    """Write why a project failed if its own process could not, as it died or ran elsewhere."""
    if row.status != FAILED or (folder_of(out, row.project) / FAILURE).exists():
        return
    last = recorded(out, row.project)
    if last is None or last[1] != row:
        note_failure(out, row.project, f"{row.message}\n")


def _shown_files(found: Discovered, settings: Settings) -> Discovered:
    """Return what was found with pseudonyms in the names of files, if the run has a key."""
    if settings.pseudonyms is None:
        return found
    return replace(
        found,
        left_alone=tuple(shown(each, settings) for each in found.left_alone),
        unreadable=tuple(
            Unreadable(*(shown(text, settings) for text in each)) for each in found.unreadable
        ),
        not_read=tuple(
            Unreadable(*(shown(text, settings) for text in each)) for each in found.not_read
        ),
    )


def _unusable_projects(found: Discovered, before: Mapping[str, Row]) -> list[Row]:
    """Return failed rows of projects whose files have no annotations, or cannot be read."""
    folders = {Path(project.name) for project in found.projects}
    known = {clean(project.name): project.name for project in found.projects}
    rows: dict[str, list[str]] = {}
    for file in found.left_alone:
        name = home_of(Path(file), folders).as_posix()
        if clean(name) in before and clean(name) not in known:
            rows[name] = [f"{file}: no longer has annotations that are read"]
    for unreadable in found.unreadable:
        path = Path(unreadable.path)
        is_json = path.suffix.lower() == ".json"
        # An unreadable folder is that of a project, or a part of one.
        is_file = path.name.lower().endswith((*suffixes(), *ARCHIVES))
        name = home_of(path if is_file else path / "_", folders).as_posix()
        if known.get(clean(name), name) != name:
            # Another project with the same shown name has the place in the results.
            continue
        # A name that leads out of a store is not an export; the content of a folder is unknown.
        is_export = is_json and ".." not in path.parts
        if is_export or clean(name) in before or clean(name) in known:
            rows.setdefault(name, []).append(str(unreadable))
    more = {name: len(each) - 1 for name, each in rows.items()}
    return [
        Row(
            name, FAILED, 0, passed=False,
            message=problems[0] + (f" (and {more[name]:,} more)" if more[name] else ""),
        )
        for name, problems in rows.items()
    ]  # fmt: skip


def _missing_projects(
    root: str | Path, out: Path, rows: Sequence[Row], pattern: str | None
) -> Iterator[Regression]:
    """Yield projects of the last run whose folder or files no longer exist."""
    if is_url(str(root)):
        return
    here = {clean(row.project) for row in rows}
    for name in names_of_last_run(out):
        # Names with escaped characters are not the names of folders.
        what = None if name in here or "\\" in name else _loss(Path(root) / name, pattern)
        if what is not None:
            yield Regression(name, what)


def _loss(folder: Path, pattern: str | None) -> str | None:
    """Return the loss of a project; None if there is none, or its folder cannot be read."""
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return "project folder no longer exists"
    except OSError:
        return None
    if pattern is not None:
        return None
    try:
        found = discover(folder, follow_links=True)
    except DatasetError:
        return None
    is_empty = not found.projects and not found.unreadable
    return "project folder no longer holds annotations that are read" if is_empty else None
