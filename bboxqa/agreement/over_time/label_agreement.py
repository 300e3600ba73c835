"""The share of time on which annotators agree, and Cronbach's alpha as a contrast to it."""

from itertools import pairwise
from math import nan
from typing import Any

import numpy as np

from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.agreement.uncertainty.estimator import OK, Estimator, clusters_of, undefined
from bboxqa.agreement.uncertainty.linear import pseudo_value_estimator
from bboxqa.agreement.uncertainty.sum_table import SumTable
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, sum_by
from bboxqa.model.ratings import Ratings
from bboxqa.model.reliability import Cell

# A variance below this share of the squares is rounding.
_ROUNDING = 1e-26

_NO_TWO = "undefined: no stretch of time was annotated by everyone, or there is one annotator only"
_NOBODY = "undefined: the label is not used where annotators can be compared"
_SAME_TOTALS = "undefined: the annotators' codes have the same sum, so the variance of sums is 0"


def label_agreement(ratings: Ratings) -> list[Estimator]:
    """Return for each value the share of time on which annotators agree on it.

    For a value c it is the time on which both annotators of a pair say c, divided by the time on
    which at least one does, both summed over the pairs: the coefficient of community of Jaccard
    [1]_, without correction for chance. All clusters with something to compare are drawn, also
    those without the value, since its frequency is random too.

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
    >>> import numpy as np
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> said = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> data = from_table(said, np.ones((2, 4), bool), 2)
    >>> found = label_agreement(Ratings(data, (), ("ann", "bob"), ("sit", "run")))
    >>> [round(label.value, 3) for label in found]
    [0.5, 0.667]
    """
    data = ratings.data
    _, weight, raters = _said(ratings)
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


def _said(ratings: Ratings) -> tuple[BoolArray, IndexArray, IndexArray]:
    """Return the ratings that count, (M,), and the points and the raters of each unit, (U,)."""
    data = ratings.data
    said = data.state == Cell.CATEGORY
    weight = np.ones(len(data.group), np.int64) if data.weight is None else data.weight
    return said, weight, np.bincount(data.unit[said], minlength=len(data.group))


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


def cronbach_of_points(ratings: Ratings) -> Estimator:
    """Return Cronbach's alpha with the points in time as items and the annotators as cases.

    k / (k − 1) · (1 − Σ variance of an item / variance of the sums) over k points [1]_, eq. 2: what
    a table of annotators × points yields in a program that takes columns for items. It measures
    whether the sums of codes tell the annotators apart, not whether they agree: two annotators who
    nearly always differ in one direction come close to 1. It is a contrast, never a measure of
    agreement. Undefined with one annotator, or where the sums are equal.

    Parameters
    ----------
    ratings : Ratings
        Each unit stands for as many points as its weight. Points that some annotator did not rate
        are left out. Values that are not numbers are replaced by their ranks.

    References
    ----------
    .. [1] L. J. Cronbach (1951), Coefficient alpha and the internal structure of tests,
           Psychometrika 16(3), doi:10.1007/BF02310555.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> said = np.array([[0] * 100, [1] * 100])
    >>> data = from_table(said, np.ones((2, 100), bool), 2)
    >>> cronbach_of_points(Ratings(data, (), ("ann", "bob"), ("sit", "run"))).value
    1.0
    """
    data = ratings.data
    n_annotators = len(ratings.annotator_names)
    said, weight, raters = _said(ratings)
    complete = raters == n_annotators
    rows = np.flatnonzero(said)[complete[data.unit[said]]]
    weight = weight[complete]
    if n_annotators < 2 or weight.sum() < 2:
        advice = "Have everybody mark some recording from beginning to end."
        return undefined(_NO_TWO, advice=advice)
    codes = np.arange(data.n_values) if ratings.numbers is None else ratings.numbers
    points = codes[data.value[rows]].reshape(-1, n_annotators)
    columns = [weight, weight * points.var(axis=1, ddof=1), *(weight[:, None] * points).T]
    group = data.group[complete]
    sums = np.stack([sum_by(group, column, data.n_groups) for column in columns])
    value = float(_cronbach(sums.sum(1, keepdims=True))[0])
    if np.isnan(value):
        advice = "Report krippendorff_alpha, which needs no differing sums."
        return undefined(_SAME_TOTALS, advice=advice)
    clusters = clusters_of(group, weight > 0)
    # A recording drawn twice would be a repeated item, which raises alpha by itself.
    rest = sums.sum(1, keepdims=True) - sums[:, clusters]
    return pseudo_value_estimator(value, clusters, _cronbach(rest), data.n_groups)


def _cronbach(sums: FloatArray) -> FloatArray:
    """Return Cronbach's alpha from points, variances of points, and the sums of each annotator."""
    points, of_items, of_sums = sums[0], sums[1], sums[2:].var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha: FloatArray = points / (points - 1) * (1 - of_items / of_sums)
    size = np.abs(sums[2:]).max(axis=0)
    alpha[~((of_sums > _ROUNDING * size**2) & (points > 1))] = nan
    return alpha
