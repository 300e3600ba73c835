"""Annotations with the same id in both versions, where ids tell annotations apart."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.geometry.kernels.boxes import overlap
from bboxqa.model.annotations import Annotations
from bboxqa.pipelines.versions.equal import content_of, equal_pairs, open_rows
from bboxqa.pipelines.versions.similar import Pairs

CHANGED = "ids changed"
"""Why ids are not used that equal annotations do not share."""

# Ids are trusted if at least this share of the annotations with equal ids overlap, and of those
# that are equal in both versions have equal ids.
_STABLE = 0.9
# The least share of equal annotations that shows that ids are no positions.
_MOST = 0.5
# Annotations with equal ids are also the same if they are left over and no edge moved by more than
# this, in longest sides: small boxes do not overlap after a small move.
_NEAR = 2.0
_NO_ROWS: IndexArray = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class IdPairs:
    """Pairs of annotations with the same id."""

    sure: Pairs = (_NO_ROWS, _NO_ROWS)
    """Those that overlap or are equal."""
    near: Pairs = (_NO_ROWS, _NO_ROWS)
    """Those that are near: they are the same annotation if both are left over."""
    unused: str = ""
    """Why ids are not used; empty if they are."""


def pairs_by_id(
    annotations: Annotations, codes: IndexArray, edges: FloatArray, doubt: str = ""
) -> IdPairs:
    """Return the pairs with equal ids, if ids stayed the same.

    Where equal annotations of an image have another id that is in use in the other version, ids
    have moved on: from the lowest of these on, an id says nothing in this image.

    Parameters
    ----------
    annotations : Annotations
        N annotations of two annotators, the versions.
    codes : (N,) int64
        Codes of ids, in their order.
    edges : (N, 4) float64
        The edges of the boxes.
    doubt : str
        Why ids may be positions. They are then used only if most annotations with equal ids are
        equal, and no annotation has another id: after one deletion, later ones would have.
    """
    left, right = _same_id(annotations, codes)
    first, second = edges[left], edges[right]
    is_equal = np.logical_and.reduce(
        [each[left] == each[right] for each in content_of(annotations)]
    )
    overlapping = (overlap(first, second) > 0) | (first == second).all(1)
    old, new = _with_another_id(annotations, codes, left[is_equal], right[is_equal])
    n_equal = int(is_equal.sum())
    is_kept = n_equal >= _STABLE * (n_equal + len(old))
    if not (len(left) and is_kept and overlapping.mean() >= _STABLE):
        return IdPairs(unused=doubt or CHANGED)
    if doubt and (len(old) or n_equal < _MOST * len(left)):
        return IdPairs(unused=doubt)
    first_moved = np.full(int(annotations.image.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first_moved, annotations.image[old], np.minimum(codes[old], codes[new]))
    kept = codes[left] < first_moved[annotations.image[left]]
    longest = np.maximum(*(annotations.bbox[each, 2:].max(1) for each in (left, right)))
    near = kept & ~overlapping & (np.abs(first - second).max(1) <= _NEAR * longest)
    sure = is_equal | (kept & overlapping)
    return IdPairs((left[sure], right[sure]), (left[near], right[near]))


def _same_id(annotations: Annotations, codes: IndexArray) -> Pairs:
    """Return the pairs of annotations with an id that occurs once per version in the image."""
    order = np.lexsort((codes, annotations.image))
    new: BoolArray = np.diff(codes[order], prepend=0) != 0
    new |= np.diff(annotations.image[order], prepend=-1) != 0
    starts = np.flatnonzero(new)
    twice = starts[np.diff(np.append(starts, len(order))) == 2]
    left, right = order[twice], order[twice + 1]
    apart = annotations.annotator[left] < annotations.annotator[right]
    return left[apart], right[apart]


def _with_another_id(
    annotations: Annotations, codes: IndexArray, left: IndexArray, right: IndexArray
) -> Pairs:
    """Return the pairs of equal annotations with ids that differ, without those of given pairs.

    If neither id is in use in the other version, the annotation was drawn again.
    """
    old, new = equal_pairs(annotations, open_rows(annotations, left, right))
    before, after = (codes[annotations.annotator == side] for side in (0, 1))
    in_use: BoolArray = np.isin(codes[old], after) | np.isin(codes[new], before)
    moved_on = in_use & (codes[old] != codes[new])
    return old[moved_on], new[moved_on]
