"""How far annotators agree with themselves, as lines of text and as records of json."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.core.text import count, one_line
from bboxqa.model.table import Table
from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.report.text_table import table_lines

_SHOWN = {"f1": "F1", "class_share": "same class", "mean_iou": "mean "}
_FIGURES = ("f1", "alpha", "class_alpha", "class_share", "mean_iou")
_MOST = 10


def repeat_lines(part: ThresholdResult) -> Iterator[str]:
    """Yield the agreement of all annotators with themselves, then of each, the lowest F1 first."""
    table = part.repeats
    if table is None:
        return
    rows = table.records()
    everyone, people = rows[0], sorted(rows[1:], key=lambda row: (row["f1"] is None, row["f1"]))
    yield ""
    at = f"at {part.threshold_label}"
    yield f"Annotators with themselves, in images that they annotated again, {at}"
    head = [name + part.measure * name.endswith(" ") for name in _SHOWN.values()]
    cells = [
        [one_line(row["annotator"]), f"{row['n_images']:,}", *(_cell(row, name) for name in _SHOWN)]
        for row in [everyone, *people[:_MOST]]
    ]
    for line in table_lines([["annotator", "images", *head], *cells], left=(0, 2, 3, 4)):
        yield f" {line}"
    if len(people) > _MOST:
        yield f" … and {count(len(people) - _MOST, 'more annotator')} (repeats.csv, with --out DIR)"
    if not np.isnan(table["alpha"][0]):
        yield f" alpha of all with themselves: {_cell(everyone, 'alpha')}"


def _cell(row: dict[str, Any], name: str) -> str:
    """Return a figure with its interval."""
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if value is None:
        return "–"
    return f"{value:.2f}" if low is None else f"{value:.2f} [{low:.2f}, {high:.2f}]"


def repeat_records(table: Table) -> list[dict[str, Any]]:
    """Return a record for all annotators together, whose name is None, and for each."""
    return [
        {
            "annotator": row["annotator"] if place else None,
            "n_images": row["n_images"],
            "n_annotations": row["n_annotations"],
            **{name: _figure(row, name) for name in _FIGURES},
        }
        for place, row in enumerate(table.records())
    ]


def _figure(row: dict[str, Any], name: str) -> dict[str, Any]:
    bounds = [row[f"{name}_low"], row[f"{name}_high"]]
    return {"value": row[name], "interval": None if None in bounds else bounds}
