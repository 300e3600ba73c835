"""Cronbach's alpha of points in time, which is not a measure of agreement."""

import numpy as np

from bboxqa.agreement.consistency.cronbach import cronbach_of_variances
from bboxqa.agreement.uncertainty.estimator import Estimator, clusters_of, undefined
from bboxqa.agreement.uncertainty.linear import pseudo_value_estimator
from bboxqa.core.arrays import FloatArray, sum_by
from bboxqa.model.ratings import Ratings
from bboxqa.model.reliability import Cell

# A variance below this share of the squares is rounding.
_ROUNDING = 1e-26

_NO_TWO = "undefined: no stretch of time was annotated by everyone, or there is one annotator only"
_SAME_TOTALS = "undefined: the annotators' codes have the same sum, so the variance of sums is 0"


def cronbach_of_points(ratings: Ratings) -> Estimator:
    """Return Cronbach's alpha with the points in time as items and the annotators as cases.

    k / (k − 1) · (1 − Σ variance of an item / variance of the sums) over k points (Cronbach 1951,
    eq. 2): the result for a table of annotators × points in a program that takes columns as items.
    It measures whether annotators differ in their sums of codes, not whether they agree: for two
    annotators who nearly always differ in one direction it is close to 1. It is given for
    comparison only. Undefined with one annotator, or if the sums are equal.

    Each unit stands for as many points as its weight. Points that some annotator did not rate are
    left out. Values that are not numbers are replaced by their ranks.
    """
    data = ratings.data
    n_annotators = len(ratings.annotator_names)
    said = data.state == Cell.CATEGORY
    weight = np.ones(len(data.group), np.int64) if data.weight is None else data.weight
    complete = np.bincount(data.unit[said], minlength=len(data.group)) == n_annotators
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
    # Not resampled: a recording drawn twice would be a repeated item, which raises alpha.
    rest = sums.sum(1, keepdims=True) - sums[:, clusters]
    return pseudo_value_estimator(value, clusters, _cronbach(rest), data.n_groups)


def _cronbach(sums: FloatArray) -> FloatArray:
    """Return Cronbach's alpha from points, variances of points, and the sums of each annotator."""
    points, of_items, of_sums = sums[0], sums[1], sums[2:].var(axis=0, ddof=1)
    residue = _ROUNDING * np.abs(sums[2:]).max(axis=0) ** 2
    return cronbach_of_variances(points, of_items, of_sums, residue)
