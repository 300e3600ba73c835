"""The first rows of a table of a result, as lines of text."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from textwrap import fill, indent

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count, one_line
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.report.numbers import decimal
from bboxqa.report.text_table import SHORT, table_lines

# Spaces between two columns.
_GAP = 2


def table_excerpt(
    title: str,
    table: Table,
    order: IndexArray,
    width: int | None,
    *,
    file: str,
    n_rows: int = 10,
    columns: Collection[str] | None = None,
    folded: str = "",
    legend: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield the first rows of a table in a given order, by default with all columns that fit.

    A figure and its interval are one cell, with two decimals. Long names are shortened in the
    middle; the texts of the column `folded` are folded into several lines. Below the table follow
    the `legend` of the columns that are shown, the reasons for undefined cells, and the number of
    further rows with the csv file that has them.
    """
    if not len(order):
        return
    rows = table.take(order[:n_rows])
    # Columns that are undefined in all rows are left out.
    bounds = {f"{name}{end}" for name in _with_interval(table) for end in ("_low", "_high")}
    names = [
        name
        for name in rows.columns
        if name != "status" and name not in bounds and not _is_undefined(rows.columns[name])
    ]
    n_columns = len(names)
    if columns is not None:
        names = [name for name in columns if name in names]
    cells = [_cells(rows, name) for name in names]
    shown = [names, *map(list, zip(*cells, strict=True))]
    words = [n for n, name in enumerate(names) if isinstance(rows.columns[name], Categorical)]
    if width is not None:
        shown = _fitting(shown, words, width - 1)
    yield from ("", title)
    long = [place for place, name in enumerate(shown[0]) if name == folded]
    for line in table_lines(shown, words, width=width and width - 1, folded=long):
        yield f" {line}"
    explained = [f"{name}: {text}" for name, text in (legend or {}).items() if name in shown[0]]
    for line in (*explained, *_why_undefined(rows, shown)):
        yield from indent(fill(line, width - 1) if width else line, " ").splitlines()
    left_out = {"row": len(table) - len(rows), "column": n_columns - len(shown[0])}
    if any(left_out.values()):
        more = " and ".join(count(n, f"more {noun}") for noun, n in left_out.items() if n)
        yield f" … and {more} (in {file}.csv of --out DIR)"


def columns_first(table: Table, names: Iterable[str]) -> Table:
    """Return a table with some of its columns first, as the last ones may not fit."""
    order = [name for name in dict.fromkeys((*names, *table.columns)) if name in table.columns]
    return Table({name: table.columns[name] for name in order})


def _why_undefined(rows: Table, shown: list[list[str]]) -> Iterator[str]:
    """Yield why cells are undefined; the column "status" has the reasons of "alpha"."""
    undefined = {name for name, *cells in zip(*shown, strict=True) if "–" in cells}
    if "alpha" in undefined and "status" in rows.columns:
        undefined.remove("alpha")
        unknown = rows.take(np.flatnonzero(np.isnan(rows["alpha"])))
        yield f"alpha –: {'; '.join(dict.fromkeys(unknown['status'].tolist()))}"
    if undefined:
        yield "–: undefined or without meaning"


def _is_undefined(column: Column) -> bool:
    """Return whether a column has only NaN."""
    if isinstance(column, Categorical) or column.dtype.kind != "f":
        return False
    return bool(np.isnan(column).all())


def _with_interval(table: Table) -> list[str]:
    """Return the columns that have an interval in two other columns."""
    ends = ("_low", "_high")
    return [name for name in table.columns if {f"{name}{end}" for end in ends} <= {*table.columns}]


def _cells(rows: Table, name: str) -> list[str]:
    """Return the cells of a column, with the interval if there is one."""
    (values,) = next(Table({name: rows.columns[name]}).parts())
    if name not in _with_interval(rows):
        return [_cell(value) for value in values]
    low, high = rows[f"{name}_low"].tolist(), rows[f"{name}_high"].tolist()
    # Figures without an interval are aligned with those that have one.
    blank = "" if np.isnan(low).all() else " " * 13
    return [
        "–" if value is None else f"{value:z.2f}" + (_bounds(*ends) or blank)
        for value, *ends in zip(values, low, high, strict=True)
    ]


def _bounds(low: float, high: float) -> str:
    return "" if np.isnan(low) else f" [{low:z.2f}, {high:z.2f}]"


def _fitting(rows: list[list[str]], words: list[int], width: int) -> list[list[str]]:
    """Return the first columns, as many as fit; columns of words can be narrowed."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = width + _GAP
    for place, most in enumerate(widths):
        room -= _GAP + (min(most, SHORT) if place in words else most)
        if room < 0 and place > max(words, default=0):
            return [row[:place] for row in rows]
    return rows


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return decimal(value)
    text = one_line(str(value))
    # A name that consists of spaces would look like an empty cell.
    return f"'{text}'" if text.isspace() else text
