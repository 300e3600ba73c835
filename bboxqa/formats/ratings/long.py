"""Reading tables with one rating per row."""

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.formats.ratings.header_names import (
    looks_like_annotators,
    looks_like_pictures,
    names_of_annotators,
    names_of_things,
    names_of_units,
)
from bboxqa.formats.ratings.layouts import NAME_COLUMNS, without_column
from bboxqa.formats.ratings.own_tables import UNITS_NOTE, with_missed
from bboxqa.formats.ratings.rating_columns import Places, RatingColumns, assemble
from bboxqa.formats.ratings.wide import answers
from bboxqa.formats.tables.table_files import TableFile
from bboxqa.model.labels import LabelColumn
from bboxqa.model.ratings import Ratings

# Number of labels examined to see whether all names of a column are of one kind.
_LOOKED_AT = 1000


def read_long(
    table: TableFile, columns: dict[str, str], *, of_units: bool
) -> dict[str | None, Ratings]:
    """Return the ratings of a table with one rating per row, by task.

    `columns` are column names by field. With `of_units`, it is a table of units of `bboxqa agree`.
    Raises DatasetError with every problem.
    """
    problems = [
        f"{table.name}: line 1: has several columns {name!r}; expected one"
        if times
        else without_column(table, name)
        for name in dict.fromkeys(columns.values())
        if (times := table.header.count(name)) != 1
    ]
    if problems:
        raise DatasetError(problems, NAME_COLUMNS)
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
        return {None: assemble(rows, _places_of(table, kept))}
    return _by_task(table, rows, cells["by"], kept)


def _refuse_swapped(
    table: TableFile, columns: dict[str, str], units: LabelColumn, annotators: LabelColumn
) -> None:
    """Refuse a table whose names show that units and annotators are swapped."""
    unit, annotator = columns["unit"], columns["annotator"]
    called, rating = (
        [label for label in column.labels[:_LOOKED_AT] if label is not None]
        for column in (units, annotators)
    )
    if looks_like_pictures(called) or looks_like_annotators(rating):
        return
    # The options --unit annotator --annotator unit are deliberate.
    deliberate = (unit, annotator) == ("annotator", "unit")
    if looks_like_annotators(called):
        problem = f"column {unit!r} has names of annotators, such as {called[0]!r}"
    elif looks_like_pictures(rating):
        problem = f"column {annotator!r} has names of images, such as {rating[0]!r}"
    elif names_of_annotators(unit) and not names_of_annotators(annotator) and not deliberate:
        problem = f"the column of units is called {unit!r}"
    elif names_of_things(annotator) and not names_of_units(unit) and not deliberate:
        problem = f"the column of annotators is called {annotator!r}"
    else:
        return
    raise DatasetError(
        [f"{table.name}: {problem}; expected units and annotators the other way round"],
        f"Give --unit {annotator} --annotator {unit}; or rename it, if it only looks swapped.",
    )


def _filled(columns: list[LabelColumn]) -> IndexArray:
    """Return the non-empty rows, as spreadsheets add empty rows at the end."""
    empty = np.ones(len(columns[0]), bool)
    for column in columns:
        absent = np.zeros(len(column), bool)
        absent[column.missing()] = True
        empty &= absent
    return np.flatnonzero(~empty)


def _by_task(
    table: TableFile, rows: RatingColumns, by: LabelColumn, kept: IndexArray
) -> dict[str | None, Ratings]:
    """Return the ratings of each task, or raise the problems of all tasks at once."""
    nameless = by.missing()
    problems = [
        f"{place}: {rows.names['by']} is missing; expected the name of a task"
        for place in table.places(kept[nameless])
    ]
    advice = "With --by, every row has to belong to a task." if problems else ""
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
