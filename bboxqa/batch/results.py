"""The folder of a run: results of projects, its root, its history, and a page of all results."""

import json
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from fnmatch import fnmatchcase
from functools import partial
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import asdict

from bboxqa.batch.discovery import Discovered
from bboxqa.batch.rows import (
    FAILED,
    MEASURED,
    NOT_MEASURED,
    Row,
    Settings,
    gates,
    row_json,
    state_words,
)
from bboxqa.batch.store import is_url
from bboxqa.core.errors import OutputError
from bboxqa.core.files import filled_folder, unfinished, write_atomically
from bboxqa.core.pseudonyms import identity_of_key
from bboxqa.core.text import clean, count, first_few, one_line
from bboxqa.core.version import __version__
from bboxqa.model.annotations import completed
from bboxqa.model.settings import AgreeSettings
from bboxqa.report.numbers import MINUS, csv_line, interval_text, json_text, number
from bboxqa.report.pages import Data, render
from bboxqa.report.reproduction import settings_table
from bboxqa.report.result_files import manifest

LOCK = ".lock"
"""A file in every folder of a run."""

WRITTEN = ("projects.csv", "summary.json", "index.html")
"""Files that a run writes apart from the folders of its projects, in this order."""

REPORT = "report.html"
FINDINGS = "findings.html"
"""The pages of a project."""

RECORD = "record.json"
"""Written last: a folder with it is complete."""

FAILURE = "failed.txt"
"""Why the last run of a project failed; results of an earlier run may be beside it."""

filled = partial(filled_folder, last=RECORD)
"""Yields a hidden folder to fill, which replaces the results of a project as a whole."""

HISTORY = "history.sqlite"
"""The results of all runs over time."""

ROOT = ".root.json"
"""In every folder of a run: the real path or URL of its root, and the identity of its key."""

# File systems refuse names of more than 255 bytes, and a suffix is added.
_LONGEST_NAME = 200


def folder_of(out: Path, project: str) -> Path:
    """Return the folder of a project's results, which is unique to the project.

    Examples
    --------
    >>> folder_of(Path("out"), "team a/boxes").as_posix()
    'out/projects/team a%2Fboxes'
    """
    name = quote(os.fsencode(project), safe=" ") if project != "." else "%2E"
    name = name.replace("..", "%2E%2E")
    if len(name) > _LONGEST_NAME:
        name = name[:_LONGEST_NAME] + blake2b(name.encode(), digest_size=8).hexdigest()
    return out / "projects" / name


def recorded(out: Path, project: str, *, pages: bool = False) -> tuple[str, Row] | None:
    """Return the key and the row of a project's last complete result; None if there is none.

    With `pages`, a result without pages is not complete.
    """
    try:
        folder = folder_of(out, project)
        record = json.loads((folder / RECORD).read_bytes())
        # If files of a result were removed, it is computed again.
        complete = set(record["files"]) <= {file.name for file in folder.iterdir()}
        complete = complete and (record.get("pages", False) or not pages)
        return (str(record["key"]), msgspec.convert(record["row"], Row)) if complete else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, msgspec.ValidationError):
        return None


def note_failure(out: Path, project: str, text: str) -> None:
    """Write the reason of a failure to the project's folder; do nothing if the disk is full."""
    folder = folder_of(out, project)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FAILURE).write_text(text, "utf-8", "backslashreplace")


def remove_unfinished(out: Path) -> None:
    """Remove folders and files that killed runs left incomplete."""
    for rest in (out / "projects").glob(".bboxqa-*"):
        shutil.rmtree(rest, ignore_errors=True)
    # Only files of this command, since another command may be writing into the same folder.
    for name in WRITTEN:
        for rest in out.glob(unfinished(name)):
            with suppress(OSError):
                rest.unlink(missing_ok=True)


def refuse_foreign(out: Path) -> None:
    """Refuse a folder with files that do not come from a run, as a run could replace them.

    Raises OutputError if the folder is not empty and no run has begun in it.
    """
    try:
        names = [path.name for path in out.iterdir()] if out.is_dir() else []
    except OSError as error:
        raise OutputError(f"{out}: cannot be read: {error.strerror}") from None
    # A run that was killed at once leaves only its lock. Earlier versions noted no root.
    begun = all(name == LOCK or fnmatchcase(name, unfinished(ROOT)) for name in names)
    if not begun and not {ROOT, HISTORY} & {*names}:
        raise OutputError(
            f"{out}: is not empty, and holds no results of bboxqa batch; name another folder with "
            "--out, or add --force"
        )


