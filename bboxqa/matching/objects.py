"""Joining units that show the same object although their boxes overlap too little to match."""

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, run_starts, sum_by
from bboxqa.core.components import connected_components
from bboxqa.matching.ties import drawn_ranks
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

    Examples
    --------
    >>> from bboxqa.examples import example_file
    >>> from bboxqa import read_coco
    >>> annotations = read_coco(example_file("fruits")).annotations
    >>> alone = UnitTable(np.arange(9), annotations.image)
    >>> near = CandidatePairs(np.array([1]), np.array([4]), np.array([0.3]))
    >>> loose_objects(annotations, alone, near).tolist()
    [0, 1, 2, 3, 1, 4, 5, 6, 7]
    """
    home = np.arange(len(units))
    size = np.bincount(units.unit, minlength=len(units))
    unit = units.unit[near.left], units.unit[near.right]
    apart = np.flatnonzero((unit[0] != unit[1]) & _fits(annotations, units, size, *unit))
    first, second = unit[0][apart], unit[1][apart]
    component = connected_components(first, second)
    home[first] = component
    home[second] = component
    # A component in which no annotator appears twice is one object.
    order = np.lexsort((annotations.annotator, home[units.unit]))
    author, place = annotations.annotator[order], home[units.unit][order]
    twice = place[1:][(np.diff(place) == 0) & (np.diff(author) == 0)]
    hard = np.isin(home, twice)
    home[hard] = np.flatnonzero(hard)
    _join(home, annotations, units, near.take(apart[hard[first]]))
    return np.unique(home, return_inverse=True)[1].astype(np.int64, copy=False)


def _fits(
    annotations: Annotations, units: UnitTable, size: IndexArray, a: IndexArray, b: IndexArray
) -> BoolArray:
    """Return whether two units together have at most one annotation per author of the image."""
    image = annotations.image
    starts = run_starts(image.astype(np.int64) * (1 << 31) + annotations.annotator)
    n_authors = np.bincount(image[starts], minlength=int(image.max(initial=0)) + 1)
    fits: BoolArray = size[a] + size[b] <= n_authors[units.image[a]]
    return fits


def _join(
    home: IndexArray, annotations: Annotations, units: UnitTable, pairs: CandidatePairs
) -> None:
    """Join units along the pairs, unless an annotator would appear twice, in place."""
    unit = units.unit
    nodes = np.flatnonzero(np.isin(unit, np.unique(unit[np.append(pairs.left, pairs.right)])))
    authors: dict[int, int] = {}
    for one, author in zip(
        unit[nodes].tolist(), annotations.annotator[nodes].tolist(), strict=True
    ):
        authors[one] = authors.get(one, 0) | 1 << author
    members = {one: [one] for one in authors}
    ordered = pairs.take(_order(annotations, units, nodes, pairs))
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


def _order(
    annotations: Annotations, units: UnitTable, nodes: IndexArray, pairs: CandidatePairs
) -> IndexArray:
    """Return the order of pairs by descending similarity, then by their shapes and their units'."""
    rank = np.zeros(len(annotations), np.int64)
    rank[nodes] = drawn_ranks(annotations, nodes) + 1
    of_unit = sum_by(units.unit, rank, len(units))
    keys = []
    for value in (of_unit[units.unit], rank):
        left, right = value[pairs.left], value[pairs.right]
        keys += [np.maximum(left, right), np.minimum(left, right)]
    return np.lexsort((*keys, -np.rint(pairs.similarity * _STEPS)))
