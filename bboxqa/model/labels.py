"""Coding labels: equal labels get the same code, in numerical or alphabetical order."""

import math
from ast import literal_eval
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, FrozenArrays, IndexArray, IntArray, RowArrays
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import in_natural_order

# Longer texts are no sets of labels.
_LONGEST_SET = 10_000


class LabelColumn(RowArrays, frozen=True, eq=False):
    """N cells of a column, coded in order of appearance."""

    shared = frozenset({"labels"})
    codes: IndexArray
    """(N,) int64. Indices into `labels`; -1 where the cell is missing."""
    labels: tuple[str | None, ...]
    """None stands for a missing cell; a label may occur twice."""

    def missing(self) -> IndexArray:
        """Return the indices of missing cells."""
        absent = np.array([label is None for label in self.labels] + [True])
        return np.flatnonzero(absent[self.codes])

    def label(self, row: int) -> str | None:
        """Return the label of a cell; None where it is missing."""
        place = int(self.codes[row])
        return None if place < 0 else self.labels[place]


class Coded(FrozenArrays, frozen=True, eq=False):
    """N cells as codes in the order of their names."""

    codes: IntArray
    """(N,) int32. Indices into `names`; -1 where the cell is missing."""
    names: tuple[str, ...]
    """Sorted, by number if all are numbers, else as text."""
    numbers: FloatArray | None
    """(K,) float64. The names as numbers; None if a name is not a finite number."""


class Coder:
    """Codes labels that arrive in chunks.

    Examples
    --------
    >>> coder = Coder()
    >>> coder.add(["yes", "no"])
    >>> coder.add(["no", None])
    >>> codes, labels = coder.finish()
    >>> codes, labels
    (array([0, 1, 1, 2]), ['yes', 'no', None])
    """

    def __init__(self) -> None:
        self._seen: defaultdict[Any, int] = defaultdict()
        self._seen.default_factory = self._seen.__len__
        self._parts: list[IndexArray] = [np.zeros(0, np.int64)]

    def add(self, labels: Collection[Any]) -> None:
        """Code more labels; lists are sets of labels. Raises TypeError for other objects."""
        try:
            codes = np.fromiter(map(self._seen.__getitem__, labels), np.int64, len(labels))
        except TypeError:
            plain = [label_of(each) if isinstance(each, list | set) else each for each in labels]
            codes = np.fromiter(map(self._seen.__getitem__, plain), np.int64, len(plain))
        self._parts.append(codes)

    def finish(self) -> tuple[IndexArray, list[Any]]:
        """Return the codes of all labels, and the labels in order of appearance."""
        return np.concatenate(self._parts), list(self._seen)


def set_of(label: str) -> frozenset[str] | None:
    """Return the labels of a set that is written as a list or a set; None for any other text.

    Label Studio writes several choices as an object with one list.

    Examples
    --------
    >>> set_of("[6, 5, 6]") == set_of("{5, 6.0}") == {"5", "6"}
    True
    >>> sorted(set_of("['a', 'b']")), sorted(set_of('{"choices": ["a"]}')), set_of("a, b")
    (['a', 'b'], ['a'], None)
    """
    if label[:1] not in ("[", "{") or len(label) > _LONGEST_SET:
        return None
    try:
        value = literal_eval(label)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    is_set = isinstance(value, list | set) and all(isinstance(e, str | int | float) for e in value)
    return frozenset(label_of(each) or "" for each in value) if is_set else None


def _written(labels: Iterable[str]) -> str:
    """Return a set of labels as the text of a list, which is the same for equal sets."""
    named = in_natural_order({*labels})
    return f"[{', '.join(each if number_of(each) is not None else repr(each) for each in named)}]"


