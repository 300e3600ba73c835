"""Agreement of pairs of annotators as a matrix ordered by a tree, and groups of annotators."""

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import ratio_intervals
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.pair_sums import PairSums, pair_sums, unit_members
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits

# More annotators are not ordered optimally, which takes time cubic in their number.
_MOST_ORDERED = 200
# Groups have two annotators or more.
_FEWEST = 4


def agreement_matrix(matched: MatchedUnits) -> Table:
    """Return the agreement of each pair of annotators, ordered so that similar ones are neighbours.

    A row for each annotator, and a column "with NAME" for each, both in the order of a tree of
    average linkage. The agreement is the F1 of objects with their category: 2 · pairs of equal unit
    and category / (drawn by one + drawn by the other), in the images that both were asked about.
    NaN without such annotations, and on the diagonal.
    """
    names = matched.data.annotator_names
    agreement = pair_sums(matched).agreement
    order = _leaves(agreement)
    columns: dict[str, Column] = {"annotator": Categorical(order.astype(np.int32), names)}
    columns |= {f"with {names[other]}": agreement[order, other] for other in order.tolist()}
    return Table(columns)


def agreement_groups(matched: MatchedUnits) -> Table:
    """Return groups of annotators who agree more with each other than with the others.

    Groups have two annotators or more. They are found in every other image: the cut of the tree of
    `agreement_matrix` with the largest difference between the agreement within the least agreeing
    group and that between groups. They are confirmed by the other half of the images if the 95 %
    interval of the agreement within each group lies above that between groups. Otherwise all
    annotators are one group.

    A row for each annotator: group, numbered from 1; within and between, the agreement with the own
    group and with other groups in all images, NaN if there is none.
    """
    names, group = matched.data.annotator_names, confirmed_groups(matched)
    sums = pair_sums(matched)
    own = group[:, None] == group
    np.fill_diagonal(own, val=False)
    return Table(
        {
            "annotator": Categorical(np.arange(len(names), dtype=np.int32), names),
            "group": group + 1,
            "within": _pooled(sums, own, axis=1),
            "between": _pooled(sums, group[:, None] != group, axis=1),
        }
    )


@remembered
def confirmed_groups(matched: MatchedUnits) -> IndexArray:
    """Return the group of each annotator, (A,), from 0 on; 0 for all if there are none."""
    n_images, n_annotators = matched.data.assigned.shape
    if n_annotators < _FEWEST:
        return np.zeros(n_annotators, np.int64)
    several = np.flatnonzero(matched.data.assigned.sum(1) > 1)
    if len(several) < 2:
        # No image is left that could confirm a group.
        return np.zeros(n_annotators, np.int64)
    found_in = np.zeros(n_images, np.bool_)
    found_in[several[::2]] = True
    group = _best_groups(pair_sums(matched, found_in))
    if group.any():
        numerator, denominator = _sums_of_groups(matched, group)
        # A decision, not an estimate: the number of draws is fixed.
        of_rest = ~found_in
        bounds = ratio_intervals(numerator * of_rest, denominator * of_rest, 1000, matched.seed)
        if (bounds[:-1, 0] > bounds[-1, 1]).all():
            return group
    return np.zeros(len(group), np.int64)


def agreement_of_groups(matched: MatchedUnits) -> FloatArray:
    """Return agreement within and between `confirmed_groups`, with 95 % intervals, (2, 3)."""
    sums = np.stack(_sums_of_groups(matched, confirmed_groups(matched)))
    numerator, denominator = np.stack([sums[:, :-1].sum(1), sums[:, -1]], axis=1)
    value = numerator.sum(1) / denominator.sum(1)
    interval = ratio_intervals(numerator, denominator, matched.bootstrap, matched.seed)
    return np.column_stack([value, interval])


