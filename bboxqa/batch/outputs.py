"""The files of a run: a table, a summary, and a page that links all results."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bboxqa.batch.discovery import Discovered
from bboxqa.batch.project import recorded
from bboxqa.batch.results import FAILURE, FINDINGS, REPORT, WRITTEN, Regression, folder_of
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
from bboxqa.core.files import write_atomically
from bboxqa.core.text import clean, count
from bboxqa.core.version import __version__
from bboxqa.model.choices import completed
from bboxqa.model.settings import AgreeSettings
from bboxqa.report.encodings import csv_line, json_text
from bboxqa.report.numbers import interval, number
from bboxqa.report.pages.html_document import Data, render
from bboxqa.report.pages.reproduce import settings_table
from bboxqa.report.result_files import manifest

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
    header = csv_line(field.name for field in fields(Row))
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
            interval(bounds, 4),
            *map(_shown, (row.f1, row.class_alpha)),
            place,
            *map(_shown, counts),
            row.message,
        ),
    }
