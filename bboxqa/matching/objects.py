"""Objects: units that overlap loosely."""

import numpy as np

from bboxqa.core.arrays import IndexArray, component_of_each, distinct, run_starts, sum_by
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