def claim(out: Path, root: str | Path, pseudonyms: Path | None = None, *, force: bool) -> None:
    """Note the root, and the key of pseudonyms, in their folder of results.

    Results of another key, or with names, cannot be mixed with those of this one: OutputError is
    raised. So it is if the folder belongs to another root, unless `force` takes the folder over and
    puts the history of the other root aside.
    """
    place = str(root).rstrip("/") if is_url(str(root)) else os.path.realpath(root)
    identity = "" if pseudonyms is None else identity_of_key(pseudonyms)
    is_old = (out / ROOT).exists() or (out / HISTORY).exists()
    before = {"root": place, "key": "" if is_old else identity} | _noted(out)
    if before["key"] != identity:
        other = "made with another key of pseudonyms" if before["key"] else "that name annotators"
        if not identity:
            other = "made with --pseudonyms"
        raise OutputError(f"{out}: holds results {other}; name another folder with --out")
    if before["root"] != place:
        if not force:
            raise OutputError(
                f"{out}: holds the results of {one_line(before['root'])}; name another folder with "
                "--out, or replace the results with --force"
            )
        if (out / HISTORY).exists():
            (out / HISTORY).replace(out / f"{HISTORY}.bak")
    write_atomically(out / ROOT, json.dumps({"root": place, "key": identity}).encode())


def _noted(out: Path) -> dict[str, str]:
    """Return the root and the key of pseudonyms of a folder of results; empty without a note."""
    with suppress(OSError, ValueError):
        found = json.loads((out / ROOT).read_bytes())
        if isinstance(found, list) and found:
            # Earlier versions listed the names of the root, its real path second.
            key = out / ".pseudonyms.json"
            kept = json.loads(key.read_bytes()) if key.exists() else ""
            found = {"root": found[:2][-1], "key": kept}
        if isinstance(found, dict) and all(isinstance(each, str) for each in found.values()):
            return found
    return {}


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
_ADDED = {"f1": "REAL", "class_alpha": "REAL", "mean_iou": "REAL", "annotators": "TEXT"}
"""Columns that histories of earlier versions lack, and their types."""
_COLUMNS = ("status", "alpha", "low", "high", "n_errors", "n_warnings", *_ADDED)
_recorded_numbers = attrgetter(*_COLUMNS[:-1])
# A figure is that of the last run in which its key was known: a failed run must not hide a loss.
_KEYS = {"class_alpha": "f1", "mean_iou": "f1", "n_warnings": "n_errors"}
# Seconds to wait for another program that uses the file, such as a backup.
_SECONDS_TO_WAIT = 5.0
# Smaller differences of alpha are due to rounding, as sums may be in another order.
_TIE = 1e-12
_SHOWN = 3


class Regression(msgspec.Struct, frozen=True):
    """A result of a project that is worse than in the last run, in words."""

    project: str
    what: str


@contextmanager
def _opened(out: Path) -> Iterator[sqlite3.Connection]:
    path = out / HISTORY
    try:
        with closing(sqlite3.connect(path, _SECONDS_TO_WAIT)) as connection, connection:
            connection.executescript(_TABLES)
            known = {name for _, name, *_ in connection.execute("PRAGMA table_info(projects)")}
            for name, kind in _ADDED.items():
                if name not in known:
                    connection.execute(f"ALTER TABLE projects ADD COLUMN {name} {kind}")
            yield connection
    except sqlite3.Error as error:
        raise OutputError(
            f"{path}: {error}; expected a history that can be written, and that no other program "
            "uses; move it away to begin a new history"
        ) from None


def last_rows(out: Path) -> dict[str, Row]:
    """Return the last row of each project; empty before the first run.

    Each figure is that of the last run in which it was known.
    """
    if not (out / HISTORY).exists():
        return {}
    found: dict[str, dict[str, Any]] = {}
    query = f"SELECT project, {', '.join(_COLUMNS)} FROM projects ORDER BY run"  # noqa: S608 - constants
    with _opened(out) as connection:
        for name, *values in connection.execute(query):
            figures = dict(zip(_COLUMNS, values, strict=True))
            row = found.setdefault(name, {"project": name, "n_files": 0})
            known = (each for each in figures if figures[_KEYS.get(each, each)] is not None)
            row |= {each: figures[each] for each in known}
    rows = {}
    for name, row in found.items():
        try:
            row["annotators"] = json.loads(row.get("annotators") or "[]")
            rows[name] = msgspec.convert(row, Row)
        except (msgspec.ValidationError, ValueError, TypeError, RecursionError):
            raise OutputError(
                f"{out / HISTORY}: project {name!r} has a value of a wrong type; move it away to "
                "begin a new history"
            ) from None
    return rows


def names_of_last_run(out: Path) -> list[str]:
    """Return the projects of the last run, sorted; empty before the first run."""
    if not (out / HISTORY).exists():
        return []
    with _opened(out) as connection:
        found = connection.execute(
            "SELECT project FROM projects WHERE run = (SELECT max(run) FROM runs) ORDER BY project"
        )
        return [name for (name,) in found]


