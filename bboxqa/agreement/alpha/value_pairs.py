"""Pairs of different values that coincide within units, for distances without a closed form."""

from typing import Any

import numpy as np

from bboxqa.agreement.counts.unit_counts import UnitCounts
from bboxqa.agreement.uncertainty.sum_table import table_of
from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays, rows, run_starts


@frozen_arrays
class ValuePairs:
    """E coincidences of two different values in a unit, of P pairs of values."""

    unit: IndexArray
    pair: IndexArray
    """(E,) int64. The unit, and the index of the pair of values."""
    amount: FloatArray
    """(E,) float64. o_ck + o_kc of the unit."""
    first: IndexArray
    second: IndexArray
    """(P,) int64. The values of each pair, ``first < second``."""

    def sums(self, counts: UnitCounts) -> Any:
        """Return the marginals above the coincidences of each cluster, (K + P, G)."""
        entry = np.flatnonzero(counts.size[counts.unit] >= 2)
        of = counts.unit[entry]
        weight = counts.weight
        return table_of(
            np.concatenate([counts.value[entry], counts.n_values + self.pair]),
            np.concatenate([counts.group[of], counts.group[self.unit]]),
            np.concatenate([weight[of] * counts.count[entry], weight[self.unit] * self.amount]),
            (counts.n_values + len(self.first), counts.n_groups),
        )


def value_pairs(counts: UnitCounts) -> ValuePairs:
    """Return all pairs of different values of each unit."""
    starts = run_starts(counts.unit)
    stops = np.append(starts[1:], len(counts.unit))[: len(starts)]
    entry = np.arange(len(counts.unit))
    stop = np.repeat(stops, stops - starts)
    partner, _ = rows(entry + 1, stop)
    entry = np.repeat(entry, stop - entry - 1)
    unit = counts.unit[entry]
    amount = 2 * counts.count[entry] * counts.count[partner] / (counts.size[unit] - 1)
    key = counts.value[entry] * counts.n_values + counts.value[partner]
    keys, pair = np.unique(key, return_inverse=True)
    first, second = np.divmod(keys, max(counts.n_values, 1))
    return ValuePairs(unit, pair, amount, first, second)
