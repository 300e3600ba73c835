"""The first rows of a table of a result, as lines of text."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import one_line
from bboxqa.model.table import Categorical, Table
from bboxqa.report.numbers import decimal
from bboxqa.report.text_table import NARROWEST, table_lines

# Spaces between two columns.
_GAP = 2


def table_excerpt(
    title: str, table: Table, order: IndexArray, width: int | None, n_rows: int = 10
) -> Iterator[str]:
    """Yield the first rows of a table in a given order; the last columns may not fit."""
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
    shown = [[*columns], *cells]
    if width is not None:
        shown = _fitting(shown, words, width - 1)
    yield from ("", title)
    for line in table_lines(shown, words, width=width and width - 1):
        yield f" {line}"
    if any("–" in row for row in cells):
        yield " –: undefined or without meaning, or in too few images for an interval"
    if len(table) > n_rows:
        yield f" … and {len(table) - n_rows:,} more (all of them with --out DIR)"


def _fitting(rows: list[list[str]], words: list[int], width: int) -> list[list[str]]:
    """Return the first columns, as many as fit; columns of words can be folded."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = width + _GAP
    for place, most in enumerate(widths):
        room -= _GAP + (min(most, NARROWEST) if place in words else most)
        if room < 0 and place > max(words, default=0):
            return [row[:place] for row in rows]
    return rows


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "below threshold" if value else ""
    return decimal(value) if isinstance(value, float) else one_line(str(value))
