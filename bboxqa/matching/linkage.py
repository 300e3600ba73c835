"""Greedy, average and complete linkage of several annotators, and how ties are broken."""

from enum import Enum
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    blocks,
    connected_components,
)
from bboxqa.model.annotations import Annotations
from bboxqa.model.keypoints import Keypoints
from bboxqa.model.masks import Segmentations
from bboxqa.model.units import CandidatePairs

__all__ = ["drawn_ranks"]


def drawn_ranks(annotations: Annotations, nodes: IndexArray) -> IndexArray:
    """Return the ranks of annotations by image, box, other shapes and category, (K,).

    Other shapes are rotated boxes, outlines and key points, as far as they were read.

    Annotators and ids have no effect: equal annotations by several annotators have the same rank.
    Equal annotations by one annotator have successive ranks in arbitrary order. `nodes` are
    distinct annotations, and may be empty.
    """
    if len(nodes) == 0:
        return np.zeros(0, np.int64)
    x, y, width, height = annotations.bbox.take(nodes, axis=0).T
    box = [height, width, y, x, annotations.image[nodes]]
    order = np.lexsort(box)
    # Only the other shapes of equal boxes are compared.
    new_box = _changes(box, order)
    shape = np.zeros(len(nodes), np.int64)
    tied = order[~(new_box & np.append(new_box[1:], True))]
    shape[tied] = _shape_ranks(annotations, nodes[tied])
    content = [annotations.category[nodes], shape, *box]
    annotator = annotations.annotator[nodes]
    order = np.lexsort([annotator, *content])
    new_content = _changes(content, order)
    new_author = _changes([annotator, *content], order)
    place = np.arange(len(nodes))
    copy = place - np.maximum.accumulate(np.where(new_author, place, 0))
    ranks = np.empty(len(nodes), np.int64)
    ranks[order] = np.maximum.accumulate(np.where(new_content, place, 0)) + copy
    return ranks


def _changes(keys: list[NDArray[Any]], order: IndexArray) -> BoolArray:
    """Return which rows in this order differ from the previous row; the first one always does."""
    changes = np.zeros(len(order), np.bool_)
    changes[0] = True
    for key in keys:
        changes[1:] |= np.diff(key[order]) != 0
    return changes


def _shape_ranks(annotations: Annotations, nodes: IndexArray) -> IndexArray:
    """Return the ranks of rotated boxes, outlines and key points by their numbers, (K,)."""
    shapes: list[list[Any]] = []
    if annotations.rotated_box is not None:
        shapes.append(annotations.rotated_box[nodes].tolist())
    if annotations.segmentation is not None:
        shapes.append([_outline(annotations.segmentation, node) for node in nodes.tolist()])
    if annotations.keypoints is not None:
        shapes.append([_joints(annotations.keypoints, node) for node in nodes.tolist()])
    ranks = np.zeros(len(nodes), np.int64)
    if not shapes:
        return ranks
    keys = list(zip(*shapes, strict=True))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    for before, after in pairwise(order):
        ranks[after] = ranks[before] + (keys[before] != keys[after])
    return ranks


def _outline(outlines: Segmentations, node: int) -> tuple[int, list[Any], bytes]:
    rings = [ring.tolist() for ring in outlines.rings(node)]
    return int(outlines.kind[node]), rings, outlines.rle(node)["counts"]


def _joints(keypoints: Keypoints, node: int) -> tuple[list[Any], list[int], float]:
    held = slice(int(keypoints.start[node]), int(keypoints.stop[node]))
    area = float(np.nan_to_num(keypoints.area[node], nan=-1.0))
    return keypoints.xy[held].tolist(), keypoints.visibility[held].tolist(), area


def author_ranks(annotations: Annotations) -> IndexArray:
    """Return the rank of each annotation's author among the annotators of its image, (N,).

    As images are independent, the first annotators of all images are matched at once with the
    second annotators, whoever they are.
    """
    new_image = np.diff(annotations.image, prepend=-1) != 0
    new_author = new_image | (np.diff(annotations.annotator, prepend=-1) != 0)
    number = np.cumsum(new_author)
    starts = np.flatnonzero(new_image)
    rank: IndexArray = number - np.repeat(number[starts], np.diff(starts, append=len(number)))
    return rank


