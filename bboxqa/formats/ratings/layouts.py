"""Detecting the layout of a table of ratings from its header."""

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import nearest
from bboxqa.formats.ratings.header_names import (
    looks_like_annotators,
    names_of_annotators,
    names_of_units,
)
from bboxqa.formats.ratings.wide import is_counts
from bboxqa.formats.tables.table_files import TableFile

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
    boxes = _boxes_in(header)
    if len(header) > 1 and not boxes:
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
        raise DatasetError([without_column(table, name) for name in absent], NAME_COLUMNS)
    raise DatasetError(
        [
            f"{table.name}: line 1: the header does not show the layout of the table: "
            + _listed(header)
        ],
        boxes
        + _hint(header, columns)
        + _doubt(table)
        + "Say so with --layout: long (one rating a row; name its columns with --unit, --annotator "
        "and --value),\nraters-x-units (one annotator a row), units-x-raters (one unit a row) or "
        "counts (one unit a row, how often each value was chosen).",
    )


def _doubt(table: TableFile) -> str:
    """Return a sentence about numbers that may be scores or counts; "" for other tables."""
    if not (len(table.header) > 1 and names_of_units(table.header[0]) and is_counts(table)):
        return ""
    return "Its small whole numbers may be scores, or counts of how often each column was chosen.\n"


def _boxes_in(header: tuple[str, ...]) -> str:
    """Return a sentence on the command for tables of boxes; "" for other tables."""
    from bboxqa.formats.box_tables.columns import columns_of

    return "" if columns_of(header, {}).problem else "`bboxqa agree` measures its boxes.\n"


def _hint(header: tuple[str, ...], columns: dict[str, str]) -> str:
    """Return a sentence with the options that read a table as long; "" if none fit."""
    wanted = [columns[field] for field in ("unit", "annotator", "value")]
    if len(header) < len(wanted) or not (
        any(map(names_of_annotators, header)) or not set(wanted[1:]).isdisjoint(header)
    ):
        return ""
    given = {name: name for name in wanted if name in header}
    for name in header:
        if names_of_annotators(name):
            given.setdefault(columns["annotator"], name)
        elif names_of_units(name):
            given.setdefault(columns["unit"], name)
    rest = [name for name in header if name not in given.values()]
    missing = [name for name in wanted if name not in given]
    if len(missing) != 1 or len(rest) != 1:
        return ""
    given[missing[0]] = rest[0]
    options = (
        f"--{field} {given[columns[field]]}"
        for field in ("unit", "annotator", "value")
        if given[columns[field]] != columns[field]
    )
    return f"If a row is one rating: {' '.join(options)}.\n"


def without_column(table: TableFile, name: str) -> str:
    """Return the problem of a table without a column."""
    return (
        f"{table.name}: line 1: has no column {name!r}; columns: {_listed(table.header)}"
        f"{nearest(name, table.header)}"
    )


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(name or "(empty)" for name in names[:20])
    return f"{shown}, … ({len(names):,} in all)" if len(names) > 20 else shown
