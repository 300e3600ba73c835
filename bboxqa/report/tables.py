"""Tables of plain text: columns below each other, and the first rows of a table of a result."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import fill, indent
from unicodedata import combining, east_asian_width

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count, one_line
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.report.numbers import decimal

_NARROWEST = 8
"""Smallest width of a narrowed column."""
_SHORT = 20
"""Smallest width of shortened names, so that they mostly remain distinct."""


def table_lines(
    rows: Sequence[Sequence[str]],
    left: Collection[int] = (),
    *,
    gap: int = 2,
    width: int | None = None,
    folded: Collection[int] = (),
) -> Iterator[str]:
    """Yield the lines of a table, with every column as wide as its longest cell.

    All rows have the same length; the first one holds the titles. The columns of `left`, such as
    names, are aligned left, the others right. If rows are longer than the width of the terminal,
    long cells in the columns of `left` are shortened in the middle; those in columns of `folded`
    are folded into several lines instead.

    Examples
    --------
    >>> for line in table_lines([["id", "name"], ["7", "Apple"], ["12", "Fig"]], left=[1]):
    ...     print(line)
    id  name
     7  Apple
    12  Fig
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    if width is not None:
        _narrow(widths, left, folded, width - gap * (len(widths) - 1))
    for row in rows:
        pieces = (
            _folded(cell, most) if column in folded else [_shortened(cell, most)]
            for column, (cell, most) in enumerate(zip(row, widths, strict=True))
        )
        for line in zip_longest(*pieces, fillvalue=""):
            cells = []
            for column, (cell, most) in enumerate(zip(line, widths, strict=True)):
                space = " " * (most - _width(cell))
                cells.append(cell + space if column in left else space + cell)
            yield (" " * gap).join(cells).rstrip()


def _narrow(widths: list[int], left: Collection[int], folded: Collection[int], room: int) -> None:
    """Narrow the widest columns of `left`, names first, until all fit or none can be narrowed."""
    names = [column for column in left if column not in folded]
    for columns, least in ((names, _SHORT), (left, _NARROWEST)):
        while sum(widths) > room:
            widest = max(columns, key=widths.__getitem__, default=None)
            if widest is None or widths[widest] <= least:
                break
            widths[widest] -= 1


def _shortened(text: str, width: int) -> str:
    """Return a text without its middle, if it is wider than `width`."""
    if _width(text) <= width:
        return text
    # The first half gets the odd column.
    end = _start(text[::-1], (width - 1) // 2)[::-1]
    return f"{_start(text, width - 1 - _width(end))}…{end}"


def _folded(text: str, width: int) -> list[str]:
    """Return a text in pieces no wider than `width`, split between words if possible."""
    pieces = []
    while _width(text) > width:
        piece = _start(text, width) or text[0]
        if " " in piece and not text[len(piece) :].startswith(" "):
            piece = piece[: piece.rindex(" ")]
        pieces.append(piece)
        text = text[len(piece) :].removeprefix(" ")
    return [*pieces, text]


def _start(text: str, width: int) -> str:
    """Return the longest start of a text that is not wider than `width`."""
    for stop, character in enumerate(text):
        width -= _width(character)
        if width < 0:
            return text[:stop]
    return text


def _width(text: str) -> int:
    """Return the width of a text in columns of a terminal: two for each wide character."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(character) else 1 + (east_asian_width(character) in "WF")
        for character in text
    )


class Excerpt(msgspec.Struct, frozen=True):
    """Which rows and columns of a table are shown."""

    title: str
    file: str
    """The name of the csv file that has all rows."""
    n_rows: int = 10
    columns: Collection[str] | None = None
    """By default all that fit."""
    folded: str = ""
    """A column whose texts are folded into several lines."""
    legend: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Explanations of columns."""
    out: str = "--out DIR"
    """The options that write the file."""


def table_excerpt(
    table: Table, order: IndexArray, width: int | None, shown: Excerpt
) -> Iterator[str]:
    """Yield the first rows of a table in a given order, by default with all columns that fit.

    A figure and its interval are one cell, with two decimals. Long names are shortened in the
    middle. Below the table follow the legend of the columns that are shown, the reasons for
    undefined cells, and the number of further rows with the csv file that has them.
    """
    if not len(order):
        return
    rows = table.take(order[: shown.n_rows])
    # Columns that are undefined in all rows are left out.
    bounds = {f"{name}{end}" for name in table.with_interval for end in ("_low", "_high")}
    known = [
        name
        for name in rows.columns
        if name != "status" and name not in bounds and not _is_undefined(rows.columns[name])
    ]
    names = [name for name in known if name in (shown.columns or known)]
    if shown.columns is not None:
        names.sort(key=[*shown.columns].index)
    lines = [names, *map(list, zip(*(_cells(rows, name) for name in names), strict=True))]
    words = [n for n, name in enumerate(names) if isinstance(rows.columns[name], Categorical)]
    if width is not None:
        lines = _fitting(lines, words, width - 1)
    yield from ("", *shown.title.split("\n"))
    folded = [place for place, name in enumerate(lines[0]) if name == shown.folded]
    for line in table_lines(lines, words, width=width and width - 1, folded=folded):
        yield f" {line}"
    legend = [f"{name}: {text}" for name, text in shown.legend.items() if name in lines[0]]
    for line in (*legend, *_why_undefined(rows, lines)):
        yield from indent(fill(line, width - 1) if width else line, " ").splitlines()
    left_out = {"row": len(table) - len(rows), "column": len(known) - len(lines[0])}
    if any(left_out.values()):
        more = " and ".join(count(n, f"more {noun}") for noun, n in left_out.items() if n)
        yield f" … and {more} (in {shown.file}.csv of {shown.out})"


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


def _cells(rows: Table, name: str) -> list[str]:
    """Return the cells of a column, with the interval if there is one."""
    (values,) = next(Table({name: rows.columns[name]}).parts())
    if name not in rows.with_interval:
        return [_cell(value) for value in values]
    low, high = rows[f"{name}_low"].tolist(), rows[f"{name}_high"].tolist()
    # Figures without an interval are aligned with those that have one.
    blank = "" if np.isnan(low).all() else " " * 13
    bounds = [
        blank if np.isnan(one) else f" [{one:z.2f}, {other:z.2f}]"
        for one, other in zip(low, high, strict=True)
    ]
    return [
        "–" if value is None else f"{value:z.2f}{ends}"
        for value, ends in zip(values, bounds, strict=True)
    ]


def _fitting(rows: list[list[str]], words: list[int], width: int) -> list[list[str]]:
    """Return the first columns, as many as fit; columns of words can be narrowed."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = width + 2
    for place, most in enumerate(widths):
        room -= 2 + (min(most, _SHORT) if place in words else most)
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
