"""The share of time on which annotators agree on a label."""

from itertools import pairwise
from math import nan
from typing import Any

import numpy as np

from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.agreement.uncertainty.estimator import OK, Estimator, clusters_of, undefined
from bboxqa.agreement.uncertainty.sum_table import SumTable
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, sum_by
from bboxqa.model.ratings import Ratings
from bboxqa.model.reliability import Cell

_NOBODY = "undefined: the label is not used where annotators can be compared"


def label_agreement(ratings: Ratings) -> list[Estimator]:
    """Return for each value the share of time on which annotators agree on it.

    For a value c it is the time on which both annotators of a pair say c, divided by the time on
    which at least one does, both summed over the pairs: Jaccard's coefficient of community [1]_,
    without correction for chance. All clusters with comparable time are drawn, also those without
    the value, as its frequency is random as well.

    Parameters
    ----------
    ratings : Ratings
        Units without a weight count once. No annotator twice in a unit.

    Returns
    -------
    list of Estimator
        One per value. The two sums are the time of both and of either, in sample points.

    References
    ----------
    .. [1] P. Jaccard (1912), The distribution of the flora in the alpine zone, New Phytologist
           11(2), doi:10.1111/j.1469-8137.1912.tb05611.x.

    Examples
    --------
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> said = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> data = from_table(said, np.ones((2, 4), bool), 2)
    >>> found = label_agreement(Ratings(data, (), ("ann", "bob"), ("sit", "run")))
    >>> [round(label.value, 3) for label in found]
    [0.5, 0.667]
    """
    data = ratings.data
    weight = np.ones(len(data.group), np.int64) if data.weight is None else data.weight
    drawn = data.unit[data.state == Cell.CATEGORY]
    raters = np.bincount(drawn, minlength=len(data.group))
    counts = unit_counts(data)
    unit, value, times = counts.unit, counts.value, counts.count.astype(np.int64)
    both = weight[unit] * _pairs(times)
    either = weight[unit] * (_pairs(raters[unit]) - _pairs(raters[unit] - times))
    clusters = clusters_of(data.group, (weight > 0) & (raters > 1))
    order = np.argsort(value, kind="stable")
    bounds = np.searchsorted(value[order], np.arange(data.n_values + 1))
    return [
        _share(
            data.group[unit[rows]], both[rows], either[rows], clusters, data.n_groups
        )
        for rows in (order[low:high] for low, high in pairwise(bounds.tolist()))
    ]  # fmt: skip


def _pairs(number: IndexArray) -> IndexArray:
    """Return the number of pairs among n things."""
    return number * (number - 1) // 2


def _share(
    group: IntArray, both: IndexArray, either: IndexArray, clusters: IndexArray, n_groups: int
) -> Estimator:
    """Return a share of time that can be resampled."""
    if not either.any():
        advice = "Have a second annotator mark the recordings in which it occurs."
        return undefined(_NOBODY, advice=advice)
    value = int(both.sum()) / int(either.sum())

    @SumTable
    def table() -> Any:
        sums = np.stack([sum_by(group, column, n_groups) for column in (both, either)])
        sums.setflags(write=False)
        return sums

    return Estimator(value, value, nan, OK, table, _ratio, clusters)


def _ratio(sums: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        share: FloatArray = sums[0] / sums[1]
    return share