def components(annotations: Annotations, pairs: CandidatePairs) -> tuple[IndexArray, BoolArray]:
    """Return the first annotation of each component, (N,), and where annotators repeat, (N,) bool.

    A component in which no annotator appears twice can be one unit. There is at least one pair.
    """
    home = np.arange(len(annotations))
    component = connected_components(pairs.left, pairs.right)
    home[pairs.left] = component
    home[pairs.right] = component
    del component
    order = np.lexsort((annotations.annotator, home))
    twice = np.diff(home[order]) == 0
    twice &= np.diff(annotations.annotator[order]) == 0
    return home, np.isin(home, home[order[1:][twice]])


class LinkedUnits(msgspec.Struct):
    """The current units of K nodes and their links; a unit is named by its smallest node."""

    near: dict[int, dict[int, int]]
    """For each unit, the units that it may be joined to, with the weight of the link."""
    size: list[int]
    rank: list[int]
    authors: list[int]
    """For each of K units, the divisor of weights, the rank that breaks ties, and the annotators as
    bits."""
    complete: bool
    """Whether two units may be joined only if all their parts may. The weight of the link is then
    the minimum of the parts' weights, and otherwise their sum."""

    def nearest(self, unit: int) -> int:
        """Return the linked unit with the highest value; ties are broken by rank."""
        size, rank = self.size, self.rank
        own_size, own_rank = size[unit], rank[unit]
        best, highest = -1, -1.0
        for other, weight in self.near[unit].items():
            value = weight / (own_size * size[other])
            # Both links include the rank of the unit itself, so the other rank decides.
            if value > highest or (
                value == highest
                and _ordered(own_rank, rank[other]) < _ordered(own_rank, rank[best])
            ):
                best, highest = other, value
        return best

    def join(self, left: int, right: int) -> None:
        """Join the right unit to the left one."""
        near = self.near
        of_left, of_right = near[left], near.pop(right)
        del of_left[right], of_right[left]
        self.authors[left] |= self.authors[right]
        self.rank[left] = min(self.rank[left], self.rank[right])
        if not self.complete:
            self.size[left] += self.size[right]
        everyone = self.authors[left]
        joined: dict[int, int] = {}
        for other in of_left.keys() | of_right.keys():
            back = near[other]
            one, two = back.pop(left, 0), back.pop(right, 0)
            if self.authors[other] & everyone or (self.complete and not (one and two)):
                continue
            joined[other] = back[left] = min(one, two) if self.complete else one + two
        near[left] = joined


