"""The first rows of a table of a result, as lines of text."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import one_line
from bboxqa.model.table import Categorical, Table
from bboxqa.report.numbers import decimal
from bboxqa.report.text_table import table_lines


def table_excerpt(
    title: str, table: Table, order: IndexArray, width: int | None, n_rows: int = 10
) -> Iterator[str]:
    """Yield the first rows of a table in a given order."""
    if not len(table):
        return
    rows = table.take(order[:n_rows])
    # Intervals that were not asked for say nothing; where alpha is undefined its cell shows it.
    columns = {
        name: column
        for name, column in rows.columns.items()
        if name != "status" and (name not in ("low", "high") or not np.isnan(rows[name]).all())
    }
    words = [place for place, c in enumerate(columns.values()) if isinstance(c, Categorical)]
    cells = [[*map(_cell, row)] for row in Table(columns).rows()]
    yield from ("", title)
    for line in table_lines([[*columns], *cells], words, width=width and width - 1):
        yield f" {line}"
    if any("–" in row for row in cells):
        yield " –: undefined, or in too few images for an interval"
    if len(table) > n_rows:
        yield f" … and {len(table) - n_rows:,} more (all of them with --out DIR)"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "below threshold" if value else ""
    return decimal(value) if isinstance(value, float) else one_line(str(value))
