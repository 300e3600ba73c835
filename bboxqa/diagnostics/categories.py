"""Categories that annotators confuse, use differently, or find difficult."""

from functools import partial
from typing import Any

import numpy as np

from bboxqa.agreement.estimators import table_of
from bboxqa.agreement.intervals import drawn_intervals, n_nonzero
from bboxqa.agreement.nominal import binary_alpha, coincidence_tables, nominal_alpha, value_sums
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.objects import has_meaning, values_without_meaning
from bboxqa.agreement.unit_counts import (
    UnitCounts,
    ValuePairs,
    coincidences_of,
    unit_counts,
    value_pairs,
)
from bboxqa.core.arrays import (
    FloatArray,
    FrozenArrays,
    IndexArray,
    compact,
    distinct,
    distinct_rows,
    find,
    remembered,
    rows,
    sum_by,
)
from bboxqa.diagnostics.agreement_groups import independent
from bboxqa.diagnostics.decomposition import disagreements
from bboxqa.diagnostics.object_cells import (
    RatioSums,
    alpha_has_meaning,
    holm,
    object_cells,
    object_reliability,
    pairs_of_units,
    summed_rows,
)
from bboxqa.diagnostics.parts import parts
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.model.table import Categorical, Table, figure_columns, text_column
from bboxqa.model.units import Cell, Coincidences, MatchedUnits, ReliabilityData

# The number of pairs whose share and gain get intervals.
_MOST = 1000


class Confusions(FrozenArrays, frozen=True, eq=False):
    """How often values coincide in matched units, of which alpha is a function."""

    counts: UnitCounts
    of_images: Coincidences
    pairs: ValuePairs
    """The counts by unit and image, and P pairs of values in one unit."""
    amount: FloatArray
    """(P,) float64. Their coincidences, o_ck + o_kc."""
    marginal: FloatArray
    agreeing: float
    """How often each value occurs, (K,), and the coincidences of values with themselves."""
    has_meaning: bool
    """Whether alpha can show agreement; all alphas are NaN where it cannot."""

    def alpha(self, agreeing: FloatArray, products: FloatArray) -> FloatArray:
        """Return the nominal alpha with values merged, elementwise; of no merged ones for zeros.

        `agreeing` are coincidences of merged values, `products` the sum of n_c n_k over each two.
        """
        if not self.has_meaning:
            return np.full(len(agreeing), np.nan)
        total = np.full(len(agreeing), self.marginal.sum())
        squares = float((self.marginal**2).sum()) + 2 * products
        return nominal_alpha(total, self.agreeing + agreeing, squares)[0]


def _table(
    pairs: ValuePairs, counts: UnitCounts, amount: FloatArray, row_of: IndexArray, n_rows: int
) -> Any:
    """Return the sums of amounts, (E,), by row and image; `row_of`, (P,), is -1 for none."""
    row, image = row_of[pairs.pair], counts.group[pairs.unit]
    kept = np.flatnonzero(row >= 0)
    return table_of(row[kept], image[kept], amount[kept], (n_rows, counts.n_groups))


@remembered
def matched_confusions(matched: MatchedUnits) -> Confusions:
    """Return the pairs of values that were given in one matched unit."""
    counts = unit_counts(matched.reliability, matched.missing)
    pairs, of_images = value_pairs(counts), coincidences_of(counts)
    marginal, diagonal = value_sums(of_images)
    amount = sum_by(pairs.pair, pairs.amount, len(pairs.first))
    agreeing, has_meaning = float(diagonal.sum()), alpha_has_meaning(matched)
    return Confusions(counts, of_images, pairs, amount, marginal, agreeing, has_meaning)


