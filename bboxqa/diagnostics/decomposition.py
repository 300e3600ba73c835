"""Kinds of disagreement, and what agreement would gain without each."""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from bboxqa.agreement.alpha.nominal import nominal_alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals, ratio_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    compact,
    frozen_arrays,
    rows,
    sum_by,
)
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.object_cells import alpha_has_meaning, summed_rows
from bboxqa.diagnostics.parts import (
    DrawnObjects,
    Parts,
    drawn_objects,
    joined_parts,
    object_ranks,
    parts,
)
from bboxqa.model.diagnosis import ALL_AGREE
from bboxqa.model.table import Categorical, Table, figure_columns
from bboxqa.model.units import Cell, MatchedUnits


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
    # Tie second boxes and parts that share a unit to the object of one of them, in place.
    home = resolved(root)
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
    badly_placed, stray = _stray_units(matched, objects, drawn, is_again)
    # Objects and who gave another category than most; all annotators in a tie.
    annotations = matched.data.annotations
    other = annotations.category != objects.category[objects.of]
    conflict = np.zeros(len(objects), np.bool_)
    conflict[objects.of[other & ~drawn.odd_boxes]] = True
    found = np.flatnonzero(
        (other | objects.is_tied[objects.of]) & conflict[objects.of] & ~drawn.odd_boxes
    )
    dissenting = objects.of[found], annotations.annotator[found].astype(np.int64)
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
    """Return which objects are badly placed, (O,), and why other annotations are apart, (N,)."""
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


@frozen_arrays
class AgreementSums:
    """Contributions of O objects to the sums of which alpha and F1 are functions."""

    place: IndexArray
    value: IndexArray
    count: FloatArray
    """(E,). How often an object has a pairable value, sorted by object; the last value is the
    missing annotation."""
    agreeing: FloatArray
    """(O,) float64. The coincidences of values with themselves."""
    matched: FloatArray
    possible: FloatArray
    """(O,) float64. F1 is the ratio of matched to possible pairs of annotations."""


def agreement_sums(matched: MatchedUnits, cells: Cells, n_asked: IndexArray) -> AgreementSums:
    """Return the sums of each object; `n_asked` is the number of annotators asked about it, (O,).

    For F1, a unit with m annotations, about which k annotators were asked, has m (m − 1) / 2
    matched pairs of (k − 1) m / 2 possible ones.
    """
    n_values = len(matched.data.category_names)
    units, unit = np.unique(cells.unit, return_inverse=True)
    place = np.zeros(len(units), np.int64)
    place[unit] = cells.place
    drawn = np.bincount(unit, minlength=len(units))
    asked = n_asked[place]
    keys, count = np.unique(unit * (n_values + 1) + cells.value, return_counts=True)
    of, value = np.divmod(keys, n_values + 1)
    size = asked if matched.missing == "category" else drawn
    if matched.missing == "category":
        lacking = np.flatnonzero(asked > drawn)
        of, value = np.append(of, lacking), np.append(value, np.full(len(lacking), n_values))
        count = np.append(count, (asked - drawn)[lacking])
    paired = np.flatnonzero(size[of] > 1)
    paired = paired[np.argsort(place[of[paired]], kind="stable")]
    of, value, count = of[paired], value[paired], count[paired].astype(np.float64)
    n = len(n_asked)
    same = count * (count - 1) / (size[of] - 1)
    return AgreementSums(
        place=place[of],
        value=value,
        count=count,
        agreeing=sum_by(place[of], same, n),
        matched=sum_by(place, drawn * (drawn - 1), n),
        possible=sum_by(place, (asked - 1) * drawn, n),
    )


@remembered
def drawn_sums(matched: MatchedUnits) -> AgreementSums:
    """Return the sums of each object as it was drawn."""
    objects = drawn_objects(matched)
    return agreement_sums(matched, drawn_cells(matched, objects), objects.n_asked)


