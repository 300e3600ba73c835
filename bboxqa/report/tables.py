"""Tables of plain text: columns below each other, and the first rows of a table of a result."""

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from shutil import get_terminal_size
from unicodedata import combining, east_asian_width

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count, one_line
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.report.numbers import decimal, interval_text

_MOST_COLUMNS = 9
# Between columns; and the size where the output is no terminal.
_GAP, _SIZE = 2, (100, 50)


def table_lines(
    rows: Sequence[Sequence[str]], left: Collection[int] = (), *, gap: int = _GAP
) -> Iterator[str]:
    """Yield the lines of a table, with every column as wide as its longest cell.

    All rows have the same length; the first one holds the titles. The columns of `left`, such as
    names, are aligned left, the others right.

    Examples
    --------
    >>> for line in table_lines([["id", "name"], ["7", "Apple"], ["12", "Fig"]], left=[1]):
    ...     print(line)
    id  name
     7  Apple
    12  Fig
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for column, (cell, most) in enumerate(zip(row, widths, strict=True)):
            space = " " * (most - _width(cell))
            cells.append(cell + space if column in left else space + cell)
        yield (" " * gap).join(cells).rstrip()


def _width(text: str) -> int:
    """Return the width of a text in columns of a terminal: two for each wide character."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(character) else 1 + (east_asian_width(character) in "WF")
        for character in text
    )


def table_excerpt(
    table: Table,
    order: IndexArray,
    title: str,
    file: str,
    n_rows: int = 10,
    columns: Collection[str] | None = None,
    out: str = "--out DIR",
) -> Iterator[str]:
    """Yield the first rows of a table in a given order, with some columns or the first nine.

    The last columns are left out where the table would be wider than the terminal, or than 100
    characters without one. A figure and its interval are one cell, with two decimals. Below the
    table follow the reasons for undefined cells, and the number of further rows with the csv `file`
    that has all of them, which the options `out` write.
    """
    if not len(order):
        return
    rows = table.take(order[:n_rows])
    # Columns that are undefined in all rows are left out.
    bounds = {f"{name}{end}" for name in table.with_interval for end in ("_low", "_high")}
    known = [
        name
        for name in rows.columns
        if name != "status" and name not in bounds and not _is_undefined(rows.columns[name])
    ]
    names = [name for name in columns or known[:_MOST_COLUMNS] if name in known]
    cells = [[name, *_cells(rows, name)] for name in names]
    ends = accumulate(_GAP + max(map(_width, each)) for each in cells)
    names = names[: max(1, sum(end < get_terminal_size(_SIZE).columns for end in ends))]
    lines = [*map(list, zip(*cells[: len(names)], strict=True))]
    words = [n for n, name in enumerate(names) if isinstance(rows.columns[name], Categorical)]
    yield from ("", *title.split("\n"))
    yield from (f" {line}" for line in (*table_lines(lines, words), *_why_undefined(rows, lines)))
    left_out = {"row": len(table) - len(rows), "column": len(known) - len(names)}
    if any(left_out.values()):
        more = " and ".join(count(n, f"more {noun}") for noun, n in left_out.items() if n)
        yield f" … and {more} (in {file}.csv of {out})"


def _why_undefined(rows: Table, shown: list[list[str]]) -> Iterator[str]:
    """Yield why cells are undefined; the column "status" has the reasons of "alpha"."""
    undefined = {name for name, *cells in zip(*shown, strict=True) if "–" in cells}
    if "alpha" in undefined and "status" in rows.columns:
        undefined.remove("alpha")
        unknown = rows.take(np.flatnonzero(np.isnan(rows["alpha"])))
        yield f"alpha –: {'; '.join(dict.fromkeys(unknown['status'].tolist()))}"
    yield from ["–: undefined or without meaning"] * bool(undefined)


def _is_undefined(column: Column) -> bool:
    """Return whether a column has only NaN or empty texts."""
    if isinstance(column, Categorical):
        return not any(column.names)
    return column.dtype.kind == "f" and bool(np.isnan(column).all())


def _cells(rows: Table, name: str) -> list[str]:
    """Return the cells of a column, with the interval if there is one."""
    (values,) = next(Table({name: rows.columns[name]}).parts())
    if name not in rows.with_interval:
        return [_cell(value) for value in values]
    ends = [rows[f"{name}{end}"].tolist() for end in ("_low", "_high")]
    # Figures without an interval are aligned with those that have one.
    blank = "" if np.isnan(ends[0]).all() else " " * 13
    bounds = [f" {interval_text(each, 2)}".rstrip() or blank for each in zip(*ends, strict=True)]
    pairs = zip(values, bounds, strict=True)
    return ["–" if value is None else f"{value:z.2f}{text}" for value, text in pairs]


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else decimal(value)
    return one_line(str(value))
