"""Greedy, average and complete linkage of several annotators, and how ties are broken."""

from itertools import pairwise
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import (
    BoolArray,
    IndexArray,
    IntArray,
    blocks,
    component_of_each,
    distinct,
    run_starts,
    sum_by,
)
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs, UnitTable

__all__ = ["drawn_ranks"]

Linkage = Literal["greedy", "average", "complete"]


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
    ranks = np.zeros(len(nodes), np.int64)
    turned, outlines, points = (
        annotations.rotated_box, annotations.segmentation, annotations.keypoints
    )  # fmt: skip
    if turned is None and outlines is None and points is None:
        return ranks
    keys = []
    for node in nodes.tolist():
        key: list[Any] = [] if turned is None else [turned[node].tolist()]
        if outlines is not None:
            rings = [ring.tolist() for ring in outlines.rings(node)]
            key += [int(outlines.kind[node]), rings, outlines.rle(node)["counts"]]
        if points is not None:
            held = slice(int(points.start[node]), int(points.stop[node]))
            area = float(np.nan_to_num(points.area[node], nan=-1.0))
            key += [points.xy[held].tolist(), points.visibility[held].tolist(), area]
        keys.append(key)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    for before, after in pairwise(order):
        ranks[after] = ranks[before] + (keys[before] != keys[after])
    return ranks


def author_ranks(annotations: Annotations) -> IndexArray:
    """Return the rank of each annotation's author among the annotators of its image, (N,).

    As images are independent, the first annotators of all images are matched at once with the
    second annotators, whoever they are.
    """
    new_image = np.diff(annotations.image, prepend=-1) != 0
    new_author = new_image | (np.diff(annotations.annotator, prepend=-1) != 0)
    number = np.cumsum(new_author)
    starts = np.flatnonzero(new_image)
    return np.asarray(number - np.repeat(number[starts], np.diff(starts, append=len(number))))


def with_repetition(home: IndexArray, annotator: IntArray) -> IndexArray:
    """Return the components in which an annotator appears twice, and which are not one unit."""
    order = np.lexsort((annotator, home))
    place, author = home[order], annotator[order]
    twice = (np.diff(place) == 0) & (np.diff(author) == 0)
    return np.asarray(place[1:][twice])


def linked(
    annotations: Annotations, pairs: CandidatePairs, weight: IndexArray, linkage: Linkage = "greedy"
) -> IndexArray:
    """Return the first annotation of each annotation's unit, (N,), of several annotators.

    Units are joined pair by pair, unless an annotator would appear twice: in descending weight
    ("greedy"), where the similarity of two units is that of their most similar pair; or again and
    again the two with the highest mean weight of their pairs (Sokal and Michener 1958), of which
    those below the threshold count as 0 ("average"); or the two whose least similar pair has the
    highest weight, so that all pairs of a unit reach the threshold ("complete").

    The result does not depend on the order of the annotators: equal annotations are joined first,
    and other ties are broken as `drawn_ranks` says. But for "greedy", two units that are nearest to
    each other are found along chains of nearest neighbours, which is equivalent to joining the
    nearest two of all units (Müllner 2011, arXiv:1109.2378).
    """
    first = component_of_each(len(annotations), pairs.left, pairs.right)
    hard = np.isin(first, with_repetition(first, annotations.annotator))
    if linkage == "complete":
        size = np.bincount(first)
        n_pairs = np.bincount(first[pairs.left], minlength=len(size))
        hard |= (2 * n_pairs < size * (size - 1))[first]
    nodes = np.flatnonzero(hard)
    if len(nodes):
        place = np.cumsum(hard) - 1
        kept = np.flatnonzero(hard[pairs.left])
        left, right = place[pairs.left[kept]], place[pairs.right[kept]]
        rank = drawn_ranks(annotations, nodes)
        authors = [1 << author for author in author_ranks(annotations)[nodes].tolist()]
        if linkage == "greedy":
            # Equal annotations come first, then those of higher weight; ties are broken by rank.
            low, high = np.minimum(rank[left], rank[right]), np.maximum(rank[left], rank[right])
            order = np.lexsort((high, low, -weight[kept], low != high))
            del low, high
            home = join_in_order(left[order], right[order], authors)
        else:
            units = LinkedUnits({}, [1] * len(nodes), rank.tolist(), authors, linkage == "complete")
            equal = rank[left] == rank[right]
            # Image by image, as the links of all images take much memory.
            starts = run_starts(annotations.image[pairs.left[kept]])
            for links in map(slice, starts.tolist(), [*starts[1:].tolist(), len(kept)]):
                units.join_all(left[links], right[links], weight[kept[links]], equal[links])
            home = units.home()
        first[nodes] = nodes[home]
    return first


# Fewest links that are looked at before those within a unit are left out.
_LINKS = 1 << 15


