"""Copies: pairs of annotators with more identical boxes than independent annotators have."""

from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays, sum_by
from bboxqa.core.components import component_of_each
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.annotators.image_ratios import Ratios, RatioSums
from bboxqa.diagnostics.object_cells import drawn_edges, pairs_of_units
from bboxqa.model.shapes.keypoints import largest_moves
from bboxqa.model.shapes.rounding import ROUNDED_PX, equal_edges
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

# Fewer identical boxes, or a lower share of them, prove nothing.
_LEAST, _LEAST_SHARE = 5, 0.05
# Copies have at least so many times the identical boxes of independent annotators.
_FACTOR = 3.0
_STEPS = 100


@frozen_arrays
class PairLikeness:
    """P pairs of annotators who share units, ``first < second``, sorted."""

    first: IndexArray
    second: IndexArray
    identical: Ratios
    """The share of identical boxes of each pair."""
    expected: FloatArray
    """(P,) float64. The share if the four edges were equal independently of each other."""
    near_share: FloatArray
    """(P,) float64. The share of boxes with exactly three equal edges."""
    similarity: Ratios
    """The mean similarity of each pair."""


@remembered
def copies(matched: MatchedUnits) -> Table:
    """Return the number of identical boxes of each pair of annotators, copies first.

    Columns: annotator_1 and annotator_2; n, their matched pairs of boxes; n_identical, pairs with
    the same box, and identical_share with its 95 % interval over images;
    expected_share, if the four edges were equal independently of each other, estimated from pairs
    with different boxes; others_share, of identical boxes that one of the two shares with others;
    mean_similarity and others_similarity, the mean over their pairs and over those that one of the
    two has with others; and copied.

    Edges are equal that differ by 0.01 px or less, and by 0.1 % of the shorter side or less, as a
    copy in another format is rounded. Joints are equal that differ by 0.01 px or less.

    A pair is marked as copied if it has five identical boxes or more, and if the interval of their
    share lies above 5 %, above 3 times the expected share, and above 3 times either the others'
    share or the share of boxes with exactly three equal edges. The last condition has two parts
    because the others share as many boxes if several copy from one source; but careful annotators
    who draw whole pixels, or correct proposals, have many boxes with three equal edges, unlike
    copies. The similarity is no criterion: two careful annotators are closer to each other than to
    careless ones.
    """
    found = _pair_likeness(matched)
    n_annotators = len(matched.data.annotator_names)
    others = _of_others(found, found.identical, n_annotators)
    low = found.identical.interval[:, 0]
    usual = np.fmax(found.expected, np.minimum(np.nan_to_num(others), found.near_share))
    copied = (found.identical.numerator >= _LEAST) & (
        low > np.maximum(_LEAST_SHARE, _FACTOR * usual)
    )
    names = matched.data.annotator_names
    share = found.identical.value
    order = np.lexsort([found.second, found.first, -share, ~copied])
    return Table(
        {
            "annotator_1": Categorical(found.first.astype(np.int32), names),
            "annotator_2": Categorical(found.second.astype(np.int32), names),
            "n": found.identical.denominator.astype(np.int64),
            "n_identical": found.identical.numerator.astype(np.int64),
            "identical_share": share,
            "identical_share_low": low,
            "identical_share_high": found.identical.interval[:, 1],
            "expected_share": found.expected,
            "others_share": others,
            "mean_similarity": found.similarity.value,
            "others_similarity": _of_others(found, found.similarity, n_annotators),
            "copied": copied,
        }
    ).take(order)


def copied_groups(table: Table, names: Sequence[str]) -> list[IndexArray]:
    """Return groups of annotators who are connected by pairs marked as copied."""
    rows = table.take(np.flatnonzero(table["copied"])).records()
    pairs = [(names.index(row["annotator_1"]), names.index(row["annotator_2"])) for row in rows]
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    group = component_of_each(len(names), first, second)
    return [np.flatnonzero(group == each) for each in np.unique(group[first]).tolist()]


def all_share_boxes(table: Table, names: Sequence[str]) -> bool:
    """Return whether all annotators are one group of copies, so that no one is left out."""
    return any(len(group) == len(names) for group in copied_groups(table, names))


def _pair_likeness(matched: MatchedUnits) -> PairLikeness:
    of, pairs = matched.data.annotations, pairs_of_units(matched)
    n_annotators = len(matched.data.annotator_names)
    key = of.annotator[pairs.left].astype(np.int64) * n_annotators + of.annotator[pairs.right]
    keys, row = np.unique(key, return_inverse=True)
    n = len(keys)
    edges = drawn_edges(matched)
    equal = equal_edges(edges[pairs.left], edges[pairs.right])
    n_equal = equal.sum(1)
    identical = n_equal == 4
    if of.keypoints is not None and matched.data.joint_sigmas:
        identical &= largest_moves(of.keypoints, pairs.left, pairs.right) <= ROUNDED_PX
    one, image = np.ones(len(row)), of.image[pairs.left]
    sums = RatioSums(2 * n, len(matched.data.image_names))
    sums.add(row, image, identical, one)
    sums.add(row + n, image, pairs.similarity, one)
    both = sums.ratios(matched.bootstrap, matched.seed)
    differ = np.maximum(np.bincount(row, ~identical, n), 1)
    shares = [sum_by(row, ~identical & column, n) / differ for column in equal.T]
    first, second = np.divmod(keys, max(n_annotators, 1))
    return PairLikeness(
        first=first,
        second=second,
        identical=both.part(slice(n)),
        expected=_expected(np.stack(shares)),
        near_share=sum_by(row, (n_equal >= 3) & ~identical, n) / np.bincount(row, minlength=n),
        similarity=both.part(slice(n, None)),
    )


def _expected(equal: FloatArray) -> FloatArray:
    """Return the share q of identical boxes expected if edges were equal independently, (P,).

    `equal`, (4, P), is the share of equal edges among boxes that differ. Among all boxes it is
    p = equal + (1 - equal) q, and q is the product of the four p. The smallest solution is the
    limit of fixed-point iteration from 0.
    """
    share: FloatArray = np.zeros(equal.shape[1])
    for _ in range(_STEPS):
        share = np.prod(equal + (1 - equal) * share, axis=0)
    return share


def _of_others(found: PairLikeness, ratios: Ratios, n_annotators: int) -> FloatArray:
    """Return the ratio over all pairs that share one annotator with each pair, (P,)."""
    numbers = []
    for amount in (ratios.numerator, ratios.denominator):
        own = sum_by(found.first, amount, n_annotators) + sum_by(found.second, amount, n_annotators)
        numbers.append(own[found.first] + own[found.second] - 2 * amount)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numbers[1] > 0, numbers[0] / numbers[1], np.nan)