def append(out: Path, started: str, version: str, rows: Sequence[Row]) -> None:
    """Add a run, completely or not at all."""
    with _opened(out) as connection:
        cursor = connection.execute(
            "INSERT INTO runs (started, version) VALUES (?, ?)", (started, version)
        )
        connection.executemany(
            f"INSERT OR REPLACE INTO projects (run, project, {', '.join(_COLUMNS)}) "  # noqa: S608 - constants
            f"VALUES (?, ?{', ?' * len(_COLUMNS)})",
            [(cursor.lastrowid, clean(row.project), *_recorded(row)) for row in rows],
        )


def _recorded(row: Row) -> tuple[object, ...]:
    """Return the values of `_COLUMNS`; unknown annotators are NULL, as unknown numbers are."""
    # ASCII with escapes preserves names that are not UTF-8.
    return *_recorded_numbers(row), json.dumps(row.annotators) if row.annotators else None


def regressions(before: Mapping[str, Row], rows: Sequence[Row]) -> list[Regression]:
    """Return results that are worse than in the last run: agreement, errors, lost annotators.

    Examples
    --------
    >>> old, new = Row("a", "measured", 1, alpha=0.8), Row("a", "measured", 1, alpha=0.75)
    >>> regressions({"a": old}, [new])
    [Regression(project='a', what='alpha fell from 0.8000 to 0.7500')]
    """
    worse = []
    for row in rows:
        last = before.get(clean(row.project))
        if last is not None:
            worse += [Regression(row.project, what) for what in _worse(last, row)]
    return worse


def _worse(last: Row, row: Row) -> Iterator[str]:
    if row.status == FAILED and last.status != FAILED:
        yield "failed, but not in the last run"
    known = (("alpha", last.alpha), ("F1", last.f1))
    had = [f"{what} was {value:z.4f}, now undefined" for what, value in known if value is not None]
    # Without a meaningful alpha, F1 shows whether agreement on objects is worse.
    if row.alpha is None and row.f1 is None and row.status != FAILED:
        yield from had[:1]
    for what, before, now in (
        ("alpha", last.alpha, row.alpha),
        ("F1", last.f1, row.f1),
        ("class alpha", last.class_alpha, row.class_alpha),
        (f"mean {row.measure or 'IoU'}", last.mean_iou, row.mean_iou),
    ):
        if before is not None and now is not None and now < before - _TIE:
            yield f"{what} fell from {before:z.4f} to {now:z.4f}"
    yield from _lost_annotators(last.annotators, row.annotators)
    for name, old, new in (
        ("errors", last.n_errors, row.n_errors),
        ("warnings", last.n_warnings, row.n_warnings),
    ):
        if old is not None and new is not None and new > old:
            yield f"{name} rose from {old:,} to {new:,}"