def label_of(value: Any) -> str | None:
    """Return a value as text; None for None, NaN, NaT and ``pandas.NA``.

    Whole numbers have no decimal point, so that 1 and 1.0 are one label. A list or a set of labels
    is one label, whatever their order.

    Examples
    --------
    >>> label_of(2.0), label_of(2.5), label_of(True), label_of("no"), label_of(float("nan"))
    ('2', '2.5', 'true', 'no', None)
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    is_nan = isinstance(value, float) and math.isnan(value)
    if value is None or is_nan or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | set | frozenset):
        return _written(label_of(each) or "" for each in value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def column_of(values: Any, name: str) -> LabelColumn:
    """Return a list, a numpy array, or a pandas, polars or pyarrow column as a `LabelColumn`.

    Raises DatasetError, which names the column, if it is not one-dimensional, or if a value is
    neither a text nor a number.

    Examples
    --------
    >>> column = column_of([3, None, 3], "value")
    >>> column.codes, column.labels
    (array([0, 1, 0]), ('3', None))
    """
    cells = values if isinstance(values, list | tuple) else np.asarray(values)
    if isinstance(cells, np.ndarray):
        if cells.ndim != 1:
            raise DatasetError([f"{name}: has shape {cells.shape}; expected one dimension"])
        if cells.dtype.kind in "iufb":
            found, codes = np.unique(cells, return_inverse=True)
            write = str if cells.dtype.kind in "iu" else label_of
            return LabelColumn(codes.astype(np.int64), tuple(map(write, found.tolist())))
        cells = cells.tolist()
    coder = Coder()
    try:
        coder.add(cells)
    except TypeError:
        wrong = [
            f"{name}: record {row}: is a {type(cell).__name__}; expected a text or a number"
            for row, cell in enumerate(cells)
            if not (cell is None or isinstance(cell, str | int | float | np.generic))
        ]
        raise DatasetError(wrong) from None
    codes, labels = coder.finish()
    return LabelColumn(codes, tuple(map(label_of, labels)))


def code(column: LabelColumn, *, names: bool = False, natural: bool = False) -> Coded:
    """Return codes in numerical or alphabetical order.

    Equal numbers get one code, named by the shortest of their labels: a table in which one
    annotator left out a cell often has 1.0 in that column and 1 in the others. Where all are
    lists, they are sets: equal ones get one code, whatever their order. With `names`, labels
    are names of units or annotators, which stay distinct if written differently: 7 is not 007. With
    `natural`, numbers in texts are compared as numbers: p2 comes before p10.

    Examples
    --------
    >>> coded = code(column_of(["10", "2", "1.0", "1", None], "value"))
    >>> coded.codes, coded.names
    (array([ 2,  1,  0,  0, -1], dtype=int32), ('1', '2', '10'))
    """
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels))
    occurring: list[int] = np.flatnonzero(counts).tolist()
    places = [place for place in occurring if column.labels[place] is not None]
    labels = [label for place in places if (label := column.labels[place]) is not None]
    if not names:
        sets = [*takewhile(lambda found: found is not None, map(set_of, labels))]
        labels = labels if len(sets) < len(labels) else [_written(each or ()) for each in sets]
    numbers = _numbers(labels)
    keys: Sequence[Any] = labels if numbers is None else numbers
    if names and numbers is not None:
        keys = list(zip(numbers, labels, strict=True))
    is_natural = natural and numbers is None
    order: list[Any] = in_natural_order({*labels}) if is_natural else sorted({*keys})
    rank = {key: place for place, key in enumerate(order)}
    # One more element, which a code of -1 indexes.
    codes = np.full(len(column.labels) + 1, -1, np.int32)
    codes[places] = np.fromiter(map(rank.__getitem__, keys), np.int32, len(keys))
    coded, as_numbers = codes[column.codes], None
    if names and numbers is not None:
        order = [label for _, label in order]
    elif numbers is not None:
        # Later entries replace earlier ones, so that the shortest label stays.
        named = sorted(zip(map(len, labels), labels, numbers, strict=True), reverse=True)
        name_of = {number: label for _, label, number in named}
        as_numbers = np.array([float(number) for number in order])
        order = [name_of[number] for number in order]
    return Coded(coded, tuple(order), as_numbers)


def _numbers(labels: Sequence[str]) -> Sequence[int | float] | None:
    """Return labels as numbers; None if there are no labels, or one is not a finite number."""
    numbers = [*takewhile(lambda number: number is not None, map(number_of, labels))]
    return numbers if 0 < len(numbers) == len(labels) else None  # type: ignore[return-value]


def number_of(label: str) -> int | float | None:
    """Return a label as a number, as an int if integral; None if it is not a finite number."""
    try:
        number = float(label)
        if "_" in label or not math.isfinite(number):
            return None
        return int(label) if number.is_integer() and label.strip("+- ").isdigit() else number
    except ValueError:
        return None
