"""How far annotators and categories are from the others, over the same draws of images."""

from collections.abc import Mapping

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals, n_nonzero
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.diagnostics.annotators.independent import assigned_to, independent
from bboxqa.diagnostics.annotators.rates import RATES, rate_sums
from bboxqa.diagnostics.categories.difficulty import difficulty_sums
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.match import match
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.sentences.sentence import Bounds, median_of_others

# Rates of which less is worse.
_AGREEMENT = ("f1", "class_share", "mean_similarity")


def differences(matched: MatchedUnits) -> Mapping[str, Bounds]:
    """Return for each of `RATES` by how much each annotator is worse than the median of the others.

    Images that are hard for all do not widen the intervals, since both sides see the same draws.
    """
    judged = independent(matched)
    tables = rate_sums(judged).tables
    n_annotators = len(matched.data.annotator_names)
    shape = len(RATES), n_annotators
    sign = np.array([-1.0 if rate in _AGREEMENT else 1.0 for rate in RATES])[:, None, None]

    def evaluate(above: FloatArray, below: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(below > 0, above / below, np.nan).reshape(*shape, -1)
        others = np.stack([median_of_others(each) for each in rates])
        return (sign * (rates - others)).reshape(len(above), -1)

    totals = (np.asarray(table.sum(1), np.float64).reshape(-1, 1) for table in tables)
    value = evaluate(*totals)[:, 0]
    made_of = n_nonzero(tables[1])
    ends = drawn_intervals(
        value, tables, evaluate, matched.bootstrap, matched.seed, n_images=made_of
    )
    found = np.column_stack([value, ends]).reshape(*shape, 3)
    return {rate: Bounds(*found[place].T) for place, rate in enumerate(RATES)}


def f1_without(matched: MatchedUnits, annotator: int) -> float:
    """Return F1 of what the others drew, matched again, in images of two others; NaN for nothing.

    Who draws an object twice takes one of its boxes from the others' unit: matched with this
    annotator, two others who agree on everything have less than 1.
    """
    assigned = matched.data.assigned.copy()
    assigned[:, annotator] = False
    assigned[assigned.sum(1) != 2] = False
    two = assigned_to(matched, assigned)
    n = len(two.data.annotations)
    if n == 0:
        return np.nan
    pairs = two.near.take(two.near.similarity >= two.threshold - TOLERANCE)
    lenient = two.category_lenient
    units = match(two.data.annotations, pairs, two.matcher, two.threshold, category_lenient=lenient)
    return 2 * (n - len(units)) / n


def category_differences(matched: MatchedUnits, places: IndexArray) -> Bounds:
    """Return by how much less each category is found than the median of the other ones.

    `places` are those of the categories that are compared among all that were drawn, (K,).
    """
    tables = [table[places] for table in difficulty_sums(matched).tables]

    def evaluate(above: FloatArray, below: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(below > 0, above / below, np.nan)
        return median_of_others(rates) - rates

    totals = (np.asarray(table.sum(1), np.float64).reshape(-1, 1) for table in tables)
    value = evaluate(*totals)[:, 0]
    made_of = n_nonzero(tables[1])
    ends = drawn_intervals(
        value, tables, evaluate, matched.bootstrap, matched.seed, n_images=made_of
    )
    return Bounds(value, ends[:, 0], ends[:, 1])
