"""Differences of annotators and categories from the others, over the same draws of images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals, n_nonzero
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.diagnostics.agreement_groups import assigned_to, independent
from bboxqa.diagnostics.categories import difficulty_sums
from bboxqa.diagnostics.object_cells import pair_sums
from bboxqa.diagnostics.rates import RATES, rate_sums
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.matchers import match
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.sentences.significance import Bounds, median_of_others

# Rates of which a lower value is worse.
_AGREEMENT = ("f1", "class_share", "mean_similarity")


def differences(matched: MatchedUnits) -> Mapping[str, Bounds]:
    """Return by how much each annotator is worse than the median of the others, for each rate.

    Images that are hard for all do not widen the intervals, as both sides share the draws. The keys
    are `RATES`.
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

    found = _with_ends(matched, tables, evaluate).reshape(*shape, 3)
    return {rate: Bounds(*found[place].T) for place, rate in enumerate(RATES)}


def f1_of_others(matched: MatchedUnits, annotator: int) -> FloatArray:
    """Return the F1 of each pair of others who share objects, matched without an annotator, (P,).

    An annotator who draws an object twice can split the unit of the others: matched together, two
    others who agree on everything would have an F1 below 1.
    """
    assigned = matched.data.assigned.copy()
    assigned[:, annotator] = False
    assigned[assigned.sum(1) < 2] = False
    others = assigned_to(matched, assigned)
    pairs = others.near.take(others.near.similarity >= others.threshold - TOLERANCE)
    units = match(
        others.data.annotations,
        pairs,
        others.matcher,
        others.threshold,
        category_lenient=others.category_lenient,
    )
    sums = pair_sums(replace(others, units=units))
    one, other = np.nonzero(np.triu(sums.possible, 1))
    found: FloatArray = sums.matched[one, other] / sums.possible[one, other]
    return found


def category_differences(matched: MatchedUnits, places: IndexArray) -> Bounds:
    """Return by how much less each category is found than the median of the others.

    `places` are the indices of the compared categories among all that were drawn, (K,).
    """
    tables = [table[places] for table in difficulty_sums(matched).tables]

    def evaluate(above: FloatArray, below: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(below > 0, above / below, np.nan)
        return median_of_others(rates) - rates

    return Bounds(*_with_ends(matched, tables, evaluate).T)


def _with_ends(
    matched: MatchedUnits,
    tables: Sequence[Any],
    evaluate: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Return (K, 3): figures of all images, and their 95 % intervals.

    `tables` have the sums above and below the fraction bar by image.
    """
    totals = (np.asarray(table.sum(1), np.float64).reshape(-1, 1) for table in tables)
    value = evaluate(*totals)[:, 0]
    made_of = n_nonzero(tables[1])
    ends = drawn_intervals(
        value, tables, evaluate, matched.bootstrap, matched.seed, n_images=made_of
    )
    return np.column_stack([value, ends])
