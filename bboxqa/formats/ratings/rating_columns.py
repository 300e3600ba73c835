"""Ratings from columns, or from an array of annotators × units."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.model.labels import Coded, LabelColumn, code, column_of, number_of
from bboxqa.model.ratings import Ratings
from bboxqa.model.reliability import Cell, ReliabilityData

_FIELDS = ("unit", "annotator", "value", "cluster", "n_options")
Places = Callable[[IndexArray], Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class RatingColumns:
    """M cells of ratings, one row each.

    Attributes
    ----------
    unit, annotator, value : LabelColumn
        A row without a value is not a rating, but needs unit and annotator.
    cluster, n_options : LabelColumn, optional
        Equal in all rows of a unit.
    names : mapping of str to str
        The user's names of the columns, by field.
    notes : tuple of str
        What a reader of the numbers has to know of the table.
    """

    unit: LabelColumn
    annotator: LabelColumn
    value: LabelColumn
    cluster: LabelColumn | None
    n_options: LabelColumn | None
    names: dict[str, str]
    notes: tuple[str, ...] = ()

    def take(self, index: IndexArray) -> "RatingColumns":
        """Return the rows at `index`, in that order."""
        columns = ((field, getattr(self, field)) for field in _FIELDS)
        taken: Any = {field: column.take(index) for field, column in columns if column is not None}
        return replace(self, **taken)


def from_columns(
    unit: Any, annotator: Any, value: Any, *, cluster: Any = None, n_options: Any = None
) -> Ratings:
    """Return ratings from columns of equal length.

    Parameters
    ----------
    unit, annotator, value : (M,) sequences
        Lists, numpy arrays, or columns of pandas, polars or pyarrow, of texts or numbers. A value
        of None or NaN (NA, NaT) is missing; units and annotators must not be missing.
    cluster : (M,) sequence, optional
        What the bootstrap resamples, such as the image of each unit; by default the units.
    n_options : (M,) sequence of whole numbers, optional
        The number of objects to choose from.

    Returns
    -------
    Ratings
        Sorted by unit, then annotator, then as given; names sorted by number where all are
        numbers, else as text.

    Raises
    ------
    DatasetError
        If lengths differ, a unit or an annotator is missing, a label is neither text nor number,
        or a unit has two clusters or two numbers of options.

    Examples
    --------
    >>> ratings = from_columns(["a", "a", "b"], ["x", "y", "x"], [10, 9, None])
    >>> ratings.value_names, ratings.data.value, ratings.unit_names
    (('9', '10'), array([1, 0], dtype=int32), ('a', 'b'))
    """
    given = {"unit": unit, "annotator": annotator, "value": value}
    given |= {"cluster": cluster, "n_options": n_options}
    columns = {name: column_of(x, name) for name, x in given.items() if x is not None}
    lengths = {name: len(column) for name, column in columns.items()}
    if min(lengths.values()) != max(lengths.values()):
        found = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise DatasetError([f"columns differ in length: {found}; expected one row per rating"])
    rows = RatingColumns(
        columns["unit"],
        columns["annotator"],
        columns["value"],
        columns.get("cluster"),
        columns.get("n_options"),
        {name: name for name in columns},
    )
    return assemble(rows, lambda index: [f"record {row}" for row in index.tolist()])


def from_array(
    table: Any,
    *,
    annotator_names: Sequence[str] | None = None,
    unit_names: Sequence[str] | None = None,
    n_options: Any = None,
) -> Ratings:
    """Return ratings from an array of annotators × units.

    Parameters
    ----------
    table : (A, U) array of numbers or texts
        None and NaN are missing.
    annotator_names : sequence of str, optional
        One per row; by default "1", "2", …
    unit_names : sequence of str, optional
        One per column; by default units are only numbered.
    n_options : (U,) whole numbers, optional
        The number of objects to choose from.

    Returns
    -------
    Ratings
        Units and annotators in the order of the array.

    Raises
    ------
    DatasetError
        If the array does not have two dimensions, does not fit the names, or seems transposed:
        more annotators than units, and no annotator_names.

    Examples
    --------
    >>> ratings = from_array([["yes", "no"], ["yes", None]])
    >>> ratings.data.unit, ratings.data.annotator, ratings.data.value
    (array([0, 0, 1]), array([0, 1, 0], dtype=int32), array([1, 1, 0], dtype=int32))
    """
    if hasattr(table, "columns"):
        raise DatasetError(
            ["table: is a frame; expected an array of annotators × units"],
            "Of a long table give columns: ratings_from_columns(frame['unit'], …); of a wide one "
            "frame.to_numpy(), turned so that each annotator is a row.",
        )
    # As objects, since numpy would convert None beside texts to a text.
    cells = table if isinstance(table, np.ndarray) else np.array(table, dtype=object)
    if cells.ndim != 2:
        raise DatasetError(
            [f"table: has shape {cells.shape}; expected two dimensions, annotators × units"]
        )
    n_annotators, n_units = cells.shape
    if annotator_names is None and n_annotators > n_units:
        raise DatasetError(
            [f"table: would be {n_annotators:,} annotators of {count(n_units, 'unit')}"],
            "Turn it (table.T), since rows are annotators; if they are, name them with "
            "annotator_names.",
        )
    given = range(1, n_annotators + 1) if annotator_names is None else annotator_names
    names = tuple(map(str, given))
    for found, expected, what in (
        (len(names), n_annotators, "annotator_names"),
        (len(unit_names or ()), n_units if unit_names else 0, "unit_names"),
    ):
        if found != expected:
            raise DatasetError([f"{what}: has {found:,} names; expected {expected:,}"])
    for given_names, what in ((names, "annotator_names"), (unit_names or (), "unit_names")):
        repeated = [name for name, times in Counter(map(str, given_names)).items() if times > 1]
        if repeated:
            raise DatasetError([f"{what}: {repeated[0]!r} occurs several times; expected once"])
    options = None
    if n_options is not None:
        options = _options(column_of(n_options, "n_options"))
        if len(options) != n_units or (options < 1).any():
            raise DatasetError(["n_options: expected a whole number from 1 on for each unit"])
    values = code(column_of(cells.T.ravel(), "value"))
    return from_cells(values, names, n_units, tuple(map(str, unit_names or ())), options)


def from_cells(
    values: Coded,
    annotator_names: tuple[str, ...],
    n_units: int,
    unit_names: tuple[str, ...] = (),
    n_options: IndexArray | None = None,
) -> Ratings:
    """Return ratings from a complete table, unit after unit.

    Parameters
    ----------
    values : Coded
        U × A cells: those of the first unit, one per annotator, then those of the second.
    annotator_names : tuple of str
        A names.
    n_units : int
        U.
    unit_names : tuple of str
        U names, or none.
    n_options : (U,) int64, optional
    """
    n_annotators = len(annotator_names)
    units = np.repeat(np.arange(n_units), n_annotators)
    annotators = np.tile(np.arange(n_annotators), n_units)
    data = reliability(units, annotators, values, np.arange(n_units), n_units)
    return Ratings(data, unit_names, annotator_names, values.names, values.numbers, n_options)


def assemble(rows: RatingColumns, places: Places) -> Ratings:
    """Return ratings from cells that were read.

    Parameters
    ----------
    rows : RatingColumns
    places : callable
        Called with row numbers; returns their places, for errors.

    Raises
    ------
    DatasetError
        With every problem.
    """
    absent, wrong = _absent(rows, places), _wrong_options(rows, places)
    if absent or wrong:
        raise DatasetError([*absent, *wrong], "Only a value may be missing." if absent else "")
    units, annotators = code(rows.unit, names=True), code(rows.annotator, names=True)
    values = code(rows.value)
    problems = _contradictions(rows, units, places)
    if problems:
        raise DatasetError(problems, "A unit has one of each; rename the unit, or correct the row.")
    first = _first_rows(units)
    groups, n_groups = np.arange(len(units.names)), len(units.names)
    cluster_names: tuple[str, ...] = ()
    if rows.cluster is not None:
        clusters = code(rows.cluster, names=True)
        groups, cluster_names = clusters.codes[first].astype(np.int64), clusters.names
        n_groups = len(cluster_names)
    options = None if rows.n_options is None else _options(rows.n_options)[first]
    data = reliability(units.codes, annotators.codes, values, groups, n_groups)
    return Ratings(
        data,
        units.names,
        annotators.names,
        values.names,
        values.numbers,
        options,
        cluster_names,
        rows.notes,
    )


def _absent(rows: RatingColumns, places: Places) -> list[str]:
    """Return the problems of cells that must not be missing."""
    return [
        f"{place}: {rows.names[field]} is missing; expected {expected}"
        for field, expected in (
            ("unit", "its name"),
            ("annotator", "a name"),
            ("cluster", "a name"),
        )
        if (column := getattr(rows, field)) is not None
        for place in places(column.missing())
    ]


def _wrong_options(rows: RatingColumns, places: Places) -> list[str]:
    """Return the problems of numbers of options that are not whole numbers from 1 on."""
    if rows.n_options is None:
        return []
    wrong = np.flatnonzero(_options(rows.n_options) < 1)
    found = (rows.n_options.label(row) for row in wrong.tolist())
    return [
        f"{place}: {rows.names['n_options']} is {'missing' if label is None else repr(label)}; "
        "expected a whole number from 1 on"
        for label, place in zip(found, places(wrong), strict=True)
    ]


def _options(column: LabelColumn) -> IndexArray:
    """Return the cells as whole numbers; 0 where they are not."""
    numbers = []
    for label in (*column.labels, None):
        number = None if label is None else number_of(label)
        whole = number is not None and float(number).is_integer() and abs(number) < 2**62
        numbers.append(int(number) if number is not None and whole else 0)
    return np.array(numbers, np.int64)[column.codes]


def _first_rows(units: Coded) -> IndexArray:
    """Return the first row of each unit."""
    first = np.zeros(len(units.names), np.int64)
    # Assigned in reverse, so that the first row of each unit is kept.
    first[units.codes[::-1]] = np.arange(len(units.codes))[::-1]
    return first


def _contradictions(rows: RatingColumns, units: Coded, places: Places) -> list[str]:
    """Return the problems of units with several clusters or numbers of options."""
    problems = []
    first = _first_rows(units)[units.codes]
    for field in ("cluster", "n_options"):
        column: LabelColumn | None = getattr(rows, field)
        if column is None:
            continue
        codes = code(column).codes
        wrong = np.flatnonzero(codes != codes[first])
        where = zip(wrong.tolist(), places(wrong), places(first[wrong]), strict=True)
        for row, place, before in where:
            unit = units.names[units.codes[row]]
            earlier = before.rpartition(": ")[2]
            problems.append(
                f"{place}: {rows.names[field]} of unit {unit!r} is {column.label(row)!r}; "
                f"expected {column.label(int(first[row]))!r}, as in {earlier}"
            )
    return problems


def reliability(
    units: Any, annotators: Any, values: Coded, groups: IndexArray, n_groups: int
) -> ReliabilityData:
    """Return the rows that have a value, sorted by unit, then annotator, then row.

    Parameters
    ----------
    units, annotators : (M,) integers
    values : Coded
        M cells; those that are missing are left out.
    groups : (U,) integers
        The cluster of each unit, for the bootstrap.
    n_groups : int
    """
    there = np.flatnonzero(values.codes >= 0)
    unit = units[there].astype(np.int64)
    annotator = annotators[there].astype(np.int64)
    key = unit * (int(annotator.max(initial=0)) + 1) + annotator
    if (np.diff(key) < 0).any():
        order = np.argsort(key, kind="stable")
        there, unit, annotator = there[order], unit[order], annotator[order]
    return ReliabilityData(
        unit=unit,
        annotator=annotator.astype(np.int32),
        value=values.codes[there],
        state=np.full(len(there), Cell.CATEGORY, np.uint8),
        group=groups.astype(np.int32),
        n_values=len(values.names),
        n_groups=n_groups,
    )
