"""The rule of a consensus on boxes: which of them show one object, and what the object is."""

from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

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
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs, similarity_of_pairs
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, from_corners
from bboxqa.matching.linkage import drawn_ranks
from bboxqa.matching.matchers import bytes_per_pair, match
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.consensus import CROWD, EMPTY, SAME, ConsensusObjects
from bboxqa.model.shapes.rotated_boxes import bounds

# Pairs of boxes of one annotator, which take 100 bytes each.
_MOST_OWN = 1 << 22


class Votes(NamedTuple):
    """V votes: a box of each annotator for each object, however often it was drawn."""

    data: Dataset
    of: IndexArray
    left_out: ByteArray
    """(N,) int64 and uint8. The vote of each annotation; -1 where it has none, and why not, a place
    in `REASONS`, 0 where it has."""
    n_clipped: int


def clipped_edges(data: Dataset) -> tuple[FloatArray, BoolArray]:
    """Return the edges of boxes inside their images, (N, 4), and which boxes are cut off, (N,).

    Edges are left, top, right, bottom, of rotated boxes those of their bounds. Where the size of an
    image is unknown, boxes are cut off on the left and above only. A box outside has no width or no
    height.
    """
    of = data.annotations
    edges, size = corners(of.bbox), data.image_size[of.image].astype(np.float64)
    if of.rotated_box is not None:
        edges = np.where(of.rotated_box[:, 4:] != 0, bounds(of.rotated_box), edges)
    found = np.clip(edges, 0, np.tile(np.where(size > 0, size, np.inf), 2))
    return found, (found != edges).any(1)


def votes_of(data: Dataset, similarity: str = "bbox") -> Votes:
    """Return the votes of annotators: their boxes inside images, each object once.

    Boxes of one annotator with an IoU of at least 0.7, also by way of others, are one vote, whose
    edges are the means. Its category is the most frequent one; for ties, see `_labels`.
    """
    of, (edges, is_cut) = data.annotations, clipped_edges(data)
    has_area = (edges[:, 2:] > edges[:, :2]).all(1) | (similarity == "keypoints")
    left_out = np.where(of.iscrowd, CROWD, np.where(has_area, 0, EMPTY)).astype(np.uint8)
    rows = np.flatnonzero(left_out == 0)
    drawn = replace(of.take(rows), bbox=from_corners(edges[rows]))
    same = _same_objects(replace(data, annotations=drawn), similarity)
    firsts, vote = np.unique(same, return_inverse=True)
    several = np.flatnonzero(np.bincount(vote)[vote] > 1)
    # The one that stands for others depends on their shapes, not on their order in the file.
    order = several[np.lexsort((drawn_ranks(drawn, several), vote[several]))]
    chosen = order[run_starts(vote[order])]
    places = vote[chosen]
    firsts[places] = chosen
    votes = drawn.take(firsts)
    if len(several):
        group, fused, category = vote[several], votes.bbox.copy(), votes.category.copy()
        sums = [_sorted_sums(group, each)[places] for each in edges[rows[several]].T]
        fused[places] = from_corners(np.column_stack(sums) / np.bincount(group)[places, None])
        category[places], _ = _labels(group, drawn.take(several), _frequency(data))
        votes = replace(votes, bbox=fused, category=category)
    whole = np.full(len(of), -1)
    whole[rows] = vote
    return Votes(replace(data, annotations=votes, repeats=None), whole, left_out,
                 int(is_cut[rows].sum()))  # fmt: skip