class WholeSums(NamedTuple):
    """The sums of all objects, and of empty images if they count."""

    marginal: FloatArray
    """(K + 1,) float64. How often each value occurs; the last one is the missing annotation."""
    agreeing: float
    matched: float
    possible: float


@remembered
def whole_sums(matched: MatchedUnits) -> WholeSums:
    """Return the sums of all objects, and of empty images if they count."""
    sums, n_empty = drawn_sums(matched), len(empty_units(matched))
    marginal = sum_by(sums.value, sums.count, len(matched.data.category_names) + 1)
    marginal[-1] += n_empty
    agreeing = float(sums.agreeing.sum()) + n_empty
    return WholeSums(marginal, agreeing, float(sums.matched.sum()), float(sums.possible.sum()))


def empty_units(matched: MatchedUnits) -> IndexArray:
    """Return the units of the missing annotations of empty images, one each; none if left out."""
    data = matched.reliability
    extra = (data.unit >= len(matched.units)) & (data.state == Cell.MISSING)
    found: IndexArray = data.unit[extra & (matched.missing == "category")]
    return found


@frozen_arrays
class RepairSums:
    """Sums of the O objects that a repair changes, before and after it."""

    before: AgreementSums
    after: AgreementSums
    root: IndexArray
    """(O,) int64. The object that each one is counted for."""


@remembered
def repair_sums(matched: MatchedUnits) -> dict[Kind, RepairSums]:
    """Return the sums of the repair of each kind of disagreement."""
    objects, found = drawn_objects(matched), disagreements(matched)
    return {
        kind: _sums_of(matched, objects, repair(matched, objects, found, kind)) for kind in Kind
    }


def settled_sums(matched: MatchedUnits) -> RepairSums:
    """Return the sums of settling objects with all their kinds of disagreement at once."""
    objects = drawn_objects(matched)
    return _sums_of(matched, objects, settled(matched, objects, disagreements(matched)))


def _sums_of(matched: MatchedUnits, objects: DrawnObjects, change: Repair) -> RepairSums:
    before, after = (
        agreement_sums(matched, cells, objects.n_asked) for cells in (change.before, change.after)
    )
    return RepairSums(before, after, change.root)


def gains(
    whole: WholeSums, change: RepairSums, group: IndexArray, place: IndexArray, n_groups: int
) -> tuple[FloatArray, FloatArray]:
    """Return the rise of alpha and F1 of the whole if a group of objects changes, (G,) each.

    `group` and `place` are the objects of each group, each once.
    """
    n_values = len(whole.marginal)
    keys, counts = [], []
    for sums, sign in ((change.after, 1), (change.before, -1)):
        ends = (np.searchsorted(sums.place, place, side) for side in ("left", "right"))
        entry, offsets = rows(*ends)
        of_group = np.repeat(group, np.diff(offsets))
        keys.append(of_group * n_values + sums.value[entry])
        counts.append(sign * sums.count[entry])
    cell, at = compact(np.concatenate(keys), n_groups * n_values)
    more = sum_by(at, np.concatenate(counts), len(cell))
    of_group, value = np.divmod(cell, n_values)
    squares = sum_by(of_group, more**2 + 2 * more * whole.marginal[value], n_groups)
    agreeing, matched, possible = (
        total + np.append(0.0, sum_by(group, (new - old)[place], n_groups))
        for total, new, old in (
            (whole.agreeing, change.after.agreeing, change.before.agreeing),
            (whole.matched, change.after.matched, change.before.matched),
            (whole.possible, change.after.possible, change.before.possible),
        )
    )
    alpha = nominal_alpha(
        whole.marginal.sum() + np.append(0.0, sum_by(of_group, more, n_groups)),
        agreeing,
        (whole.marginal**2).sum() + np.append(0.0, squares),
    )[0]
    f1 = ratio(matched, possible)
    return alpha[1:] - alpha[0], f1[1:] - f1[0]


