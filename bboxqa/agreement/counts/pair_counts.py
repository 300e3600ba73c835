"""What each pair of annotators said of the units that both were asked about."""

from collections.abc import Iterator, Sequence

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, find, frozen_arrays, rows, run_starts
from bboxqa.model.reliability import Cell, ReliabilityData


@frozen_arrays
class PairCounts:
    """The sums that alphas of pairs of annotators are made of; those of two shards add.

    Attributes
    ----------
    unit_pair, agreeing_pair : (P,) and (Q,) int64
        Pairs, as ``first * n_annotators + second``, sorted.
    n_units, n_agreeing : (P,) and (Q,) int64
        Units that the pair was compared on, and on which they agree.
    pair_value : (R,) int64
        A pair and a value, as ``pair * n_values + value``, sorted.
    n_given : (R,) int64
        How often one of the pair gave that value in these units.
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
    """Count what each pair of annotators said of the units that at least one of them drew.

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
        """Add keys; or different ones, sorted, that occur as often as `counts` says."""
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
    # Counting without sorting takes memory for keys that do not occur.
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
    """Yield the places of every two cells of a unit of which at least one was drawn, in chunks.

    Two missing cells say nothing about their annotators, and they are the majority. `unit` is
    sorted; `drawn` says which cells hold a category, and `missing` whether one without is paired
    too.
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
