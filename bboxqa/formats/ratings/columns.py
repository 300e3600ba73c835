"""Ratings from columns of equal length, and from an array of annotators × units."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.model.labels import Coded, LabelColumn, code, column_of, number_of
from bboxqa.model.ratings import Ratings
from bboxqa.model.units import Cell, ReliabilityData

Places = Callable[[IndexArray], Sequence[str]]


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
        The clusters that the bootstrap resamples, such as the image of each unit; by default the
        units.
    n_options : (M,) sequence of whole numbers, optional
        The number of objects to choose from.

    Returns
    -------
    Ratings
        Sorted by unit, then annotator, then as given. Names are sorted numerically if all are
        numbers, else as text; numbers in annotator names are compared as numbers.

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
    columns = {
        name: each if isinstance(each, LabelColumn) else column_of(each, name)
        for name, each in given.items()
        if each is not None
    }
    lengths = {name: len(column) for name, column in columns.items()}
    if min(lengths.values()) != max(lengths.values()):
        found = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise DatasetError([f"columns differ in length: {found}; expected one row per rating"])
    names = {name: name for name in columns}
    return assemble(columns, names, lambda index: [f"record {row}" for row in index.tolist()])


def assemble(
    cells: Mapping[str, LabelColumn],
    names: Mapping[str, str],
    places: Places,
    notes: tuple[str, ...] = (),
) -> Ratings:
    """Return ratings from the cells of a table, one row a rating.

    `cells` are "unit", "annotator" and "value", and maybe "cluster" and "n_options", which are
    equal in all rows of a unit; `names` is what messages call them. A row without a value is no
    rating. `places` returns the locations of rows, given by number. Raises DatasetError if cells
    are missing or contradict each other, with every problem.
    """
    problems = [
        f"{place}: {names[field]} is missing; expected {'its' if field == 'unit' else 'a'} name"
        for field in ("unit", "annotator", "cluster")
        if field in cells
        for place in places(cells[field].missing())
    ]
    advice = "Only a value may be missing." if problems else ""
    options = whole_numbers(cells["n_options"]) if "n_options" in cells else None
    wrong = np.zeros(0, np.int64) if options is None else np.flatnonzero(options < 1)
    for row, place in zip(wrong.tolist(), places(wrong), strict=True):
        found = f"{names['n_options']} is {cells['n_options'].label(row)!r}"
        problems.append(f"{place}: {found}; expected a whole number, 1 or more")
    if problems:
        raise DatasetError(problems, advice)
    units = code(cells["unit"], names=True)
    annotators = code(cells["annotator"], names=True, natural=True)
    values = code(cells["value"])
    first = np.zeros(len(units.names), np.int64)
    # Assigned in reverse, so that the first row of each unit is kept.
    first[units.codes[::-1]] = np.arange(len(units.codes))[::-1]
    before = first[units.codes]
    for field in [each for each in ("cluster", "n_options") if each in cells]:
        codes, label = code(cells[field]).codes, cells[field].label
        wrong = np.flatnonzero(codes != codes[before])
        at = zip(wrong.tolist(), places(wrong), places(before[wrong]), strict=True)
        problems += (
            f"{place}: {names[field]} of unit {units.names[units.codes[row]]!r} is {label(row)!r}; "
            f"expected {label(int(before[row]))!r}, as in {other.rpartition(': ')[2]}"
            for row, place, other in at
        )
    if problems:
        raise DatasetError(problems, "A unit has one of each: rename the unit, or correct the row.")
    groups, cluster_names = np.arange(len(first)), tuple[str, ...]()
    if "cluster" in cells:
        clusters = code(cells["cluster"], names=True)
        groups, cluster_names = clusters.codes[first].astype(np.int64), clusters.names
    n_groups = len(cluster_names) if "cluster" in cells else len(first)
    return Ratings(
        reliability(units.codes, annotators.codes, values, groups, n_groups),
        units.names,
        annotators.names,
        values.names,
        values.numbers,
        None if options is None else options[first],
        cluster_names,
        notes,
    )


def whole_numbers(column: LabelColumn, missing: int = 0) -> IndexArray:
    """Return the cells as integers, (N,); `missing` where they are not whole numbers."""
    numbers = []
    for label in (*column.labels, None):
        number = None if label is None else number_of(label)
        whole = number is not None and float(number).is_integer() and abs(number) < 2**62
        numbers.append(int(number) if number is not None and whole else missing)
    return np.array(numbers, np.int64)[column.codes]


def reliability(
    units: Any, annotators: Any, values: Coded, groups: IndexArray, n_groups: int
) -> ReliabilityData:
    """Return the rows that have a value, sorted by unit, then annotator, then row.

    `values` are M cells, of which missing ones are left out. `groups`, (U,), is the cluster of each
    unit, which the bootstrap resamples.
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
    # As objects, since numpy would convert None among texts to a text.
    cells = table if isinstance(table, np.ndarray) else np.array(table, dtype=object)
    if cells.ndim != 2 or hasattr(table, "columns"):
        found = "is a frame" if hasattr(table, "columns") else f"has shape {cells.shape}"
        raise DatasetError(
            [f"table: {found}; expected two dimensions, annotators × units"],
            "Columns of a frame are for ratings_from_frame.",
        )
    n_annotators, n_units = cells.shape
    if annotator_names is None and n_annotators > n_units:
        raise DatasetError(
            [f"table: would be {n_annotators:,} annotators of {count(n_units, 'unit')}"],
            "Rows have to be annotators: transpose it (table.T). If they are, name them with "
            "annotator_names.",
        )
    given = range(1, n_annotators + 1) if annotator_names is None else annotator_names
    annotators = _names("annotator_names", given, n_annotators)
    units = _names("unit_names", unit_names or (), n_units if unit_names else 0)
    options = None
    if n_options is not None:
        options = whole_numbers(column_of(n_options, "n_options"))
        if len(options) != n_units or (options < 1).any():
            raise DatasetError(["n_options: expected a whole number, 1 or more, for each unit"])
    values = code(column_of(cells.T.ravel(), "value"))
    return from_cells(values, annotators, n_units, units, options)


def _names(what: str, given: Iterable[Any], expected: int) -> tuple[str, ...]:
    """Return names; raises DatasetError unless there are `expected` different ones."""
    names = tuple(map(str, given))
    if len(names) != expected:
        raise DatasetError([f"{what}: has {len(names):,} names; expected {expected:,}"])
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        raise DatasetError([f"{what}: {repeated[0]!r} occurs several times; expected once"])
    return names


def from_cells(
    values: Coded,
    annotator_names: tuple[str, ...],
    n_units: int,
    unit_names: tuple[str, ...] = (),
    n_options: IndexArray | None = None,
) -> Ratings:
    """Return ratings from the cells of a complete table, unit by unit.

    `values` are U × A cells: the first unit's, one per annotator, then the second unit's. Either
    all units have names, or none.
    """
    n_annotators = len(annotator_names)
    units = np.repeat(np.arange(n_units), n_annotators)
    annotators = np.tile(np.arange(n_annotators), n_units)
    data = reliability(units, annotators, values, np.arange(n_units), n_units)
    return Ratings(data, unit_names, annotator_names, values.names, values.numbers, n_options)
