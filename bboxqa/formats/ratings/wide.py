"""Reading tables with one annotator or one unit per row."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.ratings.header_names import (
    are_names,
    looks_like_annotators,
    looks_like_units,
    names_of_annotators,
    names_of_units,
)
from bboxqa.formats.ratings.rating_arrays import from_cells
from bboxqa.formats.ratings.rating_columns import reliability
from bboxqa.formats.tables.table_files import TableFile
from bboxqa.model.labels import LabelColumn, code, number_of
from bboxqa.model.ratings import Ratings

_MISSING = {"-", "#N/A", "N/A", "n/a", "NA", "NAN", "NaN", "nan", "NULL", "Null", "null"}
_FAR = 10
_MOST_COUNTS = 10**7


@dataclass(frozen=True, slots=True)
class _Wide:
    """The R × C cells of a table, and the names of its rows and columns."""

    cells: LabelColumn
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    corner: str

    @property
    def shape(self) -> tuple[int, int]:
        width = len(self.column_names)
        return len(self.cells) // width, width


def answers(column: LabelColumn) -> LabelColumn:
    """Return ratings with markers of missing ratings, such as NA, made missing.

    ``-`` stays if ``+`` is an answer as well.
    """
    signs = _MISSING - {"-"} if "+" in column.labels else _MISSING
    return LabelColumn(column.codes, tuple(None if x in signs else x for x in column.labels))


def is_counts(table: TableFile) -> bool:
    """Return whether all cells except the first column are numbers, 0 or more.

    Empty cells are ignored.
    """
    cells, width = table.grid()
    if len(cells) == 0:
        return False
    inner = cells.codes.reshape(-1, width)[:, 1:].ravel()
    given = [label is not None and label not in _MISSING for label in cells.labels]
    there = np.array(given, np.bool_)
    inner = inner[(inner >= 0) & there[inner]]
    return bool((_counts(LabelColumn(inner, cells.labels)) >= 0).all())


def read_wide(table: TableFile, layout: str) -> Ratings:
    """Return the ratings of a table with one annotator or one unit per row.

    Raises DatasetError if names cannot be distinguished from ratings, if a name occurs twice, if
    the table seems transposed, or if a count is not a whole number.

    Parameters
    ----------
    table : TableFile
        The first row may name the columns, and the first column the rows.
    layout : str
        ``"raters-x-units"``, ``"units-x-raters"`` or ``"counts"``.

    Returns
    -------
    Ratings
        Units and annotators in the order of the table.
    """
    wide = _split(table, counts=layout == "counts")
    if layout != "counts":
        _refuse_transposed(table, wide, layout)
    problems = [
        f"{table.name}: {what} {name!r} occurs several times; expected each once"
        for what, names in (("row", wide.row_names), ("column", wide.column_names))
        for name, times in Counter(names).items()
        if times > 1
    ]
    if problems:
        raise DatasetError(problems, "Every annotator and every unit has one row or column.")
    if layout == "counts":
        return _from_counts(table, wide)
    values = answers(wide.cells) if not table.header_is_certain else wide.cells
    n_rows, n_columns = wide.shape
    row_names = wide.row_names or tuple(str(row) for row in range(1, n_rows + 1))
    if layout == "units-x-raters":
        return from_cells(code(values), wide.column_names, n_rows, row_names)
    across = values.codes.reshape(n_rows, n_columns).T.ravel()
    return from_cells(
        code(LabelColumn(across, values.labels)), row_names, n_columns, wide.column_names
    )


def _split(table: TableFile, *, counts: bool) -> _Wide:
    """Separate the names of rows and columns from the cells."""
    cells, width = table.grid()
    codes = cells.codes.reshape(-1, width)
    header: list[str | None] = [name or None for name in table.header]
    corner = table.header[0]
    peopled = looks_like_annotators(table.header)
    titled = corner == "" or names_of_annotators(corner) or names_of_units(corner)
    titled = titled or peopled or looks_like_annotators(table.header[1:])
    below = _labels(codes, cells)
    has_header: bool | None = True
    if not table.header_is_certain and not (titled and None not in header[1:]):
        has_header = _heads_counts(header, codes, cells) if counts else are_names(header, below)
    if has_header and len(codes) == 0:
        raise DatasetError([f"{table.name}: has a header only; expected ratings below it"])
    if has_header is False:
        cells, codes = _with_row(cells, codes, header)
    first = [cells.label(row * width) for row in range(len(codes))]
    has_names: bool | None = bool(has_header and titled and None not in first)
    if width == 1 or peopled:
        has_names = False
    elif counts and not has_names:
        has_names = any(name is not None and number_of(name) is None for name in first)
    elif not has_names:
        has_names = are_names(first, _labels(codes[:, 1:], cells))
    _refuse_unclear(table, has_header, has_names)
    names = [name or "" for name in header] if has_header else [str(i + 1) for i in range(width)]
    if not has_names:
        return _Wide(LabelColumn(codes.ravel(), cells.labels), (), tuple(names), "")
    columns = names[1:] if has_header else [str(i) for i in range(1, width)]
    inner = LabelColumn(codes[:, 1:].ravel(), cells.labels)
    rows = tuple(name or "" for name in first)
    return _Wide(inner, rows, tuple(columns), corner if has_header else "")


def _refuse_unclear(table: TableFile, has_header: bool | None, has_names: bool | None) -> None:
    """Refuse a table in which names cannot be distinguished from ratings."""
    if has_header is None or has_names is None:
        where = "line 1" if has_header is None else "the first column"
        raise DatasetError(
            [f"{table.name}: {where}: may be names or ratings"],
            "Give every row and every column a name, and begin the first line with the word "
            "annotator (one annotator per row) or unit (one unit per row).",
        )


def _labels(codes: IndexArray, cells: LabelColumn) -> set[str]:
    """Return the labels that occur, without missing cells."""
    found = (None if place < 0 else cells.labels[place] for place in np.unique(codes).tolist())
    return {label for label in found if label is not None and label not in _MISSING}


def _with_row(
    cells: LabelColumn, codes: IndexArray, row: list[str | None]
) -> tuple[LabelColumn, IndexArray]:
    """Return the cells with a row added at the top."""
    start = len(cells.labels)
    whole = np.concatenate([[np.arange(start, start + len(row))], codes])
    return LabelColumn(whole.ravel(), (*cells.labels, *row)), whole


def _heads_counts(header: list[str | None], codes: IndexArray, cells: LabelColumn) -> bool | None:
    """Return whether the first row names the categories of counts; None if unclear."""
    numbers = [None if cell is None else number_of(cell) for cell in header]
    if any(number is None for number in numbers):
        return True
    first = [float(number or 0) for number in numbers]
    sums = _counts(LabelColumn(codes.ravel(), cells.labels)).reshape(codes.shape).sum(axis=1)
    steps = set(np.diff(first).tolist())
    if steps == {1.0} and first[0] in {0, 1} and not (sums == sum(first)).all():
        return None
    return False


def _refuse_transposed(table: TableFile, wide: _Wide, layout: str) -> None:
    """Refuse a table that seems transposed."""
    n_rows, n_columns = wide.shape
    by_annotator = layout == "raters-x-units"
    other = "units-x-raters" if by_annotator else "raters-x-units"
    n_annotators, n_units = (n_rows, n_columns) if by_annotator else (n_columns, n_rows)
    titled, against = names_of_annotators(wide.corner), names_of_units(wide.corner)
    across, down = wide.column_names, wide.row_names
    if not by_annotator:
        titled, against, across, down = against, titled, down, across
    reason = ""
    if against:
        reason = f"its first column is called {wide.corner!r}"
    elif looks_like_annotators(across) and not looks_like_annotators(down):
        reason = f"its {'columns' if by_annotator else 'rows'} are called {across[0]!r}, …"
    elif looks_like_units(down) and not looks_like_units(across):
        reason = f"its {'rows' if by_annotator else 'columns'} are called {down[0]!r}, …"
    elif n_annotators > n_units and not titled and not looks_like_annotators(down):
        reason = f"it would be {n_annotators:,} annotators of {count(n_units, 'unit')}"
    if reason:
        word = "annotator" if by_annotator else "unit"
        raise DatasetError(
            [f"{table.name}: does not look like {layout}: {reason}"],
            f"Give --layout {other} if the table is transposed. If it is not, begin its first line "
            f"with the word {word}, above the names of the rows.",
        )


def _counts(cells: LabelColumn) -> IndexArray:
    """Return cells as counts; -1 where they are not counts."""
    known = []
    for label in (*cells.labels, None):
        number = None if label is None else number_of(label)
        fits = number is not None and number >= 0 and float(number).is_integer()
        known.append(int(number) if fits and number is not None and number < 2**40 else -1)
    return np.array(known, np.int64)[cells.codes]


def _from_counts(table: TableFile, wide: _Wide) -> Ratings:
    """Expand counts to ratings by unknown annotators without names."""
    nameless = [place for place, name in enumerate(wide.column_names, start=1) if not name]
    if nameless:
        raise DatasetError(
            [
                f"{table.name}: line 1: column {place} of the counts has no name"
                for place in nameless
            ],
            "Name each column after the value that it counts.",
        )
    amounts = _counts(wide.cells).reshape(wide.shape)
    _refuse_no_counts(table, wide, amounts)
    n_units, n_values = amounts.shape
    ratings = np.repeat(np.arange(amounts.size), amounts.ravel())
    units, values = np.divmod(ratings, n_values)
    per_unit = amounts.sum(axis=1)
    starts = np.cumsum(per_unit) - per_unit
    annotators = np.arange(len(units)) - starts[units]
    # Categories that were never chosen count as possible answers.
    every = np.concatenate([np.arange(n_values), values])
    coded = code(LabelColumn(every, wide.column_names))
    coded = type(coded)(coded.codes[n_values:], coded.names, coded.numbers)
    data = reliability(units, annotators, coded, np.arange(n_units), n_units)
    unit_names = wide.row_names or tuple(str(row) for row in range(1, n_units + 1))
    return Ratings(data, unit_names, (), coded.names, coded.numbers)


def _refuse_no_counts(table: TableFile, wide: _Wide, amounts: IndexArray) -> None:
    n_rows, n_columns = wide.shape
    problems = []
    for place in np.flatnonzero(amounts.ravel() < 0).tolist():
        row, column = divmod(place, n_columns)
        shown = wide.cells.label(place)
        named = repr(wide.row_names[row]) if wide.row_names else f"{row + 1}"
        problems.append(
            f"{table.name}: row {named}, column {wide.column_names[column]!r}: is "
            f"{'missing' if shown is None else repr(shown)}; expected a count, 0 or more"
        )
    advice = "If the cells are ratings: --layout units-x-raters or --layout raters-x-units."
    if not problems and looks_like_annotators(wide.column_names):
        problems = [f"{table.name}: columns are called {wide.column_names[0]!r}, …, as annotators"]
    if (
        not problems
        and looks_like_units(wide.column_names)
        and not looks_like_units(wide.row_names)
    ):
        problems = [f"{table.name}: columns are called {wide.column_names[0]!r}, …, as units"]
        advice = "Transpose the table: one unit per row, and one category per column."
    if not problems and amounts.sum() > _MOST_COUNTS:
        problems = [f"{table.name}: counts add up to {amounts.sum():,}; expected ratings of people"]
    if not problems and n_columns >= max(_FAR, n_rows) and n_rows > 1:
        down, across = amounts.sum(axis=0), amounts.sum(axis=1)
        if len(set(down.tolist())) == 1 and len(set(across.tolist())) > 1:
            problems = [
                f"{table.name}: columns add up to {down[0]} each, and rows do not; transposed?"
            ]
            advice = "Transpose the table."
    if problems:
        raise DatasetError(problems, advice)
