"""Agreement of annotators with themselves, as lines of text and as JSON records."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.model.results import ThresholdResult
from bboxqa.model.table import Table
from bboxqa.report.numbers import json_figure
from bboxqa.report.table_excerpt import table_excerpt

_SHOWN = ("annotator", "n_images", "f1", "class_share", "mean_iou", "alpha")
_FIGURES = ("f1", "alpha", "class_alpha", "class_share", "mean_iou")


def repeat_lines(part: ThresholdResult, width: int, n_rows: int) -> Iterator[str]:
    """Yield the agreement of all annotators with themselves, then of each, the lowest F1 first."""
    table = part.repeats
    if table is None:
        return
    order = np.append(0, 1 + np.argsort(table["f1"][1:], kind="stable"))
    title = f"Annotators with themselves, in images annotated again, at {part.threshold_label}"
    yield from table_excerpt(
        title, table, order, width, file="repeats", n_rows=n_rows, columns=_SHOWN
    )


def repeat_records(table: Table) -> list[dict[str, Any]]:
    """Return a record for all annotators together, whose name is None, and for each."""
    return [
        {
            "annotator": row["annotator"] if place else None,
            "n_images": row["n_images"],
            "n_annotations": row["n_annotations"],
            **{name: json_figure(row, name) for name in _FIGURES},
        }
        for place, row in enumerate(table.records())
    ]
