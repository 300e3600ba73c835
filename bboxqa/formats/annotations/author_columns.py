"""The names of annotators, or other values of a key, as columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from bboxqa.core.arrays import ColumnBuilder, IntArray
from bboxqa.core.text import alike
from bboxqa.formats.annotations.records import Annotation, annotator_name, record_field


@dataclass(frozen=True, slots=True, eq=False)
class Authors:
    """The value of one key of each annotation, such as its annotator.

    Attributes
    ----------
    code : (N,) int32
        Index into `names`; -1 where the key is absent.
    names : tuple of str
        Distinct names.
    composed : frozenset of str
        The names that are lists or objects in the file.
    """

    code: IntArray
    names: tuple[str, ...]
    composed: frozenset[str] = frozenset()


class AuthorsBuilder:
    """Collects the annotators given by one key, and numbers their names."""

    def __init__(self, key: str) -> None:
        self._rest = key.split(".")[1:]
        self._get = attrgetter(record_field(key))
        self._codes = ColumnBuilder(np.int32)
        # Annotations without the key, before the first one that has it or after the last one.
        self._n_absent = 0
        self._known: dict[object, int] = {None: -1, "": -1}
        self._numbers: dict[str, int] = {}
        self._composed: set[str] = set()

    def add(self, records: Sequence[Annotation]) -> None:
        """Append the values of records."""
        values: list[object] = list(map(self._get, records))
        if values.count(None) == len(values):
            self._n_absent += len(values)
            return
        for part in self._rest:
            values = [inside(value, part) for value in values]
        try:
            distinct = set(values)
        except TypeError:
            self._composed.update(map(annotator_name, filter(_is_composed, values)))
            values = [None if value is None else annotator_name(value) for value in values]
            distinct = set(values)
        for value in distinct.difference(self._known):
            number = self._numbers.setdefault(annotator_name(value), len(self._numbers))
            self._known[value] = number
        if not self._numbers:
            self._n_absent += len(values)
            return
        codes = map(self._known.__getitem__, values)
        self._add_codes(np.fromiter(codes, np.int32, len(values)))

    def absorb(self, authors: Authors) -> None:
        """Append the names that another builder has collected."""
        if not authors.names:
            self._n_absent += len(authors.code)
            return
        self._composed |= authors.composed
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in authors.names]
        self._add_codes(np.array([*numbers, -1], np.int32)[authors.code])

    def _add_codes(self, codes: IntArray) -> None:
        if self._n_absent:
            self._codes.add(np.full(self._n_absent, -1, np.int32))
            self._n_absent = 0
        self._codes.add(codes)

    def problems(self) -> Iterator[str]:
        """Yield a problem for each two names that would become equal."""
        return alike(sorted(value for value in self._known if isinstance(value, str)))

    def done(self) -> Authors:
        """Return the collected column."""
        if not self._numbers:
            # Most keys are absent everywhere, so their column takes no memory.
            return Authors(np.broadcast_to(np.int32(-1), self._n_absent), ())
        self._add_codes(np.zeros(0, np.int32))
        return Authors(self._codes.done(), tuple(self._numbers), frozenset(self._composed))


def _is_composed(value: object) -> bool:
    return isinstance(value, list | dict)


def inside(value: object, key: str) -> object:
    """Return the value of a key of an object, decoded with or without a type; None if absent."""
    return value.get(key) if isinstance(value, dict) else getattr(value, key, None)