def gain_intervals(matched: MatchedUnits, values: FloatArray) -> FloatArray:
    """Return the 95 % intervals over images of gains of alpha and of F1, (2, 5, 2).

    `values` are the gains of each `Kind`, (2, 5); NaN gains have no interval.
    """
    if not matched.bootstrap:
        return np.full((*values.shape, 2), np.nan)
    n_images, n_values = len(matched.data.image_names), len(matched.data.category_names) + 1
    objects, whole, empty = drawn_objects(matched), drawn_sums(matched), empty_units(matched)
    n_empty = np.bincount(matched.reliability.group[empty], minlength=n_images)
    keys, images, counts = [], [], []
    for kind, repaired in repair_sums(matched).items():
        for sums, sign in ((repaired.after, 1), (repaired.before, -1)):
            keys.append(kind * n_values + sums.value)
            images.append(objects.image[sums.place])
            counts.append(sign * sums.count)
    changed, row = compact(np.concatenate(keys), len(Kind) * n_values)
    kinds, value = np.divmod(changed, n_values)

    def evaluate(*sums: FloatArray) -> FloatArray:
        marginal, change, agreeing, found, possible = sums
        total, squares = marginal.sum(0), (marginal**2).sum(0)
        of_change = change * (2 * marginal[value] + change)
        before = nominal_alpha(total, agreeing[0], squares)[0]
        after = nominal_alpha(
            total + summed_rows(kinds, change, len(Kind)),
            agreeing[0] + agreeing[1:],
            squares + summed_rows(kinds, of_change, len(Kind)),
        )[0]
        f1 = ratio(found[0] + found[1:], possible[0] + possible[1:])
        return np.concatenate([after - before, f1 - ratio(found[0], possible[0])])

    def by_image(name: str) -> FloatArray:
        """Return a sum of each image, then its change by each repair, (6, I)."""
        changes = (
            getattr(each.after, name) - getattr(each.before, name)
            for each in repair_sums(matched).values()
        )
        columns = (getattr(whole, name), *changes)
        return np.stack([sum_by(objects.image, each, n_images) for each in columns])

    agreeing = by_image("agreeing")
    agreeing[0] += n_empty
    tables = (
        table_of(
            np.append(whole.value, np.full(n_images, n_values - 1)),
            np.append(objects.image[whole.place], np.arange(n_images)),
            np.append(whole.count, n_empty),
            (n_values, n_images),
        ),
        table_of(row, np.concatenate(images), np.concatenate(counts), (len(changed), n_images)),
        agreeing,
        by_image("matched"),
        by_image("possible"),
    )
    drawn = drawn_intervals(values.ravel(), tables, evaluate, matched.bootstrap, matched.seed)
    return drawn.reshape(*values.shape, 2)


@frozen_arrays
class CountedObjects:
    """O objects of `drawn_objects`, of which C are counted."""

    home: IndexArray
    """(O,) int64. The object that each one is counted as."""
    places: IndexArray
    """(C,) int64. The objects that are counted, each its own home."""
    has: BoolArray
    """(O, 5) bool. The kinds of each object and of those that are counted as it."""

    def __len__(self) -> int:
        return len(self.places)


@remembered
def counted_objects(matched: MatchedUnits) -> CountedObjects:
    """Return which objects are counted, with the kinds of their parts and second boxes."""
    found = disagreements(matched)
    home = resolved(found.root)
    has = np.zeros_like(found.has)
    place, kind = np.nonzero(found.has)
    has[home[place], kind] = True
    return CountedObjects(home, np.flatnonzero(home == np.arange(len(home))), has)


_NAMES = (ALL_AGREE, *KINDS)


