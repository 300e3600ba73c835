"""Who agrees with whom: a matrix of annotators in the order of a tree, and their groups."""

import numpy as np

from bboxqa.agreement.uncertainty.ratios import ratio_intervals
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, sum_by
from bboxqa.diagnostics.annotators.pair_sums import PairSums, pair_sums, unit_members
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits

# A tree in the best order takes the cube of the number of leaves.
_MOST_ORDERED = 200


def agreement_matrix(matched: MatchedUnits) -> Table:
    """Return the agreement of each two annotators, with those who agree side by side.

    A row for each annotator, and a column "with NAME" for each, in the same order, that of a tree
    of average linkage. The agreement is the F1 of objects with their category: 2 · pairs of one
    unit and category / (drawn by one + drawn by the other), in the images that both were asked
    about. NaN without such annotations, and on the diagonal.
    """
    names = matched.data.annotator_names
    agreement = pair_sums(matched).agreement
    order = _leaves(agreement)
    columns: dict[str, Column] = {"annotator": Categorical(order.astype(np.int32), names)}
    columns |= {f"with {names[other]}": agreement[order, other] for other in order.tolist()}
    return Table(columns)


def agreement_groups(matched: MatchedUnits) -> Table:
    """Return groups of annotators who agree among themselves, more than with the others.

    The groups, of two annotators or more, are found in every other image that several annotators
    were asked about: the cut of the tree of `agreement_matrix` with the largest difference of
    agreement within and between groups. They count if the rest of the images confirms them: if
    there, the 95 % intervals of both agreements do not overlap. Otherwise all are one group.

    A row for each annotator: group, from 1 on; within and between, the agreement with the own group
    and with other groups in all images, NaN where there is none.
    """
    names = matched.data.annotator_names
    several = np.flatnonzero(matched.data.assigned.sum(1) > 1)
    found_in = np.zeros(len(matched.data.image_names), np.bool_)
    found_in[several[::2]] = True
    group = _best_groups(pair_sums(matched, found_in))
    if not _is_confirmed(matched, group, ~found_in):
        group = np.zeros(len(names), np.int64)
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


def _tree(agreement: FloatArray) -> FloatArray:
    """Return the tree of average linkage by agreement, as scipy does, (A − 1, 4)."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    distance = squareform(1 - agreement, checks=False)
    known = distance[~np.isnan(distance)]
    # Who share no image are neither near nor far.
    distance[np.isnan(distance)] = known.mean() if len(known) else 1
    merges: FloatArray = linkage(
        distance, "average", optimal_ordering=len(agreement) <= _MOST_ORDERED
    )
    return merges


def _leaves(agreement: FloatArray) -> IndexArray:
    """Return the annotators as leaves of their tree, from one side to the other, (A,)."""
    if len(agreement) <= 2:
        # Any tree has this order; to import what makes trees takes 0.2 s.
        return np.arange(len(agreement))
    from scipy.cluster.hierarchy import leaves_list

    leaves: IndexArray = leaves_list(_tree(agreement)).astype(np.int64)
    return leaves


def _best_groups(sums: PairSums) -> IndexArray:
    """Return the group of each annotator by the best cut of the tree, (A,); 0 if there is none."""
    n = len(sums.possible)
    best, best_gap = np.zeros(n, np.int64), 0.0
    if n < 4:
        # Groups have two annotators or more.
        return best
    from scipy.cluster.hierarchy import fcluster

    merges = _tree(sums.agreement)
    for n_groups in range(2, n // 2 + 1):
        found = fcluster(merges, n_groups, "maxclust")
        group = _numbered(found)
        if np.bincount(group).min() < 2:
            continue
        same = group[:, None] == group
        upper = np.triu(np.ones((n, n), np.bool_), 1)
        gap = _pooled(sums, same & upper) - _pooled(sums, ~same & upper)
        if gap > best_gap:
            best, best_gap = group, float(gap)
    return best


def _numbered(labels: IntArray) -> IndexArray:
    """Return labels numbered in the order of their first members."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)


def _pooled(sums: PairSums, pairs: BoolArray, axis: int | None = None) -> FloatArray:
    """Return the agreement of some pairs together; NaN without any."""
    same, possible = (np.sum(part * pairs, axis) for part in (sums.same_category, sums.possible))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(possible > 0, np.divide(same, possible), np.nan)


def _is_confirmed(matched: MatchedUnits, group: IndexArray, images: BoolArray) -> bool:
    """Return whether agreement in these images is higher within groups than between them."""
    if not group.any():
        return False
    of, n_images = matched.data.annotations, len(images)
    left, right = unit_members(matched)
    same = of.category[left] == of.category[right]
    own = group[of.annotator[left]] == group[of.annotator[right]]
    within = sum_by(of.image[left], same & own, n_images)
    between = sum_by(of.image[left], same & ~own, n_images)
    n_groups = int(group.max()) + 1
    asked = matched.data.assigned.astype(np.float64)
    n_asked = np.stack([asked[:, group == each].sum(1) for each in range(n_groups)], axis=1)
    place = of.image.astype(np.int64) * n_groups + group[of.annotator]
    drawn = np.bincount(place, minlength=n_images * n_groups).reshape(n_images, n_groups)
    possible_within = ((n_asked - 1).clip(0) * drawn).sum(1) / 2
    possible = (n_asked.sum(1) - 1).clip(0) * drawn.sum(1) / 2
    numerator = np.stack([within, between]) * images
    denominator = np.stack([possible_within, possible - possible_within]) * images
    # Not an estimate that users choose draws for, but a decision.
    bounds = ratio_intervals(numerator, denominator, 1000, matched.seed)
    return bool(bounds[0, 0] > bounds[1, 1])
