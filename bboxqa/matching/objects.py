"""Objects: units that overlap loosely, and boxes that one annotator drew twice."""

from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import IndexArray, component_of_each, distinct, rows, run_starts, sum_by
from bboxqa.matching.linkage import drawn_ranks, join_in_order, with_repetition
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
    hard = np.isin(home, with_repetition(home[units.unit], annotations.annotator))
    pairs, unit = near.take(apart[hard[first]]), units.unit
    # By descending similarity, then by the shapes of pairs and their units'.
    nodes = np.flatnonzero(np.isin(unit, distinct(unit[np.append(pairs.left, pairs.right)])))
    rank = np.zeros(len(annotations), np.int64)
    rank[nodes] = drawn_ranks(annotations, nodes) + 1
    keys = []
    for value in (sum_by(unit, rank, len(units))[unit], rank):
        keys += [*np.sort([value[pairs.left], value[pairs.right]], axis=0)[::-1]]
    ordered = pairs.take(np.lexsort((*keys, -np.rint(pairs.similarity * _STEPS))))
    home[hard] = _merged(unit, annotations, ordered)[hard]
    return np.unique(home, return_inverse=True)[1].astype(np.int64, copy=False)


def _merged(
    home: IndexArray, annotations: Annotations, pairs: CandidatePairs, common: Sequence[int] = ()
) -> IndexArray:
    """Return what each object is merged into along the pairs, in their order, (O,)."""
    into = np.arange(int(home.max(initial=-1)) + 1)
    merged = distinct(home[np.append(pairs.left, pairs.right)])
    place, members = np.searchsorted(merged, home), np.flatnonzero(np.isin(home, merged))
    authors = [0] * len(merged)
    who = annotations.annotator[members].tolist()
    for each, author in zip(place[members].tolist(), who, strict=True):
        authors[each] |= 1 << author
    into[merged] = merged[join_in_order(place[pairs.left], place[pairs.right], authors, common)]
    return into


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
    nodes = distinct(np.concatenate([pairs.left, pairs.right]))
    rank = np.zeros(len(annotations), np.int64)
    rank[nodes] = drawn_ranks(annotations, nodes)
    low, high = np.sort([rank[pairs.left], rank[pairs.right]], axis=0)
    pairs = pairs.take(np.lexsort((high, low, -pairs.similarity.round(9))))
    authors = [1 << author for author in annotations.annotator[pairs.left].tolist()]
    into = _merged(home, annotations, pairs, authors)
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