def join_in_order(left: IndexArray, right: IndexArray, authors: list[int]) -> list[int]:
    """Return the unit of each node, its smallest node, joined along links in this order."""
    home = list(range(len(authors)))
    members: dict[int, list[int]] = {}
    # As many links as a quarter of the nodes, since the units of all nodes are copied each time.
    step = max(_LINKS, len(home) // 4)
    for start in range(0, len(left), step):
        units, links = np.array(home), np.arange(start, min(start + step, len(left)))
        links = links[units[left[links]] != units[right[links]]]
        for one, other in zip(left[links].tolist(), right[links].tolist(), strict=True):
            first, second = home[one], home[other]
            if first == second or authors[first] & authors[second]:
                continue
            if first > second:
                first, second = second, first
            authors[first] |= authors[second]
            moved = members.pop(second, [second])
            for node in moved:
                home[node] = first
            members.setdefault(first, [first]).extend(moved)
    return home


# Similarities are rounded to such steps, so that rounding errors do not matter.
_STEPS = 1 << 30


def loose_objects(annotations: Annotations, units: UnitTable, near: CandidatePairs) -> IndexArray:
    """Return the object of each unit, (U,), numbered in the order of their first units.

    Units of different annotators that overlap loosely (`near`) are joined, pair by pair in
    descending similarity, unless an annotator would appear twice. A badly placed box is then part
    of an object, rather than an object that the others missed. Ties are broken by the boxes; names
    and ids have no effect.
    """
    size = np.bincount(units.unit, minlength=len(units))
    one, other = units.unit[near.left], units.unit[near.right]
    # Two units together have at most one annotation per author of the image.
    image = annotations.image
    starts = run_starts(image.astype(np.int64) * (1 << 31) + annotations.annotator)
    n_authors = np.bincount(image[starts], minlength=int(image.max(initial=0)) + 1)
    fits = size[one] + size[other] <= n_authors[units.image[one]]
    apart = np.flatnonzero((one != other) & fits)
    first, second = one[apart], other[apart]
    home = component_of_each(len(units), first, second)
    # A component in which no annotator appears twice is one object.
    hard = np.isin(home, with_repetition(home[units.unit], annotations.annotator))
    pairs, unit = near.take(apart[hard[first]]), units.unit
    # By descending similarity, then by the shapes of pairs and their units'.
    merged = distinct(unit[np.append(pairs.left, pairs.right)])
    nodes = np.flatnonzero(np.isin(unit, merged))
    rank = np.zeros(len(annotations), np.int64)
    rank[nodes] = drawn_ranks(annotations, nodes) + 1
    keys = []
    for value in (sum_by(unit, rank, len(units))[unit], rank):
        keys += [*np.sort([value[pairs.left], value[pairs.right]], axis=0)[::-1]]
    ordered = pairs.take(np.lexsort((*keys, -np.rint(pairs.similarity * _STEPS))))
    into, place = np.arange(len(units)), np.searchsorted(merged, unit)
    authors, who = [0] * len(merged), annotations.annotator[nodes].tolist()
    for each, author in zip(place[nodes].tolist(), who, strict=True):
        authors[each] |= 1 << author
    into[merged] = merged[join_in_order(place[ordered.left], place[ordered.right], authors)]
    home[hard] = into[hard]
    return np.unique(home, return_inverse=True)[1].astype(np.int64, copy=False)


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
    joined: dict[int, int] = msgspec.field(default_factory=dict)
    """The unit that each unit which is no more was joined to."""

    def nearest(self, unit: int) -> int:
        """Return the linked unit with the highest value; ties are broken by rank."""
        size, rank, own_size = self.size, self.rank, self.size[unit]
        best, highest = -1, -1.0
        for other, weight in self.near[unit].items():
            value = weight / (own_size * size[other])
            if value > highest or (value == highest and rank[other] < rank[best]):
                best, highest = other, value
        return best

    def join(self, left: int, right: int) -> None:
        """Join the right unit to the left one."""
        near = self.near
        of_left, of_right = near[left], near.pop(right)
        del of_left[right], of_right[left]
        self.joined[right] = left
        self.authors[left] |= self.authors[right]
        self.rank[left] = min(self.rank[left], self.rank[right])
        if not self.complete:
            self.size[left] += self.size[right]
        everyone = self.authors[left]
        links: dict[int, int] = {}
        for other in of_left.keys() | of_right.keys():
            back = near[other]
            one, two = back.pop(left, 0), back.pop(right, 0)
            if self.authors[other] & everyone or (self.complete and not (one and two)):
                continue
            links[other] = back[left] = min(one, two) if self.complete else one + two
        near[left] = links

    def join_all(
        self, left: IndexArray, right: IndexArray, weight: IndexArray, equal: BoolArray
    ) -> None:
        """Join units along links until none is left, those of equal annotations first.

        Starting at a unit, the chain goes on to the nearest neighbour of its last unit, until two
        units are nearest to each other and are joined. As a join never brings units nearer, the
        result is the same as joining the nearest two of all units.
        """
        # One object for each unit, as an image can have millions of links.
        names = {unit: unit for unit in distinct(np.append(left, right)).tolist()}
        near: dict[int, dict[int, int]] = {unit: {} for unit in names}
        self.near = near
        for part in blocks(len(left)):
            sides = left[part].tolist(), right[part].tolist(), weight[part].tolist()
            for one, other, value in zip(*sides, strict=True):
                near[one][names[other]] = near[other][names[one]] = value
        for one, other in zip(left[equal].tolist(), right[equal].tolist(), strict=True):
            if one in near and other in near:
                self.join(one, other)
        for start in list(near):
            chain = [start]
            while chain:
                last = chain[-1]
                if not near.get(last):
                    chain.pop()
                    continue
                nearest = self.nearest(last)
                if len(chain) == 1 or chain[-2] != nearest:
                    chain.append(nearest)
                    continue
                del chain[-2:]
                one, other = sorted((last, nearest))
                self.join(one, other)
                if not chain:
                    # The joined unit may have further links, and no other chain begins with it.
                    chain.append(one)

    def home(self) -> list[int]:
        """Return the unit of each node."""
        home = list(range(len(self.rank)))
        # A unit is joined to an earlier one, whose own unit is already known.
        for node in sorted(self.joined):
            home[node] = home[self.joined[node]]
        return home
