"""What annotators would have drawn without one kind of disagreement."""

import numpy as np

from bboxqa.core.arrays import IndexArray, frozen_arrays
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects
from bboxqa.diagnostics.disagreement.kinds import Disagreements, Kind
from bboxqa.model.units import MatchedUnits


@frozen_arrays
class Cells:
    """C categories that annotators gave to units."""

    place: IndexArray
    """(C,) int64. The object that the cell is counted for."""
    unit: IndexArray
    """(C,) int64. Numbers of units."""
    value: IndexArray
    """(C,) int64."""

    def take(self, index: IndexArray) -> "Cells":
        """Return the cells at `index`."""
        return Cells(self.place[index], self.unit[index], self.value[index])


def drawn_cells(matched: MatchedUnits, objects: DrawnObjects) -> Cells:
    """Return what the annotators drew."""
    value = matched.data.annotations.category.astype(np.int64)
    return Cells(objects.of, matched.units.unit, value)


def joined_objects(found: Disagreements, kind: Kind) -> IndexArray:
    """Return the object that each one is joined with when a kind is repaired, (O,)."""
    each = np.arange(len(found.root))
    root = each
    if kind in (Kind.TWICE, Kind.SPLIT):
        joined = found.has[:, kind]
        if kind == Kind.SPLIT:
            joined = joined & ~found.has[:, Kind.TWICE]
        root = np.where(joined, found.root, each)
    while not np.array_equal(root, root[root]):
        root = root[root]
    return root


@frozen_arrays
class Repair:
    """What annotators drew of the objects that a repair changes, before it and after it."""

    before: Cells
    after: Cells
    root: IndexArray
    """(O,) int64. The object that the cells of each one are counted for."""


def repair(
    matched: MatchedUnits, objects: DrawnObjects, found: Disagreements, kind: Kind
) -> Repair:
    """Return what the annotators would have drawn without a kind of disagreement.

    - missed by some: everybody asked drew the objects that at least half drew, and nobody others
    - class conflict: everybody gave the category that most gave
    - badly placed: the units of an object are one
    - split or merged: everybody drew the parts where at least half did, else the whole only
    - drawn twice by one: once
    """
    root, has = joined_objects(found, kind), found.has[:, kind]
    changes = has.copy()
    changes[root[has]] = True
    index = np.flatnonzero(changes[objects.of])
    of = objects.of[index]
    drawn = drawn_cells(matched, objects).take(index)
    before = Cells(root[of], drawn.unit, drawn.value)
    after = before
    if kind == Kind.CLASS_CONFLICT:
        after = Cells(before.place, before.unit, objects.category[of])
    elif kind == Kind.BADLY_PLACED:
        after = Cells(before.place, objects.unit[of], before.value)
    elif kind == Kind.MISSED:
        most = has & (2 * objects.n_drawn >= objects.n_asked)
        kept = np.flatnonzero(most[of])
        after = _filled(before.take(kept), objects, np.where(most, found.n_missing, 0))
    else:
        author = matched.data.annotations.annotator[index].astype(np.int64)
        after = _joined(before, objects, found.rank[of], of, author)
    if kind == Kind.SPLIT:
        stays = has & (root == np.arange(len(root)))
        after = _filled(after, objects, np.where(stays, found.n_merged, 0))
    return Repair(before, after, root)


def _filled(cells: Cells, objects: DrawnObjects, n_more: IndexArray) -> Cells:
    """Return cells and as many more for each object, in its unit and of its category."""
    more = np.repeat(np.arange(len(objects)), n_more)
    return Cells(
        np.concatenate([cells.place, more]),
        np.concatenate([cells.unit, objects.unit[more]]),
        np.concatenate([cells.value, objects.category[more]]),
    )


def _joined(
    cells: Cells, objects: DrawnObjects, rank: IndexArray, of: IndexArray, author: IndexArray
) -> Cells:
    """Return the cells of joined objects in the unit of their root, one of each annotator.

    `rank`, `of` and `author` are those of the object of each cell, the object, and the annotator.
    """
    moved = cells.place != of
    # The annotation in the root comes first, then those in the objects that more drew.
    order = np.lexsort((rank, moved, author, cells.place))
    place, author = cells.place[order], author[order]
    first = (np.diff(place, prepend=-1) != 0) | (np.diff(author, prepend=-1) != 0)
    kept = np.sort(order[first])
    unit = np.where(moved, objects.unit[cells.place], cells.unit)
    return Cells(cells.place, unit, cells.value).take(kept)