def confusions(matched: MatchedUnits) -> Table:
    """Return the pairs of categories that are confused, the most rewarding to merge first.

    Columns: first and second, the categories; n, the number of objects to which both were given;
    share, n divided by the objects with either; alpha_merged, alpha if both were one category; and
    gain, alpha_merged − alpha, negative if the two are distinguished better than others. Parts and
    second boxes of an object may have any category. Share and gain of the 1,000 most frequent pairs
    have 95 % intervals over images. NaN where alpha is undefined or has no meaning.
    """
    # A merged value c ∪ k coincides with itself o_cc + o_kk + o_ck + o_kc times and occurs n_c +
    # n_k times, so that only Σ o_cc and Σ n_c² change.
    # Parts and second boxes of an object may have any category.
    root, cells = disagreements(matched).root, object_cells(matched)
    odd_boxes = np.append(parts(matched).odd_boxes, True)
    is_own = (root == np.arange(len(root)))[cells.object] & ~odd_boxes[cells.annotation]
    counts = unit_counts(object_reliability(matched).take(np.flatnonzero(is_own)))
    found, pairs = matched_confusions(matched), value_pairs(counts)
    n = np.bincount(pairs.pair, minlength=len(pairs.first))
    n_given = np.bincount(counts.value, minlength=counts.n_values)
    share = n / np.maximum(n_given[pairs.first] + n_given[pairs.second] - n, 1)
    place = find(*(each.first * counts.n_values + each.second for each in (found.pairs, pairs)))
    # Confusions are counted by object: annotations that overlap too little are in different units.
    amount = np.append(found.amount, 0.0)[place]
    merged = found.alpha(amount, found.marginal[pairs.first] * found.marginal[pairs.second])
    gain = merged - found.alpha(np.zeros(1), np.zeros(1))
    bounds = np.full((2, len(n), 2), np.nan)
    often = np.argsort(-n, kind="stable")[: _MOST if matched.bootstrap else 0]
    first, second = pairs.first[often], pairs.second[often]
    rows, both = np.arange(len(often)), np.stack([first, second], 1).ravel()
    known = np.flatnonzero(place[often] >= 0)
    of_merging, of_pair = np.full(len(found.pairs.first), -1), np.full(len(n), -1)
    of_merging[place[often[known]]], of_pair[often] = known, rows
    one, image = np.ones(len(counts.value)), counts.group[counts.unit]
    tables = (
        *coincidence_tables(found.of_images, found.counts.n_values),
        _table(found.pairs, found.counts, found.pairs.amount, of_merging, len(often)),
        _table(pairs, counts, np.ones(len(pairs.pair)), of_pair, len(often)),
        table_of(counts.value, image, one, (counts.n_values, counts.n_groups)),
    )

    def evaluate(*sums: FloatArray) -> FloatArray:
        alpha, (n, n_given) = _merged_alphas(both, rows.repeat(2), *sums[:3]), sums[3:]
        shares = ratio(n, n_given[first] + n_given[second] - n)
        return np.concatenate([shares, alpha[1:-1] - alpha[0]])

    bounds[:, often] = drawn_intervals(
        np.concatenate([share[often], gain[often]]), tables, evaluate, matched.bootstrap,
        matched.seed, n_images=np.tile(n_nonzero(tables[-1][first] + tables[-1][second]), 2),
    ).reshape(2, -1, 2)  # fmt: skip
    order = np.lexsort([pairs.second, pairs.first, -n, -gain])
    names = matched.data.category_names
    return Table(
        {
            "first": Categorical(pairs.first.astype(np.int32), names),
            "second": Categorical(pairs.second.astype(np.int32), names),
            "n": n,
            **figure_columns("share", share, bounds[0]),
            "alpha_merged": merged,
            **figure_columns("gain", gain, bounds[1]),
        }
    ).take(order)


def _merged_alphas(
    members: IndexArray,
    group: IndexArray,
    marginal: FloatArray,
    agreeing: FloatArray,
    amount: FloatArray,
) -> FloatArray:
    """Return alpha, and alpha with the values of each of G groups merged, and of all, (G + 2, B).

    `members` are the values of the groups, and `group` is which one each is in, sorted. The sums
    are marginals, (K, B), agreeing coincidences, (1, B), and those within groups, (G, B).
    """
    inside, none = marginal[members], np.zeros((1, marginal.shape[1]))
    more = summed_rows(group, inside, len(amount)) ** 2
    more -= summed_rows(group, inside**2, len(amount))
    squares, same = (
        whole + np.concatenate([none, each, each.sum(0, keepdims=True)])
        for whole, each in (((marginal**2).sum(0), more), (agreeing, amount))
    )
    return nominal_alpha(np.broadcast_to(marginal.sum(0), squares.shape), same, squares)[0]


# With more merges, the result would be another set of categories.
_MOST_MERGES = 50
# Smaller gains are due to rounding.
_LEAST_GAIN = 1e-9