def decomposition(matched: MatchedUnits) -> Table:
    """Return the number of objects with each kind of disagreement, and the gain of repairing it.

    An object may have several kinds; the last one in this list is its primary kind:

    - all agree
    - missed by some
    - class conflict: not all gave it the same category
    - badly placed: annotations overlap too little to match, and more than different objects do
    - split or merged: an annotator drew two boxes where another one drew one around both
    - drawn twice by one: an annotator drew two boxes that overlap as those of one object do

    Parts and second boxes are counted with the object that they belong to.

    Columns: kind; n_objects and share, of objects with this primary kind; n_any and share_any, of
    all objects with this kind; and alpha_gain and f1_gain, the rise of pooled alpha and F1 if only
    this kind were repaired (see `repairs.repair`), where these have a meaning. Shares and gains
    have 95 % intervals over images. Gains overlap, as those of TIDE [1]_: they do not add up to the
    gain of repairing everything.

    References
    ----------
    .. [1] Bolya, D., Foley, S., Hays, J. and Hoffman, J. (2020). TIDE: A General Toolbox for
       Identifying Object Detection Errors. ECCV 2020. doi:10.1007/978-3-030-58580-8_33
    """
    parts = _Parts.of(matched)
    counted = parts.counted.places
    n_objects, has = len(counted), parts.counted.has[counted]
    kinds = (has * np.arange(1, len(_NAMES))).max(1, initial=0)
    primary = np.bincount(kinds, minlength=len(_NAMES))
    n_any = np.append(np.sum(~has.any(1)), has.sum(0))
    gain = np.array([*map(parts.gain_of_all, Kind)]).T
    gain_bounds = gain_intervals(matched, gain)
    n_images = len(matched.data.image_names)
    kind, place = np.nonzero(np.column_stack([~has.any(1), has]).T)
    image = parts.objects.image[counted]
    of_image = np.bincount(image, minlength=n_images)
    row = np.append(kinds, len(_NAMES) + kind)
    drawn = table_of(
        row, np.append(image, image[place]), np.ones(len(row)), (2 * len(_NAMES), n_images)
    )
    bounds = ratio_intervals(
        drawn, np.tile(of_image, (2 * len(_NAMES), 1)), matched.bootstrap, matched.seed
    )
    intervals, of_any = np.split(bounds, 2)
    return Table(
        {
            "kind": Categorical(np.arange(len(_NAMES), dtype=np.int32), _NAMES),
            "n_objects": primary,
            **figure_columns("share", _share(primary, n_objects), intervals),
            "n_any": n_any,
            **figure_columns("share_any", _share(n_any, n_objects), of_any),
            **_gain_columns("alpha_gain", gain[0], gain_bounds[0]),
            **_gain_columns("f1_gain", gain[1], gain_bounds[1]),
        }
    )


def _gain_columns(name: str, gain: FloatArray, interval: FloatArray) -> dict[str, FloatArray]:
    """Return columns of the gain of each kind; the gain of "all agree" is 0."""
    columns = {name: gain, f"{name}_low": interval[:, 0], f"{name}_high": interval[:, 1]}
    return {key: np.append(np.nan, column) for key, column in columns.items()}


def decomposition_by_category(matched: MatchedUnits) -> Table:
    """Return the number of objects of each category with each kind of disagreement.

    The category of an object is that of the majority. A row for each category and kind that occur.
    Columns: category; kind; n_objects, the number of objects with the kind, perhaps with others;
    share, n_objects divided by the objects of the category; alpha_gain and f1_gain, the rise of
    alpha and F1 of all objects if the kind were repaired in this category only.
    """
    parts = _Parts.of(matched)
    names = matched.data.category_names
    kind, place = np.nonzero(parts.found.has.T)
    group = parts.objects.category[parts.counted.home[place]]
    total = np.bincount(parts.objects.category[parts.counted.places], minlength=len(names))
    return parts.by_group("category", names, kind, place, group, total)


