"""Objects that one annotator drew twice, so that others match either of the two boxes."""

import numpy as np

from bboxqa.core.arrays import IndexArray, rows, run_starts
from bboxqa.matching.ties import drawn_ranks
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs


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
    pairs = own.take(_candidates(annotations, home, near, own))
    if not len(pairs):
        return home
    size = np.bincount(home)
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


def _candidates(
    annotations: Annotations, home: IndexArray, near: CandidatePairs, own: CandidatePairs
) -> IndexArray:
    """Return the pairs of one annotator that may join two objects that others drew as well."""
    size = np.bincount(home)
    one, other = home[own.left], home[own.right]
    several = np.flatnonzero((size[one] > 1) & (size[other] > 1))
    if not len(several):
        return several
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
    linked = np.bincount(pair[by_others], minlength=len(key)) > 0
    return several[linked]


def _joined(annotations: Annotations, home: IndexArray, pairs: CandidatePairs) -> IndexArray:
    """Return the object that each object is merged into along the pairs, (O,).

    Pairs are taken in descending similarity, then by their shapes, and only if no annotator other
    than the pair's drew both objects.
    """
    into = np.arange(int(home.max()) + 1)
    ends = np.unique(np.concatenate([pairs.left, pairs.right]))
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
