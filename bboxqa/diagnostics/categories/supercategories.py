"""Gain of merging categories to the supercategories of the file."""

from typing import Any

import numpy as np

from bboxqa.agreement.alpha.nominal import coincidence_tables, nominal_alpha
from bboxqa.agreement.counts.unit_counts import coincidences_of
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.diagnostics.categories.confusions import Confusions, matched_confusions
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

ALL = "(all)"


def supercategories(matched: MatchedUnits) -> Table:
    """Return the gain of merging the categories of each supercategory, the largest first.

    A row for each supercategory with two or more categories that occur, and one "(all)" for all of
    them at once, if there are several. Columns: supercategory; n_categories and n, the numbers of
    its categories and annotations; alpha_merged, alpha if these were one category; and gain,
    alpha_merged − alpha, with its 95 % interval over images. There are no rows if the file names no
    supercategories.
    """
    data = matched.data
    drawn = np.bincount(data.annotations.category, minlength=len(data.category_names))
    of_category = data.supercategories or ("",) * len(data.category_names)
    names, group = np.unique(np.array(of_category, np.str_), return_inverse=True)
    found = matched_confusions(matched)
    n_categories = sum_by(group, drawn > 0, len(names))
    # Categories without a supercategory are not merged with each other.
    shown = np.flatnonzero((n_categories > 1) & (names != ""))
    alpha, bounds = _merged(found, group, shown, matched)
    merged, gain = alpha[1:], alpha[1:] - alpha[0]
    last = len(shown)
    order = np.argsort(-merged[: last + (last > 1)], kind="stable")
    return Table(
        {
            "supercategory": Categorical(order.astype(np.int32), (*names[shown].tolist(), ALL)),
            "n_categories": _with_sum(n_categories[shown])[order],
            "n": _with_sum(sum_by(group, drawn, len(names))[shown])[order],
            "alpha_merged": merged[order],
            "gain": gain[order],
            "gain_low": bounds[order, 0],
            "gain_high": bounds[order, 1],
        }
    )


def _merged(
    found: Confusions, group: IndexArray, shown: IndexArray, matched: MatchedUnits
) -> tuple[FloatArray, FloatArray]:
    """Return alpha, then alpha with each shown group merged, and with all merged.

    The second array has the intervals of the gains, (G + 1, 2).
    """
    from scipy.sparse import csr_array

    n_values, n_shown = found.counts.n_values, len(shown)
    place = np.full(int(group.max(initial=-1)) + 1, -1)
    place[shown] = np.arange(n_shown)
    # Categories outside the shown groups, and missing annotations, are not merged.
    of_value = np.append(place[group], np.full(n_values - len(group), -1))
    members = np.flatnonzero(of_value >= 0)
    inside = csr_array(
        (np.ones(len(members)), (of_value[members], members)), shape=(n_shown, n_values)
    )

    def alphas(marginal: FloatArray, agreeing: FloatArray, amount: FloatArray) -> FloatArray:
        # Twice the sum of the products of each two members.
        more = (inside @ marginal) ** 2 - inside @ marginal**2
        rows = np.zeros((1, marginal.shape[1]))
        squares = np.concatenate([rows, more, more.sum(0, keepdims=True)]) + (marginal**2).sum(0)
        same = np.concatenate([rows, amount, amount.sum(0, keepdims=True)]) + agreeing
        total = np.broadcast_to(marginal.sum(0), squares.shape)
        return nominal_alpha(total, same, squares)[0]

    def gains(*sums: FloatArray) -> FloatArray:
        drawn = alphas(*sums)
        gain: FloatArray = drawn[1:] - drawn[0]
        return gain

    tables = _tables(found, of_value, n_shown)
    alpha = alphas(*(np.asarray(table.sum(1)).reshape(-1, 1) for table in tables))[:, 0]
    if not found.has_meaning:
        alpha[:] = np.nan
    gain = alpha[1:] - alpha[0]
    return alpha, drawn_intervals(gain, tables, gains, matched.bootstrap, matched.seed)


def _tables(found: Confusions, of_value: IndexArray, n_shown: int) -> tuple[Any, ...]:
    """Return the sums of each image: marginals, their agreement, and that within groups."""
    counts, pairs = found.counts, found.pairs
    first, second = of_value[pairs.first[pairs.pair]], of_value[pairs.second[pairs.pair]]
    within = np.flatnonzero((first == second) & (first >= 0))
    image = counts.group[pairs.unit[within]]
    amounts = table_of(first[within], image, pairs.amount[within], (n_shown, counts.n_groups))
    return *coincidence_tables(coincidences_of(counts), counts.n_values), amounts


def _with_sum(numbers: FloatArray) -> IndexArray:
    return np.append(numbers, numbers.sum()).astype(np.int64)
