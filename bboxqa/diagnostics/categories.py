"""Categories that annotators confuse, use differently, or find difficult."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bboxqa.agreement.alpha.levels import ValuePairs, value_pairs
from bboxqa.agreement.alpha.nominal import binary_alpha, coincidence_tables, nominal_alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.counts.unit_counts import UnitCounts, coincidences_of, unit_counts
from bboxqa.agreement.objects import has_meaning, values_without_meaning
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals, n_nonzero
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import (
    FloatArray,
    IndexArray,
    IntArray,
    compact,
    find,
    frozen_arrays,
    sum_by,
)
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.agreement_groups import independent
from bboxqa.diagnostics.decomposition import disagreements
from bboxqa.diagnostics.object_cells import (
    RatioSums,
    cell_values,
    holm,
    object_cells,
    object_reliability,
    pairs_of_units,
    summed_rows,
)
from bboxqa.diagnostics.parts import drawn_objects, parts
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.model.table import Categorical, Column, Table, figure_columns, text_column
from bboxqa.model.units import Cell, MatchedUnits

# The number of pairs whose share and gain get intervals.
_MOST = 1000


@frozen_arrays
class Confusions:
    """P pairs of categories that were given in one unit."""

    first: IndexArray
    second: IndexArray
    """(P,) int64. ``first < second``, sorted."""
    amount: FloatArray
    """(P,) float64. Their coincidences, o_ck + o_kc."""
    marginal: FloatArray
    diagonal: FloatArray
    """(K,) float64. The pairable values, and the coincidences of each with itself."""
    n_categories: int
    """The values beyond are no categories: missing annotations."""
    has_meaning: bool
    """Whether alpha can show agreement; all alphas are NaN where it cannot."""
    counts: UnitCounts
    pairs: ValuePairs
    shown: IndexArray
    """The counts by unit, and the index of each of the P pairs among all pairs of values, (P,)."""

    def alpha(self) -> float:
        """Return the nominal alpha of all values."""
        return float(self.alpha_of(np.zeros(1), np.zeros(1))[0])

    def alpha_of(self, agreeing: FloatArray, products: FloatArray) -> FloatArray:
        """Return alpha with values merged, elementwise.

        `agreeing` are the coincidences of merged values, and `products` is the sum of n_c n_k over
        each two of them.
        """
        if not self.has_meaning:
            return np.full(len(agreeing), np.nan)
        total = np.full(len(agreeing), self.marginal.sum())
        squares = float((self.marginal**2).sum()) + 2 * products
        return nominal_alpha(total, self.diagonal.sum() + agreeing, squares)[0]


@remembered
def matched_confusions(matched: MatchedUnits) -> Confusions:
    """Return the pairs of categories that were given in one matched unit."""
    # The pairs of categories that were given in one unit.
    counts = unit_counts(matched.reliability, matched.missing)
    pairs = value_pairs(counts)
    n_drawn = sum_by(counts.value, counts.count, counts.n_values)
    size = counts.size[counts.unit]
    pairable = size >= 2
    twice = counts.count * (counts.count - 1) / np.maximum(size - 1, 1)
    n_pairs = len(pairs.first)
    shown = np.flatnonzero(pairs.second < matched.reliability.n_values)
    return Confusions(
        first=pairs.first[shown],
        second=pairs.second[shown],
        amount=sum_by(pairs.pair, pairs.amount, n_pairs)[shown],
        marginal=sum_by(counts.value, counts.count * pairable, counts.n_values),
        diagonal=sum_by(counts.value, twice * pairable, counts.n_values),
        n_categories=matched.reliability.n_values,
        has_meaning=has_meaning(n_drawn[: matched.reliability.n_values], matched.missing),
        counts=counts,
        pairs=pairs,
        shown=shown,
    )


def confusions(matched: MatchedUnits) -> Table:
    """Return the pairs of categories that are confused, the most rewarding to merge first.

    Columns: first and second, the categories; n, the number of objects to which both were given;
    share, n divided by the objects with either; alpha_merged, alpha if both were one category; and
    gain, alpha_merged − alpha. Parts and second boxes of an object may have any category. Gains of
    several pairs do not add up. A gain is negative if the two are distinguished better than
    categories on average. Share and gain of the 1,000 most frequent pairs have 95 % intervals over
    images. NaN where alpha is undefined (such as with one remaining category) or has no meaning
    (with one category of more than 90 % of the annotations).
    """
    # A merged value c ∪ k coincides with itself o_cc + o_kk + o_ck + o_kc times and occurs n_c +
    # n_k times, so that only Σ o_cc and Σ n_c² change.
    found, counts = matched_confusions(matched), _object_counts(matched)
    pairs = value_pairs(counts)
    n = np.bincount(pairs.pair, minlength=len(pairs.first))
    n_given = np.bincount(counts.value, minlength=counts.n_values)
    share = n / np.maximum(n_given[pairs.first] + n_given[pairs.second] - n, 1)
    place = find(
        found.first * counts.n_values + found.second, pairs.first * counts.n_values + pairs.second
    )
    # Confusions are counted by object: annotations that overlap too little are in different units.
    amount = np.append(found.amount, 0.0)[place]
    merged = found.alpha_of(amount, found.marginal[pairs.first] * found.marginal[pairs.second])
    gain = merged - found.alpha()
    bounds = np.full((2, len(n), 2), np.nan)
    rows = np.argsort(-n, kind="stable")[:_MOST]
    if matched.bootstrap and len(rows):
        # The sums by image of which share and gain of R pairs are functions.
        place = place[rows]
        of_units, n_images = found.counts, counts.n_groups
        shape = len(rows), n_images
        coinciding, image = _entries(found.pairs, of_units, found.shown[place[place >= 0]])
        row = np.flatnonzero(place >= 0)[coinciding[1]]
        in_objects, object_image = _entries(pairs, counts, rows)
        tables = (
            *coincidence_tables(coincidences_of(of_units), of_units.n_values),
            table_of(row, image, found.pairs.amount[coinciding[0]], shape),
            table_of(in_objects[1], object_image, np.ones(len(object_image)), shape),
            table_of(
                counts.value,
                counts.group[counts.unit],
                np.ones(len(counts.unit)),
                (counts.n_values, n_images),
            ),
        )
        first, second = pairs.first[rows], pairs.second[rows]
        bounds[:, rows] = _bounds(matched, tables, first, second, share[rows], gain[rows])
    # By gain, undefined ones last; equal gains by frequency.
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


def _bounds(
    matched: MatchedUnits,
    tables: tuple[Any, ...],
    first: IndexArray,
    second: IndexArray,
    share: FloatArray,
    gain: FloatArray,
) -> FloatArray:
    """Return the 95 % intervals of share and gain of R pairs, (2, R, 2)."""
    of_category = tables[-1]
    with_either = n_nonzero(of_category[first] + of_category[second])
    drawn = drawn_intervals(
        np.concatenate([share, gain]), tables, partial(_drawn, first, second),
        matched.bootstrap, matched.seed, n_images=np.tile(with_either, 2),
    )  # fmt: skip
    return drawn.reshape(2, -1, 2)


def _object_counts(matched: MatchedUnits) -> UnitCounts:
    """Return the counts of categories of each object, without parts and second boxes."""
    objects, root = drawn_objects(matched), disagreements(matched).root
    is_own = (root == np.arange(len(objects)))[objects.of] & ~parts(matched).odd_boxes
    of, n_categories = objects.of[is_own], max(len(matched.data.category_names), 1)
    value = matched.data.annotations.category[is_own].astype(np.int64)
    keys, count = np.unique(of * n_categories + value, return_counts=True)
    each, value = np.divmod(keys, n_categories)
    return UnitCounts(
        unit=each,
        value=value,
        count=count.astype(np.float64),
        size=np.bincount(of, minlength=len(objects)).astype(np.float64),
        group=objects.image.astype(np.int32),
        weight=np.ones(len(objects)),
        n_values=n_categories,
        n_groups=len(matched.data.image_names),
    )


def _drawn(first: IndexArray, second: IndexArray, *sums: FloatArray) -> FloatArray:
    """Return the replicates of share and gain of pairs, from the sums of `_tables`."""
    marginal, agreeing, amount, n, n_given = sums
    total, squares = marginal.sum(0), (marginal**2).sum(0)
    products = marginal[first] * marginal[second]
    alpha = nominal_alpha(total, agreeing[0], squares)[0]
    merged = nominal_alpha(
        np.broadcast_to(total, products.shape), agreeing + amount, squares + 2 * products
    )[0]
    return np.concatenate([ratio(n, n_given[first] + n_given[second] - n), merged - alpha])


def _entries(
    pairs: ValuePairs, counts: UnitCounts, rows: IndexArray
) -> tuple[tuple[IndexArray, IndexArray], IntArray]:
    """Return the entries of the pairs in `rows`, with the index of their pair, and their images."""
    of_pair = np.full(len(pairs.first), -1)
    of_pair[rows] = np.arange(len(rows))
    entry = np.flatnonzero(of_pair[pairs.pair] >= 0)
    return (entry, of_pair[pairs.pair[entry]]), counts.group[pairs.unit[entry]]


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
    names = matched.data.category_names
    merges = merged_categories(matched_confusions(matched))
    return Table(
        {
            "step": np.arange(1, len(merges) + 1),
            "categories": text_column(
                [", ".join(names[member] for member in merge.members) for merge in merges]
            ),
            "alpha": np.array([merge.alpha for merge in merges], np.float64),
            "gain": np.array([merge.gain for merge in merges], np.float64),
        }
    )


@dataclass(frozen=True, slots=True)
class Merge:
    """Categories that became one."""

    members: tuple[int, ...]
    """All categories of the new one, sorted."""
    alpha: float
    gain: float


def merged_categories(found: Confusions) -> list[Merge]:
    """Return the merges that raise alpha, each the best one given those before.

    The time of a merge is proportional to the number of confused pairs of categories.
    """
    first, second, amount = found.first, found.second, found.amount
    marginal = found.marginal.copy()
    members: dict[int, tuple[int, ...]] = {value: (value,) for value in range(found.n_categories)}
    agreeing, products, alpha = 0.0, 0.0, found.alpha()
    merges: list[Merge] = []
    while len(first) and len(merges) < _MOST_MERGES:
        product = marginal[first] * marginal[second]
        alphas = found.alpha_of(agreeing + amount, products + product)
        if np.isnan(alphas).all():
            break
        best = int(np.nanargmax(alphas))
        gain = float(alphas[best]) - alpha
        if not gain > _LEAST_GAIN:
            break
        kept, gone = int(first[best]), int(second[best])
        agreeing, products = agreeing + float(amount[best]), products + float(product[best])
        alpha = float(alphas[best])
        members[kept] = tuple(sorted((*members[kept], *members.pop(gone))))
        merges.append(Merge(members[kept], alpha, gain))
        marginal[kept] += marginal[gone]
        # The pairs with value `gone` replaced by `kept`, without the pair of the two.
        ends = np.sort(np.where(np.stack([first, second]) == gone, kept, [first, second]), axis=0)
        apart = ends[0] < ends[1]
        size = int(ends.max(initial=0)) + 1
        keys, place = np.unique(ends[0][apart] * size + ends[1][apart], return_inverse=True)
        first, second, amount = keys // size, keys % size, sum_by(place, amount[apart], len(keys))
    return merges


def difficulty(matched: MatchedUnits) -> Table:
    """Return the reliability of each category, the least reliable first.

    A row for each category that was drawn. Columns: category; n, the number of its annotations;
    n_units, that of units with the category; alpha of the category against the rest; alpha_units,
    alpha of all values in these units, with the disagreement expected in all units; and these
    figures with 95 % intervals over images. The alphas are NaN where they have no meaning, as with
    one category.

    - found_share: of the others who were asked about an object with an annotation of the category,
      the share who drew it, with any category.
    - class_share: of the others who drew it, the share who gave the category.
    - mean_similarity: the mean similarity of annotations of the category to matching ones of
      others.
    """
    names = matched.data.category_names
    category = matched.data.annotations.category
    n = np.bincount(category, minlength=len(names))
    shown = np.flatnonzero(n)
    counts = unit_counts(matched.reliability, matched.missing)
    alpha, of_units = _alphas(counts, matched.missing)
    n_units = np.bincount(counts.value, minlength=counts.n_values)
    columns: dict[str, Column] = {
        "category": Categorical(shown.astype(np.int32), names),
        "n": n[shown],
        "n_units": n_units[shown],
        "alpha": alpha[shown],
        "alpha_units": of_units[shown],
    }
    for name, found in difficulty_sums(matched).ratios().items():
        columns |= found.columns(name)
    return Table(columns).take(np.lexsort([shown, -n[shown], alpha[shown]]))


def _alphas(counts: UnitCounts, missing: str) -> tuple[FloatArray, FloatArray]:
    """Return alpha of each value against the rest, and in the units with the value, (K,) each."""
    n_values, n_units = counts.n_values, len(counts.size)
    size = counts.size[counts.unit]
    pairable = size >= 2
    twice = pairable * counts.count * (counts.count - 1) / np.maximum(size - 1, 1)
    marginal = sum_by(counts.value, pairable * counts.count, n_values)
    diagonal = sum_by(counts.value, twice, n_values)
    total = float(marginal.sum())
    of_unit = sum_by(counts.unit, twice, n_units)[counts.unit]
    n_there = sum_by(counts.value, pairable * size, n_values)
    sums = (np.array([number]) for number in (total, diagonal.sum(), (marginal**2).sum()))
    _, _, expected = nominal_alpha(*sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = 1 - sum_by(counts.value, of_unit, n_values) / n_there
        of_units = np.where(expected > 0, 1 - observed / expected, np.nan)
    alpha = binary_alpha(marginal, diagonal, total)
    if missing == "category":
        alpha[values_without_meaning(marginal)] = np.nan
        if not has_meaning(marginal[:-1]):
            of_units[:] = np.nan
    return alpha, of_units


def difficulty_sums(matched: MatchedUnits) -> RatioSums:
    """Return the sums of the shares of `difficulty`, each of all categories that were drawn."""
    of = matched.data.annotations
    rows, row = compact(of.category.astype(np.int64), len(matched.data.category_names))
    cells, pairs = object_cells(matched), pairs_of_units(matched)
    drawn = cells.drawn
    own, image, n_drew = (
        row[cells.annotation[drawn]],
        cells.image[drawn],
        cells.n_others_drew[drawn],
    )
    sums = RatioSums(matched, len(rows))
    sums.add("found_share", own, image, n_drew, cells.n_others[drawn])
    sums.add("class_share", own, image, cells.n_same_category[drawn], n_drew)
    for side in (pairs.left, pairs.right):
        sums.add("mean_similarity", row[side], of.image[side], pairs.similarity)
    return sums


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
            **figure_columns("gain", gain[order], bounds[order]),
        }
    )


def _merged(
    found: Confusions, group: IndexArray, shown: IndexArray, matched: MatchedUnits
) -> tuple[FloatArray, FloatArray]:
    """Return alpha, then alpha with each shown group merged, and with all merged."""
    n_values, n_shown = found.counts.n_values, len(shown)
    place = np.full(int(group.max(initial=-1)) + 1, -1)
    place[shown] = np.arange(n_shown)
    # Categories outside the shown groups, and missing annotations, are not merged.
    of_value = np.append(place[group], np.full(n_values - len(group), -1))
    members = np.argsort(of_value, kind="stable")[np.count_nonzero(of_value < 0) :]
    group_of = of_value[members]

    def alphas(marginal: FloatArray, agreeing: FloatArray, amount: FloatArray) -> FloatArray:
        # Twice the sum of the products of each two members.
        inside = marginal[members]
        more = summed_rows(group_of, inside, n_shown) ** 2
        more -= summed_rows(group_of, inside**2, n_shown)
        rows = np.zeros((1, marginal.shape[1]))
        squares = np.concatenate([rows, more, more.sum(0, keepdims=True)]) + (marginal**2).sum(0)
        same = np.concatenate([rows, amount, amount.sum(0, keepdims=True)]) + agreeing
        total = np.broadcast_to(marginal.sum(0), squares.shape)
        return nominal_alpha(total, same, squares)[0]

    def gains(*sums: FloatArray) -> FloatArray:
        drawn = alphas(*sums)
        gain: FloatArray = drawn[1:] - drawn[0]
        return gain

    # The sums of each image: marginals, their agreement, and that within groups.
    counts, pairs = found.counts, found.pairs
    first, second = of_value[pairs.first[pairs.pair]], of_value[pairs.second[pairs.pair]]
    within = np.flatnonzero((first == second) & (first >= 0))
    image = counts.group[pairs.unit[within]]
    amounts = table_of(first[within], image, pairs.amount[within], (n_shown, counts.n_groups))
    tables = *coincidence_tables(coincidences_of(counts), counts.n_values), amounts
    alpha = alphas(*(np.asarray(table.sum(1)).reshape(-1, 1) for table in tables))[:, 0]
    if not found.has_meaning:
        alpha[:] = np.nan
    gain = alpha[1:] - alpha[0]
    return alpha, drawn_intervals(gain, tables, gains, matched.bootstrap, matched.seed)


def _with_sum(numbers: FloatArray) -> IndexArray:
    return np.append(numbers, numbers.sum()).astype(np.int64)


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
    sums = RatioSums(matched, len(keys))
    sums.add("use", row, data.group[data.unit[cell]], own[rows], by_most[rows])
    ratios = sums.ratios(null=1.0)["use"]
    who, what = np.divmod(keys, max(len(categories), 1))
    shown = np.arange(len(keys) if len(np.unique(value)) > 1 else 0)
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
    # The rows with other annotators, and where at least one side drew the object.
    missing = n_values - 1
    empty = (found.own == missing) & (found.value == missing)
    known = np.flatnonzero((found.n_others > 0) & ~empty)
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


# Fewest objects of the others, and images with them, for a category to be reported.
_LEAST_OBJECTS, _LEAST_IMAGES = 20, 5
_UNUSED_ALARM = 0.05


class Unused(NamedTuple):
    """A category that an annotator never used."""

    annotator: int
    category: int
    n_objects: int
    """Objects to which others gave the category, in images that the annotator was asked about."""


def unused_categories(matched: MatchedUnits) -> list[Unused]:
    """Return the categories that annotators never use though most others do, by annotator.

    A category is reported if it has 20 objects or more in 5 images or more, the annotator drew at
    most half of these (with other categories), and chance does not explain it: at the annotator's
    rate for other objects, the probability of missing all the rest is at most 5 %, with
    Bonferroni's correction for annotators and categories. If the annotator drew more of them, the
    confusions show it.
    """
    of, asked = matched.data.annotations, matched.data.assigned
    n_images, n_annotators = asked.shape
    n_categories = len(matched.data.category_names)
    own = _counts(of.annotator, of.category, (n_annotators, n_categories))
    was_asked = asked.astype(np.float64)
    in_images = table_of(
        of.category.astype(np.int64), of.image, np.ones(len(of)), (n_categories, n_images)
    )
    there = (in_images @ was_asked).T
    together = (was_asked.T @ was_asked) > 0
    np.fill_diagonal(together, val=False)
    n_using = together.astype(np.float64) @ (own > 0).astype(np.float64)
    possible = (own == 0) & (there >= _LEAST_OBJECTS) & (2 * n_using > together.sum(1)[:, None])
    possible &= own.sum(1, keepdims=True) > 0
    found = []
    for annotator in np.flatnonzero(possible.any(1)).tolist():
        found += _of_annotator(matched, annotator, np.flatnonzero(possible[annotator]))
    return found


def _of_annotator(matched: MatchedUnits, annotator: int, categories: IndexArray) -> list[Unused]:
    """Return which of some categories one annotator significantly leaves out."""
    of = matched.data.annotations
    seen = np.flatnonzero(matched.data.assigned[of.image, annotator])
    objects, category, image = matched.objects[seen], of.category[seen], of.image[seen]
    is_own = of.annotator[seen] == annotator
    drawn = np.zeros(len(matched.objects), np.bool_)
    drawn[objects[is_own]] = True
    n_tests = len(matched.data.annotator_names) * len(matched.data.category_names)
    found = []
    for each in categories.tolist():
        has = category == each
        concerned, others = np.unique(objects[has]), np.unique(objects[~has & ~is_own])
        others = np.setdiff1d(others, concerned)
        n, n_drawn = len(concerned), int(drawn[concerned].sum())
        enough = n >= _LEAST_OBJECTS and len(np.unique(image[has])) >= _LEAST_IMAGES
        if not enough or not len(others) or 2 * n_drawn > n:
            continue
        if (1 - drawn[others].mean()) ** n <= _UNUSED_ALARM / n_tests:
            found.append(Unused(annotator, each, n))
    return sorted(found, key=lambda unused: -unused.n_objects)


def _counts(first: IntArray, second: IntArray, shape: tuple[int, int]) -> FloatArray:
    """Return how often two codes occur together, as an array of the given shape."""
    key = first.astype(np.int64) * shape[1] + second
    return np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