def category_merges(matched: MatchedUnits) -> Table:
    """Return the merges of categories that raise alpha, the best first.

    A row for each merge: step, numbered from 1; categories, the names in the merged category; alpha
    after this and all former merges; and gain, the rise of alpha by this merge. Each step merges
    the two categories, or groups of them, that raise alpha most. Merging ends if alpha no longer
    rises, and after 50 steps.

    The data show only that categories are confused, not that they mean the same.
    """
    found, names = matched_confusions(matched), matched.data.category_names
    shown, marginal = np.flatnonzero(found.pairs.second < len(names)), found.marginal.copy()
    first, second, amount = found.pairs.first[shown], found.pairs.second[shown], found.amount[shown]
    members: dict[int, tuple[int, ...]] = {value: (value,) for value in range(len(names))}
    agreeing, products, alphas = 0.0, 0.0, found.alpha(np.zeros(1), np.zeros(1)).tolist()
    merged: list[str] = []
    # The time of a merge is proportional to the number of confused pairs of categories.
    while len(first) and len(merged) < _MOST_MERGES:
        product = marginal[first] * marginal[second]
        each = found.alpha(agreeing + amount, products + product)
        best = int(np.argmax(np.nan_to_num(each, nan=-np.inf)))
        if not each[best] - alphas[-1] > _LEAST_GAIN:
            break
        kept, gone = int(first[best]), int(second[best])
        agreeing, products = agreeing + float(amount[best]), products + float(product[best])
        alphas.append(float(each[best]))
        members[kept] = tuple(sorted((*members[kept], *members.pop(gone))))
        merged.append(", ".join(names[member] for member in members[kept]))
        marginal[kept] += marginal[gone]
        # The pairs with value `gone` replaced by `kept`, without the pair of the two.
        ends = np.sort(np.where(np.stack([first, second]) == gone, kept, [first, second]), axis=0)
        apart = ends[0] < ends[1]
        (first, second), place, _ = distinct_rows(*ends[:, apart])
        amount = sum_by(place, amount[apart], len(first))
    return Table(
        {
            "step": np.arange(1, len(merged) + 1),
            "categories": text_column(merged),
            "alpha": np.array(alphas[1:], np.float64),
            "gain": np.diff(alphas),
        }
    )


def difficulty(matched: MatchedUnits) -> Table:
    """Return the reliability of each category that was drawn, the least reliable first.

    Columns: category; n, the number of its annotations; n_units, that of units with the category;
    alpha of the category against the rest; alpha_units, alpha of all values in these units, with
    the disagreement expected in all units; and with 95 % intervals over images: found_share, of the
    others who were asked about an object with the category, the share who drew it; class_share, of
    these, the share who gave the category; mean_similarity to matching annotations of others. The
    alphas are NaN where they have no meaning, as with one category.
    """
    names, found = matched.data.category_names, matched_confusions(matched)
    counts, marginal = found.counts, found.marginal
    of = matched.data.annotations
    n = np.bincount(of.category, minlength=len(names))
    n_units = np.bincount(counts.value, minlength=counts.n_values)
    size = counts.size[counts.unit]
    twice = (size >= 2) * counts.count * (counts.count - 1) / np.maximum(size - 1, 1)
    of_unit = sum_by(counts.unit, twice, len(counts.size))[counts.unit]
    n_there = sum_by(counts.value, (size >= 2) * size, counts.n_values)
    total = float(marginal.sum())
    whole = (np.array([each]) for each in (total, found.agreeing, (marginal**2).sum()))
    expected = nominal_alpha(*whole)[2]
    of_units = 1 - (1 - ratio(sum_by(counts.value, of_unit, counts.n_values), n_there)) / np.where(
        expected > 0, expected, np.nan
    )
    alpha = binary_alpha(marginal, value_sums(found.of_images)[1], total)
    if matched.missing == "category":
        alpha[values_without_meaning(marginal)] = np.nan
        if not has_meaning(marginal[:-1]):
            of_units[:] = np.nan
    shown, row = compact(of.category.astype(np.int64), len(names))
    cells, pairs = object_cells(matched), pairs_of_units(matched)
    cell = np.flatnonzero(cells.drawn)
    own, image, n_drew = row[cells.annotation[cell]], cells.image[cell], cells.n_others_drew[cell]
    sums = RatioSums(
        matched,
        len(shown),
        {
            "found_share": [(own, image, n_drew, cells.n_others[cell])],
            "class_share": [(own, image, cells.n_same_category[cell], n_drew)],
            "mean_similarity": [
                (row[side], of.image[side], pairs.similarity, 1.0)
                for side in (pairs.left, pairs.right)
            ],
        },
    )
    return Table(
        {
            "category": Categorical(shown.astype(np.int32), names),
            "n": n[shown],
            "n_units": n_units[shown],
            "alpha": alpha[shown],
            "alpha_units": of_units[shown],
            **sums.columns(),
        }
    ).take(np.lexsort([shown, -n[shown], alpha[shown]]))


ALL = "(all)"


