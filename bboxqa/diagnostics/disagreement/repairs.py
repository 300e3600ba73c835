"""Repairs: annotations as they would be without one kind of disagreement."""

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, frozen_arrays
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects
from bboxqa.diagnostics.disagreement.kinds import Disagreements, Kind, resolved
from bboxqa.model.units import MatchedUnits


@frozen_arrays
class Cells:
    """C categories that annotators gave to units."""

    place: IndexArray
    """(C,) int64. The object for which the cell is counted."""
    unit: IndexArray
    """(C,) int64. Numbers of units."""
    value: IndexArray
    """(C,) int64."""

    def take(self, index: IndexArray) -> "Cells":
        """Return the cells at `index`."""
        return Cells(self.place[index], self.unit[index], self.value[index])


def drawn_cells(matched: MatchedUnits, objects: DrawnObjects) -> Cells:
    """Return the cells as they were drawn."""
    value = matched.data.annotations.category.astype(np.int64)
    return Cells(objects.of, matched.units.unit, value)


def joined_objects(found: Disagreements, kind: Kind) -> IndexArray:
    """Return the object with which each one is joined when a kind is repaired, (O,)."""
    return resolved(np.where(_is_joined(found, kind), found.root, found.tied))


def _is_joined(found: Disagreements, kind: Kind) -> BoolArray:
    """Return (O,) bool: objects that are repaired by joining them with another one."""
    if kind == Kind.TWICE:
        return found.has[:, kind]
    joined: BoolArray = found.has[:, Kind.SPLIT] & ~found.has[:, Kind.TWICE]
    return joined & (kind == Kind.SPLIT)


@frozen_arrays
class Repair:
    """The cells of the objects that a repair changes, before and after it."""

    before: Cells
    after: Cells
    root: IndexArray
    """(O,) int64. The object for which the cells of each one are counted."""


def repair(
    matched: MatchedUnits, objects: DrawnObjects, found: Disagreements, kind: Kind
) -> Repair:
    """Return the cells before and after one kind of disagreement is repaired.

    - missed by some: all annotators asked draw an object if at least half drew it, otherwise none
    - class conflict: all give the category of the majority
    - badly placed: the units of an object become one
    - split or merged: all draw the parts if at least half did, otherwise the whole only
    - drawn twice by one: the second box is removed
    """
    root, has = joined_objects(found, kind), found.has[:, kind]
    changes = has.copy()
    changes[root[has]] = True
    index = np.flatnonzero(changes[root][objects.of])
    of = objects.of[index]
    drawn = drawn_cells(matched, objects).take(index)
    before = Cells(root[of], drawn.unit, drawn.value)
    after = before
    if kind == Kind.CLASS_CONFLICT:
        after = Cells(before.place, before.unit, objects.category[of])
    elif kind == Kind.BADLY_PLACED:
        author = matched.data.annotations.annotator[index].astype(np.int64)
        moved = Cells(before.place, objects.unit[of], before.value)
        # The unit may hold the second box of an annotator whose first box is moved there.
        after = _once(moved, moved.unit, author, (found.tied[of] != of).astype(np.int64))
    elif kind == Kind.MISSED:
        most = has & (2 * objects.n_drawn >= objects.n_asked)
        kept = np.flatnonzero((most | ~has)[of])
        after = _filled(before.take(kept), objects, np.where(most, found.n_missing, 0))
    else:
        author = matched.data.annotations.annotator[index].astype(np.int64)
        home = np.where(_is_joined(found, kind), root, np.arange(len(root)))[of]
        unit = np.where(found.stray[index] == kind, objects.unit[of], drawn.unit)
        moved = Cells(before.place, np.where(home == of, unit, objects.unit[home]), drawn.value)
        after = _once(moved, home, author, np.where(home == of, -1, found.rank[of]))
    if kind == Kind.SPLIT:
        stays = has & (root == np.arange(len(root)))
        after = _filled(after, objects, np.where(stays, found.n_merged, 0))
    return Repair(before, after, root)


def settled(matched: MatchedUnits, objects: DrawnObjects, found: Disagreements) -> Repair:
    """Return the cells before and after objects are settled as most annotators drew them.

    All kinds of disagreement are repaired at once: all annotators asked draw the object once, in
    one unit, with the category of the majority, if at least half drew it, and otherwise nobody
    does. Objects that have parts, or share a unit with a second box of another object, are left
    out.
    """
    of, n = objects.of, len(objects)
    root = joined_objects(found, Kind.TWICE)
    left_out = found.has[:, Kind.SPLIT] | (found.tied != np.arange(n)) | (found.n_merged > 0)
    left_out[of[found.stray == Kind.SPLIT]] = True
    changes = np.zeros(n, np.bool_)
    changes[root[found.has.any(1)]] = True
    changes[root[left_out]] = False
    index = np.flatnonzero(changes[root[of]])
    drawn = drawn_cells(matched, objects).take(index)
    before = Cells(root[of[index]], drawn.unit, drawn.value)
    n_annotators = max(len(matched.data.annotator_names), 1)
    authors = np.unique(before.place * n_annotators + matched.data.annotations.annotator[index])
    n_drawn = np.bincount(authors // n_annotators, minlength=n)
    n_after = np.where(changes & (2 * n_drawn >= objects.n_asked), objects.n_asked, 0)
    return Repair(before, _filled(before.take(index[:0]), objects, n_after), root)


def _filled(cells: Cells, objects: DrawnObjects, n_more: IndexArray) -> Cells:
    """Return cells and `n_more` further ones for each object, in its unit, of its category."""
    more = np.repeat(np.arange(len(objects)), n_more)
    return Cells(
        np.concatenate([cells.place, more]),
        np.concatenate([cells.unit, objects.unit[more]]),
        np.concatenate([cells.value, objects.category[more]]),
    )


def _once(cells: Cells, home: IndexArray, author: IndexArray, rank: IndexArray) -> Cells:
    """Return one cell for each annotator and object (`home`): the one of the lowest rank."""
    order = np.lexsort((rank, author, home))
    starts = (np.diff(home[order], prepend=-1) != 0) | (np.diff(author[order], prepend=-1) != 0)
    return cells.take(np.sort(order[starts]))
