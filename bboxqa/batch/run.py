"""A run over many projects, its history, and what became worse since the last run."""

import json
import os
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from bboxqa.batch import results
from bboxqa.batch.discovery import (
    Discovered,
    Project,
    Unreadable,
    discover,
    find_projects,
    home_of,
    is_url,
)
from bboxqa.batch.project import Task, run_packed, run_project, write_packed
from bboxqa.batch.results import FAILED, HISTORY, Regression, Row
from bboxqa.batch.settings import Settings, result_key
from bboxqa.batch.workers import Outcome, WorkerDied, connected, run_all, run_on
from bboxqa.core.errors import ConfigError, OutputError
from bboxqa.core.files import locked
from bboxqa.core.pseudonyms import check_key
from bboxqa.core.text import clean, first_few, one_line
from bboxqa.core.version import __version__
from bboxqa.formats.member import ARCHIVES
from bboxqa.formats.registry import suffixes

_EMPTY = "no longer has annotations that are read"
_GONE = "project no longer exists, or holds no annotations that are read"
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
    n_reused: int
    n_left: int
    """Unchanged projects, and those not run because the run was stopped."""
    worse: tuple[Regression, ...]
    unused_names: tuple[str, ...] = ()
    """Names of the category map of all projects that no measured project has."""

    @property
    def passed(self) -> bool:
        """Whether all projects ran and passed their gates."""
        return all(row.passed for row in self.rows)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How projects are found, and how many of them are run where: options of `bboxqa batch`."""

    pattern: str | None = None
    jobs: int = 1
    fresh: bool = False
    fail_fast: bool = False
    force: bool = False
    follow_links: bool = False
    project_timeout: float | None = None
    scheduler: str | None = None


def run_batch(
    root: str | Path,
    out: Path,
    settings: Settings,
    run: Run | None = None,
    on_project: Callable[[Step], None] | None = None,
) -> BatchResult:
    """Validate and measure every project below a folder."""
    run = run or Run()
    _check_out(out, root, force=run.force)
    if settings.pseudonyms is not None:
        check_key(settings.pseudonyms, [out])
        if run.scheduler is not None and not run.scheduler.startswith("local"):
            raise ConfigError(
                "--pseudonyms: workers on other machines cannot add names to the key; give "
                "--scheduler local:N, or first: bboxqa convert FILE OUT --pseudonyms KEY"
            )
    found = find_projects(root, run.pattern, skip=out, follow_links=run.follow_links)
    if not found.projects:
        # Nothing is found if a folder is not mounted: this must not replace the results.
        return BatchResult(_shown_files(found, settings), (), 0, 0, ())
    started = datetime.now(UTC).isoformat(timespec="seconds")
    rows, n_reused = dict[str, Row](), 0
    busy = "another run is at work here; wait for it, or choose another --out"
    with locked(out / results.LOCK, out, busy), _engine(run) as engine:
        results.claim(out, root, settings.pseudonyms, force=run.force)
        results.remove_unfinished(out)
        before, of_last = last_rows(out)
        unusable = _unusable_projects(found, before)
        names = {row.project for row in unusable}
        projects = [project for project in found.projects if project.name not in names]
        n_projects = len(projects) + len(unusable)
        try:
            # Closing the steps ends their processes.
            with closing(_steps(engine, projects, unusable, settings, out, run)) as steps:
                for each, reused in steps:
                    rows[each.project] = row = replace(each, message=settings.shown(each.message))
                    n_reused += reused
                    if on_project is not None:
                        on_project(Step(row, reused, len(rows), n_projects))
        finally:
            # Worker processes that died or were ended may have left some as well.
            results.remove_unfinished(out)
        of_run = tuple(rows[name] for name in sorted(rows))
        n_left = n_projects - len(rows)
        # What a pattern leaves out may still be there.
        gone = of_last if run.pattern is None else set[str]()
        gone -= {clean(name) for name in (*names, *(project.name for project in projects))}
        worse = (*regressions(before, of_run), *(Regression(each, _GONE) for each in sorted(gone)))
        # Measuring adds people to the key.
        found = _shown_files(found, settings)
        results.write_outputs(out, found, of_run, worse, settings, started)
        if not n_left:
            append(out, started, __version__, of_run)
    mapped = {**settings.agree, **settings.agree_over}.get("category_map") or {}
    # The map is for all projects: a name that only some lack is as it should be.
    lacking = [{*row.unused_names} for row in of_run if row.status == results.MEASURED]
    unused = tuple(each for each in mapped if lacking and all(each in names for names in lacking))
    return BatchResult(found, of_run, n_reused, n_left, worse, unused)


def _check_out(out: Path, root: str | Path, *, force: bool) -> None:
    """Refuse a folder of projects as output, which the next run would skip, and of other files."""
    if out.is_file() or (out.is_symlink() and not out.exists()):
        raise OutputError(f"{out}: is no folder; name a folder with --out")
    try:
        names = {path.name for path in out.iterdir()} if out.is_dir() else set[str]()
    except OSError as error:
        raise OutputError(f"{out}: cannot be read: {error.strerror}") from None
    has_projects = bool(names) and results.LOCK not in names
    folders = [each.folder for each in discover(out).projects] if has_projects else []
    place = None if is_url(str(root)) else Path(os.path.realpath(root))
    # The folders of results would replace projects in a folder of that name.
    in_results = place is not None and place.is_relative_to(
        results.folder_of(out, ".").parent.resolve()
    )
    if out in folders or in_results or out.resolve() == place:
        raise OutputError(
            f"{out}: holds the projects, or one of them; name another folder with --out"
        )
    # A run that was killed at once leaves only its lock, a hidden file.
    if not force and not {results.ROOT, HISTORY} & names and any(name[0] != "." for name in names):
        raise OutputError(
            f"{out}: is not empty, and holds no results of bboxqa batch; name another folder with "
            "--out, or add --force"
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
    for row in unusable:
        results.note_failure(out, row.project, settings.shown(f"{row.message}\n"))
        yield row, False
    has_failed, pending = bool(unusable), []
    # Threads are enough: hashing releases the interpreter lock.
    with ThreadPoolExecutor(run.jobs) as threads:
        found = threads.map(partial(_last_result, settings=settings, out=out), projects)
        for project, (key, last) in zip(projects, found, strict=True):
            if last is None or run.fresh:
                pending.append((project, key))
            else:
                has_failed |= not last.passed
                yield last, True
    # The largest first: a long one at the end would leave the other processes idle.
    pending.sort(key=lambda task: (-task[0].size, task[0].name))
    started = [] if run.fail_fast and has_failed else pending
    with closing(engine(started, settings, out)) as outcomes:
        for (project, _), outcome in outcomes:
            if isinstance(outcome, WorkerDied):
                row = results.failed_row(project, outcome.reason)
                results.note_failure(out, project.name, settings.shown(f"{row.message}\n"))
            else:
                row = outcome
            yield row, False
            if run.fail_fast and not row.passed:
                break


def _last_result(project: Project, settings: Settings, out: Path) -> tuple[str, Row | None]:
    """Return the key of a project, "" where running it fails, and its row if it is still valid."""
    key = ""
    with suppress(OSError):
        (results.folder_of(out, project.name) / results.FAILURE).unlink(missing_ok=True)
    with suppress(Exception):
        key = result_key(project, settings)
    record = results.recorded(out, project.name, pages=settings.pages)
    return key, record[1] if record is not None and record[0] == key != "" else None


@contextmanager
def _engine(run: Run) -> Iterator[_Engine]:
    """Yield a function that runs projects: in processes of this machine, or on a cluster."""
    if run.scheduler is None:
        yield lambda tasks, settings, out: run_all(
            tasks, partial(run_project, settings=settings, out=out), "bboxqa.batch.project",
            run.jobs, run.project_timeout,
        )  # fmt: skip
        return
    with connected(run.scheduler) as client:

        def on_cluster(
            tasks: Sequence[Task], settings: Settings, out: Path
        ) -> Generator[Outcome[Task, Row]]:
            work = partial(run_packed, settings=settings, version=__version__)
            for task, outcome in run_on(client, tasks, work):
                if isinstance(outcome, WorkerDied):
                    yield task, outcome
                else:
                    yield task, write_packed(task[0], outcome, out)

        yield on_cluster


def _shown_files(found: Discovered, settings: Settings) -> Discovered:
    """Return what was found with pseudonyms in the names of files, if the run has a key."""
    return replace(
        found,
        left_alone=settings.shown(found.left_alone),
        unreadable=tuple(Unreadable(*settings.shown(each)) for each in found.unreadable),
        not_read=tuple(Unreadable(*settings.shown(each)) for each in found.not_read),
    )


def _unusable_projects(found: Discovered, before: Mapping[str, Row]) -> list[Row]:
    """Return failed rows of projects whose files have no annotations, or cannot be read."""
    folders = {Path(project.name) for project in found.projects}
    rows: dict[str, list[str]] = {}
    for file in found.left_alone:
        home = home_of(Path(file), folders)
        if clean(home.as_posix()) in before and home not in folders:
            rows.setdefault(home.as_posix(), []).append(f"{file}: {_EMPTY}")
    for file, reason in found.unreadable:
        path = Path(file)
        # An unreadable folder is that of a project, or a part of one, such as that of a person.
        is_file = path.name.lower().endswith((*suffixes(), *ARCHIVES))
        around = (each for each in path.parents if each.parts and each in folders)
        home = next(around, home_of(path if is_file else path / "_", folders))
        is_export = path.name.lower().endswith((".json", *ARCHIVES))
        # A name that leads out of a store is not an export; the content of a folder is unknown.
        if ".." not in path.parts and (
            is_export or clean(home.as_posix()) in before or home in folders
        ):
            rows.setdefault(home.as_posix(), []).append(f"{file}: {reason}")
    return [
        Row(name, FAILED, 0, passed=False, message=first_few(texts, 1))
        for name, texts in rows.items()
    ]


_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY, started TEXT NOT NULL, version TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS projects (
    run INTEGER NOT NULL REFERENCES runs (run), project TEXT NOT NULL, status TEXT NOT NULL,
    alpha REAL, low REAL, high REAL, n_errors INTEGER, n_warnings INTEGER,
    f1 REAL, class_alpha REAL, mean_iou REAL, annotators TEXT,
    PRIMARY KEY (run, project)
);
"""
_COLUMNS = ("status", "alpha", "low", "high", "n_errors", "n_warnings", "f1", "class_alpha",
            "mean_iou", "annotators")  # fmt: skip
