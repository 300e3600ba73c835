"""The layout of a table of ratings, from the names in its header."""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import nearest
from bboxqa.formats.box_tables.columns import columns_of
from bboxqa.formats.ratings.columns import whole_numbers
from bboxqa.formats.tables.rows import TableFile
from bboxqa.model.labels import LabelColumn

_KEY = r"([ _-]?(id|name|no|number|index))?"
_PEOPLE = r"(annotator|rater|coder|judge|observer|labell?er|reviewer|worker)"
_THINGS = (
    r"(unit|item|image|img|file(name)?|picture|photo|frame|object|subject|patient|case|sample|"
    r"document|doc|text|sentence|question|recording)"
)
_ANNOTATORS = re.compile(rf"{_PEOPLE}s?{_KEY}", re.IGNORECASE)
_UNITS = re.compile(rf"{_THINGS}s?{_KEY}", re.IGNORECASE)
_ONE_ANNOTATOR = re.compile(rf"{_PEOPLE}([ _-]?\d+|[ _-]\w+|[ _-]?[a-z])", re.IGNORECASE)


def names_of_annotators(title: str) -> bool:
    """Return whether a column with this title names annotators, such as "rater_id"."""
    return _ANNOTATORS.fullmatch(title) is not None


def names_of_units(title: str) -> bool:
    """Return whether a column with this title names units, such as "image_id" or "subject"."""
    return _UNITS.fullmatch(title) is not None


def looks_like_annotators(names: Sequence[str]) -> bool:
    """Return whether there are two or more names, all like rater1 or "coder A"."""
    return len(names) > 1 and all(_ONE_ANNOTATOR.fullmatch(name) for name in names)


MISSING = {"-", "#N/A", "N/A", "n/a", "NA", "NAN", "NaN", "nan", "NULL", "Null", "null"}
"""Cells without a rating."""
_MOST = 2**40
LAYOUTS = ("long", "raters-x-units", "units-x-raters", "counts")

NAME_COLUMNS = (
    "Name the columns of the layout long with --unit, --annotator, --value, --by, --cluster and "
    "--n-options."
)
"""The advice if a column is not found."""


def layout_of(table: TableFile, columns: dict[str, str]) -> str:
    """Return the layout of a table; raises DatasetError if the header does not show it."""
    header = table.header
    wanted = [columns[field] for field in ("unit", "annotator", "value")]
    if set(wanted) <= set(header) or len(columns) > len(wanted):
        return "long"
    has_boxes = not columns_of(header, {}).problem
    if len(header) > 1 and not has_boxes:
        if names_of_annotators(header[0]):
            return "raters-x-units"
        if looks_like_annotators(header[1:]):
            return "units-x-raters"
        # A table with columns unit, annotator, label is long, with one column renamed.
        long = any(map(names_of_annotators, header)) or not set(wanted[1:]).isdisjoint(header)
        if names_of_units(header[0]) and not long and not is_counts(table):
            return "units-x-raters"
    # A name other than the default was given by the user.
    absent = [name for field, name in columns.items() if name not in (field, *header)]
    if absent:
        raise DatasetError([*column_problems(table, absent)], NAME_COLUMNS)
    raise DatasetError(
        [
            f"{table.name}: line 1: the header does not show the layout of the table: "
            + _listed(header)
        ],
        "`bboxqa agree` measures its boxes.\n"
        * has_boxes
        + "Say so with --layout: long (one rating a row; name its columns with --unit, --annotator "
        "and --value),\nraters-x-units (one annotator a row), units-x-raters (one unit a row) or "
        "counts (one unit a row, how often each value was chosen).",
    )


def column_problems(table: TableFile, names: Iterable[str]) -> Iterator[str]:
    """Yield the problem of each name that is not that of one column."""
    for name in names:
        if table.header.count(name) > 1:
            yield f"{table.name}: line 1: has several columns {name!r}; expected one"
        elif name not in table.header:
            found = f"columns: {_listed(table.header)}{nearest(name, table.header)}"
            yield f"{table.name}: line 1: has no column {name!r}; {found}"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(name or "(empty)" for name in names[:20])
    return f"{shown}, … ({len(names):,} in all)" if len(names) > 20 else shown


def answers(column: LabelColumn) -> LabelColumn:
    """Return ratings with markers of missing ratings, such as NA, made missing.

    ``-`` stays if ``+`` is an answer as well.
    """
    signs = MISSING - {"-"} if "+" in column.labels else MISSING
    return LabelColumn(column.codes, tuple(None if x in signs else x for x in column.labels))


def is_counts(table: TableFile) -> bool:
    """Return whether all cells except the first column are numbers, 0 or more.

    Empty cells are ignored.
    """
    cells, width = table.grid()
    if len(cells) == 0:
        return False
    inner = cells.codes.reshape(-1, width)[:, 1:].ravel()
    given = [label is not None and label not in MISSING for label in cells.labels]
    there = np.array(given, np.bool_)
    inner = inner[(inner >= 0) & there[inner]]
    return bool((counts_in(LabelColumn(inner, cells.labels)) >= 0).all())


def counts_in(cells: LabelColumn) -> IndexArray:
    """Return cells as counts; -1 where they are not counts."""
    found = whole_numbers(cells, missing=-1)
    return np.where((found >= 0) & (found < _MOST), found, -1)
