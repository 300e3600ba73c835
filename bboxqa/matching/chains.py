"""Linkage that joins one pair of units at a time, for data in which few can be joined at once."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray


@dataclass(slots=True)
class LinkedUnits:
    """The current units of K nodes and their links; a unit is named by its smallest node.

    Attributes
    ----------
    near : dict
        For each unit, the units that it may be joined to, with the weight of the link.
    size, rank, authors : list of int
        For each of K units, the divisor of weights, the rank that breaks ties, and the annotators
        as bits.
    complete : bool
        Whether two units may be joined only if all their parts may. The weight of the link is then
        the minimum of the parts' weights, and otherwise their sum.
    """

    near: dict[int, dict[int, int]]
    size: list[int]
    rank: list[int]
    authors: list[int]
    complete: bool

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
