"""Kinds of disagreement about an object, and the annotators that each concerns."""

from enum import IntEnum

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, frozen_arrays, rows
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects, drawn_objects, object_ranks
from bboxqa.diagnostics.disagreement.joined_parts import joined_parts
from bboxqa.diagnostics.disagreement.parts import Parts, parts
from bboxqa.model.units import MatchedUnits


class Kind(IntEnum):
    """Kinds of disagreement about an object; of several, the last is the primary kind."""

    MISSED = 0
    CLASS_CONFLICT = 1
    BADLY_PLACED = 2
    SPLIT = 3
    TWICE = 4


KINDS = (
    "missed by some",
    "class conflict",
    "badly placed",
    "split or merged",
    "drawn twice by one",
)
"""The name of each `Kind` in tables."""


@frozen_arrays
class Disagreements:
    """Kinds of disagreement of O objects, and E entries of an object, an annotator and a kind.

    The entries name the annotators whom a kind concerns: those who missed an object that at least
    half of those asked drew, or drew one that fewer drew; gave another category than most; drew it
    apart from most; split or merged it unlike most; or drew it twice.
    """

    has: BoolArray
    """(O, 5) bool. The columns are those of `Kind`."""
    root: IndexArray
    """(O,) int64. The object of which an object is a part or a repetition; else itself."""
    tied: IndexArray
    """(O,) int64. The object that a repetition shares a unit with, or that one of several second
    boxes and parts in a unit belongs to; else itself."""
    rank: IndexArray
    """(O,) int64. Rank of objects that overlap others of the same annotator: by the number of
    annotators, most first, then by their boxes, independently of names and ids. -1 for others."""
    stray: IndexArray
    """(N,) int64. The `Kind` that explains why an annotation is in another unit than most of its
    object; -1 if none does."""
    n_missing: IndexArray
    """(O,) int64. How many annotators missed it, without those who drew it as a part of another."""
    n_merged: IndexArray
    """(O,) int64. How many annotators drew it as a part of another one, with a box that is not
    joined with it."""
    kind: IndexArray
    object: IndexArray
    annotator: IndexArray
    """(E,) int64. Each combination once."""


def resolved(root: IndexArray) -> IndexArray:
    """Return the last object of each chain of roots, (O,)."""
    while not np.array_equal(root, root[root]):
        root = root[root]
    return root


@remembered
def disagreements(matched: MatchedUnits) -> Disagreements:
    """Return how annotators disagree about each object of `drawn_objects`."""
    objects, drawn = drawn_objects(matched), parts(matched)
    n, n_annotators = len(objects), max(len(matched.data.annotator_names), 1)
    rank = object_ranks(matched)
    root, tied, again = _repetitions(matched, objects, rank)
    is_again = root != np.arange(n)
    of_parts = joined_parts(objects, drawn, root, n_annotators)
    _tie_second_boxes(matched, objects, resolved(root), tied)
    badly_placed, stray = _stray_units(matched, objects, drawn, is_again)
    dissenting = _dissenting(matched, objects, drawn.odd_boxes)
    has = np.zeros((n, len(Kind)), np.bool_)
    has[:, Kind.TWICE] = is_again
    has[of_parts.object, Kind.SPLIT] = True
    has[:, Kind.BADLY_PLACED] = badly_placed
    has[dissenting[0], Kind.CLASS_CONFLICT] = True
    n_missing = objects.n_asked - objects.n_drawn - of_parts.n_merged
    n_missing[is_again | of_parts.is_part] = 0
    has[:, Kind.MISSED] = n_missing > 0
    concerned = [
        (Kind.TWICE, *again),
        (Kind.SPLIT, of_parts.object, of_parts.annotator),
        (Kind.BADLY_PLACED, *_apart(matched, objects, badly_placed, stray)),
        (Kind.CLASS_CONFLICT, *dissenting),
        (Kind.MISSED, *_missing(matched, objects, n_missing > 0, of_parts.merged)),
    ]
    keys = np.unique(np.concatenate([(k * n + o) * n_annotators + a for k, o, a in concerned]))
    pair, annotator = np.divmod(keys, n_annotators)
    kind, concerned_object = np.divmod(pair, max(n, 1))
    return Disagreements(
        has=has,
        root=root,
        tied=tied,
        rank=rank,
        stray=stray,
        n_missing=n_missing,
        n_merged=of_parts.n_filled,
        kind=kind,
        object=concerned_object,
        annotator=annotator,
    )


def _repetitions(
    matched: MatchedUnits, objects: DrawnObjects, rank: IndexArray
) -> tuple[IndexArray, IndexArray, tuple[IndexArray, IndexArray]]:
    """Return the object that each one repeats, (O,), the one that it is tied to, and who drew it.

    A second box that only its annotator drew is a repetition of the object that more drew.
    """
    left, right = matched.own.left, matched.own.right
    one, other = objects.of[left], objects.of[right]
    alone = np.flatnonzero(_n_common(matched, objects, one, other) == 1)
    one, other, left = one[alone], other[alone], left[alone]
    swap = rank[one] > rank[other]
    main, again = np.where(swap, other, one), np.where(swap, one, other)
    order = np.lexsort((rank[main], again))
    found, first = np.unique(again[order], return_index=True)
    tied = _tied(matched, objects)
    root = tied.copy()
    free = tied[found] == found
    root[found[free]] = main[order][first][free]
    annotator = matched.data.annotations.annotator[left].astype(np.int64)
    return root, tied, (again, annotator)


