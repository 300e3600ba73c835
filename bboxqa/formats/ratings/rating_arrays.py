"""Ratings from an array of annotators × units."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.ratings.rating_columns import reliability, whole_numbers
from bboxqa.model.labels import Coded, code, column_of
from bboxqa.model.ratings import Ratings


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
    cells = _cells(table)
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


def _cells(table: Any) -> NDArray[Any]:
    """Return the cells of a two-dimensional table."""
    if hasattr(table, "columns"):
        raise DatasetError(
            ["table: is a frame; expected an array of annotators × units"],
            "For a long table, give columns: ratings_from_columns(frame['unit'], …). For a wide "
            "one, "
            "give frame.to_numpy(), transposed if annotators are columns.",
        )
    # As objects, since numpy would convert None among texts to a text.
    cells = table if isinstance(table, np.ndarray) else np.array(table, dtype=object)
    if cells.ndim != 2:
        raise DatasetError(
            [f"table: has shape {cells.shape}; expected two dimensions, annotators × units"]
        )
    return cells


def _names(what: str, given: Iterable[Any], expected: int) -> tuple[str, ...]:
    """Return names; raises DatasetError unless there are `expected` different ones."""
    names = tuple(map(str, given))
    if len(names) != expected:
        raise DatasetError([f"{what}: has {len(names):,} names; expected {expected:,}"])
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
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