_recorded_numbers = attrgetter(*_COLUMNS[:-1])
# A figure is that of the last run in which its key was known: a failed run must not hide a loss.
_KEYS = {"class_alpha": "f1", "mean_iou": "f1"}
# Seconds to wait for another program that uses the file, such as a backup.
_SECONDS_TO_WAIT = 5.0
# Smaller differences of alpha are due to rounding, as sums may be in another order.
_TIE = 1e-12
_SHOWN = 3


@contextmanager
def _history(out: Path) -> Iterator[sqlite3.Connection]:
    path = out / HISTORY
    try:
        with closing(sqlite3.connect(path, _SECONDS_TO_WAIT)) as connection, connection:
            connection.executescript(_TABLES)
            yield connection
    except sqlite3.Error as error:
        how = "end what else uses it, or move it away to begin a new history"
        raise OutputError(f"{path}: {error}; {how}") from None


def last_rows(out: Path) -> tuple[dict[str, Row], set[str]]:
    """Return the last row of each project, with the last figures, and those of the last run."""
    if not (out / HISTORY).exists():
        return {}, set()
    found: dict[str, dict[str, Any]] = {}
    of_last = set[str]()
    query = f"SELECT run, project, {', '.join(_COLUMNS)} FROM projects ORDER BY run"  # noqa: S608 - constants
    with _history(out) as connection:
        last = connection.execute("SELECT max(run) FROM runs").fetchone()[0]
        for number, name, *values in connection.execute(query):
            of_last |= {name} if number == last else set()
            figures = dict(zip(_COLUMNS, values, strict=True))
            row = found.setdefault(name, {"project": name, "n_files": 0, "annotators": "[]"})
            if figures["status"] == FAILED:
                figures = {"status": FAILED}
            known = (each for each in figures if figures[_KEYS.get(each, each)] is not None)
            row |= {each: figures[each] for each in known}
    try:
        return {
            name: msgspec.convert(row | {"annotators": json.loads(row["annotators"])}, Row)
            for name, row in found.items()
        }, of_last
    except (msgspec.ValidationError, ValueError, TypeError, RecursionError):
        problem = "has a wrong value; move it away to begin a new history"
        raise OutputError(f"{out / HISTORY}: {problem}") from None


