"""The rule of a consensus on boxes: which of them show one object, and what the object is."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    IndexArray,
    IntArray,
    component_of_each,
    overlapping_boxes,
    run_starts,
    sum_by,
)
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs, similarity_of_pairs
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, from_corners
from bboxqa.matching.linkage import drawn_ranks
from bboxqa.matching.matchers import bytes_per_pair, match
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.consensus import SAME, ConsensusObjects, LeftOut


class Votes(NamedTuple):
    """V votes: a box of each annotator for each object, however often it was drawn."""

    data: Dataset
    """The votes as annotations."""
    of: IndexArray
    """(N,) int64. The vote of each annotation; -1 where it has none."""
    left_out: ByteArray
    """(N,) uint8. A `LeftOut` per annotation."""
    n_clipped: int


class Consensus(NamedTuple):
    """The objects of V votes."""

    objects: ConsensusObjects
    of: IndexArray
    """(V,) int64. The object of each vote."""


def clipped_edges(data: Dataset) -> FloatArray:
    """Return the edges of boxes inside their images, (N, 4): left, top, right, bottom.

    Where the size of an image is unknown, boxes are cut off on the left and above only. A box
    outside has no width or no height.
    """
    size = data.image_size[data.annotations.image].astype(np.float64)
    most = np.tile(np.where(size > 0, size, np.inf), 2)
    edges: FloatArray = np.clip(corners(data.annotations.bbox), 0, most)
    return edges


def votes_of(data: Dataset, similarity: str = "bbox") -> Votes:
    """Return the votes of annotators: their boxes inside images, each object once.

    Boxes of one annotator with an IoU of at least 0.7, also by way of others, are one vote, whose
    edges are the means. Its category is the most frequent one of them, then the first by name.
    """
    of = data.annotations
    edges = clipped_edges(data)
    has_area = (edges[:, 2:] > edges[:, :2]).all(1) | (similarity == "keypoints")
    left_out = np.where(of.iscrowd, LeftOut.CROWD, np.where(has_area, 0, LeftOut.EMPTY))
    rows = np.flatnonzero(left_out == LeftOut.VOTES)
    moved = (edges != corners(of.bbox)).any(1) & (left_out == LeftOut.VOTES)
    drawn = replace(of.take(rows), bbox=from_corners(edges[rows]))
    first = _same_objects(replace(data, annotations=drawn), similarity)
    firsts, vote = np.unique(first, return_inverse=True)
    several = np.flatnonzero(np.bincount(vote)[vote] > 1)
    votes = drawn.take(firsts)
    if len(several):
        group, part = vote[several], edges[rows[several]]
        order = np.lexsort((drawn_ranks(drawn, several), group))
        places = np.unique(group)
        # The one that stands for them depends on their shapes, not on their order in the file.
        firsts[places] = several[order[run_starts(group[order])]]
        votes = drawn.take(firsts)
        fused, category = votes.bbox.copy(), votes.category.copy()
        columns = [_sorted_sums(group, each)[places] for each in part.T]
        fused[places] = np.column_stack(columns) / np.bincount(group)[places, None]
        fused[places, 2:] -= fused[places, :2]
        counted = _counted_labels(group, drawn.category[several])
        best = counted.take(np.lexsort((counted.category, -counted.n, counted.group)))
        category[places] = best.category[run_starts(best.group)]
        votes = replace(votes, bbox=fused, category=category)
    whole = np.full(len(of), -1)
    whole[rows] = vote
    number = left_out.astype(np.uint8)
    return Votes(replace(data, annotations=votes, repeats=None), whole, number, int(moved.sum()))


def _same_objects(data: Dataset, similarity: str) -> IndexArray:
    """Return the first annotation of those of one annotator that show one object, (N,)."""
    of = data.annotations
    group = of.image.astype(np.int64) * len(data.annotator_names) + of.annotator
    edges = corners(of.bbox)
    parts = [np.zeros((2, 0), np.int64)]
    for one, other in overlapping_boxes(group, edges, group, edges):
        pair = np.stack([one, other])[:, one < other]
        parts.append(pair[:, bbox_iou(*edges[pair]) >= (SAME - TOLERANCE)]
                     if similarity == "bbox" else pair)  # fmt: skip
    left, right = np.hstack(parts)
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    if similarity != "bbox":
        alike = similarity_of_pairs(data, similarity, left, right) >= SAME - TOLERANCE
        left, right = left[alike], right[alike]
    return component_of_each(len(of), left, right)


def quorums(asked: IndexArray, quorum: float | None) -> IndexArray:
    """Return the votes that keep an object, of those asked about its image.

    By default one of two, else a third but at least two. A given quorum is a number of votes, or a
    share below 1; where fewer were asked, all of them.

    Examples
    --------
    >>> quorums(np.array([1, 2, 3, 5, 7, 10]), None).tolist()
    [1, 1, 2, 2, 3, 4]
    >>> quorums(np.array([1, 2, 5]), 0.5).tolist(), quorums(np.array([1, 2, 5]), 2).tolist()
    ([1, 1, 3], [1, 2, 2])
    """
    least: IndexArray = np.where(asked <= 2, 1, np.maximum(2, -(-asked // 3)))
    if quorum is not None:
        share = np.ceil(quorum * asked - TOLERANCE) if quorum < 1 else np.full(len(asked), quorum)
        least = np.clip(share, 1, np.maximum(asked, 1)).astype(np.int64)
    return least


def consensus_of(
    votes: Dataset, link: float, quorum: float | None, similarity: str = "bbox"
) -> Consensus:
    """Return the objects of votes: boxes of several annotators that overlap, and their medians.

    Pairs of boxes of two annotators with an IoU of at least `link` are joined, highest first, where
    no annotator is in both objects (greedy matching, see `bboxqa.matching.linkage.greedy`).
    """
    of = votes.annotations
    pairs, _ = candidate_pairs(votes, similarity, link, pair_bytes=bytes_per_pair(of, ["greedy"]))
    units = match(of, pairs, "greedy", link)
    del pairs
    n, group, edges = len(units), units.unit, corners(of.bbox)
    medians, spread = np.empty((2, n, 4))
    for side, column in enumerate(edges.T):
        medians[:, side], spread[:, side] = _median_and_range(group, column, n)
    n_votes = np.bincount(group, minlength=n)
    asked = np.maximum(votes.assigned.sum(1)[units.image], n_votes)
    # Rotated boxes and outlines have the bounds that were linked, up to the shape itself.
    near = bbox_iou(edges, medians[group])
    category, is_tie = _labels(group, of, votes.category_names)
    found = ConsensusObjects(
        image=units.image,
        category=category,
        bbox=from_corners(medians),
        votes=n_votes,
        asked=asked,
        quorum=quorums(asked, quorum),
        overlap=_sorted_sums(group, near) / asked,
        spread=spread,
        is_tie=is_tie,
    )
    return _in_order(found, group, of)


def _in_order(found: ConsensusObjects, group: IndexArray, of: Annotations) -> Consensus:
    """Return objects by image, box and category, then by who drew them."""
    people = np.full(len(found), np.iinfo(np.int32).max)
    np.minimum.at(people, group, of.annotator)
    keys = (people, found.votes, found.category, *found.bbox.T[::-1], found.image)
    order = np.lexsort(keys)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    names = ConsensusObjects.__dataclass_fields__
    return Consensus(
        ConsensusObjects(**{name: getattr(found, name)[order] for name in names}), number[group]
    )


def _sorted_sums(group: IndexArray, value: FloatArray) -> FloatArray:
    """Return the sum of each group, added in ascending order so that no other order matters."""
    order = np.lexsort((value, group))
    return sum_by(group[order], value[order], int(group.max(initial=-1)) + 1)


def _median_and_range(
    group: IndexArray, value: FloatArray, n: int
) -> tuple[FloatArray, FloatArray]:
    """Return the median and the range of the values of each of n groups, none of them empty."""
    ordered = value[np.lexsort((value, group))]
    size = np.bincount(group, minlength=n)
    start = np.cumsum(size) - size
    median = (ordered[start + (size - 1) // 2] + ordered[start + size // 2]) / 2
    return median, ordered[start + size - 1] - ordered[start]


class _Labels(NamedTuple):
    """How many votes of a group are for a category; only categories with votes."""

    group: IndexArray
    category: IntArray
    n: IndexArray

    def take(self, index: IndexArray | BoolArray) -> "_Labels":
        return _Labels(self.group[index], self.category[index], self.n[index])


def _counted_labels(group: IndexArray, category: IntArray) -> _Labels:
    n_categories = int(category.max(initial=0)) + 1
    key, n = np.unique(group * n_categories + category, return_counts=True)
    return _Labels(key // n_categories, (key % n_categories).astype(np.int32), n)


def _labels(
    group: IndexArray, of: Annotations, names: tuple[str, ...]
) -> tuple[IntArray, BoolArray]:
    """Return the category of each group, and whether another one has as many votes.

    A tie is for the category of the annotators who name most alike with the others, then for the
    most frequent one of the file, then for the first by name.
    """
    n_names = max(len(names), 1)
    counted = _counted_labels(group, of.category)
    size = np.bincount(group)
    key = counted.group * n_names + counted.category
    of_vote = np.searchsorted(key, group * n_names + of.category)
    n_people = int(of.annotator.max(initial=-1)) + 1
    alike = sum_by(of.annotator, counted.n[of_vote] - 1, n_people)
    others = sum_by(of.annotator, size[group] - 1, n_people)
    share = np.divide(alike, others, out=np.zeros(n_people), where=others > 0)
    trust = (_sorted_sums(of_vote, share[of.annotator]) / counted.n).round(12)
    frequency = np.bincount(of.category, minlength=n_names)[counted.category]
    order = np.lexsort((counted.category, -frequency, -trust, -counted.n, counted.group))
    best = counted.take(order)
    first = run_starts(best.group)
    second = np.minimum(first + 1, max(len(best.n) - 1, 0))
    is_tie = (best.group[second] == best.group[first]) & (best.n[second] == best.n[first])
    return best.category[first], is_tie & (second != first)
