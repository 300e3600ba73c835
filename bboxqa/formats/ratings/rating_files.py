"""Reading tables of ratings, in any of the layouts in which they are kept."""

from pathlib import Path

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import nearest, unknown_name
from bboxqa.formats.ratings.header_names import (
    looks_like_annotators,
    looks_like_pictures,
    names_of_annotators,
    names_of_things,
    names_of_units,
)
from bboxqa.formats.ratings.own_tables import (
    UNITS_NOTE,
    refuse_results,
    unit_table_columns,
    with_missed,
)
from bboxqa.formats.ratings.rating_columns import Places, RatingColumns, assemble
from bboxqa.formats.ratings.wide import answers, is_counts, read_wide
from bboxqa.formats.tables.table_files import TableFile, open_table
from bboxqa.model.labels import LabelColumn
from bboxqa.model.ratings import Ratings

# Names of one kind are all alike; so many tell.
_LOOKED_AT = 1000

_NAME_COLUMNS = (
    "Name the columns of the layout long with --unit, --annotator, --value, --by, --cluster and "
    "--n-options."
)

LAYOUTS = ("long", "raters-x-units", "units-x-raters", "counts")


def read_ratings(
    path: str | Path,
    *,
    layout: str | None = None,
    unit: str = "unit",
    annotator: str = "annotator",
    value: str = "value",
    by: str | None = None,
    cluster: str | None = None,
    n_options: str | None = None,
) -> dict[str | None, Ratings]:
    r"""Read a table of ratings.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, json lines or Parquet. In text, a rating that is empty, NA, N/A, n/a, #N/A, NaN,
        nan, NAN, null, NULL, Null or - is missing, but - is an answer where + is one as well; in
        json lines and Parquet null, NaN and the empty text. "none" is always an answer. In
        units.csv of `bboxqa agree`, a missed object is the value "(missing)", images are the
        clusters, and thresholds the tasks if there are several.
    layout : str, optional
        ``"long"``: one rating a row; ``"raters-x-units"``: one annotator a row;
        ``"units-x-raters"``: one unit a row; ``"counts"``: one unit a row with a column per value
        that says how many annotators chose it (who gave which is then unknown).
        By default what the header makes certain.
    unit, annotator, value : str
        Columns of the long layout.
    by : str, optional
        Column of tasks, each of which is a table for itself.
    cluster : str, optional
        Column of what intervals draw; by default the units.
    n_options : str, optional
        Column of the number of objects to choose from.

    Returns
    -------
    dict of str to Ratings
        By task, in order of appearance; under None where `by` is not given. Codes of one task
        say nothing about those of another.

    Raises
    ------
    DatasetError
        If the file cannot be read or understood, with every problem and its line.
    ConfigError
        If the settings contradict one another.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = path.write_text("unit,annotator,value\n1,ann,yes\n1,bob,no\n2,ann,NA\n")
    >>> ratings = read_ratings(path)[None]
    >>> ratings.value_names, ratings.data.value, len(ratings.unit_names)
    (('no', 'yes'), array([1, 0], dtype=int32), 2)
    """
    if layout is not None and layout not in LAYOUTS:
        raise ConfigError(f"layout {unknown_name(layout, LAYOUTS)}")
    columns = {"unit": unit, "annotator": annotator, "value": value}
    if len(set(columns.values())) < len(columns):
        raise ConfigError("unit, annotator and value must be three different columns")
    extra = {"by": by, "cluster": cluster, "n_options": n_options}
    columns |= {field: name for field, name in extra.items() if name is not None}
    table = open_table(path)
    refuse_results(table)
    of_units = unit_table_columns(table, columns)
    layout = "long" if of_units else layout or _layout(table, columns)
    if layout == "long":
        tasks = _read_long(table, of_units or columns, of_units=of_units is not None)
    else:
        for field, name in columns.items():
            if field in extra or name != field:
                option = field.replace("_", "-")
                raise ConfigError(f"--{option} names a column of the layout long; this is {layout}")
        tasks = {None: read_wide(table, layout)}
    if not any(len(ratings.data.unit) for ratings in tasks.values()):
        raise DatasetError([f"{table.name}: holds no rating: every value is missing"])
    return tasks


def _layout(table: TableFile, columns: dict[str, str]) -> str:
    """Return the layout that the header makes certain."""
    header = table.header
    wanted = [columns[field] for field in ("unit", "annotator", "value")]
    if set(wanted) <= set(header) or len(columns) > len(wanted):
        return "long"
    if len(header) > 1:
        if names_of_annotators(header[0]):
            return "raters-x-units"
        if looks_like_annotators(header[1:]):
            return "units-x-raters"
        # Columns unit, annotator, label are a long table with other names.
        long = any(map(names_of_annotators, header)) or not set(wanted[1:]).isdisjoint(header)
        if names_of_units(header[0]) and not long and not is_counts(table):
            return "units-x-raters"
    # What differs from the default was named by the user.
    absent = [name for field, name in columns.items() if name not in (field, *header)]
    if absent:
        raise DatasetError([_without_column(table, name) for name in absent], _NAME_COLUMNS)
    raise DatasetError(
        [
            f"{table.name}: line 1: the header does not tell what the table holds: "
            + _listed(header)
        ],
        _hint(header, columns)
        + _doubt(table)
        + "Say so with --layout: long (one rating a row; name its columns with --unit, --annotator "
        "and --value),\nraters-x-units (one annotator a row), units-x-raters (one unit a row) or "
        "counts (one unit a row, how often each value was chosen).",
    )