def _tree(agreement: FloatArray) -> FloatArray:
    """Return the tree of average linkage by agreement, as scipy does, (A − 1, 4)."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    distance = squareform(1 - agreement, checks=False)
    known = distance[~np.isnan(distance)]
    # Annotators without a shared image get the mean distance.
    distance[np.isnan(distance)] = known.mean() if len(known) else 1
    merges: FloatArray = linkage(
        distance, "average", optimal_ordering=len(agreement) <= _MOST_ORDERED
    )
    return merges


def _leaves(agreement: FloatArray) -> IndexArray:
    """Return the annotators in the order of the leaves of their tree, (A,)."""
    if len(agreement) <= 2:
        # Any tree has this order; importing scipy's clustering takes 0.2 s.
        return np.arange(len(agreement))
    from scipy.cluster.hierarchy import leaves_list

    leaves: IndexArray = leaves_list(_tree(agreement)).astype(np.int64)
    return leaves


def _best_groups(sums: PairSums) -> IndexArray:
    """Return the group of each annotator by the best cut of the tree, (A,); 0 if there is none."""
    n = len(sums.possible)
    best, best_gap = np.zeros(n, np.int64), 0.0
    from scipy.cluster.hierarchy import fcluster, leaves_list

    merges = _tree(sums.agreement)
    # With more groups, somebody is alone: the last annotator to be joined, or others.
    most = n - 1 - int(np.flatnonzero((merges[:, :2] < n).any(1)).max())
    if most < 2:
        return best
    # In the order of the leaves, annotators of a group are neighbours, and their pairs a block.
    leaves = leaves_list(merges)
    row = np.arange(n)
    same, possible = (
        _cumulative(part[np.ix_(leaves, leaves)]) for part in (sums.same_category, sums.possible)
    )
    for n_groups in range(2, most + 1):
        found = fcluster(merges, n_groups, "maxclust")
        bounds = np.flatnonzero(np.diff(found[leaves], prepend=-1, append=-1))
        start, end = bounds[:-1], bounds[1:]
        size = end - start
        if size.min() < 2:
            continue
        first, last = np.repeat(start, size), np.repeat(end, size)
        if not (_block(possible, row, row + 1, first, last) > 0).all():
            # The agreement with an annotator who shares no image with the others is unknown.
            continue
        agreeing, counted = (_block(part, start, end, start, end) for part in (same, possible))
        n_between = possible[-1, -1] - counted.sum()
        if not n_between:
            continue
        gap = (agreeing / counted).min() - (same[-1, -1] - agreeing.sum()) / n_between
        if gap > best_gap:
            best, best_gap = _numbered(found), float(gap)
    return best


def _cumulative(pairs: FloatArray) -> FloatArray:
    """Return the sums of all pairs above and left of each place, (A + 1, A + 1).

    Figures of an annotator with itself are left out.
    """
    np.fill_diagonal(pairs, 0)
    return np.pad(pairs.cumsum(0).cumsum(1), ((1, 0), (1, 0)))


def _block(
    sums: FloatArray, top: IndexArray, bottom: IndexArray, left: IndexArray, right: IndexArray
) -> FloatArray:
    """Return the sums of blocks of pairs, from `_cumulative`."""
    found: FloatArray = (
        sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    )
    return found


def _numbered(labels: IntArray) -> IndexArray:
    """Return labels numbered in the order of their first members."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)


def _pooled(sums: PairSums, pairs: BoolArray, axis: int | None = None) -> FloatArray:
    """Return the pooled agreement of some pairs; NaN without pairs."""
    same, possible = (np.sum(part * pairs, axis) for part in (sums.same_category, sums.possible))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(possible > 0, np.divide(same, possible), np.nan)


def _sums_of_groups(matched: MatchedUnits, group: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of agreement within each of G groups, then between them, (G + 1, I) each."""
    of, n_images = matched.data.annotations, len(matched.data.image_names)
    n_groups = int(group.max()) + 1
    left, right = unit_members(matched)
    same = of.category[left] == of.category[right]
    left, right = left[same], right[same]
    row = np.where(
        group[of.annotator[left]] == group[of.annotator[right]],
        group[of.annotator[left]],
        n_groups,
    )
    agreeing = np.bincount(row * n_images + of.image[left], minlength=(n_groups + 1) * n_images)
    asked = matched.data.assigned.astype(np.float64)
    n_asked = np.stack([asked[:, group == each].sum(1) for each in range(n_groups)])
    place = group[of.annotator] * n_images + of.image
    drawn = np.bincount(place, minlength=n_groups * n_images).reshape(n_groups, n_images)
    within = (n_asked - 1).clip(0) * drawn / 2
    between = (n_asked.sum(0) - n_asked) * drawn / 2
    numerator = agreeing.reshape(n_groups + 1, n_images).astype(np.float64)
    return numerator, np.vstack([within, between.sum(0)])
