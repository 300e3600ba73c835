"""Pairs of answers to one unit, for coefficients of pairs of annotators."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    compact,
    frozen_arrays,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.model.reliability import ReliabilityData

# Pairs of answers in memory at a time, unless one annotator has more.
_CHUNK = 1 << 20


@frozen_arrays
class AnswerPairs:
    """C pairs of answers of two annotators on one unit."""

    first: IntArray
    second: IntArray
    """(P,) int32. The pairs of annotators, ``first < second``, sorted."""
    pair: IndexArray
    """(C,) int64. Index of the pair of annotators."""
    left: IndexArray
    right: IndexArray
    """(C,) int64. The values of the first and of the second annotator."""
    unit: IndexArray
    """(C,) int64. Sorted."""
    weight: FloatArray
    """(C,) float64. The weight of the unit."""
    group: IntArray
    """(U,) int32. The cluster of each unit."""
    units_alone: bool
    """Whether each unit has weight 1 and is a cluster of its own."""
    n_values: int
    n_groups: int

    def runs(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        """Return the clusters and pairs that occur together, (E,), and the index of each answer."""
        n_pairs = len(self.first)
        keys, run = _runs(self.group[self.unit].astype(np.int64) * n_pairs + self.pair)
        cluster, pair = np.divmod(keys, n_pairs)
        return cluster, pair, run

    def independent(self, pair: IndexArray) -> BoolArray:
        """Return (P,) bool: pairs in which each unit is its own cluster; `pair` is of `runs`."""
        n_pairs = len(self.first)
        if self.units_alone:
            return np.ones(n_pairs, np.bool_)
        units, _ = _runs(self.unit * n_pairs + self.pair)
        times, clusters = (np.bincount(of, minlength=n_pairs) for of in (units % n_pairs, pair))
        # A weighted unit is a cluster of several units.
        several = sum_by(self.pair, self.weight - 1, n_pairs) > 0
        same: BoolArray = (times == clusters) & ~several
        return same


def _runs(key: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the distinct keys, sorted, and the index of each key among them."""
    if (key[1:] < key[:-1]).any():
        keys, place = np.unique(key, return_inverse=True)
        return keys, place
    start = run_starts(key)
    return key[start], np.repeat(np.arange(len(start)), np.diff(start, append=len(key)))


def answer_chunks(data: ReliabilityData, n_annotators: int) -> Iterator[AnswerPairs]:
    """Yield the pairs of answers of two annotators to the same unit, in chunks.

    If an annotator answered a unit several times, each answer is paired with each of the other's. A
    chunk holds some annotators with all later ones, so that pairs are complete, and sorted over all
    chunks.
    """
    drawn = data.counted
    key = data.unit[drawn] * n_annotators + data.annotator[drawn]
    unit, annotator = data.unit[drawn], data.annotator[drawn].astype(np.int64)
    value = data.value[drawn].astype(np.int64)
    # The partners of an answer are the answers of later annotators to the unit.
    begins = np.searchsorted(key, key, side="right")
    ends = np.searchsorted(unit, unit, side="right")
    units_alone = data.units_alone
    total = np.cumsum(sum_by(annotator, ends - begins, n_annotators))
    start = 0
    while start < n_annotators:
        before = total[start - 1] if start else 0.0
        stop = int(np.searchsorted(total, before + _CHUNK, side="right"))
        stop = max(stop, start + 1)
        here = np.flatnonzero((annotator >= start) & (annotator < stop) & (begins < ends))
        right, offsets = rows(begins[here], ends[here])
        left = np.repeat(here, np.diff(offsets))
        pairs = (annotator[left] - start) * n_annotators + annotator[right]
        keys, pair = compact(pairs, (stop - start) * n_annotators)
        of = unit[left]
        if len(keys):
            yield AnswerPairs(
                first=(start + keys // n_annotators).astype(np.int32),
                second=(keys % n_annotators).astype(np.int32),
                pair=pair,
                left=value[left],
                right=value[right],
                unit=of,
                weight=np.ones(len(of)) if data.weight is None else data.weight[of].astype(float),
                group=data.group,
                units_alone=units_alone,
                n_values=data.n_values,
                n_groups=data.n_groups,
            )
        start = stop
