"""A run over many projects: unchanged ones keep their results, the others run in parallel."""

import os
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from bboxqa.batch.discovery import Discovered, Project, Unreadable, discover, home_of
from bboxqa.batch.project import Task, run_task
from bboxqa.batch.results import (
    FAILURE,
    LOCK,
    Regression,
    append,
    claim,
    folder_of,
    last_rows,
    names_of_last_run,
    note_failure,
    recorded,
    refuse_foreign,
    regressions,
    remove_unfinished,
    write_outputs,
)
from bboxqa.batch.rows import (
    FAILED,
    Row,
    Settings,
    failed_row,
    result_key,
    shown,
    shown_row,
    unused_by_all,
)
from bboxqa.batch.store import find_projects, is_url
from bboxqa.batch.workers import Outcome, WorkerDied, is_local, run_all
from bboxqa.core.errors import ConfigError, OutputError
from bboxqa.core.files import locked
from bboxqa.core.pseudonyms import check_key
from bboxqa.core.text import clean
from bboxqa.core.version import __version__
from bboxqa.formats.member import ARCHIVES
from bboxqa.formats.registry import suffixes

_EMPTY = "no longer has annotations that are read"
_Engine = Callable[[Sequence[Task], Settings, Path], Generator[Outcome[Task, Row]]]


class Step(msgspec.Struct, frozen=True):
    """A finished project; `reused` if it is unchanged and keeps its last result."""

    row: Row
    reused: bool
    done: int
    total: int


class BatchResult(msgspec.Struct, frozen=True):
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


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How projects are found, and how many of them are run where."""

    pattern: str | None = None
    """A glob that the names of files have to match."""
    jobs: int = 1
    """Number of projects that run at a time."""
    fresh: bool = False
    fail_fast: bool = False
    """Run unchanged projects again; stop at the first project that fails or misses a gate."""
    force: bool = False
    """Write to a folder with the results of another root, or with other files."""
    follow_links: bool = False
    """Follow links that lead out of the root."""
    project_timeout: float | None = None
    """Seconds after which a project fails; on this machine only."""
    scheduler: str | None = None
    """Run on a Dask cluster: ``tcp://host:port``, or ``local:N``; see `connected`."""
    part_size: int | None = None
    """On a cluster, the number of annotations per part of a large project."""


