"""How much of the time annotators say the same, and Cronbach's alpha as a contrast to it."""

from math import nan

import numpy as np

from bboxqa.agreement.krippendorff import NO_PAIR, OK
from bboxqa.arrays import run_starts
from bboxqa.estimates import CategoryAgreement, Estimate
from bboxqa.model import Cell
from bboxqa.ratings import Ratings

__all__ = ["agreement_by_category", "cronbach_of_points"]

_NO_TWO = "undefined: no stretch of time was annotated by everyone, or there is one annotator only"
_SAME_TOTALS = "undefined: the annotators' codes have the same sum, so the variance of sums is 0"


def agreement_by_category(ratings: Ratings) -> CategoryAgreement:
    """Return on which share of time annotators say the same, overall and for each value.

    Overall it is the percent agreement; for a value c the time on which both say c divided by the
    time on which at least one does. Both are means over the pairs of annotators, each pair
    weighted by the time that the share is of: sums over pairs, divided.

    Parameters
    ----------
    ratings : Ratings
        M ratings; units without a weight count once. No annotator twice in a unit.

    Returns
    -------
    CategoryAgreement

    Notes
    -----
    For a value it is the coefficient of community of Jaccard (1912), "The distribution of the
    flora in the alpine zone", on time. Chance is not taken into account.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> said = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> data = from_table(said, np.ones((2, 4), bool), 2)
    >>> found = agreement_by_category(Ratings(data, (), ("ann", "bob"), ("sit", "run")))
    >>> found.overall, found.agreement.round(3)
    (0.75, array([0.5  , 0.667]))
    """
    data = ratings.data
    said = data.state == Cell.CATEGORY
    weight = np.ones(len(data.group), np.int64) if data.weight is None else data.weight
    raters = np.bincount(data.unit[said], minlength=len(data.group))
    key = np.sort(data.unit[said] * data.n_values + data.value[said])
    first = run_starts(key)
    times = np.diff(first, append=len(key))
    unit, value = np.divmod(key[first], max(data.n_values, 1))
    pairs = raters * (raters - 1) // 2
    others = raters[unit] - times
    both = np.zeros(data.n_values, np.int64)
    either = np.zeros(data.n_values, np.int64)
    np.add.at(both, value, weight[unit] * (times * (times - 1) // 2))
    np.add.at(either, value, weight[unit] * (pairs[unit] - others * (others - 1) // 2))
    compared = int((weight * pairs).sum())
    return CategoryAgreement(
        value_names=ratings.value_names,
        agreement=np.divide(both, either, out=np.full(len(both), nan), where=either > 0),
        both=both,
        either=either,
        overall=int(both.sum()) / compared if compared else nan,
        compared=compared,
        status=OK if compared else NO_PAIR,
    )


def cronbach_of_points(ratings: Ratings) -> Estimate:
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
    Estimate
        NaN where nobody can be told apart: with one annotator, or where the sums are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> said = np.array([[0] * 100, [1] * 100])
    >>> data = from_table(said, np.ones((2, 100), bool), 2)
    >>> cronbach_of_points(Ratings(data, (), ("ann", "bob"), ("sit", "run"))).value
    1.0
    """
    data = ratings.data
    n_annotators = len(ratings.annotator_names)
    said = data.state == Cell.CATEGORY
    complete = np.bincount(data.unit[said], minlength=len(data.group)) == n_annotators
    rows = np.flatnonzero(said)[complete[data.unit[said]]]
    weight = np.ones(len(data.group), np.int64) if data.weight is None else data.weight
    weight = weight[complete]
    n_points = int(weight.sum())
    if n_annotators < 2 or n_points < 2:
        return Estimate(nan, status=_NO_TWO)
    codes = np.arange(data.n_values) if ratings.numbers is None else ratings.numbers
    points = codes[data.value[rows]].reshape(-1, n_annotators)
    of_items = weight @ points.var(axis=1, ddof=1)
    of_sums = (weight @ points).var(ddof=1)
    if not of_sums > 0:
        return Estimate(nan, status=_SAME_TOTALS)
    return Estimate(float(n_points / (n_points - 1) * (1 - of_items / of_sums)))
