"""Pairs of categories that are confused, by what merging them would gain."""

from typing import Any

import numpy as np

from bboxqa.agreement.alpha.nominal import nominal_alpha
from bboxqa.agreement.alpha.nominal_estimator import coincidence_tables
from bboxqa.agreement.alpha.value_pairs import ValuePairs, value_pairs
from bboxqa.agreement.counts.coincidences import coincidences_of
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.counts.unit_counts import UnitCounts, unit_counts
from bboxqa.agreement.objects.meaning import has_meaning
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.agreement.uncertainty.sum_table import table_of
from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays, sum_by
from bboxqa.core.remembered import remembered
from bboxqa.model.reliability import ReliabilityData
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

# Pairs whose share and gain have intervals.
_MOST = 1000


@frozen_arrays
class Confusions:
    """P pairs of categories that were given in one unit."""

    first: IndexArray
    second: IndexArray
    """(P,) int64. ``first < second``, sorted."""
    n_units: IndexArray
    """(P,) int64. Units in which both were given."""
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
    """What was counted, and which pairs of all values the P pairs are, (P,)."""

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

    def merged_alpha(self) -> FloatArray:
        """Return alpha with the two categories of each pair merged, (P,).

        A merged value c ∪ k coincides with itself o_cc + o_kk + o_ck + o_kc times and occurs
        n_c + n_k times, so that only Σ o_cc and Σ n_c² change.
        """
        products = self.marginal[self.first] * self.marginal[self.second]
        return self.alpha_of(self.amount, products)


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
        n_units=np.bincount(pairs.pair, minlength=n_pairs)[shown],
        amount=sum_by(pairs.pair, pairs.amount, n_pairs)[shown],
        marginal=sum_by(counts.value, counts.count * pairable, counts.n_values),
        diagonal=sum_by(counts.value, twice * pairable, counts.n_values),
        n_categories=data.n_values,
        has_meaning=missing == "ignore" or has_meaning(n_drawn[: data.n_values]),
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

    Columns: first and second, the categories; n, the units in which both were given; share, of the
    units with one of them; alpha_merged, alpha if both were one category; and gain, by how much it
    is higher than alpha. Gains of several pairs do not add up, and are below 0 where the two
    are told apart better than categories are on average. Share and gain of the 1,000 most
    frequent pairs have 95 % intervals over images. NaN where alpha is undefined, as where one
    category remains, or has no meaning, as where one has over 90 % of the annotations.
    """
    found = matched_confusions(matched)
    merged = found.merged_alpha()
    gain = merged - found.alpha()
    names = matched.data.category_names
    n_given = _units_of_categories(matched)
    either = n_given[found.first] + n_given[found.second] - found.n_units
    share = found.n_units / np.maximum(either, 1)
    bounds = _intervals(found, share, gain, matched)
    # Undefined gains come last; then the more frequent pair first.
    order = np.lexsort([found.second, found.first, -found.n_units, -gain])
    return Table(
        {
            "first": Categorical(found.first.astype(np.int32), names),
            "second": Categorical(found.second.astype(np.int32), names),
            "n": found.n_units,
            "share": share,
            "share_low": bounds[0, :, 0],
            "share_high": bounds[0, :, 1],
            "alpha_merged": merged,
            "gain": gain,
            "gain_low": bounds[1, :, 0],
            "gain_high": bounds[1, :, 1],
        }
    ).take(order)


def _intervals(
    found: Confusions, share: FloatArray, gain: FloatArray, matched: MatchedUnits
) -> FloatArray:
    """Return the bounds of share and gain over images, (2, P, 2), of the most frequent pairs."""
    bounds = np.full((2, len(share), 2), np.nan)
    rows = np.argsort(-found.n_units, kind="stable")[:_MOST]
    if not matched.bootstrap or not len(rows):
        return bounds
    first, second = found.first[rows], found.second[rows]

    def evaluate(*sums: FloatArray) -> FloatArray:
        marginal, agreeing, amount, n_units, n_given = sums
        total, squares = marginal.sum(0), (marginal**2).sum(0)
        products = marginal[first] * marginal[second]
        alpha = nominal_alpha(total, agreeing[0], squares)[0]
        merged = nominal_alpha(
            np.broadcast_to(total, products.shape), agreeing + amount, squares + 2 * products
        )[0]
        either = n_given[first] + n_given[second] - n_units
        return np.concatenate([ratio(n_units, either), merged - alpha])

    values = np.concatenate([share[rows], gain[rows]])
    tables = _tables(found, rows)
    drawn = drawn_intervals(values, tables, evaluate, matched.bootstrap, matched.seed)
    bounds[:, rows] = drawn.reshape(2, -1, 2)
    return bounds


def _tables(found: Confusions, rows: IndexArray) -> tuple[Any, ...]:
    """Return what the share and the gain of some pairs are made of, by image.

    Marginals and their agreement, coincidences of the pairs and units with both, (R, I) each, and
    units with each value, (K, I).
    """
    counts, pairs = found.counts, found.pairs
    n_images = counts.n_groups
    of_values, of_pairs = (counts.n_values, n_images), (len(rows), n_images)
    place = np.full(len(pairs.first), -1)
    place[found.shown[rows]] = np.arange(len(rows))
    entry = np.flatnonzero(place[pairs.pair] >= 0)
    row, image = place[pairs.pair[entry]], counts.group[pairs.unit[entry]]
    of_counts = counts.group[counts.unit]
    return (
        *coincidence_tables(coincidences_of(counts), counts.n_values),
        table_of(row, image, pairs.amount[entry], of_pairs),
        table_of(row, image, np.ones(len(entry)), of_pairs),
        table_of(counts.value, of_counts, np.ones(len(of_counts)), of_values),
    )


def _units_of_categories(matched: MatchedUnits) -> IndexArray:
    """Return how many units have each category, (K,)."""
    counts = unit_counts(matched.reliability)
    return np.bincount(counts.value, minlength=len(matched.data.category_names))