def append(out: Path, started: str, version: str, rows: Sequence[Row]) -> None:
    """Add a run, completely or not at all; of unknown annotators and numbers, NULL."""
    # ASCII with escapes preserves names that are not UTF-8.
    values = [
        (clean(row.project), *_recorded_numbers(row),
         json.dumps(row.annotators) if row.annotators else None)
        for row in rows
    ]  # fmt: skip
    with _history(out) as connection:
        cursor = connection.execute(
            "INSERT INTO runs (started, version) VALUES (?, ?)", (started, version)
        )
        connection.executemany(
            f"INSERT OR REPLACE INTO projects (run, project, {', '.join(_COLUMNS)}) "  # noqa: S608 - constants
            f"VALUES ({cursor.lastrowid}, ?{', ?' * len(_COLUMNS)})",
            values,
        )


def regressions(before: Mapping[str, Row], rows: Sequence[Row]) -> list[Regression]:
    """Return results that are worse than in the last run: agreement, errors, lost annotators."""
    both = ((before.get(clean(row.project)), row) for row in rows)
    return [
        Regression(row.project, what)
        for last, row in both
        if last is not None
        for what in _worse(last, row)
    ]


def _worse(last: Row, row: Row) -> Iterator[str]:
    if row.status == FAILED:
        yield from ["failed, but not in the last run"] * (last.status != FAILED)
        return
    known = (("alpha", last.alpha), ("F1", last.f1))
    had = [f"{what} was {value:z.4f}, now undefined" for what, value in known if value is not None]
    # Without a meaningful alpha, F1 shows whether agreement on objects is worse.
    yield from had[:1] if row.alpha is None and row.f1 is None else ()
    for what, key in (("alpha", "alpha"), ("F1", "f1"), ("class alpha", "class_alpha"),
                      (f"mean {row.measure or 'IoU'}", "mean_iou")):  # fmt: skip
        old, new = getattr(last, key), getattr(row, key)
        if old is not None and new is not None and new < old - _TIE:
            yield f"{what} fell from {old:z.4f} to {new:z.4f}"
    # Without an annotator agreement may be better; of projects not measured they are unknown.
    gone = [name for name in last.annotators if name not in row.annotators]
    if row.annotators and gone:
        yield f"annotators gone: {first_few(gone, _SHOWN, one_line)}"
    for name in ("errors", "warnings"):
        old, new = getattr(last, f"n_{name}"), getattr(row, f"n_{name}")
        if old is not None and new is not None and new > old:
            yield f"{name} rose from {old:,} to {new:,}"
