"""How much of the time annotators say the same, and Cronbach's alpha as a contrast to it."""

from itertools import pairwise
from math import nan
from typing import Any

import numpy as np

from bboxqa.agreement.uncertainty.estimator import OK, Estimator, clusters_of, undefined
from bboxqa.agreement.uncertainty.linear import pseudo_value_estimator
from bboxqa.agreement.uncertainty.sum_table import SumTable
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, run_starts, sum_by
from bboxqa.model.ratings import Ratings
from bboxqa.model.reliability import Cell

__all__ = ["cronbach_of_points", "label_agreement"]

# A variance of less than this share of the squares is one of rounding.
_ROUNDING = 1e-26

_NO_TWO = "undefined: no stretch of time was annotated by everyone, or there is one annotator only"
_NOBODY = "undefined: nobody says it where there is somebody to compare with"
_SAME_TOTALS = "undefined: the annotators' codes have the same sum, so the variance of sums is 0"


def label_agreement(ratings: Ratings) -> list[Estimator]:
    """Return for each value on which share of time annotators agree on it.

    For a value c: the time on which both say c divided by the time on which at least one does.
    It is the mean over the pairs of annotators, each weighted by the time that its share is of:
    sums over pairs, divided.

    Parameters
    ----------
    ratings : Ratings
        M ratings; units without a weight count once. No annotator twice in a unit.

    Returns
    -------
    list of Estimator
        K, one per value. The two sums are the time on which both and either say it, in sample
        points; none where it is undefined. All clusters with something to compare are drawn, also
        those in which nobody says it: how often a label occurs is a matter of chance, too.

    Notes
    -----
    It is the coefficient of community of Jaccard (1912), "The distribution of the flora in the
    alpine zone", on time. Chance is not taken into account.

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
    unit, value, times = _answers(ratings)
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
    """Return which ratings count, how many points each unit stands for, and its raters."""
    data = ratings.data
    said = data.state == Cell.CATEGORY
    weight = np.ones(len(data.group), np.int64) if data.weight is None else data.weight
    return said, weight, np.bincount(data.unit[said], minlength=len(data.group))


def _answers(ratings: Ratings) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return each value that a unit was given, and how often."""
    data = ratings.data
    said = data.state == Cell.CATEGORY
    key = np.sort(data.unit[said] * data.n_values + data.value[said])
    first = run_starts(key)
    unit, value = np.divmod(key[first], max(data.n_values, 1))
    return unit, value, np.diff(first, append=len(key))


def _pairs(number: IndexArray) -> IndexArray:
    """Return how many pairs there are of so many."""
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

    k / (k − 1) · (1 − Σ variance of an item / variance of the sums) over k points (Cronbach 1951,
    "Coefficient alpha and the internal structure of tests", equation 2); with the points as items
    it is what a table of annotators × points yields in a program that takes columns for items.
    It asks whether the sums of codes tell the annotators apart, and not whether they agree: two
    annotators who nearly always differ in one direction come close to 1, since every point
    confirms that the one's codes are higher. It is here as a contrast, never as a measure.

    Parameters
    ----------
    ratings : Ratings
        Each unit stands for as many points as its weight says; only those count that all
        annotators rated, once each. Values are taken as numbers where they are, and else by their
        place among the values.

    Returns
    -------
    Estimator
        Undefined where nobody can be told apart: with one annotator, or where the sums are equal.

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
    # A recording that is drawn twice is an item that is there twice, which raises alpha by itself.
    rest = sums.sum(1, keepdims=True) - sums[:, clusters]
    return pseudo_value_estimator(value, clusters, _cronbach(rest), data.n_groups)


def _cronbach(sums: FloatArray) -> FloatArray:
    """Return Cronbach's alpha from points, variances of points, and sums of each annotator."""
    points, of_items, of_sums = sums[0], sums[1], sums[2:].var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha: FloatArray = points / (points - 1) * (1 - of_items / of_sums)
    size = np.abs(sums[2:]).max(axis=0)
    alpha[~((of_sums > _ROUNDING * size**2) & (points > 1))] = nan
    return alpha
