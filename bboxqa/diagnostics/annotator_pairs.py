"""The agreement of each two annotators, and boxes that they copied."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import table_of
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.unit_counts import from_units
from bboxqa.core.arrays import BoolArray, IndexArray, component_of_each, remembered, sum_by
from bboxqa.diagnostics.object_cells import (
    RatioSums,
    by_annotators,
    drawn_edges,
    pairs_of_units,
    unit_members,
)
from bboxqa.model.annotations import Annotations
from bboxqa.model.keypoints import largest_moves
from bboxqa.model.masks import SegmentationKind
from bboxqa.model.rotated_boxes import ROUNDED_PX, equal_edges
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable

# More annotators are not ordered optimally, which takes time cubic in their number.
_MOST_ORDERED = 200


def agreement_matrix(matched: MatchedUnits) -> Table:
    """Return the agreement of each pair of annotators, ordered so that similar ones are neighbours.

    A row for each annotator, and a column "with NAME" for each, both in the order of a tree of
    average linkage: the F1 of objects with their category, in the images that both were asked
    about. NaN without such annotations, and on the diagonal.
    """
    of, asked, names = matched.data.annotations, matched.data.assigned, matched.data.annotator_names
    left, right = unit_members(matched)
    same, n = of.category[left] == of.category[right], len(names)
    key = of.annotator[left[same]].astype(np.int64) * n + of.annotator[right[same]]
    n_same = sum_by(key, np.ones(len(key)), n * n).reshape(n, n)
    place = of.image.astype(np.int64), of.annotator.astype(np.int64)
    n_drawn = table_of(*place, np.ones(len(of)), asked.shape)
    # The annotations of both in the images that both were asked about.
    shared = np.asarray(n_drawn.T @ asked.astype(np.float64))
    agreement, order = ratio(n_same + n_same.T, (shared + shared.T) / 2), np.arange(n)
    np.fill_diagonal(agreement, np.nan)
    if n > 2:
        # Two have this order in any tree; importing scipy's clustering takes 0.2 s.
        from scipy.cluster.hierarchy import leaves_list, linkage
        from scipy.spatial.distance import squareform

        distance = squareform(1 - agreement, checks=False)
        known = distance[~np.isnan(distance)]
        # Annotators without a shared image get the mean distance.
        distance[np.isnan(distance)] = known.mean() if len(known) else 1
        tree = linkage(distance, "average", optimal_ordering=n <= _MOST_ORDERED)
        order = leaves_list(tree).astype(np.int64)
    columns: dict[str, Column] = {"annotator": Categorical(order.astype(np.int32), names)}
    columns |= {f"with {names[other]}": agreement[order, other] for other in order.tolist()}
    return Table(columns)


# Fewer identical boxes, or a lower share of them, prove nothing.
LEAST_IDENTICAL, _LEAST_SHARE = 5, 0.05
# Copies have at least so many times the identical boxes of independent annotators.
_FACTOR = 3.0
_STEPS = 100
# A move of 0.1 % of the shorter side costs a box less than this.
_SAME_OUTLINE = 0.99


@remembered
def copies(matched: MatchedUnits) -> Table:
    """Return the number of identical boxes of each pair of annotators, copies first.

    Columns: annotator_1 and annotator_2; n, their matched pairs of boxes; n_identical, pairs with
    the same box, and identical_share with its 95 % interval over images; expected_share, if the
    four edges were equal independently of each other, estimated from pairs with different boxes;
    others_share, of identical boxes that one of the two shares with others; mean_similarity and
    others_similarity of their pairs and of those with others; and copied.

    Edges that differ by 0.01 px or less, and by 0.1 % of the shorter side, are equal, as are joints
    that differ by 0.01 px, outlines with a similarity of 0.99, and equal masks.

    A pair is copied if it has five identical boxes or more, and if the interval of their share lies
    above 5 %, 3 times the expected share, and 3 times either the others' share (the others share as
    many boxes if several copy from one source) or the share of boxes with exactly three equal edges
    (careful annotators who draw whole pixels, or correct proposals, have many).
    """
    of, pairs = matched.data.annotations, pairs_of_units(matched)
    names = matched.data.annotator_names
    first, second, row = by_annotators(matched, pairs)
    edges, n = drawn_edges(matched), len(first)
    equal = equal_edges(edges[pairs.left], edges[pairs.right])
    n_equal = equal.sum(1)
    identical = (n_equal == 4) & _alike(of, pairs)
    if of.keypoints is not None and matched.data.joint_sigmas:
        identical &= largest_moves(of.keypoints, pairs.left, pairs.right) <= ROUNDED_PX
    figures = RatioSums(matched, n, {"": [(row, of.image[pairs.left], identical, 1.0)]})
    same, alike = figures.ratios()[""], sum_by(row, pairs.similarity, n)
    n_different = np.maximum(np.bincount(row, ~identical, n), 1)
    equal_share = np.stack([sum_by(row, ~identical & side, n) / n_different for side in equal.T])
    expected = np.zeros(n)
    for _ in range(_STEPS):
        expected = np.prod(equal_share + (1 - equal_share) * expected, axis=0)
    near_share = sum_by(row, (n_equal >= 3) & ~identical, n) / np.bincount(row, minlength=n)
    # The sums over all pairs that share one annotator with each pair.
    sums = np.stack([same.n_counted, same.n, alike])
    of_each = np.stack([sum_by(first, own, len(names)) + sum_by(second, own, len(names))
                        for own in sums])  # fmt: skip
    n_equal_others, n_others, alike_others = of_each[:, first] + of_each[:, second] - 2 * sums
    others, others_alike = ratio(n_equal_others, n_others), ratio(alike_others, n_others)
    usual = np.fmax(expected, np.minimum(np.nan_to_num(others), near_share))
    copied = (same.n_counted >= LEAST_IDENTICAL) & (
        same.interval[:, 0] > np.maximum(_LEAST_SHARE, _FACTOR * usual)
    )
    return Table(
        {
            "annotator_1": Categorical(first.astype(np.int32), names),
            "annotator_2": Categorical(second.astype(np.int32), names),
            "n": same.n,
            "n_identical": same.n_counted,
            **same.columns("identical_share"),
            "expected_share": expected,
            "others_share": others,
            "mean_similarity": alike / same.n,
            "others_similarity": others_alike,
            "copied": copied,
        }
    ).take(np.lexsort([second, first, -same.value, ~copied]))


def _alike(of: Annotations, pairs: CandidatePairs) -> BoolArray:
    """Return which pairs have one outline, up to rounding, but of masks; all without outlines."""
    if of.segmentation is None:
        return np.ones(len(pairs.left), np.bool_)
    is_mask = of.segmentation.kind == SegmentationKind.RLE
    least = np.where(is_mask[pairs.left] & is_mask[pairs.right], 1, _SAME_OUTLINE)
    return pairs.similarity >= least


def all_share_boxes(copied: Table, names: Sequence[str]) -> bool:
    """Return whether pairs of `copies` make all annotators one group, so that no one is left."""
    group = component_of_each(len(names), copied.codes("annotator_1"), copied.codes("annotator_2"))
    return len(copied) > 0 and bool((group == group[0]).all())


# An image is copied if at least this share of the matched boxes of two annotators are identical.
_COPIED = 0.5
# Fewest annotators with a majority.
_LEAST_OBJECTS = 3


def independent(matched: MatchedUnits) -> MatchedUnits:
    """Return the annotations without copies, by which annotators are judged.

    Of two annotators who share boxes (see `copies`), those of the second are left out in images
    where half of their matched boxes are identical, and so are images in which this leaves fewer
    than three annotators, unless no others remain. Nothing is left out without an image of three
    annotators, or if shared boxes connect all: they may have kept the same proposals.
    """
    return _without_copies(matched) or matched


@remembered
def _without_copies(matched: MatchedUnits) -> MatchedUnits | None:
    """Return the annotations without copies; None if there are none."""
    if matched.data.assigned.sum(1).max(initial=0) < _LEAST_OBJECTS:
        return None
    table = copies(matched)
    table = table.take(np.flatnonzero(table["copied"]))
    if not len(table) or all_share_boxes(table, matched.data.annotator_names):
        return None
    of, pairs, n_images = matched.data.annotations, matched.pairs, len(matched.data.image_names)
    edges, assigned = drawn_edges(matched), matched.data.assigned.copy()
    identical = equal_edges(edges[pairs.left], edges[pairs.right]).all(1) & _alike(of, pairs)
    first_of, second_of = (table.codes(f"annotator_{number}") for number in (1, 2))
    for first, second in zip(first_of, second_of, strict=True):
        own = (of.annotator[pairs.left] == first) & (of.annotator[pairs.right] == second)
        image = of.image[pairs.left]
        n_pairs, n_same = (
            np.bincount(image[which], minlength=n_images) for which in (own, own & identical)
        )
        copied = (n_same > 0) & (n_same >= _COPIED * n_pairs)
        if copied[n_pairs > 0].all():
            copied = matched.data.assigned[:, first] & matched.data.assigned[:, second]
        assigned[copied, second] = False
    n_before, n_after = matched.data.assigned.sum(1), assigned.sum(1)
    if n_after.max(initial=0) >= _LEAST_OBJECTS:
        assigned[
            (n_after < _LEAST_OBJECTS) & (n_before > n_after) & (n_before >= _LEAST_OBJECTS)
        ] = False
    kept = np.flatnonzero(assigned[of.image, of.annotator])
    number = np.full(len(of), -1)
    number[kept] = np.arange(len(kept))
    data = replace(matched.data, annotations=of.take(kept), assigned=assigned)
    units, unit = np.unique(matched.units.unit[kept], return_inverse=True)
    rest = UnitTable(unit.astype(np.int64, copy=False), matched.units.image[units])
    return replace(
        matched,
        data=data,
        units=rest,
        reliability=from_units(data.annotations, rest, assigned, len(data.category_names)),
        pairs=moved_pairs(pairs, number),
        objects=np.unique(matched.objects[kept], return_inverse=True)[1].astype(np.int64),
        near=moved_pairs(matched.near, number),
        own=moved_pairs(matched.own, number),
        n_neighbours=matched.n_neighbours[kept],
    )


def moved_pairs(pairs: CandidatePairs, place: IndexArray) -> CandidatePairs:
    """Return the pairs of kept annotations, with their new indices."""
    left, right = place[pairs.left], place[pairs.right]
    kept = (left >= 0) & (right >= 0)
    return CandidatePairs(left[kept], right[kept], pairs.similarity[kept])
