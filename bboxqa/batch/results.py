"""The results of a run: a row and a folder for each project, a page, a table and a summary."""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import asdict

from bboxqa.batch.discovery import Discovered, Project, is_url
from bboxqa.batch.settings import Settings, gates
from bboxqa.core.errors import OutputError
from bboxqa.core.files import filled_folder, unfinished, write_atomically
from bboxqa.core.pseudonyms import identity_of_key
from bboxqa.core.text import clean, count, one_line
from bboxqa.core.version import __version__
from bboxqa.model.annotations import completed
from bboxqa.model.settings import AgreeSettings
from bboxqa.report.numbers import MINUS, csv_line, interval_text, json_text, number
from bboxqa.report.pages import render
from bboxqa.report.reproduction import settings_table
from bboxqa.report.result_files import manifest

MEASURED = "measured"
NOT_MEASURED = "not measured"
FAILED = "failed"

LOCK, HISTORY, ROOT = ".lock", "history.sqlite", ".root.json"
"""Files in every folder of a run: its lock, the results of all runs over time, and the real path or
URL of its root with the identity of its key."""
WRITTEN = ("projects.csv", "summary.json", "index.html")
"""Files that a run writes apart from the folders of its projects, in this order."""
REPORT, FINDINGS = "report.html", "findings.html"
"""The pages of a project."""
RECORD, FAILURE = "record.json", "failed.txt"
"""Files of a project: one is written last, and so makes a folder complete; the other says why the
last run failed, and results of an earlier run may be beside it."""

filled = partial(filled_folder, last=RECORD)
"""Yields a hidden folder to fill, which replaces the results of a project as a whole."""

# File systems refuse names of more than 255 bytes, and a suffix is added.
_LONGEST_NAME = 200
# Files in the hidden folder that is filled, in a message.
_SCRATCH = re.compile(r"/\.bboxqa-[^:']*")
_MOST_LEFT_OUT = 20
_LINKS = {
    REPORT: "page of agreement",
    FINDINGS: "page of findings",
    "summary.json": "figures (JSON)",
    "images.csv": "images (csv)",
    "findings.jsonl": "findings (JSON)",
    "manifest.json": "settings and digests",
    "log.txt": "log",
}


class Row(msgspec.Struct, frozen=True):
    """Results of a project; unknown numbers are None."""

    project: str
    status: str
    """{"measured", "not measured", "failed"}. Not measured: no image was annotated by two."""
    n_files: int
    n_images: int | None = None
    n_annotators: int | None = None
    n_annotations: int | None = None
    alpha: float | None = None
    low: float | None = None
    high: float | None = None
    mean_image_alpha: float | None = None
    f1: float | None = None
    f1_low: float | None = None
    f1_high: float | None = None
    class_alpha: float | None = None
    class_share: float | None = None
    mean_iou: float | None = None
    measure: str = ""
    below_threshold: float | None = None
    """Figures of the first threshold; those of class and place are of matched objects."""
    n_errors: int | None = None
    n_warnings: int | None = None
    n_infos: int | None = None
    passed: bool = True
    message: str = ""
    """Why the project was not measured or failed, headlines, and the gates that it missed."""
    annotators: tuple[str, ...] = ()
    unused_names: tuple[str, ...] = ()
    """Names of the category map that no category of the project has."""


def row_json(row: Row) -> dict[str, Any]:
    """Return a row as a value for JSON, with escaped control characters."""
    return {
        key: [*map(clean, value)] if isinstance(value, tuple)
        else clean(value) if isinstance(value, str) else value
        for key, value in asdict(row).items()
    }  # fmt: skip


def failed_row(project: Project, reason: object) -> Row:
    """Return the row of a project that failed for a reason, such as an error."""
    message = _SCRATCH.sub("", clean(str(reason)))
    return Row(project.name, FAILED, len(project.files), passed=False, message=message)


def state_words(rows: Sequence[Row]) -> str:
    """Return how many projects have each status, and how many of the others missed a gate."""
    counts = Counter(row.status for row in rows)
    words = ", ".join(f"{counts[each]:,} {each}" for each in (MEASURED, NOT_MEASURED, FAILED))
    n_missed = sum(not row.passed and row.status != FAILED for row in rows)
    return f"{words}; {n_missed:,} missed a gate" if n_missed else words


def folder_of(out: Path, project: str) -> Path:
    """Return the folder of a project's results, which is unique to the project."""
    name = quote(os.fsencode(project), safe=" ") if project != "." else "%2E"
    name = name.replace("..", "%2E%2E")
    if len(name) > _LONGEST_NAME:
        name = name[:_LONGEST_NAME] + blake2b(name.encode(), digest_size=8).hexdigest()
    return out / "projects" / name


def recorded(out: Path, project: str, *, pages: bool = False) -> tuple[str, Row] | None:
    """Return the key and the row of a project's last complete result; None if there is none."""
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
    for rest in (each for name in WRITTEN for each in out.glob(unfinished(name))):
        with suppress(OSError):
            rest.unlink(missing_ok=True)


