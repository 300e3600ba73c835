"""Objects: units that overlap loosely, and boxes that one annotator drew twice."""

import numpy as np

from bboxqa.core.arrays import (
    IndexArray,
    component_of_each,
    distinct,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.matching.linkage import drawn_ranks
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs, UnitTable

# Similarities are rounded to such steps, so that rounding errors do not matter.
_STEPS = 1 << 30


def loose_objects(annotations: Annotations, units: UnitTable, near: CandidatePairs) -> IndexArray:
    """Return the object of each unit, (U,) int64.

    Units of different annotators that overlap loosely are joined, pair by pair in descending
    similarity, unless an annotator would appear twice. A badly placed box is then part of an
    object, rather than an object that the others missed. Ties are broken by the boxes; names and
    ids have no effect.

    Parameters
    ----------
    annotations : Annotations
        N annotations, ordered by image, then annotator.
    units : UnitTable
        The unit of each annotation.
    near : CandidatePairs
        The pairs that overlap loosely.

    Returns
    -------
    (U,) int64
        Objects are numbered in the order of their first units.
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
    order = np.lexsort((annotations.annotator, home[units.unit]))
    author, place = annotations.annotator[order], home[units.unit][order]
    twice = place[1:][(np.diff(place) == 0) & (np.diff(author) == 0)]
    hard = np.isin(home, twice)
    home[hard] = np.flatnonzero(hard)
    _join(home, annotations, units, near.take(apart[hard[first]]))
    return np.unique(home, return_inverse=True)[1].astype(np.int64, copy=False)


def _join(
    home: IndexArray, annotations: Annotations, units: UnitTable, pairs: CandidatePairs
) -> None:
    """Join units along the pairs, unless an annotator would appear twice, in place."""
    unit = units.unit
    nodes = np.flatnonzero(np.isin(unit, distinct(unit[np.append(pairs.left, pairs.right)])))
    authors: dict[int, int] = {}
    for one, author in zip(
        unit[nodes].tolist(), annotations.annotator[nodes].tolist(), strict=True
    ):
        authors[one] = authors.get(one, 0) | 1 << author
    members = {one: [one] for one in authors}
    # By descending similarity, then by the shapes of pairs and their units'.
    rank = np.zeros(len(annotations), np.int64)
    rank[nodes] = drawn_ranks(annotations, nodes) + 1
    of_unit = sum_by(unit, rank, len(units))
    keys = []
    for value in (of_unit[unit], rank):
        keys += [*np.sort([value[pairs.left], value[pairs.right]], axis=0)[::-1]]
    ordered = pairs.take(np.lexsort((*keys, -np.rint(pairs.similarity * _STEPS))))
    of = {one: one for one in authors}
    ends = unit[ordered.left].tolist(), unit[ordered.right].tolist()
    for one, other in zip(*ends, strict=True):
        a, b = sorted((of[one], of[other]))
        if authors[a] & authors[b]:
            continue
        authors[a] |= authors[b]
        members[a] += members.pop(b)
        of |= dict.fromkeys(members[a], a)
    home[list(of)] = list(of.values())


def without_repetitions(
    annotations: Annotations, home: IndexArray, near: CandidatePairs, own: CandidatePairs
) -> IndexArray:
    """Return the object of each annotation, (N,) int64, with second boxes as objects of their own.

    Two objects are in fact one if they share only one annotator, whose two boxes match each other,
    and if others drew both and overlap at least loosely. The box in the smaller object is then a
    repetition, and no other annotator missed anything.

    Parameters
    ----------
    annotations : Annotations
        N annotations.
    home : (N,) int64
        The object of each annotation; no annotator appears twice in an object.
    near : CandidatePairs
        The pairs of annotations by two annotators that overlap loosely.
    own : CandidatePairs
        The pairs of annotations by one annotator that match.
    """
    size = np.bincount(home)
    # Pairs of one annotator that may join two objects that others drew as well.
    one, other = home[own.left], home[own.right]
    several = np.flatnonzero((size[one] > 1) & (size[other] > 1))
    if not len(several):
        return home
    one, other = one[several], other[several]
    key = np.minimum(one, other) * len(size) + np.maximum(one, other)
    author = annotations.annotator[own.left[several]]
    ends = home[near.left], home[near.right]
    of_near = np.minimum(*ends) * len(size) + np.maximum(*ends)
    order = np.argsort(of_near, kind="stable")
    first, last = (np.searchsorted(of_near[order], key, side) for side in ("left", "right"))
    place, offsets = rows(first, last)
    pair = np.repeat(np.arange(len(key)), np.diff(offsets))
    others = (annotations.annotator[side[order[place]]] for side in (near.left, near.right))
    by_others = np.logical_and(*(each != author[pair] for each in others))
    pairs = own.take(several[np.bincount(pair[by_others], minlength=len(key)) > 0])
    if not len(pairs):
        return home
    into = _joined(annotations, home, pairs)
    touched = np.flatnonzero(np.isin(into[home], into[home[pairs.left]]))
    rank = drawn_ranks(annotations, touched)
    author, root = annotations.annotator[touched], into[home[touched]]
    # Of the boxes of an annotator, the one that matches more of the others stays.
    order = np.lexsort((rank, -size[home[touched]], author, root))
    again = np.ones(len(touched), np.bool_)
    again[order[run_starts(root[order] * (int(author.max()) + 1) + author[order])]] = False
    result = into[home]
    result[touched[again]] = len(size) + np.arange(again.sum())
    return np.unique(result, return_inverse=True)[1].astype(np.int64, copy=False)


def _joined(annotations: Annotations, home: IndexArray, pairs: CandidatePairs) -> IndexArray:
    """Return the object that each object is merged into along the pairs, (O,)."""
    into = np.arange(int(home.max()) + 1)
    ends = distinct(np.concatenate([pairs.left, pairs.right]))
    members = np.flatnonzero(np.isin(home, home[ends]))
    authors: dict[int, int] = {}
    for each, author in zip(
        home[members].tolist(), annotations.annotator[members].tolist(), strict=True
    ):
        authors[each] = authors.get(each, 0) | 1 << author
    rank = np.zeros(len(annotations), np.int64)
    rank[ends] = drawn_ranks(annotations, ends)
    low, high = np.sort([rank[pairs.left], rank[pairs.right]], axis=0)
    of = {each: each for each in authors}
    for place in np.lexsort((high, low, -pairs.similarity.round(9))).tolist():
        left = int(pairs.left[place])
        one, other = (_root(of, int(home[end])) for end in (left, int(pairs.right[place])))
        if one == other or authors[one] & authors[other] != 1 << int(annotations.annotator[left]):
            continue
        one, other = sorted((one, other))
        of[other] = one
        authors[one] |= authors[other]
    into[list(of)] = [_root(of, each) for each in of]
    return into


def _root(of: dict[int, int], each: int) -> int:
    while of[each] != each:
        each = of[each]
    return each
