"""Categories that annotators confuse."""

from typing import Any

import numpy as np

from bboxqa.agreement.estimators import table_of
from bboxqa.agreement.intervals import n_nonzero
from bboxqa.agreement.nominal import coincidence_tables, nominal_alpha
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.unit_counts import (
    UnitCounts,
    ValuePairs,
    coincidences_of,
    unit_counts,
    value_pairs,
)
from bboxqa.core.arrays import FloatArray, IndexArray, distinct_rows, find, rows, sum_by
from bboxqa.diagnostics.annotator_pairs import independent
from bboxqa.diagnostics.decomposition import disagreements
from bboxqa.diagnostics.object_cells import (
    alpha_has_meaning,
    drawn_figures,
    object_cells,
    object_reliability,
)
from bboxqa.diagnostics.parts import parts
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.model.table import Categorical, Table, figure_columns
from bboxqa.model.units import Cell, MatchedUnits

# The most pairs of categories in the table.
_MOST = 1000


def _table(
    pairs: ValuePairs, counts: UnitCounts, amount: FloatArray, row_of: IndexArray, n_rows: int
) -> Any:
    """Return the sums of amounts, (E,), by row and image; `row_of`, (P,), is -1 for none."""
    row, image = row_of[pairs.pair], counts.group[pairs.unit]
    kept = np.flatnonzero(row >= 0)
    return table_of(row[kept], image[kept], amount[kept], (n_rows, counts.n_groups))


def confusions(matched: MatchedUnits) -> Table:
    """Return the pairs of categories that are confused, the most rewarding to merge first.

    These are the 1,000 most frequent. Columns: first and second, the categories; n, the number of
    objects to which both were given; share, n divided by the objects with either; alpha_merged,
    alpha if both were one category; and gain, alpha_merged − alpha, negative if the two are
    distinguished better than others. Parts and second boxes of an object may have any category.
    Share and gain have 95 % intervals over images. NaN where alpha is undefined or has no meaning.
    """
    root, cells = disagreements(matched).root, object_cells(matched)
    # Parts and second boxes of an object may have any category.
    odd_boxes = np.append(parts(matched).odd_boxes, True)
    is_own = (root == np.arange(len(root)))[cells.object] & ~odd_boxes[cells.annotation]
    counts = unit_counts(object_reliability(matched).take(np.flatnonzero(is_own)))
    pairs = value_pairs(counts)
    n_of_pairs = np.bincount(pairs.pair, minlength=len(pairs.first))
    shown = np.argsort(-n_of_pairs, kind="stable")[:_MOST]
    first, second, n = pairs.first[shown], pairs.second[shown], n_of_pairs[shown]
    # Confusions are counted by object, alpha by unit: annotations that overlap too little are in
    # different ones.
    of_units = unit_counts(matched.reliability, matched.missing)
    in_units = value_pairs(of_units)
    keys = (one * counts.n_values + other
            for one, other in ((first, second), (in_units.first, in_units.second)))  # fmt: skip
    tables = (
        *coincidence_tables(coincidences_of(of_units), of_units.n_values),
        _table(in_units, of_units, in_units.amount, find(*keys), len(shown)),
        _table(pairs, counts, np.ones(len(pairs.pair)), find(shown, np.arange(len(n_of_pairs))),
               len(shown)),
        table_of(counts.value, counts.group[counts.unit], np.ones(len(counts.value)),
                 (counts.n_values, counts.n_groups)),
    )  # fmt: skip

    def evaluate(
        marginal: FloatArray, agreeing: FloatArray, both: FloatArray, n: FloatArray, of: FloatArray
    ) -> FloatArray:
        # A merged value c ∪ k coincides with itself o_cc + o_kk + o_ck + o_kc times and occurs
        # n_c + n_k times, so that only Σ o_cc and Σ n_c² change.
        none = np.zeros((1, marginal.shape[1]))
        same = agreeing + np.concatenate([none, both])
        more = np.concatenate([none, 2 * marginal[first] * marginal[second]])
        squares = (marginal**2).sum(0) + more
        alpha = nominal_alpha(np.broadcast_to(marginal.sum(0), same.shape), same, squares)[0]
        return np.concatenate([ratio(n, of[first] + of[second] - n), alpha[1:] - alpha[0], alpha])

    in_images = n_nonzero(tables[-1][first] + tables[-1][second])
    made_of = np.concatenate([*[in_images] * 2, [0], in_images])
    value, bounds = drawn_figures(matched, tables, evaluate, made_of)
    if not alpha_has_meaning(matched):
        value[len(n) :] = bounds[len(n) :] = np.nan
    share, gain, merged = value[: len(n)], value[len(n) : 2 * len(n)], value[2 * len(n) + 1 :]
    names = matched.data.category_names
    return Table(
        {
            "first": Categorical(first.astype(np.int32), names),
            "second": Categorical(second.astype(np.int32), names),
            "n": n,
            **figure_columns("share", share, bounds[: len(n)]),
            "alpha_merged": merged,
            **figure_columns("gain", gain, bounds[len(n) : 2 * len(n)]),
        }
    ).take(np.lexsort([second, first, -n, -gain]))


def confusion_matrix(matched: MatchedUnits) -> Table:
    """Return the confusion matrix of each annotator with the others.

    Columns: annotator, category of the annotator, and others, that of the others, which occur
    together, "(no box)" for a missing annotation; n, the number of pairs of the annotator and
    another; share, n divided by all pairs with this category of the annotator; and n_most, the
    number of objects to which more than half of the others gave this category of the others.
    """
    data = object_reliability(independent(matched))
    counts = unit_counts(data, "category")
    # All values in the object of each cell, sorted by cell, then value: its own value, that of the
    # object, and how many other cells have it.
    ends = (np.searchsorted(counts.unit, data.unit, side) for side in ("left", "right"))
    entry, offsets = rows(*ends)
    cell, value = np.repeat(np.arange(len(data.unit)), np.diff(offsets)), counts.value[entry]
    own = np.where(data.state == Cell.CATEGORY, data.value, counts.n_values - 1)
    given = own.astype(np.int64)[cell]
    n_others = counts.count[entry] - (value == given)
    missing = counts.n_values - 1
    known = np.flatnonzero((n_others > 0) & ((given != missing) | (value != missing)))
    who = data.annotator[cell[known]]
    (who, own, others), place, _ = distinct_rows(who, given[known], value[known])
    n = sum_by(place, n_others[known], len(who))
    by_most = 2 * n_others > np.bincount(cell, n_others)[cell]
    n_most = sum_by(place, by_most[known].astype(np.float64), len(who))
    _, of_row, _ = distinct_rows(who, own)
    labels = (*matched.data.category_names, NO_BOX)
    return Table(
        {
            "annotator": Categorical(who.astype(np.int32), matched.data.annotator_names),
            "category": Categorical(own.astype(np.int32), labels),
            "others": Categorical(others.astype(np.int32), labels),
            "n": n.astype(np.int64),
            "share": n / sum_by(of_row, n, int(of_row.max(initial=-1)) + 1)[of_row],
            "n_most": n_most.astype(np.int64),
        }
    )