def decomposition_by_annotator(matched: MatchedUnits) -> Table:
    """Return the number of objects in which each kind of disagreement concerns each annotator.

    A disagreement concerns annotators who missed an object that at least half of those asked drew,
    or drew one that fewer drew; gave another category than most; drew a box apart from most; split
    or merged objects unlike most; or drew an object twice. Without a majority, it concerns all.
    A row for each annotator and kind that occur. Columns: annotator; kind; n_objects; share,
    n_objects divided by the objects in the images of the annotator; alpha_gain and f1_gain, the
    rise of alpha and F1 of all objects if the kind were repaired in these objects only.
    """
    parts = _Parts.of(matched)
    found, objects = parts.found, parts.objects
    image = objects.image[parts.counted.places]
    of_image = np.bincount(image, minlength=len(matched.data.image_names))
    total = of_image @ matched.data.assigned
    names = matched.data.annotator_names
    return parts.by_group("annotator", names, found.kind, found.object, found.annotator, total)


def n_objects_of(matched: MatchedUnits, kind: Kind) -> IndexArray:
    """Return the number of objects in which a kind of disagreement concerns each annotator, (A,).

    It is the column n_objects of `decomposition_by_annotator`, with 0 for the other annotators.
    """
    found, counted = disagreements(matched), counted_objects(matched)
    entries = np.flatnonzero(found.kind == kind)
    n_objects = max(len(found.root), 1)
    # An object may have several parts of one kind.
    keys = np.unique(found.annotator[entries] * n_objects + counted.home[found.object[entries]])
    n: IndexArray = np.bincount(keys // n_objects, minlength=len(matched.data.annotator_names))
    return n


def _share(n: IndexArray, total: IndexArray | int) -> FloatArray:
    with np.errstate(invalid="ignore"):
        share: FloatArray = n / np.asarray(total, np.float64)
    return share


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Objects, their disagreements, and the gains of repairs."""

    matched: MatchedUnits
    objects: DrawnObjects
    found: Disagreements
    counted: CountedObjects

    @staticmethod
    def of(matched: MatchedUnits) -> "_Parts":
        found, counted = disagreements(matched), counted_objects(matched)
        return _Parts(matched, drawn_objects(matched), found, counted)

    def gains(
        self, kind: Kind, group: IndexArray, place: IndexArray, n_groups: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the gains of repairing a kind in groups of objects, (G,) each."""
        change = repair_sums(self.matched)[kind]
        alpha, f1 = gains(whole_sums(self.matched), change, group, place, n_groups)
        if not alpha_has_meaning(self.matched):
            alpha[:] = np.nan
        return alpha, f1

    def gain_of_all(self, kind: Kind) -> tuple[float, float]:
        """Return the gains of repairing a kind everywhere."""
        n = len(self.objects)
        alpha, f1 = self.gains(kind, np.zeros(n, np.int64), np.arange(n), 1)
        return float(alpha[0]), float(f1[0])

    def by_group(
        self,
        title: str,
        names: tuple[str, ...],
        kind: IndexArray,
        place: IndexArray,
        group: IndexArray,
        total: IndexArray,
    ) -> Table:
        """Return counts and gains by group; `kind`, `place` and `group` are entries, (E,) each."""
        n_objects = len(self.objects)
        key = group * len(Kind) + kind
        keys = np.unique(key)
        # An object may have several parts of one kind.
        counted = np.unique(key * n_objects + self.counted.home[place]) // max(n_objects, 1)
        n = np.bincount(np.searchsorted(keys, counted), minlength=len(keys))
        alpha, f1 = np.full((2, len(keys)), np.nan)
        for each in Kind:
            own, rows = np.flatnonzero(kind == each), np.flatnonzero(keys % len(Kind) == each)
            row = np.searchsorted(keys[rows] // len(Kind), group[own])
            # Objects that are joined with another one are counted for that one.
            column = repair_sums(self.matched)[each].root[place[own]]
            chosen = np.unique(row * n_objects + column)
            alpha[rows], f1[rows] = self.gains(
                each, *np.divmod(chosen, max(n_objects, 1)), len(rows)
            )
        who = keys // len(Kind)
        return Table(
            {
                title: Categorical(who.astype(np.int32), names),
                "kind": Categorical((keys % len(Kind)).astype(np.int32), KINDS),
                "n_objects": n,
                "share": _share(n, total[who]),
                "alpha_gain": alpha,
                "f1_gain": f1,
            }
        )