def _ordered(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def neighbours(
    left: IntArray, right: IntArray, weight: IndexArray | IntArray
) -> dict[int, dict[int, int]]:
    """Return the weights of links, by each of their two units."""
    near: dict[int, dict[int, int]] = {
        unit: {} for unit in np.unique(np.concatenate([left, right])).tolist()
    }
    for one, other, value in zip(left.tolist(), right.tolist(), weight.tolist(), strict=True):
        near[one][other] = near[other][one] = value
    return near


def join_along_chains(units: LinkedUnits) -> tuple[list[int], list[int]]:
    """Join units until no link is left; return the joins in order, as left and right units.

    Starting at a unit, the chain goes on to the nearest neighbour of its last unit, until two units
    are nearest to each other and are joined. As a join never brings units nearer, the result is the
    same as joining the nearest two of all units [1]_.

    References
    ----------
    .. [1] Müllner, D. (2011). Modern Hierarchical, Agglomerative Clustering Algorithms.
       arXiv:1109.2378
    """
    lefts: list[int] = []
    rights: list[int] = []
    for start in list(units.near):
        chain = [start]
        while chain:
            last = chain[-1]
            if not units.near.get(last):
                chain.pop()
                continue
            nearest = units.nearest(last)
            if len(chain) == 1 or chain[-2] != nearest:
                chain.append(nearest)
                continue
            del chain[-2:]
            left, right = _ordered(last, nearest)
            units.join(left, right)
            lefts.append(left)
            rights.append(right)
            if not chain:
                # The joined unit may have further links, and its name does not begin another chain.
                chain.append(left)
    return lefts, rights


def join_in_order(
    left: IntArray, right: IntArray, authors: list[int]
) -> tuple[list[int], list[int]]:
    """Join units along the links in order, unless an annotator would appear twice.

    Returns the joins as `join_along_chains` does.
    """
    lefts: list[int] = []
    rights: list[int] = []
    home = list(range(len(authors)))
    members: dict[int, list[int]] = {}
    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        low, high = _ordered(home[one], home[other])
        if authors[low] & authors[high]:
            continue
        authors[low] |= authors[high]
        moved = members.pop(high, [high])
        for unit in moved:
            home[unit] = low
        members.setdefault(low, [low]).extend(moved)
        lefts.append(low)
        rights.append(high)
    return lefts, rights


# Bits of a word.
_WORD = 64
# If a round joins less than one unit in so many, joining one by one is faster.
_FEW = 16
# Most links for joining one by one, which would otherwise take too much memory.
_MOST_SINGLY = 1 << 19


class _Combine(Enum):
    """How the weights of two links to a unit are combined when their other units are joined."""

    SUM = np.add
    """Average linkage: the value of a link is its weight divided by both unit sizes."""
    LEAST = np.minimum
    """Complete linkage: both links must exist."""
    MOST = np.maximum
    """Single linkage."""


def greedy(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Join annotations pair by pair in descending weight, unless an annotator would appear twice.

    This is single linkage: the similarity of two units is that of their most similar pair. The
    result does not depend on the order of the annotators. Equal annotations are joined first; other
    ties are broken by x, y, width and height of the boxes, then by other shapes and categories (see
    `bboxqa.matching.linkage`).
    """
    return _linked(annotations, pairs, weight, _Combine.MOST)


def average(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Repeatedly join the two units with the highest mean weight of their pairs [1]_.

    Pairs of annotations below the threshold count as 0. Units are joined as long as one of their
    pairs reaches the threshold and no annotator would appear twice. The result does not depend on
    the order of the annotators: equal annotations are joined first, and ties are broken as in
    `greedy`.

    All pairs of units that are nearest to each other are joined in the same round, which is
    equivalent to joining one at a time [2]_. If few can be joined in a round, as in a row of boxes
    that overlap less and less, they are found along chains of nearest neighbours.

    References
    ----------
    .. [1] Sokal, R. R. and Michener, C. D. (1958). A Statistical Method for Evaluating Systematic
       Relationships. University of Kansas Science Bulletin 38, 1409-1438.
    .. [2] Müllner, D. (2011). Modern Hierarchical, Agglomerative Clustering Algorithms.
       arXiv:1109.2378
    """
    return _linked(annotations, pairs, weight, _Combine.SUM)


def complete(annotations: Annotations, pairs: CandidatePairs, weight: IndexArray) -> IndexArray:
    """Repeatedly join the two units whose least similar pair has the highest weight.

    All pairs of annotations in a unit reach the threshold. Otherwise, it is the same as `average`.
    """
    return _linked(annotations, pairs, weight, _Combine.LEAST)


class _Links(FrozenArrays, frozen=True, eq=False):
    """The L pairs of units that may be joined, as no annotator is in both."""

    left: IntArray
    right: IntArray
    """(L,) int32. Each unit is named by its smallest node; ``left < right``."""
    weight: IndexArray | IntArray
    """(L,) int64. The sum or the minimum of the weights of their pairs. For single linkage, (L,)
    int32: the highest position of their pairs in the order of joining.
    """
    n_pairs: IntArray
    """(L,) int32. The number of their pairs that reach the threshold."""

    def __len__(self) -> int:
        return len(self.left)

    def take(self, index: IndexArray | BoolArray) -> "_Links":
        """Return the links at `index`, in that order."""
        return _Links(self.left[index], self.right[index], self.weight[index], self.n_pairs[index])


class _Units:
    """The current units of K nodes; the row of a unit is its smallest node."""

    def __init__(self, annotations: Annotations, nodes: IndexArray) -> None:
        author = author_ranks(annotations)[nodes]
        self.unit = np.arange(len(nodes), dtype=np.int32)
        self.size = np.ones(len(nodes), np.int64)
        self.rank = drawn_ranks(annotations, nodes)
        self.authors = np.zeros((len(nodes), int(author.max()) // _WORD + 1), np.uint64)
        self.authors[self.unit, author // _WORD] = np.left_shift(
            np.uint64(1), (author % _WORD).astype(np.uint64)
        )

    def join(self, left: IntArray, right: IntArray) -> IntArray:
        """Join each right unit to a left unit, and return the new unit of each node, (K,)."""
        np.add.at(self.size, left, self.size[right])
        np.minimum.at(self.rank, left, self.rank[right])
        np.bitwise_or.at(self.authors, left, self.authors[right])
        target = np.arange(len(self.unit), dtype=np.int32)
        target[right] = left
        self.unit = target[self.unit]
        return target

    def share_author(self, left: IntArray, right: IntArray) -> BoolArray:
        """Return whether the units of each pair have a common annotator."""
        shared = np.zeros(len(left), np.bool_)
        # Word by word, as all words of all pairs would take gigabytes for 2,000 annotators.
        for word in np.ascontiguousarray(self.authors.T):
            shared |= word[left] & word[right] != 0
        return shared


def _linked(
    annotations: Annotations, pairs: CandidatePairs, weight: IndexArray, combine: _Combine
) -> IndexArray:
    """Return the first annotation of each annotation's unit, (N,)."""
    if len(pairs) == 0:
        return np.arange(len(annotations))
    first, hard = components(annotations, pairs)
    if combine is _Combine.LEAST:
        size = np.bincount(first)
        n_pairs = np.bincount(first[pairs.left], minlength=len(size))
        hard |= (2 * n_pairs < size * (size - 1))[first]
    nodes = np.flatnonzero(hard)
    if len(nodes):
        place = np.cumsum(hard, dtype=np.int32) - np.int32(1)
        chosen = hard[pairs.left]
        units = _Units(annotations, nodes)
        left, right = place[pairs.left[chosen]], place[pairs.right[chosen]]
        value: IndexArray | IntArray = weight if chosen.all() else weight[chosen]
        del chosen
        if combine is _Combine.MOST:
            value = _places(units, left, right, value)
        one_pair = np.broadcast_to(np.int32(1), len(left))
        links = _Links(left, right, value, one_pair)
        del left, right, value
        _join_all(units, links, combine)
        first[nodes] = nodes[units.unit]
    return first


def _places(
    units: _Units, left: IntArray, right: IntArray, weight: IndexArray | IntArray
) -> IntArray:
    """Return the position of each link in ascending weight; ties are ordered by descending rank."""
    order: IndexArray | IntArray = np.argsort(weight)
    ordered = weight[order]
    has_ties = (ordered[1:] == ordered[:-1]).any()
    del ordered
    if has_ties:
        # All links in two steps, as sorting ties by two keys takes twice the memory.
        drawn = np.empty(len(weight), np.int64)
        for part in blocks(len(weight)):
            ranks = units.rank[left[part]], units.rank[right[part]]
            drawn[part] = -np.minimum(*ranks) * len(units.rank) - np.maximum(*ranks)
        del order
        order = np.argsort(drawn, kind="stable").astype(np.int32)
        del drawn
        order = order[np.argsort(weight[order], kind="stable")]
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(1, len(order) + 1, dtype=np.int32)
    return places


def _join_all(units: _Units, links: _Links, combine: _Combine) -> None:
    """Join units until no link is left, in place."""
    equal = np.flatnonzero(units.rank[links.left] == units.rank[links.right])
    # Links are sorted by left, then right, so the first link of a right node names its smallest
    # copy.
    right, first = np.unique(links.right[equal], return_index=True)
    left = links.left[equal[first]]
    if len(left):
        links = _after(units, links, left, right, combine)
    while len(links):
        best = _best_of_both(units, links, combine)
        if len(links) <= _MOST_SINGLY and len(best) * _FEW < _n_linked(units, links):
            _join_singly(units, links, combine)
            return
        links = _after(units, links, links.left[best], links.right[best], combine)


def _n_linked(units: _Units, links: _Links) -> int:
    """Return the number of units that have a link."""
    linked = np.zeros(len(units.unit), np.bool_)
    linked[links.left] = True
    linked[links.right] = True
    return int(np.count_nonzero(linked))


def _join_singly(units: _Units, links: _Links, combine: _Combine) -> None:
    """Join units one pair at a time until no link is left, in place."""
    authors = [
        sum(word << _WORD * place for place, word in enumerate(words))
        for words in units.authors.tolist()
    ]
    if combine is _Combine.MOST:
        order = np.argsort(-links.weight)
        left, right = join_in_order(links.left[order], links.right[order], authors)
    else:
        complete = combine is _Combine.LEAST
        near = neighbours(links.left, links.right, links.weight)
        size = [1] * len(authors) if complete else units.size.tolist()
        linked = LinkedUnits(near, size, units.rank.tolist(), authors, complete)
        left, right = join_along_chains(linked)
    target = list(range(len(units.unit)))
    for one, other in zip(left, right, strict=True):
        target[other] = one
    # A unit is joined to an earlier one, whose own target is already known.
    for node, to in enumerate(target):
        target[node] = target[to]
    units.unit = np.array(target, np.int32)[units.unit]


def _after(
    units: _Units, links: _Links, left: IntArray, right: IntArray, combine: _Combine
) -> _Links:
    """Join units, and return the remaining links."""
    target = units.join(left, right)
    grown = np.zeros(len(target), np.bool_)
    grown[left] = True
    touched = grown[target[links.left]] | grown[target[links.right]]
    kept = links.take(np.flatnonzero(~touched))
    moved = np.flatnonzero(touched).astype(np.int32)
    ends = target[links.left[moved]], target[links.right[moved]]
    low, high = np.minimum(*ends), np.maximum(*ends)
    del ends
    apart = (low != high) & ~units.share_author(low, high)
    low, high, moved = low[apart], high[apart], moved[apart]
    key = low * np.int64(len(target)) + high
    order = np.argsort(key).astype(np.int32)
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    if not len(starts):
        return kept
    moved = moved[order]
    joined = _Links(
        low[order[starts]],
        high[order[starts]],
        combine.value.reduceat(links.weight[moved], starts),
        np.add.reduceat(links.n_pairs[moved], starts),
    )
    if combine is _Combine.LEAST:
        # A pair below the threshold would be in all larger units as well.
        size = units.size
        joined = joined.take(joined.n_pairs == size[joined.left] * size[joined.right])
    columns = ("left", "right", "weight", "n_pairs")
    return _Links(*(np.concatenate([getattr(kept, c), getattr(joined, c)]) for c in columns))


def _best_of_both(units: _Units, links: _Links, combine: _Combine) -> IndexArray:
    """Return the links that are the best link of both their units."""
    left, right = links.left, links.right
    value: IndexArray | IntArray | FloatArray = links.weight
    if combine is _Combine.SUM:
        value = value.astype(np.float64)
        for part in blocks(len(value)):
            value[part] /= units.size[left[part]] * units.size[right[part]]
    best = np.zeros(len(units.size), value.dtype)
    np.maximum.at(best, left, value)
    np.maximum.at(best, right, value)
    top = np.flatnonzero((value == best[left]) | (value == best[right]))
    left, right, value = left[top], right[top], value[top]
    of_left, of_right = value == best[left], value == best[right]
    ranks = units.rank[left], units.rank[right]
    # Equal annotations are in the same unit, so no two links have equal ranks.
    tie = np.minimum(*ranks) * len(best) + np.maximum(*ranks)
    least = np.full(len(best), np.iinfo(np.int64).max)
    np.minimum.at(least, left[of_left], tie[of_left])
    np.minimum.at(least, right[of_right], tie[of_right])
    of_both: IndexArray = top[of_left & of_right & (tie == least[left]) & (tie == least[right])]
    return of_both
