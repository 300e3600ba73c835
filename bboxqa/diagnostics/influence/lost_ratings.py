"""Ratings left out with each annotator, and values that are then no longer pairable."""

import numpy as np

from bboxqa.agreement.counts.unit_counts import UnitCounts
from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays, sum_by
from bboxqa.model.reliability import Cell, ReliabilityData


@frozen_arrays
class Remainder:
    """The sums of alpha after leaving out each of B items."""

    total: FloatArray
    """(B,) float64. n, the number of pairable values."""
    within: FloatArray
    """(B,) float64. n D_o."""
    between: FloatArray
    """(B,) float64. n (n − 1) D_e."""
    whole: tuple[float, float]
    """The last two sums when nothing is left out."""


@frozen_arrays
class RatingsWithout:
    """M ratings, sorted by annotator, and the L pairable values that are lost with annotators."""

    unit: IndexArray
    annotator: IndexArray
    entry: IndexArray
    """(M,) int64. Of each rating; `entry` is the index of its value among those of its unit."""
    size: FloatArray
    weight: FloatArray
    """(M,) float64. The number of ratings of its unit, and of units that it stands for."""
    who: IndexArray
    what: IndexArray
    """(L,) int64. Annotator and value, sorted. Without one of two ratings, the other is no longer
    pairable."""
    amount: FloatArray
    """(L,) float64. The number of lost values."""
    n_annotators: int

    def change(self, of_unit: FloatArray, of_rating: FloatArray) -> FloatArray:
        """Return by how much n D_o changes without each rating, (M,).

        `of_unit` is the summed distances of each two ratings of its unit, in both orders;
        `of_rating` is those of the rating to all of its unit.
        """
        left = (of_unit - 2 * of_rating) / np.maximum(self.size - 2, 1) * (self.size > 2)
        before = of_unit / np.maximum(self.size - 1, 1)
        return self.weight * np.where(self.size >= 2, left - before, 0)


def ratings_without(data: ReliabilityData, counts: UnitCounts, n_annotators: int) -> RatingsWithout:
    """Return the ratings left out with each annotator; no annotator rates a unit twice."""
    cells = np.flatnonzero(data.state == Cell.CATEGORY)
    cells = cells[np.argsort(data.annotator[cells], kind="stable")]
    unit, value = data.unit[cells], data.value[cells].astype(np.int64)
    annotator, n_values = data.annotator[cells].astype(np.int64), counts.n_values
    size, weight = counts.size[unit], counts.weight[unit]
    two, several = np.flatnonzero(size == 2), size >= 2
    # The other value of a unit of two: the sum of both less this one.
    both = sum_by(counts.unit, counts.count * counts.value, len(counts.size))
    other = (both[unit[two]] - value[two]).astype(np.int64)
    key = np.concatenate(
        [(annotator * n_values + value)[several], annotator[two] * n_values + other]
    )
    keys, place = np.unique(key, return_inverse=True)
    who, what = np.divmod(keys, max(n_values, 1))
    return RatingsWithout(
        unit=unit,
        annotator=annotator,
        entry=np.searchsorted(counts.unit * n_values + counts.value, unit * n_values + value),
        size=size,
        weight=weight,
        who=who,
        what=what,
        amount=sum_by(place, np.concatenate([weight[several], weight[two]]), len(keys)),
        n_annotators=n_annotators,
    )