def _lost_annotators(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """Yield which annotators are gone, without whom agreement may be better; none if unknown."""
    gone = [name for name in before if name not in now]
    if not now or not gone:
        return
    names = first_few(gone, _SHOWN, one_line)
    if len(now) < len(before):
        yield f"annotators fell from {len(before):,} to {len(now):,}, without {names}"
    else:
        yield f"{'annotators' if len(gone) > 1 else 'annotator'} gone: {names}"


_TITLES = (
    "Project", "Status", "Alpha", "95 % interval", "F1", "Class alpha", "Place", "Images",
    "Errors", "Warnings", "Note",
)  # fmt: skip
_MOST_LEFT_OUT = 20
_LINKS = (
    (REPORT, "page of agreement"),
    (FINDINGS, "page of findings"),
    ("summary.json", "figures (JSON)"),
    ("images.csv", "images (csv)"),
    ("findings.jsonl", "findings (JSON)"),
    ("manifest.json", "settings and digests"),
    ("log.txt", "log"),
)


def write_outputs(
    out: Path,
    found: Discovered,
    rows: Sequence[Row],
    worse: Sequence[Regression],
    settings: Settings,
    started: str,
) -> None:
    """Write projects.csv, summary.json and index.html, each completely or not at all.

    `started` is the start time of the run, in UTC and ISO 8601.
    """
    page = _page(out, found, rows, worse, settings, started)
    texts = (_table(rows, settings.raw_csv), _summary(found, rows, worse), page)
    for name, text in zip(WRITTEN, texts, strict=True):
        write_atomically(out / name, text.encode("utf-8", "surrogateescape"))


def _table(rows: Sequence[Row], raw_csv: bool) -> str:
    lists = ("annotators", "unused_names")
    cells = (asdict(row) | {name: "; ".join(getattr(row, name)) for name in lists} for row in rows)
    header = csv_line(Row.__struct_fields__)
    return "".join([header, *(csv_line(each.values(), raw=raw_csv) for each in cells)])


def _summary(found: Discovered, rows: Sequence[Row], worse: Sequence[Regression]) -> str:
    number = Counter(row.status for row in rows)
    value: dict[str, Any] = {
        "version": __version__,
        "n_projects": len(rows),
        "n_measured": number[MEASURED],
        "n_not_measured": number[NOT_MEASURED],
        "n_failed": number[FAILED],
        "n_not_passed": sum(not row.passed for row in rows),
        "passed": all(row.passed for row in rows),
        "worse": [asdict(part) | {"project": clean(part.project)} for part in worse],
        **{
            name: [clean(str(each)) for each in getattr(found, name)]
            for name in ("left_alone", "unreadable", "not_read")
        },
        "projects": [*map(row_json, rows)],
    }
    return json_text(value)


def _page(
    out: Path,
    found: Discovered,
    rows: Sequence[Row],
    worse: Sequence[Regression],
    settings: Settings,
    started: str,
) -> str:
    """Return a page with a row for each project, the most urgent first, and links to its files."""
    n_bad = sum(not row.passed for row in rows)
    n_measured = sum(row.status == MEASURED for row in rows)
    state, verdict = "passed", "all passed"
    if n_bad:
        state, verdict = "failed", f"{n_bad:,} did not pass"
    elif n_measured < len(rows):
        state = "open"
        verdict = f"{n_measured:,} measured, {len(rows) - n_measured:,} not measured"
    measures = {row.measure or "IoU" for row in rows if row.mean_iou is not None}
    several = len(measures) > 1
    place = "Mean similarity" if several else f"Mean {next(iter(measures), 'IoU')}"
    titles = [place if title == "Place" else title for title in _TITLES]
    return render(
        "batch",
        title="bboxqa batch",
        headline=f"{count(len(rows), 'project')}: {verdict}",
        state=state,
        statuses=state_words(rows),
        gates=gates(settings),
        moment=f"{started[:16].replace('T', ' ')} UTC",
        worse=worse,
        left_out={
            "Cannot be read": [str(each) for each in found.unreadable],
            "Folders and archives in which nothing is read": [str(each) for each in found.not_read],
            "Ignored: not annotations that are read, or no valid JSON": found.left_alone,
        },
        most_left_out=_MOST_LEFT_OUT,
        titles=titles,
        numbers=titles[2:-1],
        rows=[_row(out, row, several_measures=several) for row in sorted(rows, key=_urgency)],
        settings=_settings(settings),
    )


def _shown(value: float | None) -> str:
    """Return a figure of a project as text; empty for None."""
    return "" if value is None else number(value, 4)


def _settings(settings: Settings) -> Data:
    """Return settings and versions of a run as a table of text."""
    given = {
        **settings.agree, **settings.agree_over, **settings.validate, **settings.validate_over,
        "images": settings.images, "pages": settings.pages, "raw_csv": settings.raw_csv,
    }  # fmt: skip
    found = manifest(AgreeSettings(), (), completed(settings.choices, settings.reading))
    return settings_table(found | {"settings": given})


def _urgency(row: Row) -> tuple[bool, bool, float, str]:
    """Return a sort key that puts the most urgent projects first."""
    figure = row.f1 if row.alpha is None else row.alpha
    return row.passed, row.status != FAILED, 2.0 if figure is None else figure, row.project


def _links(out: Path, row: Row) -> tuple[tuple[str, str], ...]:
    """Return the files of the last run of a project, each with the text of its link."""
    last = recorded(out, row.project)
    if row.status != FAILED or (last is not None and last[1] == row):
        return _LINKS
    # Other files belong to an earlier run.
    return ((FAILURE, "log"),)


def _row(out: Path, row: Row, *, several_measures: bool) -> dict[str, Any]:
    """Return the row of a project on the page, with its measure if there are several."""
    folder = folder_of(out, row.project)
    links = [
        (f"projects/{quote(os.fsencode(folder.name), safe='')}/{name}", shown)
        for name, shown in _links(out, row)
        if (folder / name).is_file()
    ]
    bounds = None if row.low is None or row.high is None else [row.low, row.high]
    counts = (row.n_images, row.n_errors, row.n_warnings)
    place = _shown(row.mean_iou)
    if place and several_measures:
        place = f"{place} {row.measure or 'IoU'}"
    pages = [address for address, _ in links if address.endswith(".html")]
    page = pages[0] if pages else ""
    return {
        "project": row.project,
        "page": page,
        "links": [link for link in links if link[0] != page],
        "passed": row.passed,
        "cells": (
            row.status,
            _shown(row.alpha),
            interval_text(bounds).replace("-", MINUS),
            *map(_shown, (row.f1, row.class_alpha)),
            place,
            *map(_shown, counts),
            row.message,
        ),
    }
