"""Counts for alpha of each pair of annotators, over units that both were asked about."""

from collections.abc import Iterator, Sequence

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, find, frozen_arrays, rows, run_starts
from bboxqa.model.reliability import Cell, ReliabilityData


@frozen_arrays
class PairCounts:
    """The sums of which alphas of pairs of annotators are functions; sums of parts add up.

    Attributes
    ----------
    unit_pair, agreeing_pair : (P,) and (Q,) int64
        Pairs, as ``first * n_annotators + second``, sorted.
    n_units, n_agreeing : (P,) and (Q,) int64
        Units on which the pair was compared, and on which they agree.
    pair_value : (R,) int64
        A pair and a value, as ``pair * n_values + value``, sorted.
    n_given : (R,) int64
        How often either of the pair gave the value in these units.
    n_annotators, n_values : int
    """

    unit_pair: IndexArray
    n_units: IndexArray
    agreeing_pair: IndexArray
    n_agreeing: IndexArray
    pair_value: IndexArray
    n_given: IndexArray
    n_annotators: int
    n_values: int


def count_pairs(data: ReliabilityData, n_annotators: int, missing: str) -> PairCounts:
    """Count the values of each pair of annotators in units that at least one of them drew.

    A missing annotation counts as one more value if `missing` is "category", else not at all.
    """
    n_values = data.n_values + 1
    drawn = data.state == Cell.CATEGORY
    code = np.where(drawn, data.value, data.n_values).astype(np.int64)
    annotator = data.annotator.astype(np.int64)
    units, agreeing, values = _Tally(), _Tally(), _Tally()
    for left, right in cell_pairs(data.unit, drawn, missing):
        one, other = annotator[left], annotator[right]
        pair = np.minimum(one, other) * n_annotators + np.maximum(one, other)
        units.add(pair)
        agreeing.add(pair[code[left] == code[right]])
        values.add(np.concatenate([pair * n_values + code[left], pair * n_values + code[right]]))
    return PairCounts(*units.done(), *agreeing.done(), *values.done(), n_annotators, n_values)


def join_pairs(parts: Sequence[PairCounts]) -> PairCounts:
    """Return the counts of all parts together, which have the same annotators and values."""
    units, agreeing, values = _Tally(), _Tally(), _Tally()
    for part in parts:
        units.add(part.unit_pair, part.n_units)
        agreeing.add(part.agreeing_pair, part.n_agreeing)
        values.add(part.pair_value, part.n_given)
    return PairCounts(
        *units.done(), *agreeing.done(), *values.done(), parts[0].n_annotators, parts[0].n_values
    )


class _Tally:
    """Counts of keys that arrive in parts."""

    def __init__(self) -> None:
        self._keys: IndexArray = np.zeros(0, np.int64)
        self._counts: IndexArray = np.zeros(0, np.int64)

    def add(self, keys: IndexArray, counts: IndexArray | None = None) -> None:
        """Add keys; with `counts`, distinct sorted keys and how often each occurs."""
        new = keys
        if counts is None:
            new, counts = _counted(keys)
        known = find(self._keys, new)
        self._counts[known[known >= 0]] += counts[known >= 0]
        new, counts = new[known < 0], counts[known < 0]
        place = np.searchsorted(self._keys, new)
        self._keys = np.insert(self._keys, place, new)
        self._counts = np.insert(self._counts, place, counts)

    def done(self) -> tuple[IndexArray, IndexArray]:
        """Return the keys, sorted, and their counts."""
        return self._keys, self._counts


def _counted(keys: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the distinct keys, sorted, and how often each occurs; keys are not negative."""
    # Counting without sorting needs memory for keys that do not occur.
    if keys.max(initial=0) > len(keys):
        return np.unique(keys, return_counts=True)
    number = np.bincount(keys)
    distinct = np.flatnonzero(number)
    return distinct, number[distinct]


# Pairs of cells yielded at a time; tables of them take hundreds of bytes per pair.
_CHUNK = 1 << 19


def cell_pairs(
    unit: IndexArray, drawn: BoolArray, missing: str
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the indices of pairs of cells of a unit, at least one of them drawn, in chunks.

    Pairs of missing cells, which are the majority, are left out. `unit` is sorted; `drawn` marks
    cells with a category, and `missing` says whether other cells are paired as well.
    """
    cells = np.arange(len(unit)) if missing == "category" else np.flatnonzero(drawn)
    of = unit[cells]
    starts = run_starts(of)
    size = np.diff(starts, append=len(of))
    is_source = drawn[cells]
    begins, ends = (np.repeat(bound, size)[is_source] for bound in (starts, starts + size))
    sources = cells[is_source]
    total = np.concatenate([[0], np.cumsum(ends - begins)])
    start = 0
    while start < len(sources):
        stop = int(np.searchsorted(total, total[start] + _CHUNK, side="right")) - 1
        stop = max(stop, start + 1)
        place, _ = rows(begins[start:stop], ends[start:stop])
        left = np.repeat(sources[start:stop], np.diff(total[start : stop + 1]))
        right = cells[place]
        # A pair of drawn cells comes up from both sides.
        once = np.flatnonzero(~drawn[right] | (left < right))
        yield left[once], right[once]
        start = stop
