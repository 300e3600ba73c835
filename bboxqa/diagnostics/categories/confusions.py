"""Pairs of confused categories, and the gain of merging them."""

from functools import partial
from typing import Any

import numpy as np

from bboxqa.agreement.alpha.levels import ValuePairs, value_pairs
from bboxqa.agreement.alpha.nominal import coincidence_tables, nominal_alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.counts.unit_counts import UnitCounts, coincidences_of, unit_counts
from bboxqa.agreement.objects import has_meaning
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals, n_nonzero
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, find, frozen_arrays, sum_by
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.disagreement.drawn_objects import drawn_objects
from bboxqa.diagnostics.disagreement.kinds import disagreements
from bboxqa.diagnostics.disagreement.parts import parts
from bboxqa.model.reliability import ReliabilityData
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

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


def count_confusions(data: ReliabilityData, missing: str) -> Confusions:
    """Return the pairs of categories that were given in one unit."""
    counts = unit_counts(data, missing)
    pairs = value_pairs(counts)
    n_drawn = sum_by(counts.value, counts.count, counts.n_values)
    size = counts.size[counts.unit]
    pairable = size >= 2
    twice = counts.count * (counts.count - 1) / np.maximum(size - 1, 1)
    n_pairs = len(pairs.first)
    shown = np.flatnonzero(pairs.second < data.n_values)
    return Confusions(
        first=pairs.first[shown],
        second=pairs.second[shown],
        amount=sum_by(pairs.pair, pairs.amount, n_pairs)[shown],
        marginal=sum_by(counts.value, counts.count * pairable, counts.n_values),
        diagonal=sum_by(counts.value, twice * pairable, counts.n_values),
        n_categories=data.n_values,
        has_meaning=has_meaning(n_drawn[: data.n_values], missing),
        counts=counts,
        pairs=pairs,
        shown=shown,
    )


@remembered
def matched_confusions(matched: MatchedUnits) -> Confusions:
    """Return the pairs of categories that were given in one matched unit."""
    return count_confusions(matched.reliability, matched.missing)


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
        tables = _tables(found, place[rows], counts, pairs, rows)
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
            "share": share,
            "share_low": bounds[0, :, 0],
            "share_high": bounds[0, :, 1],
            "alpha_merged": merged,
            "gain": gain,
            "gain_low": bounds[1, :, 0],
            "gain_high": bounds[1, :, 1],
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


def _tables(
    found: Confusions,
    place: IndexArray,
    counts: UnitCounts,
    pairs: ValuePairs,
    rows: IndexArray,
) -> tuple[Any, ...]:
    """Return the sums by image of which share and gain of R pairs are functions.

    They are marginals and their agreement; coincidences of the pairs in units, and objects with
    both, (R, I) each; and objects with each category, (K, I). `place` is the index of each pair in
    `found`, -1 without coincidences.
    """
    of_units, n_images = found.counts, counts.n_groups
    shape = len(rows), n_images
    coinciding, image = _entries(found.pairs, of_units, found.shown[place[place >= 0]])
    row = np.flatnonzero(place >= 0)[coinciding[1]]
    in_objects, object_image = _entries(pairs, counts, rows)
    return (
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


def _entries(
    pairs: ValuePairs, counts: UnitCounts, rows: IndexArray
) -> tuple[tuple[IndexArray, IndexArray], IntArray]:
    """Return the entries of the pairs in `rows`, with the index of their pair, and their images."""
    of_pair = np.full(len(pairs.first), -1)
    of_pair[rows] = np.arange(len(rows))
    entry = np.flatnonzero(of_pair[pairs.pair] >= 0)
    return (entry, of_pair[pairs.pair[entry]]), counts.group[pairs.unit[entry]]