def _same_objects(data: Dataset, similarity: str) -> IndexArray:
    """Return the first annotation of those of one annotator that show one object, (N,)."""
    of, edges = data.annotations, corners(data.annotations.bbox)
    group = of.image.astype(np.int64) * len(data.annotator_names) + of.annotator
    found, n_found = [np.zeros((2, 0), np.int64)], 0
    for one, other in overlapping_boxes(group, edges, group, edges):
        found.append(np.stack([one, other])[:, one < other])
        n_found += found[-1].shape[1]
        if n_found > _MOST_OWN:
            name = data.image_names[of.image[one[0]]]
            problem = f"image {name!r}: too many boxes of one annotator overlap"
            raise DatasetError([problem], "Look for repeated annotations with: bboxqa validate")
    pairs = np.hstack(found)
    left, right = pairs[:, np.lexsort(pairs[::-1])]
    alike = similarity_of_pairs(data, similarity, left, right) >= SAME - TOLERANCE
    return component_of_each(len(of), left[alike], right[alike])


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
) -> tuple[ConsensusObjects, IndexArray]:
    """Return the objects of votes, by their boxes and medians, and the object of each vote, (V,).

    Pairs of boxes of two annotators with an IoU of at least `link` are joined, highest first, where
    no annotator is in both objects (greedy matching, see `bboxqa.matching.linkage.greedy`).
    """
    of = votes.annotations
    pairs, _ = candidate_pairs(votes, similarity, link, pair_bytes=bytes_per_pair(of, ["greedy"]))
    units = match(of, pairs, "greedy", link)
    n, group, edges = len(units), units.unit, corners(of.bbox)
    n_votes = np.bincount(group, minlength=n)
    first = np.cumsum(n_votes) - n_votes
    medians, spread = np.empty((2, n, 4))
    for side, column in enumerate(edges.T):
        ordered = column[np.lexsort((column, group))]
        middle = ordered[first + (n_votes - 1) // 2] + ordered[first + n_votes // 2]
        medians[:, side] = middle / 2
        spread[:, side] = ordered[first + n_votes - 1] - ordered[first]
    asked = np.maximum(votes.assigned.sum(1)[units.image], n_votes)
    category, is_tie = _labels(group, of, _frequency(votes))
    overlap = _sorted_sums(group, bbox_iou(edges, medians[group])) / asked
    found = ConsensusObjects(
        image=units.image, category=category, bbox=from_corners(medians), votes=n_votes,
        asked=asked, quorum=quorums(asked, quorum), overlap=overlap, spread=spread, is_tie=is_tie,
    )  # fmt: skip
    # By image, box and category, then by who drew them.
    people = np.full(n, np.iinfo(np.int32).max)
    np.minimum.at(people, group, of.annotator)
    order = np.lexsort((people, n_votes, category, *found.bbox.T[::-1], found.image))
    return found.take(order), np.argsort(order)[group]


def _sorted_sums(group: IndexArray, value: FloatArray) -> FloatArray:
    """Return the sum of each group, added in ascending order so that no other order matters."""
    order = np.lexsort((value, group))
    return sum_by(group[order], value[order], int(group.max(initial=-1)) + 1)


def _frequency(data: Dataset) -> IndexArray:
    """Return how often each category is used, (C,) int64."""
    return np.bincount(data.annotations.category, minlength=len(data.category_names))


def _labels(
    group: IndexArray, of: Annotations, frequency: IndexArray
) -> tuple[IntArray, BoolArray]:
    """Return the category of each group, and whether another one has as many votes.

    A tie is for the category of the annotators who name most alike with the others, then for the
    most frequent one of the file, then for the first by name.
    """
    n_names = len(frequency)
    keys, of_vote, n = np.unique(
        group * n_names + of.category, return_inverse=True, return_counts=True
    )
    home, label = np.divmod(keys, n_names)
    n_people = int(of.annotator.max(initial=-1)) + 1
    alike = sum_by(of.annotator, n[of_vote] - 1, n_people)
    others = sum_by(of.annotator, np.bincount(group)[group] - 1, n_people)
    share = np.divide(alike, others, out=np.zeros(n_people), where=others > 0)
    trust = (_sorted_sums(of_vote, share[of.annotator]) / n).round(12)
    order = np.lexsort((label, -frequency[label], -trust, -n, home))
    home, label, n = home[order], label[order], n[order]
    first = run_starts(home)
    second = np.minimum(first + 1, len(home) - 1)
    is_tie = (second != first) & (home[second] == home[first]) & (n[second] == n[first])
    return label[first].astype(np.int32), is_tie
