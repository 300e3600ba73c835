"""Numbers, names and tables as text, pages, charts, JSON and CSV show them."""

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import accumulate
from math import isnan
from shutil import get_terminal_size
from typing import Any
from unicodedata import combining, east_asian_width

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count, guarded, one_line
from bboxqa.model.settings import AgreeSettings, ValidateSettings
from bboxqa.model.table import Categorical, Table

MINUS = "\N{MINUS SIGN}"
_MEASURES = dict.fromkeys(("bbox", "obb", "polygon", "mask", "pixel", "raster"), "IoU")


def measure_of(similarity: str) -> str:
    """Return the name of a similarity's values in text and on pages, such as "IoU"."""
    return (_MEASURES | {"keypoints": "OKS"}).get(similarity, similarity)


def decimal(value: float | None, digits: int = 4) -> str:
    """Return a number with so many decimals, and zero without a sign; empty where undefined."""
    return "" if value is None or isnan(value) else f"{value:z.{digits}f}"


def interval_text(interval: Sequence[float] | None, digits: int = 4) -> str:
    """Return an interval in brackets; empty where undefined."""
    low, high = (decimal(end, digits) for end in interval or (None, None))
    return f"[{low}, {high}]" if low and high else ""


def estimate_text(value: float | None, interval: Sequence[float] | None = None) -> str:
    """Return a number with its interval, if it has one; a dash where undefined."""
    return f"{decimal(value, 2) or '–'} {interval_text(interval, 2)}".rstrip()


def figure_text(figure: Mapping[str, Any]) -> str:
    """Return the value of a figure in JSON with its interval, as a page shows it."""
    return estimate_text(figure["value"], figure["interval"]).replace("-", MINUS)


def difference_text(value: float) -> str:
    """Return a difference with its sign; a dash where undefined."""
    return "–" if isnan(value) else f"{value:+z.4f}"


def number(value: float | None, digits: int = 2) -> str:
    """Return a number for a page or a chart; a dash for None."""
    if value is None:
        return "–"
    text = f"{value:,}" if isinstance(value, int) else f"{value:z,.{digits}f}"
    return text.replace("-", MINUS)


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share for a page, such as "12.3 %"."""
    return "–" if value is None else f"{number(100 * value, digits)} %"


def json_value(value: Any) -> Any:
    """Return a value for JSON: a number or a pair of numbers that is not known is None."""
    if isinstance(value, float):
        return None if isnan(value) else float(value)
    if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[0], float):
        return None if any(map(isnan, value)) else [*map(float, value)]
    return value


def picked(value: object, *names: str) -> dict[str, Any]:
    """Return attributes for JSON, as `json_value` does."""
    return {name: json_value(getattr(value, name)) for name in names}


def json_figure(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a figure of a row of a table for JSON, with its interval."""
    bounds = [row[f"{name}_low"], row[f"{name}_high"]]
    return {"value": row[name], "interval": None if None in bounds else bounds}


def short_name(name: str, most: int = 28) -> str:
    """Return a name on one line, with its middle cut out if it is longer than `most`."""
    line = one_line(name)
    if len(line) <= most:
        return line
    end = (most - 1) // 2
    return f"{line[: most - 1 - end]}…{line[-end:]}"


def part_of(shown: int, total: int, noun: str) -> str:
    """Return how many of all items are shown, as "30 of 1,203 categories"; empty if all are."""
    return "" if shown == total else f"{shown:,} of {total:,} {noun}"


def csv_row(values: Iterable[object], *, raw: bool = False) -> str:
    """Return values as a row with its end, quoted as RFC 4180 requires; None is an empty cell.

    Unless `raw`, a text that a spreadsheet would run as a formula gets a leading apostrophe.
    """
    row = StringIO(newline="")
    cells = (v if raw or not isinstance(v, str) else guarded(v) for v in values)
    # Only with both signs as the line end are texts quoted that hold one of them.
    csv.writer(row, lineterminator="\r\n").writerow(cells)
    return f"{row.getvalue()[:-2]}\n"


def csv_line(values: Iterable[object], *, raw: bool = False) -> str:
    """Return values like `csv_row`, but on one line: line ends in texts are escaped."""
    return csv_row((one_line(v) if isinstance(v, str) else v for v in values), raw=raw)


def in_json(settings: AgreeSettings | ValidateSettings) -> dict[str, Any]:
    """Return settings as they are in a JSON file: lists instead of tuples."""
    return dict(msgspec.json.decode(msgspec.json.encode(settings)))


def json_text(value: Any) -> str:
    """Return a value as indented JSON, with a line end."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    return f"{text}\n"


_MOST_COLUMNS = 9
# Between columns; and the size where the output is no terminal.
_GAP, _SIZE = 2, (100, 50)


def table_lines(
    rows: Sequence[Sequence[str]], left: Collection[int] = (), *, gap: int = _GAP
) -> Iterator[str]:
    """Yield the lines of a table, titles first; columns of `left` stand left, others right."""
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
    table follows what is left out, with the csv `file` that the options `out` write.
    """
    if not len(order):
        return
    rows = table.take(order[:n_rows])
    # Columns that are undefined in all rows are left out.
    bounds = {f"{name}{end}" for name in table.with_interval for end in ("_low", "_high")}
    known = []
    for name, column in rows.columns.items():
        is_empty = (
            not any(column.names) if isinstance(column, Categorical)
            else column.dtype.kind == "f" and bool(np.isnan(column).all())
        )  # fmt: skip
        if not (name == "status" or name in bounds or is_empty):
            known.append(name)
    names = [name for name in columns or known[:_MOST_COLUMNS] if name in known]
    cells = [[name, *_cells(rows, name)] for name in names]
    ends = accumulate(_GAP + max(map(_width, each)) for each in cells)
    names = names[: max(1, sum(end < get_terminal_size(_SIZE).columns for end in ends))]
    lines = [*map(list, zip(*cells[: len(names)], strict=True))]
    words = [n for n, name in enumerate(names) if isinstance(rows.columns[name], Categorical)]
    yield from ("", *title.split("\n"))
    yield from (f" {line}" for line in table_lines(lines, words))
    if any("–" in line for line in lines):
        yield " –: undefined or without meaning"
    left_out = {"row": len(table) - len(rows), "column": len(known) - len(names)}
    if any(left_out.values()):
        more = " and ".join(count(n, f"more {noun}") for noun, n in left_out.items() if n)
        yield f" … and {more} (in {file}.csv of {out})"


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
