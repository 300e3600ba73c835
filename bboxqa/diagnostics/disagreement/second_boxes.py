"""Second boxes and parts of objects that match by chance."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    find,
    frozen_arrays,
    rows,
    sum_by,
)
from bboxqa.diagnostics.disagreement.drawn_objects import (
    DrawnObjects,
    drawn_objects,
    object_ranks,
)
from bboxqa.diagnostics.disagreement.nested_boxes import OddBoxes, accepted_pairs, nested_pairs
from bboxqa.diagnostics.disagreement.parts import parts
from bboxqa.diagnostics.object_cells import edges_of
from bboxqa.model.units import CandidatePairs, MatchedUnits

# Largest distance of second boxes that show another object, relative to that from first boxes.
_NEARER = 1 / 3


@frozen_arrays
class _Beside:
    """P pairs of overlapping objects of several annotators each, and the B boxes of the smaller."""

    small: IndexArray
    large: IndexArray
    """(P,) int64. The object that fewer drew, and the other one."""
    pair: IndexArray
    box: IndexArray
    """(B,) int64. The pair and the annotation of each box of a small object."""
    other: IndexArray
    """(B,) int64. The annotation of the large object by the same annotator; -1 for none."""

    def count(self, which: BoolArray) -> IndexArray:
        """Return the number of boxes of each pair where `which`, (B,) bool, is true, (P,)."""
        return np.bincount(self.pair[which], minlength=len(self.small))


def with_second_boxes_apart(matched: MatchedUnits) -> MatchedUnits:
    """Return units in which second boxes and parts that match by chance are separate objects.

    If one annotator draws an object twice and another draws it in halves, the second box may match
    a half. Such boxes are an object that the others miss only if more than half of the annotators
    drew them for the same reason, or two annotators drew the same two boxes. Otherwise each becomes
    an object of its own, which `kinds.disagreements` counts with the surrounding object, and single
    boxes of others that match them are joined to that object.
    """
    objects = drawn_objects(matched)
    beside = _beside(matched, objects)
    shared = beside.other >= 0
    twice, part = shared & _are_twice(matched, beside), shared & _are_parts(matched, beside)
    part &= ~twice
    known = beside.count(twice | part)
    around = _are_around(matched, beside, ~shared & (known > 0)[beside.pair])
    single = ~shared & ~around
    apart = (known > 0) & (beside.count(shared & ~twice & ~part) == 0)
    for reason in (twice, part, around):
        apart &= 2 * beside.count(reason) <= objects.n_asked[beside.small]
    apart &= ~_are_two_objects(matched, beside, twice)
    apart &= beside.count(single & ~_overlap(matched, beside, single)) == 0
    taken = _taken(matched, beside, apart, single)
    if not taken.any():
        return matched
    of = objects.of.copy()
    moved, own = (np.flatnonzero(taken[beside.pair] & which) for which in (single, ~single))
    of[beside.box[moved]] = beside.large[beside.pair[moved]]
    of[beside.box[own]] = len(objects) + np.arange(len(own))
    numbers = np.unique(of, return_inverse=True)[1]
    return replace(matched, objects=numbers.astype(np.int64, copy=False))


def _taken(
    matched: MatchedUnits, beside: _Beside, apart: BoolArray, single: BoolArray
) -> BoolArray:
    """Return (P,) bool: pairs to resolve, one per small object, if its large object is not small.

    Of several pairs, the one whose large object most annotators drew is taken. An annotator may not
    appear twice in it.
    """
    rank = object_ranks(matched)
    chosen = np.flatnonzero(apart & ~np.isin(beside.large, beside.small[apart]))
    chosen = chosen[np.lexsort((rank[beside.large[chosen]], beside.small[chosen]))]
    chosen = chosen[np.unique(beside.small[chosen], return_index=True)[1]]
    moves = beside.count(single)[chosen] > 0
    movers = chosen[moves][np.argsort(rank[beside.small[chosen[moves]]])]
    movers = movers[np.unique(beside.large[movers], return_index=True)[1]]
    taken = np.zeros(len(apart), np.bool_)
    taken[chosen[~moves]] = True
    taken[movers] = True
    return taken


def _beside(matched: MatchedUnits, objects: DrawnObjects) -> _Beside:
    """Return pairs of objects of several annotators whose annotations overlap."""
    rank, (left, right) = object_ranks(matched), _overlapping(matched)
    one, other = objects.of[left], objects.of[right]
    several = np.flatnonzero((objects.n_drawn[one] > 1) & (objects.n_drawn[other] > 1))
    one, other = one[several], other[several]
    swap = rank[one] < rank[other]
    key = np.where(swap, other, one) * len(objects) + np.where(swap, one, other)
    small, large = np.divmod(np.unique(key), max(len(objects), 1))
    starts = np.cumsum(objects.n_drawn) - objects.n_drawn
    place, offsets = rows(starts[small], starts[small] + objects.n_drawn[small])
    pair = np.repeat(np.arange(len(small)), np.diff(offsets))
    n_annotators = len(matched.data.annotator_names)
    author = objects.key[place] - small[pair] * n_annotators
    other = objects.annotation(large[pair] * n_annotators + author)
    return _Beside(small, large, pair, objects.by_key[place], other)


def _overlapping(matched: MatchedUnits) -> tuple[IndexArray, IndexArray]:
    """Return the annotations of each pair of two objects."""
    pairs = matched.near, matched.own
    left, right = (
        np.concatenate([getattr(each, side) for each in pairs]) for side in ("left", "right")
    )
    apart = np.flatnonzero(matched.objects[left] != matched.objects[right])
    return left[apart], right[apart]


def _are_twice(matched: MatchedUnits, beside: _Beside) -> BoolArray:
    """Return (B,) bool: boxes that match their annotators' own boxes of the large object."""
    low, high = np.minimum(beside.box, beside.other), np.maximum(beside.box, beside.other)
    n = len(matched.objects)
    result: BoolArray = np.isin(low * n + high, matched.own.left * n + matched.own.right)
    return result