def _tied(matched: MatchedUnits, objects: DrawnObjects) -> IndexArray:
    """Return the object of the others in the unit of a second box, or the object itself, (O,)."""
    of, unit = objects.of, matched.units.unit
    tied = np.arange(len(objects))
    second = (objects.n_drawn[of] == 1) & (
        np.bincount(unit, minlength=len(matched.units))[unit] > 1
    )
    if second.any():
        shown = np.full(len(matched.units), -1)
        shown[unit[~second]] = of[~second]
        places = np.flatnonzero(second & (shown[unit] >= 0))
        tied[of[places]] = shown[unit[places]]
    return tied


def _tie_second_boxes(
    matched: MatchedUnits, objects: DrawnObjects, home: IndexArray, tied: IndexArray
) -> None:
    """Tie second boxes and parts that share a unit to the object of one of them, in place."""
    of, unit = objects.of, matched.units.unit
    size = np.bincount(unit, minlength=len(matched.units))[unit]
    alone = np.flatnonzero((objects.n_drawn[of] == 1) & (size > 1) & (tied[of] == of))
    of, unit = of[alone], unit[alone]
    shown = np.full(len(matched.units), -1)
    known = objects.n_drawn[home[of]] > 1
    np.maximum.at(shown, unit[known], home[of[known]])
    whole = shown[unit]
    belongs = (whole >= 0) & ((home[of] == of) | (home[of] == whole))
    tied[of[belongs]] = whole[belongs]


def _n_common(
    matched: MatchedUnits, objects: DrawnObjects, one: IndexArray, other: IndexArray
) -> IndexArray:
    """Return the number of annotators who drew both objects, for each pair of objects."""
    starts = np.cumsum(objects.n_drawn) - objects.n_drawn
    place, offsets = rows(starts[one], starts[one] + objects.n_drawn[one])
    n_annotators = len(matched.data.annotator_names)
    pair = np.repeat(np.arange(len(one)), np.diff(offsets))
    author = objects.key[place] - objects.of[objects.by_key[place]] * n_annotators
    both = objects.annotation(other[pair] * n_annotators + author) >= 0
    return np.bincount(pair[both], minlength=len(one))


def _stray_units(
    matched: MatchedUnits, objects: DrawnObjects, drawn: Parts, is_again: BoolArray
) -> tuple[BoolArray, IndexArray]:
    """Return which objects are badly placed, (O,), and why other annotations are apart, (N,).

    The second is the `Kind` that explains why an annotation is in another unit than most of its
    object; -1 if none does.
    """
    unit = matched.units.unit
    why = np.full(len(matched.units), -1)
    why[unit[drawn.odd_boxes]] = Kind.SPLIT
    why[unit[is_again[objects.of]]] = Kind.TWICE
    stray = np.full(len(unit), -1)
    several = np.flatnonzero(objects.n_units[objects.of] > 1)
    apart = several[unit[several] != objects.unit[objects.of[several]]]
    stray[apart] = why[unit[apart]]
    badly_placed = np.zeros(len(objects), np.bool_)
    badly_placed[objects.of[apart[stray[apart] < 0]]] = True
    return badly_placed, stray


def _apart(
    matched: MatchedUnits, objects: DrawnObjects, badly_placed: BoolArray, stray: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Return badly placed objects and the annotators outside their largest unit."""
    unit = matched.units.unit
    found = np.flatnonzero(badly_placed[objects.of] & (stray < 0))
    of = objects.of[found]
    key = of * len(matched.units) + unit[found]
    keys, size = np.unique(key, return_counts=True)
    # In a tie of the largest units, all annotators are apart.
    of_unit, largest = keys // max(len(matched.units), 1), np.zeros(len(objects), np.int64)
    np.maximum.at(largest, of_unit, size)
    n_largest = np.bincount(of_unit[size == largest[of_unit]], minlength=len(objects))
    named = (unit[found] != objects.unit[of]) | (n_largest[of] > 1)
    return of[named], matched.data.annotations.annotator[found[named]].astype(np.int64)


def _dissenting(
    matched: MatchedUnits, objects: DrawnObjects, odd_boxes: BoolArray
) -> tuple[IndexArray, IndexArray]:
    """Return objects and who gave another category than most; all annotators in a tie.

    A part, and a box that shows several objects, may have any category.
    """
    annotations = matched.data.annotations
    other = annotations.category != objects.category[objects.of]
    conflict = np.zeros(len(objects), np.bool_)
    conflict[objects.of[other & ~odd_boxes]] = True
    found = np.flatnonzero(
        (other | objects.is_tied[objects.of]) & conflict[objects.of] & ~odd_boxes
    )
    return objects.of[found], annotations.annotator[found].astype(np.int64)


def _missing(
    matched: MatchedUnits, objects: DrawnObjects, missed: BoolArray, merged: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Return missed objects and who missed them, or who drew what fewer than half drew."""
    n_annotators = max(len(matched.data.annotator_names), 1)
    half = 2 * objects.n_drawn >= objects.n_asked
    few = np.flatnonzero((missed & ~half)[objects.of])
    most = np.flatnonzero(missed & half)
    row, asked = np.nonzero(matched.data.assigned[objects.image[most]])
    key = most[row] * n_annotators + asked
    key = key[(objects.annotation(key) < 0) & ~np.isin(key, merged)]
    author = matched.data.annotations.annotator[few].astype(np.int64)
    return (
        np.concatenate([objects.of[few], key // n_annotators]),
        np.concatenate([author, key % n_annotators]),
    )