def _doubt(table: TableFile) -> str:
    """Return why small whole numbers below the names of people do not make it certain."""
    if not (len(table.header) > 1 and names_of_units(table.header[0]) and is_counts(table)):
        return ""
    return "Its small whole numbers can be scores, or how often each column was chosen.\n"


def _hint(header: tuple[str, ...], columns: dict[str, str]) -> str:
    """Return the options that make a long table of the columns, if that is what it seems to be."""
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


def _without_column(table: TableFile, name: str) -> str:
    return (
        f"{table.name}: line 1: has no column {name!r}; columns: {_listed(table.header)}"
        f"{nearest(name, table.header)}"
    )


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(name or "(empty)" for name in names[:20])
    return f"{shown}, … ({len(names):,} in all)" if len(names) > 20 else shown


def _read_long(
    table: TableFile, columns: dict[str, str], *, of_units: bool
) -> dict[str | None, Ratings]:
    problems = [
        f"{table.name}: line 1: has several columns {name!r}; expected one"
        if times
        else _without_column(table, name)
        for name in dict.fromkeys(columns.values())
        if (times := table.header.count(name)) != 1
    ]
    if problems:
        raise DatasetError(problems, _NAME_COLUMNS)
    read = table.columns(list(dict.fromkeys([*columns.values(), *["state"] * of_units])))
    if of_units:
        read["category"] = with_missed(read["category"], read["state"])
    cells = {field: read[name] for field, name in columns.items()}
    kept = _filled(list(cells.values()))
    if len(kept) == 0:
        raise DatasetError([f"{table.name}: has a header only; expected ratings below it"])
    cells = {field: column.take(kept) for field, column in cells.items()}
    _refuse_swapped(table, columns, cells["unit"], cells["annotator"])
    rows = RatingColumns(
        cells["unit"],
        cells["annotator"],
        cells["value"] if of_units or table.header_is_certain else answers(cells["value"]),
        cells.get("cluster"),
        cells.get("n_options"),
        columns,
        (UNITS_NOTE,) if of_units and columns.get("cluster") == "image" else (),
    )
    if "by" not in cells:
        return {None: assemble(rows, lambda index: table.places(kept[index]))}
    return _by_task(table, rows, cells["by"], kept)


def _refuse_swapped(
    table: TableFile, columns: dict[str, str], units: LabelColumn, annotators: LabelColumn
) -> None:
    """Refuse a table of which names tell that units were given as annotators, or the reverse."""
    unit, annotator = columns["unit"], columns["annotator"]
    called, rating = (
        [label for label in column.labels[:_LOOKED_AT] if label is not None]
        for column in (units, annotators)
    )
    if looks_like_pictures(called) or looks_like_annotators(rating):
        return
    # Who gives the usual titles the other way round does so on purpose.
    meant = (unit, annotator) == ("annotator", "unit")
    if looks_like_annotators(called):
        problem = f"column {unit!r} has names of annotators, such as {called[0]!r}"
    elif looks_like_pictures(rating):
        problem = f"column {annotator!r} has names of images, such as {rating[0]!r}"
    elif names_of_annotators(unit) and not names_of_annotators(annotator) and not meant:
        problem = f"the column of units is called {unit!r}"
    elif names_of_things(annotator) and not names_of_units(unit) and not meant:
        problem = f"the column of annotators is called {annotator!r}"
    else:
        return
    raise DatasetError(
        [f"{table.name}: {problem}; expected units and annotators the other way round"],
        f"Give --unit {annotator} --annotator {unit}; or rename what only looks like it.",
    )


def _filled(columns: list[LabelColumn]) -> IndexArray:
    """Return the rows that are not empty altogether, as spreadsheets leave some at the end."""
    empty = np.ones(len(columns[0]), bool)
    for column in columns:
        absent = np.zeros(len(column), bool)
        absent[column.missing()] = True
        empty &= absent
    return np.flatnonzero(~empty)


def _by_task(
    table: TableFile, rows: RatingColumns, by: LabelColumn, kept: IndexArray
) -> dict[str | None, Ratings]:
    """Return the ratings of each task; the problems of all of them at once."""
    nameless = by.missing()
    problems = [
        f"{place}: {rows.names['by']} is missing; expected the name of a task"
        for place in table.places(kept[nameless])
    ]
    advice = "Every row belongs to a task where --by is given." if problems else ""
    tasks: dict[str, int] = {}
    numbers = [-1 if label is None else tasks.setdefault(label, len(tasks)) for label in by.labels]
    number = np.array([*numbers, -1], np.int64)[by.codes]
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(len(tasks) + 1))
    result: dict[str | None, Ratings] = {}
    for task, start, stop in zip(tasks, bounds[:-1], bounds[1:], strict=True):
        index = order[start:stop]
        try:
            result[task] = assemble(rows.take(index), _places_of(table, kept[index]))
        except DatasetError as error:
            problems += error.problems
            advice = advice or error.advice
    if problems:
        raise DatasetError(problems, advice)
    return result


def _places_of(table: TableFile, kept: IndexArray) -> Places:
    return lambda index: table.places(kept[index])