def _are_two_objects(matched: MatchedUnits, beside: _Beside, twice: BoolArray) -> BoolArray:
    """Return (P,) bool: pairs that are two objects, as two or more drew the same two boxes.

    Their second boxes are closer to each other than to the first boxes of their annotators. Second
    boxes of one object that several drew twice scatter in all directions.
    """
    found = np.flatnonzero(twice)
    found = found[np.argsort(beside.pair[found], kind="stable")]
    box, pair = beside.box[found], beside.pair[found]
    follows = pair[1:] == pair[:-1]
    between = _similarity(matched.near, len(matched.objects), box[:-1][follows], box[1:][follows])
    own = _similarity(matched.own, len(matched.objects), box, beside.other[found])
    least, most = np.ones(len(beside.small)), np.zeros(len(beside.small))
    np.minimum.at(least, pair[1:][follows], between)
    np.maximum.at(most, pair, own)
    result: BoolArray = (beside.count(twice) > 1) & (1 - least <= _NEARER * (1 - most))
    return result


def _similarity(pairs: CandidatePairs, n: int, one: IndexArray, other: IndexArray) -> FloatArray:
    """Return the similarity of annotations, 0 if they are not among the pairs."""
    known = np.minimum(pairs.left, pairs.right) * n + np.maximum(pairs.left, pairs.right)
    place = find(known, np.minimum(one, other) * n + np.maximum(one, other))
    similarity = np.append(pairs.similarity, 0.0)
    return np.where(place >= 0, similarity[place], 0.0)


def _are_parts(matched: MatchedUnits, beside: _Beside) -> BoolArray:
    """Return (B,) bool: boxes that are further parts of the large object.

    The size of the large object is the mean over annotators who drew one box for both objects, or
    two matching ones.
    """
    edges, of = edges_of(matched.data.annotations.bbox), matched.objects
    is_part = (beside.other >= 0) & ~_are_twice(matched, beside)
    n_drawn = np.bincount(of)
    left_out = beside.other[is_part]
    n = n_drawn[beside.large] - beside.count(is_part)
    wholes = []
    for edge in edges.T:
        total = sum_by(of, edge, len(n_drawn))[beside.large]
        total -= np.bincount(beside.pair[is_part], edge[left_out], len(n))
        wholes.append(np.where(n > 0, total, np.nan) / np.maximum(n, 1))
    whole = np.column_stack(wholes)[beside.pair[is_part]]
    box, result = beside.box[is_part], np.zeros(len(is_part), np.bool_)
    annotations = matched.data.annotations
    odd = OddBoxes(
        of[box],
        annotations.image[box].astype(np.int64),
        annotations.annotator[box].astype(np.int64),
        box,
        edges[box],
    )
    pairs = nested_pairs(odd, np.arange(len(box)), left_out, edges[left_out], whole)
    result[np.flatnonzero(is_part)[pairs.odd[accepted_pairs(pairs, odd.is_merge)]]] = True
    return result


def _are_around(matched: MatchedUnits, beside: _Beside, possible: BoolArray) -> BoolArray:
    """Return (B,) bool: boxes around several objects."""
    result = np.zeros(len(possible), np.bool_)
    if possible.any():
        found = parts(matched)
        result[possible] = np.isin(beside.box[possible], found.box[found.is_merge])
    return result


def _overlap(matched: MatchedUnits, beside: _Beside, single: BoolArray) -> BoolArray:
    """Return (B,) bool: boxes that overlap others' boxes of the large object."""
    left, right = _overlapping(matched)
    of, n = matched.objects, int(matched.objects.max(initial=0)) + 1
    wanted = np.where(single, beside.box * n + beside.large[beside.pair], -1)
    known = np.concatenate([left * n + of[right], right * n + of[left]])
    result: BoolArray = np.isin(wanted, known)
    return result