def claim(out: Path, root: str | Path, pseudonyms: Path | None = None, *, force: bool) -> None:
    """Note the root and the key of pseudonyms in their folder of results, which hold no others."""
    place = str(root).rstrip("/") if is_url(str(root)) else os.path.realpath(root)
    noted = {"root": place, "key": "" if pseudonyms is None else identity_of_key(pseudonyms)}
    before = noted | ({"key": ""} if (out / ROOT).exists() or (out / HISTORY).exists() else {})
    with suppress(OSError, ValueError, msgspec.ValidationError):
        before |= msgspec.convert(json.loads((out / ROOT).read_bytes()), dict[str, str])
    if before["key"] != noted["key"]:
        other = "--pseudonyms of another key, or without"
        raise OutputError(f"{out}: holds results made with {other}; name another folder with --out")
    if before["root"] != place:
        if not force:
            other = one_line(before["root"])
            how = "name another folder with --out, or replace the results with --force"
            raise OutputError(f"{out}: holds the results of {other}; {how}")
        if (out / HISTORY).exists():
            (out / HISTORY).replace(out / f"{HISTORY}.bak")
    write_atomically(out / ROOT, json.dumps(noted).encode())


class Regression(msgspec.Struct, frozen=True):
    """A result of a project that is worse than in the last run, in words."""

    project: str
    what: str


def write_outputs(
    out: Path,
    found: Discovered,
    rows: Sequence[Row],
    worse: Sequence[Regression],
    settings: Settings,
    started: str,
) -> None:
    """Write projects.csv, summary.json and index.html, each completely or not at all."""
    cells = [
        ["; ".join(v) if isinstance(v, tuple) else v for v in asdict(row).values()] for row in rows
    ]
    lines = [csv_line(each, raw=settings.raw_csv) for each in cells]
    table = "".join([csv_line(Row.__struct_fields__), *lines])
    number_of = Counter(row.status for row in rows)
    summary = {
        "version": __version__,
        "n_projects": len(rows),
        "n_measured": number_of[MEASURED],
        "n_not_measured": number_of[NOT_MEASURED],
        "n_failed": number_of[FAILED],
        "n_not_passed": sum(not row.passed for row in rows),
        "passed": all(row.passed for row in rows),
        "worse": [asdict(part) | {"project": clean(part.project)} for part in worse],
        **{
            name: [clean(str(each)) for each in getattr(found, name)]
            for name in ("left_alone", "unreadable", "not_read")
        },
        "projects": [*map(row_json, rows)],
    }
    page = _page(out, found, rows, worse, settings, started)
    for name, text in zip(WRITTEN, (table, json_text(summary), page), strict=True):
        write_atomically(out / name, text.encode("utf-8", "surrogateescape"))


def _page(
    out: Path,
    found: Discovered,
    rows: Sequence[Row],
    worse: Sequence[Regression],
    settings: Settings,
    started: str,
) -> str:
    """Return a page with a row for each project, the most urgent first, and links to its files."""
    state, verdict = "passed", "all passed"
    if n_bad := sum(not row.passed for row in rows):
        state, verdict = "failed", f"{n_bad:,} did not pass"
    elif n_others := sum(row.status != MEASURED for row in rows):
        state, verdict = "open", f"{n_others:,} not measured"
    measures = {row.measure or "IoU" for row in rows if row.mean_iou is not None} or {"IoU"}
    place = f"Mean {measures.pop()}" if len(measures) == 1 else "Mean similarity"
    numbers = (
        "Alpha", "95 % interval", "F1", "Class alpha", place, "Annotators", "Images", "Errors",
        "Warnings",
    )  # fmt: skip
    given = {
        **settings.agree, **settings.agree_over, **settings.validate, **settings.validate_over,
        "images": settings.images, "pages": settings.pages, "raw_csv": settings.raw_csv,
    }  # fmt: skip
    said = manifest(AgreeSettings(), (), completed(settings.choices, settings.reading))

    def urgency(row: Row) -> tuple[bool, bool, float, str]:
        figure = row.f1 if row.alpha is None else row.alpha
        return row.passed, row.status != FAILED, 2.0 if figure is None else figure, row.project

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
            "Cannot be read": [*map(str, found.unreadable)],
            "Folders and archives in which nothing is read": [*map(str, found.not_read)],
            "Ignored: not annotations that are read, or no valid JSON": found.left_alone,
        },
        most_left_out=_MOST_LEFT_OUT,
        is_alike=len({row.n_annotators for row in rows if row.alpha is not None}) < 2,
        titles=("Project", "Status", *numbers, "Note"),
        numbers=numbers,
        rows=[_shown(out, row, named=bool(measures)) for row in sorted(rows, key=urgency)],
        settings=settings_table(said | {"settings": given}),
    )


def _shown(out: Path, row: Row, *, named: bool) -> dict[str, Any]:
    """Return the row of a project on the page; if `named`, its measure stands beside the figure."""
    folder, last = folder_of(out, row.project), recorded(out, row.project)
    # Other files belong to an earlier run.
    is_new = row.status != FAILED or (last is not None and last[1] == row)
    links = [
        (f"projects/{quote(os.fsencode(folder.name), safe='')}/{name}", text)
        for name, text in (_LINKS if is_new else {FAILURE: "log"}).items()
        if (folder / name).is_file()
    ]
    pages = [link for link in links if link[0].endswith(".html")][:1]
    bounds = None if row.low is None or row.high is None else [row.low, row.high]
    figures = (row.alpha, row.f1, row.class_alpha, row.mean_iou, row.n_annotators, row.n_images,
               row.n_errors, row.n_warnings)  # fmt: skip
    alpha, f1, kind, place, *others = ("" if x is None else number(x, 4) for x in figures)
    place += f" {row.measure or 'IoU'}" * (named and bool(place))
    return {
        "project": row.project, "page": pages[0][0] if pages else "", "passed": row.passed,
        "links": [link for link in links if link not in pages],
        "cells": (row.status, alpha, interval_text(bounds).replace("-", MINUS), f1, kind, place,
                  *others, row.message),
    }  # fmt: skip