def supercategories(matched: MatchedUnits) -> Table:
    """Return the gain of merging the categories of each supercategory, the largest first.

    A row for each supercategory with two or more categories that occur, and one "(all)" if there
    are several. Columns: supercategory; n_categories and n, the numbers of its categories and
    annotations; alpha_merged, alpha if these were one category; and gain, alpha_merged − alpha,
    with its 95 % interval over images.
    """
    data = matched.data
    drawn = np.bincount(data.annotations.category, minlength=len(data.category_names))
    of_category = data.supercategories or ("",) * len(data.category_names)
    names, group = np.unique(np.array(of_category, np.str_), return_inverse=True)
    found, n_values = matched_confusions(matched), len(of_category) + 1
    n_categories = sum_by(group, drawn > 0, len(names))
    shown = np.flatnonzero((n_categories > 1) & (names != ""))
    row = np.full(n_values, -1)
    row[:-1] = find(shown, group)
    members = np.argsort(row, kind="stable")[np.count_nonzero(row < 0) :]
    alphas = partial(_merged_alphas, members, row[members])
    first, second = row[found.pairs.first], row[found.pairs.second]
    within = np.where(first == second, first, -1)
    tables = (
        *coincidence_tables(found.of_images, found.counts.n_values),
        _table(found.pairs, found.counts, found.pairs.amount, within, len(shown)),
    )

    def gains(*sums: FloatArray) -> FloatArray:
        drawn = alphas(*sums)
        return np.asarray(drawn[1:] - drawn[0])

    alpha = alphas(*(np.asarray(table.sum(1)).reshape(-1, 1) for table in tables))[:, 0]
    if not found.has_meaning:
        alpha[:] = np.nan
    gain, bootstrap, last = alpha[1:] - alpha[0], matched.bootstrap, len(shown)
    bounds = drawn_intervals(gain, tables, gains, bootstrap if last else 0, matched.seed)
    order = np.argsort(-alpha[1:][: last + (last > 1)], kind="stable")
    return Table(
        {
            "supercategory": Categorical(order.astype(np.int32), (*names[shown].tolist(), ALL)),
            "n_categories": _with_sum(n_categories[shown])[order],
            "n": _with_sum(sum_by(group, drawn, len(names))[shown])[order],
            "alpha_merged": alpha[1:][order],
            **figure_columns("gain", gain[order], bounds[order]),
        }
    )


def _with_sum(numbers: FloatArray) -> IndexArray:
    return np.append(numbers, numbers.sum()).astype(np.int64)


def _cell_values(
    data: ReliabilityData, counts: UnitCounts, cells: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray, FloatArray]:
    """Return all values in the units of some cells, sorted by cell, then value, (E,) each.

    These are the row of the reliability data, its value, that of the unit, and how many other cells
    of the unit have it. The value ``n_values - 1`` is a missing annotation, if it counts as one.
    """
    ends = (np.searchsorted(counts.unit, data.unit[cells], side) for side in ("left", "right"))
    entry, offsets = rows(*ends)
    cell, value = np.repeat(cells, np.diff(offsets)), counts.value[entry]
    drawn = data.state[cell] == Cell.CATEGORY
    own = np.where(drawn, data.value[cell], counts.n_values - 1).astype(np.int64)
    return cell, own, value, counts.count[entry] - (value == own)


_ALARM = 0.05


def category_use(matched: MatchedUnits) -> Table:
    """Return how often each annotator, and the majority of the others, uses each category.

    Only objects count to which more than half of the others gave the same category. Columns:
    annotator and category; n_used, the number of objects to which the annotator gave the category;
    n_expected, that of objects to which most others gave it; use, the ratio of both, with its 95 %
    interval over images; p_value of a t-test over images against a ratio of 1; and systematic,
    whether it is significant after Holm's correction for all rows. No row with one category.
    """
    data = object_reliability(independent(matched))
    names, categories = matched.data.annotator_names, matched.data.category_names
    counts = unit_counts(data)
    cells = np.flatnonzero((data.state == Cell.CATEGORY) & (counts.size[data.unit] > 1))
    cell, given, value, n_others = _cell_values(data, counts, cells)
    by_most, own = 2 * n_others > counts.size[data.unit[cell]] - 1, value == given
    kept = np.flatnonzero(np.isin(cell, cell[by_most]) & (own | by_most))
    (who, what), row, _ = distinct_rows(data.annotator[cell[kept]], value[kept])
    used = [(row, data.group[data.unit[cell[kept]]], own[kept], by_most[kept])]
    ratios = RatioSums(matched, len(who), {"use": used}).ratios(null=1.0)["use"]
    shown = np.arange(len(who) if len(distinct(value[kept])) > 1 else 0)
    return Table(
        {
            "annotator": Categorical(who.astype(np.int32), names),
            "category": Categorical(what.astype(np.int32), categories),
            "n_used": ratios.n_counted,
            "n_expected": ratios.n,
            **ratios.columns("use"),
            "p_value": ratios.p_value,
            "systematic": holm(ratios.p_value) < _ALARM,
        }
    ).take(shown)


def confusion_matrix(matched: MatchedUnits) -> Table:
    """Return the confusion matrix of each annotator with the others.

    Columns: annotator, category of the annotator, and others, that of the others, which occur
    together, "(no box)" for a missing annotation; n, the number of pairs of the annotator and
    another; share, n divided by all pairs with this category of the annotator; and n_most, the
    number of objects to which more than half of the others gave this category of the others.
    """
    data = object_reliability(independent(matched))
    counts = unit_counts(data, "category")
    cell, given, value, n_others = _cell_values(data, counts, np.arange(len(data.unit)))
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
