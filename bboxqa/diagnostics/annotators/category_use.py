"""The use of categories by each annotator, compared with the others on the same objects."""

import numpy as np

from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.core.arrays import IndexArray, compact, sum_by
from bboxqa.diagnostics.annotators.cell_values import CellValues, cell_values
from bboxqa.diagnostics.annotators.image_ratios import RatioSums, holm
from bboxqa.diagnostics.annotators.independent import independent
from bboxqa.diagnostics.object_cells import object_reliability
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.model.reliability import Cell
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

_ALARM = 0.05


def category_use(matched: MatchedUnits) -> Table:
    """Return how often each annotator, and the majority of the others, uses each category.

    Only objects count to which more than half of the other annotators gave the same category. (With
    the shares of the others instead of the majority, one annotator who swaps categories would
    change the expectation for all.) There is a row for each annotator and category. Columns:
    annotator and category; n_used, the number of objects to which the annotator gave the category;
    n_expected, that of objects to which most others gave it; use, the ratio of both, with its 95 %
    interval over images; p_value of a t-test over images against a ratio of 1; and systematic,
    whether it is significant after Holm's correction for all rows. With one category there is no
    row.
    """
    data = object_reliability(independent(matched))
    names, categories = matched.data.annotator_names, matched.data.category_names
    counts = unit_counts(data)
    cells = np.flatnonzero((data.state == Cell.CATEGORY) & (counts.size[data.unit] > 1))
    found = cell_values(data, counts, cells)
    by_most = 2 * found.n_others > counts.size[data.unit[found.cell]] - 1
    own = found.value == found.own
    rows = np.flatnonzero(np.isin(found.cell, found.cell[by_most]) & (own | by_most))
    cell, value = found.cell[rows], found.value[rows]
    key = data.annotator[cell].astype(np.int64) * len(categories) + value
    keys, row = compact(key, len(names) * len(categories))
    sums = RatioSums(len(keys), data.n_groups)
    sums.add(
        row,
        data.group[data.unit[cell]],
        own[rows].astype(np.float64),
        by_most[rows].astype(np.float64),
    )
    ratios = sums.ratios(matched.bootstrap, matched.seed, null=1.0)
    who, what = np.divmod(keys, max(len(categories), 1))
    shown = np.arange(len(keys) if len(np.unique(value)) > 1 else 0)
    return Table(
        {
            "annotator": Categorical(who.astype(np.int32), names),
            "category": Categorical(what.astype(np.int32), categories),
            "n_used": ratios.numerator.astype(np.int64),
            "n_expected": ratios.denominator.astype(np.int64),
            "use": ratios.value,
            "use_low": ratios.interval[:, 0],
            "use_high": ratios.interval[:, 1],
            "p_value": ratios.p_value,
            "systematic": holm(ratios.p_value) < _ALARM,
        }
    ).take(shown)


def confusion_matrix(matched: MatchedUnits) -> Table:
    """Return the confusion matrix of each annotator with the others.

    A row for each annotator, category of the annotator and category of the others that occur
    together; "(no box)" stands for a missing annotation. Columns: these three; n, the number of
    pairs of the annotator and another annotator; share, n divided by all pairs with this category
    of the annotator; and n_most, the number of objects to which more than half of the others gave
    this category of the others.
    """
    data = object_reliability(independent(matched))
    counts = unit_counts(data, "category")
    found = cell_values(data, counts, np.arange(len(data.unit)))
    n_values = counts.n_values
    key = data.annotator[found.cell].astype(np.int64) * n_values + found.own
    known = _known(found, n_values)
    keys, place = np.unique(key[known] * n_values + found.value[known], return_inverse=True)
    n = sum_by(place, found.n_others[known], len(keys))
    by_most = 2 * found.n_others > np.bincount(found.cell, found.n_others)[found.cell]
    n_most = sum_by(place, by_most[known].astype(np.float64), len(keys))
    row, value = np.divmod(keys, max(n_values, 1))
    _, of_row = np.unique(row, return_inverse=True)
    who, own = np.divmod(row, max(n_values, 1))
    labels = (*matched.data.category_names, NO_BOX)
    return Table(
        {
            "annotator": Categorical(who.astype(np.int32), matched.data.annotator_names),
            "category": Categorical(own.astype(np.int32), labels),
            "others": Categorical(value.astype(np.int32), labels),
            "n": n.astype(np.int64),
            "share": n / sum_by(of_row, n, int(of_row.max(initial=-1)) + 1)[of_row],
            "n_most": n_most.astype(np.int64),
        }
    )


def _known(found: CellValues, n_values: int) -> IndexArray:
    """Return the rows with other annotators, and where at least one side drew the object."""
    missing = n_values - 1
    empty = (found.own == missing) & (found.value == missing)
    return np.flatnonzero((found.n_others > 0) & ~empty)
