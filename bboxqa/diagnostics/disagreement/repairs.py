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


def drawn_cells(matched: MatchedUnits, objects: DrawnObjects, root: IndexArray) -> Cells:
    """Return what the annotators drew, counted for the roots of their objects."""
    value = matched.data.annotations.category.astype(np.int64)
    return Cells(root[objects.of], matched.units.unit, value)


def roots(found: Disagreements, kind: Kind) -> IndexArray:
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


def repaired_cells(
    matched: MatchedUnits, objects: DrawnObjects, found: Disagreements, kind: Kind
) -> Cells:
    """Return what the annotators would have drawn without a kind of disagreement.

    - missed by some: everybody asked drew the objects that at least half drew, and nobody others
    - class conflict: everybody gave the category that most gave
    - badly placed: the units of an object are one
    - split or merged: everybody drew the parts where at least half did, else the whole only
    - drawn twice by one: once
    """
    root = roots(found, kind)
    cells = drawn_cells(matched, objects, root)
    has = found.has[:, kind]
    if kind == Kind.CLASS_CONFLICT:
        return Cells(cells.place, cells.unit, objects.category[objects.of])
    if kind == Kind.BADLY_PLACED:
        return Cells(cells.place, objects.unit[objects.of], cells.value)
    if kind == Kind.MISSED:
        most = 2 * objects.n_drawn >= objects.n_asked
        kept = np.flatnonzero((~has | most)[objects.of])
        return _filled(cells.take(kept), objects, np.where(has & most, found.n_missing, 0))
    joined = _joined(matched, objects, root, cells)
    if kind == Kind.SPLIT:
        stays = root == np.arange(len(root))
        return _filled(joined, objects, np.where(has & stays, found.n_merged, 0))
    return joined


def _filled(cells: Cells, objects: DrawnObjects, n_more: IndexArray) -> Cells:
    """Return cells and as many more for each object, in its unit and of its category."""
    more = np.repeat(np.arange(len(objects)), n_more)
    return Cells(
        np.concatenate([cells.place, more]),
        np.concatenate([cells.unit, objects.unit[more]]),
        np.concatenate([cells.value, objects.category[more]]),
    )


def _joined(matched: MatchedUnits, objects: DrawnObjects, root: IndexArray, cells: Cells) -> Cells:
    """Return the cells of joined objects in the unit of their root, one of each annotator."""
    moved = root[objects.of] != objects.of
    n_annotators = len(matched.data.annotator_names)
    author = matched.data.annotations.annotator
    key = root[objects.of] * n_annotators + author
    # The annotation in the root comes first, then those in the objects that more drew.
    order = np.lexsort((objects.rank[objects.of], moved, key))
    kept = np.sort(order[np.flatnonzero(np.diff(key[order], prepend=-1))])
    unit = np.where(moved, objects.unit[root[objects.of]], cells.unit)
    return Cells(cells.place, unit, cells.value).take(kept)