def run_batch(
    root: str | Path,
    out: Path,
    settings: Settings,
    run: Run | None = None,
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
    run : Run, optional
        By default one project after the other, without those that are unchanged.
    on_project : callable, optional
        Called with a `Step` after each project.
    """
    run = run or Run()
    _check_out(out, root)
    if settings.pseudonyms is not None:
        check_key(settings.pseudonyms, [out])
        _check_workers(run.scheduler)
    if not run.force:
        refuse_foreign(out)
    found = find_projects(root, run.pattern, skip=out, follow_links=run.follow_links)
    if not found.projects:
        # Nothing is found if a folder is not mounted: this must not replace the results.
        return BatchResult(_shown_files(found, settings), (), 0, 0, ())
    started = datetime.now(UTC).isoformat(timespec="seconds")
    rows: dict[str, Row] = {}
    n_reused = 0
    busy = "another run is at work here; wait for it, or choose another --out"
    with locked(out / LOCK, out, busy), _engine(run) as engine:
        claim(out, root, settings.pseudonyms, force=run.force)
        remove_unfinished(out)
        before = last_rows(out)
        unusable = _unusable_projects(found, before)
        names = {row.project for row in unusable}
        projects = [project for project in found.projects if project.name not in names]
        n_projects = len(projects) + len(unusable)
        try:
            # Closing the steps ends their processes.
            with closing(_steps(engine, projects, unusable, settings, out, run)) as steps:
                for each, reused in steps:
                    row = shown_row(each, settings)
                    if not reused:
                        _explain(out, row)
                    rows[row.project] = row
                    n_reused += reused
                    if on_project is not None:
                        on_project(Step(row, reused, len(rows), n_projects))
        finally:
            # Worker processes that died or were ended may have left some as well.
            remove_unfinished(out)
        of_run = tuple(rows[name] for name in sorted(rows))
        n_left = n_projects - len(rows)
        worse = (*regressions(before, of_run), *_missing_projects(root, out, of_run, run.pattern))
        # Measuring adds people to the key.
        found = _shown_files(found, settings)
        write_outputs(out, found, of_run, worse, settings, started)
        if not n_left:
            append(out, started, __version__, of_run)
    mapped = {**settings.agree, **settings.agree_over}.get("category_map") or {}
    unused = tuple(unused_by_all(of_run, mapped))
    return BatchResult(found, of_run, n_reused, n_left, worse, unused)


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
    if out.is_file():
        raise OutputError(f"{out}: is a file; name a folder with --out")
    if out.is_symlink() and not out.exists():
        raise OutputError(f"{out}: is a link that leads nowhere; name another folder with --out")
    used = (out / LOCK).exists()
    folders = [] if used or not out.is_dir() else [each.folder for each in discover(out).projects]
    place = None if is_url(str(root)) else Path(os.path.realpath(root))
    # The folders of results would replace projects in a folder of that name.
    in_results = place is not None and place.is_relative_to(folder_of(out, ".").parent.resolve())
    if out in folders or in_results or out.resolve() == place:
        raise OutputError(
            f"{out}: holds the projects, or one of them; name another folder with --out"
        )


def _steps(
    engine: _Engine,
    projects: Sequence[Project],
    unusable: Sequence[Row],
    settings: Settings,
    out: Path,
    run: Run,
) -> Generator[tuple[Row, bool]]:
    """Yield the row of each project when it is known, and whether it is that of the last run."""
    yield from ((row, False) for row in unusable)
    has_failed, pending = bool(unusable), []
    # Threads are enough: hashing releases the interpreter lock.
    with ThreadPoolExecutor(run.jobs) as threads:
        results = threads.map(partial(_last_result, settings=settings, out=out), projects)
        for project, (key, last) in zip(projects, results, strict=True):
            if last is not None and (key is None or not run.fresh):
                has_failed |= not last.passed
                yield last, key is not None
            elif key is not None:
                pending.append((project, key))
    # The largest first: a long one at the end would leave the other processes idle.
    pending.sort(key=lambda task: (-task[0].size, task[0].name))
    started = [] if run.fail_fast and has_failed else pending
    with closing(engine(started, settings, out)) as outcomes:
        for (project, _), outcome in outcomes:
            row = failed_row(project, outcome) if isinstance(outcome, WorkerDied) else outcome
            yield row, False
            if run.fail_fast and not row.passed:
                break


def _last_result(project: Project, settings: Settings, out: Path) -> tuple[str | None, Row | None]:
    """Return the key of a project, and its row if its result is still valid."""
    with suppress(OSError):
        (folder_of(out, project.name) / FAILURE).unlink(missing_ok=True)
    try:
        key = result_key(project, settings)
    except Exception as error:  # noqa: BLE001 - one project never stops the others
        text = "".join(traceback.format_exception(error))
        note_failure(out, project.name, shown(text, settings))
        return None, failed_row(project, error)
    record = recorded(out, project.name, pages=settings.pages)
    return key, record[1] if record is not None and record[0] == key else None


@contextmanager
def _engine(run: Run) -> Iterator[_Engine]:
    """Yield a function that runs projects: in processes of this machine, or on a cluster."""
    if run.scheduler is not None:
        from bboxqa.batch.workers import connected, run_projects

        with connected(run.scheduler) as client:
            yield partial(run_projects, client, part_size=run.part_size)
        return

    def run_here(tasks: Sequence[Task], settings: Settings, out: Path) -> Generator[Any]:
        work = partial(run_task, settings=settings, out=out)
        return run_all(tasks, work, "bboxqa.batch.project", run.jobs, run.project_timeout)

    yield run_here


def _explain(out: Path, row: Row) -> None:
    """Write why a project failed if its own process could not, as it died or ran elsewhere."""
    if row.status != FAILED or (folder_of(out, row.project) / FAILURE).exists():
        return
    last = recorded(out, row.project)
    if last is None or last[1] != row:
        note_failure(out, row.project, f"{row.message}\n")


def _shown_files(found: Discovered, settings: Settings) -> Discovered:
    """Return what was found with pseudonyms in the names of files, if the run has a key."""
    return replace(
        found,
        left_alone=shown(found.left_alone, settings),
        unreadable=tuple(Unreadable(*shown(each, settings)) for each in found.unreadable),
        not_read=tuple(Unreadable(*shown(each, settings)) for each in found.not_read),
    )


def _unusable_projects(found: Discovered, before: Mapping[str, Row]) -> list[Row]:
    """Return failed rows of projects whose files have no annotations, or cannot be read."""
    folders = {Path(project.name) for project in found.projects}
    ends = (*suffixes(), *ARCHIVES)
    rows: dict[str, list[str]] = {}
    for file, reason in (*((file, _EMPTY) for file in found.left_alone), *found.unreadable):
        path = Path(file)
        # An unreadable folder is that of a project, or a part of one.
        is_file = reason is _EMPTY or path.name.lower().endswith(ends)
        home = home_of(path if is_file else path / "_", folders)
        name = home.as_posix()
        if reason is _EMPTY:
            is_lost = clean(name) in before and home not in folders
        else:
            # A name that leads out of a store is not an export; the content of a folder is unknown.
            is_export = path.suffix.lower() == ".json" and ".." not in path.parts
            is_lost = is_export or clean(name) in before or home in folders
        if is_lost:
            rows.setdefault(name, []).append(f"{file}: {reason}")
    return [
        Row(
            name, FAILED, 0, passed=False,
            message=first + (f" (and {len(others):,} more)" if others else ""),
        )
        for name, (first, *others) in rows.items()
    ]  # fmt: skip


def _missing_projects(
    root: str | Path, out: Path, rows: Sequence[Row], pattern: str | None
) -> Iterator[Regression]:
    """Yield projects of the last run whose folder or files no longer exist."""
    here = {clean(row.project) for row in rows}
    for name in [] if is_url(str(root)) else names_of_last_run(out):
        folder = Path(root) / name
        # Names with escaped characters are not the names of folders.
        if name in here or "\\" in name:
            continue
        if not os.path.lexists(folder):
            yield Regression(name, "project folder no longer exists")
        elif pattern is None and folder.is_dir():
            inside = discover(folder, follow_links=True)
            if not inside.projects and not inside.unreadable:
                yield Regression(name, "project folder no longer holds annotations that are read")
