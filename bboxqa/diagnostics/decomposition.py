"""Kinds of disagreement, and what agreement would gain without each."""

from enum import IntEnum

import numpy as np

from bboxqa.agreement.estimators import table_of
from bboxqa.agreement.object_counts import ratio
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    distinct,
    distinct_rows,
    remembered,
    rows,
    sum_by,
)
from bboxqa.diagnostics.object_cells import (
    Amounts,
    RatioSums,
    alpha_has_meaning,
    alphas_after,
    drawn_figures,
    object_cells,
)
from bboxqa.diagnostics.parts import (
    DrawnObjects,
    drawn_objects,
    join_parts,
    object_ranks,
    parts,
    repetitions,
    resolved,
    tie_second_boxes,
)
from bboxqa.model.diagnosis import ALL_AGREE
from bboxqa.model.table import Categorical, Column, Table, figure_columns
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


class Disagreements(FrozenArrays, frozen=True, eq=False):
    """Kinds of disagreement of O objects, and E entries of an object, an annotator and a kind.

    The entries name the annotators whom a kind concerns: those who missed an object that at least
    half of those asked drew, or drew one that fewer drew; gave another category than most; drew it
    apart from most; split or merged it unlike most; or drew it twice.
    """

    has: BoolArray
    has_counted: BoolArray
    """(O, 5) bool. The kinds of each object, and of it and those that are counted as it."""
    root: IndexArray
    tied: IndexArray
    home: IndexArray
    """(O,) int64. The object of which each one is a part or a repetition; that with which it shares
    a unit as a second box or part; and that as which it is counted, the last of its roots."""
    counted: IndexArray
    """(C,) int64. The objects that are counted, each its own home."""
    stray: IndexArray
    """(N,) int64. The `Kind` that explains why an annotation is in another unit than most of its
    object; -1 if none does."""
    n_missing: IndexArray
    n_merged: IndexArray
    """(O,) int64. How many annotators missed it, and how many drew it as a part of another one,
    with a box that is not joined with it."""
    kind: IndexArray
    object: IndexArray
    annotator: IndexArray
    """(E,) int64. Each combination once."""


@remembered
def disagreements(matched: MatchedUnits) -> Disagreements:
    """Return how annotators disagree about each object of `drawn_objects`."""
    objects, drawn, of = drawn_objects(matched), parts(matched), matched.data.annotations
    n, n_annotators = len(objects.image), max(len(matched.data.annotator_names), 1)
    author = of.annotator.astype(np.int64)
    root, tied, second, again = repetitions(matched, objects)
    is_again = root != np.arange(n)
    has = np.zeros((n, len(Kind)), np.bool_)
    has[:, Kind.TWICE] = is_again
    merged, is_part, n_merged, n_joined, split = join_parts(objects, drawn, root, n_annotators)
    has[split[0], Kind.SPLIT] = True
    tie_second_boxes(matched, objects, root, second, tied)
    # Objects and who gave another category than most; all annotators in a tie.
    other = of.category != objects.category[objects.of]
    has[objects.of[other & ~drawn.odd_boxes], Kind.CLASS_CONFLICT] = True
    differs = other | objects.is_tied[objects.of]
    found = np.flatnonzero(differs & has[objects.of, Kind.CLASS_CONFLICT] & ~drawn.odd_boxes)
    # Why other annotations are in other units than their object.
    unit, why = matched.units.unit, np.full(len(matched.units), -1)
    why[unit[drawn.odd_boxes]] = Kind.SPLIT
    why[unit[is_again[objects.of]]] = Kind.TWICE
    stray = np.full(len(unit), -1)
    is_apart = unit != objects.unit[objects.of]
    stray[is_apart] = why[unit[is_apart]]
    has[objects.of[is_apart & (stray < 0)], Kind.BADLY_PLACED] = True
    apart = _apart(matched, objects, has[objects.of, Kind.BADLY_PLACED] & (stray < 0))
    n_missing = objects.n_asked - objects.n_drawn - n_merged
    n_missing[is_again | is_part] = 0
    has[:, Kind.MISSED] = n_missing > 0
    # Who missed an object, or drew what fewer than half drew.
    cells, half = object_cells(matched), 2 * objects.n_drawn >= objects.n_asked
    by_part = np.isin(cells.object * n_annotators + cells.annotator, merged)
    lacks = np.where(half[cells.object], ~cells.drawn & ~by_part, cells.drawn)
    lacks &= has[cells.object, Kind.MISSED]
    concerned = (
        (Kind.TWICE, *again),
        (Kind.SPLIT, *split),
        (Kind.BADLY_PLACED, objects.of[apart], author[apart]),
        (Kind.CLASS_CONFLICT, objects.of[found], author[found]),
        (Kind.MISSED, cells.object[lacks], cells.annotator[lacks]),
    )
    entries = np.hstack([np.stack(np.broadcast_arrays(*each)) for each in concerned])
    kind, concerned_object, annotator = distinct_rows(*entries)[0]
    home, has_counted = resolved(root), np.zeros_like(has)
    place, column = np.nonzero(has)
    has_counted[home[place], column] = True
    return Disagreements(
        has=has,
        root=root,
        tied=tied,
        home=home,
        counted=np.flatnonzero(home == np.arange(n)),
        has_counted=has_counted,
        stray=stray,
        n_missing=n_missing,
        n_merged=n_merged - n_joined,
        kind=kind,
        object=concerned_object,
        annotator=annotator,
    )


def _apart(matched: MatchedUnits, objects: DrawnObjects, badly_placed: BoolArray) -> IndexArray:
    """Return the annotations of badly placed objects outside their largest unit, all in a tie."""
    found = np.flatnonzero(badly_placed)
    of, unit = objects.of[found], matched.units.unit[found]
    (of_unit, _), _, size = distinct_rows(of, unit)
    largest = np.zeros(len(objects.image), np.int64)
    np.maximum.at(largest, of_unit, size)
    n_largest = np.bincount(of_unit[size == largest[of_unit]], minlength=len(objects.image))
    return np.asarray(found[(unit != objects.unit[of]) | (n_largest[of] > 1)])


class AgreementSums(FrozenArrays, frozen=True, eq=False):
    """Contributions of O objects to the sums of which alpha and F1 are functions."""

    place: IndexArray
    value: IndexArray
    count: FloatArray
    """(E,). How often an object has a pairable value, the last of which is missing; sorted."""
    of_object: FloatArray
    """(3, O) float64. The coincidences of values with themselves, matched and possible pairs."""


def _agreement_sums(matched: MatchedUnits, cells: IndexArray) -> AgreementSums:
    """Return the sums of each object from cells, (3, C): object, unit and value."""
    # A unit with m annotations, about which k annotators were asked, has m (m − 1) / 2 matched
    # pairs of (k − 1) m / 2 possible ones.
    n_asked, n_values = drawn_objects(matched).n_asked, len(matched.data.category_names)
    units, unit = np.unique(cells[1], return_inverse=True)
    place = np.zeros(len(units), np.int64)
    place[unit] = cells[0]
    drawn, asked = np.bincount(unit, minlength=len(units)), n_asked[place]
    (of, value), _, count = distinct_rows(unit, cells[2])
    size = drawn
    if matched.missing == "category":
        size, lacking = asked, np.flatnonzero(asked > drawn)
        of, value = np.append(of, lacking), np.append(value, np.full(len(lacking), n_values))
        count = np.append(count, (asked - drawn)[lacking])
    paired = np.flatnonzero(size[of] > 1)
    paired = paired[np.argsort(place[of[paired]], kind="stable")]
    of, value, number = of[paired], value[paired], count[paired].astype(np.float64)
    n, same = len(n_asked), number * (number - 1) / (size[of] - 1)
    pairs = sum_by(place, drawn * (drawn - 1), n), sum_by(place, (asked - 1) * drawn, n)
    return AgreementSums(place[of], value, number, np.stack([sum_by(place[of], same, n), *pairs]))


@remembered
def drawn_sums(matched: MatchedUnits) -> AgreementSums:
    """Return the sums of each object as it was drawn."""
    category = matched.data.annotations.category.astype(np.int64)
    cells = np.stack([drawn_objects(matched).of, matched.units.unit, category])
    return _agreement_sums(matched, cells)


@remembered
def _whole_sums(matched: MatchedUnits) -> tuple[FloatArray, FloatArray, IndexArray]:
    """Return how often each value occurs, (K + 1,), and the sums of all objects, (3,).

    Also return how many missing annotations of empty images count in each image, (I,).
    """
    sums, data = drawn_sums(matched), matched.reliability
    extra = (data.unit >= len(matched.units)) & (data.state == Cell.MISSING)
    units = data.unit[extra & (matched.missing == "category")]
    of_image = np.bincount(data.group[units], minlength=len(matched.data.image_names))
    n_empty = of_image.sum()
    marginal = sum_by(sums.value, sums.count, len(matched.data.category_names) + 1)
    marginal[-1] += n_empty
    return marginal, sums.of_object.sum(1) + np.array([n_empty, 0, 0]), of_image


def _change(matched: MatchedUnits, before: IndexArray, after: IndexArray) -> AgreementSums:
    """Return the change of sums from cells before and after a repair; see `_agreement_sums`."""
    old, new = (_agreement_sums(matched, cells) for cells in (before, after))
    place = np.append(old.place, new.place)
    order = np.argsort(place, kind="stable")
    value, count = np.append(old.value, new.value), np.append(-old.count, new.count)
    return AgreementSums(place[order], value[order], count[order], new.of_object - old.of_object)


def joined_objects(found: Disagreements, kind: Kind) -> IndexArray:
    """Return the object with which each one is joined when a kind is repaired, (O,)."""
    joins = found.has[:, Kind.TWICE]
    if kind != Kind.TWICE:
        joins = found.has[:, Kind.SPLIT] & ~joins & (kind == Kind.SPLIT)
    return resolved(np.where(joins, found.root, found.tied))


@remembered
def repairs(matched: MatchedUnits) -> dict[Kind, tuple[AgreementSums, IndexArray]]:
    """Return how the sums of O objects change by repairing each kind of disagreement."""
    objects, found, changed = drawn_objects(matched), disagreements(matched), {}
    annotations = matched.data.annotations
    for kind in Kind:
        root, has = joined_objects(found, kind), found.has[:, kind]
        changes = has.copy()
        changes[root[has]] = True
        index = np.flatnonzero(changes[root][objects.of])
        of, unit = objects.of[index], matched.units.unit[index]
        value, author = (
            each[index].astype(np.int64) for each in (annotations.category, annotations.annotator)
        )
        before = after = np.stack([root[of], unit, value])
        if kind == Kind.CLASS_CONFLICT:
            after = np.stack([root[of], unit, objects.category[of]])
        elif kind == Kind.BADLY_PLACED:
            home = objects.unit[of]
            # The unit may hold the second box of an annotator whose first box is moved there.
            once = _once(home, author, (found.tied[of] != of).astype(np.int64))
            after = np.stack([root[of], home, value])[:, once]
        elif kind == Kind.MISSED:
            most = has & (2 * objects.n_drawn >= objects.n_asked)
            kept = before[:, (most | ~has)[of]]
            after = _filled(kept, objects, np.where(most, found.n_missing, 0))
        else:
            joins = has & ((kind == Kind.TWICE) | ~found.has[:, Kind.TWICE])
            home = np.where(joins, root, np.arange(len(root)))[of]
            stays = (home == of) & (found.stray[index] != kind)
            once = _once(home, author, np.where(home == of, -1, object_ranks(matched)[of]))
            after = np.stack([root[of], np.where(stays, unit, objects.unit[home]), value])[:, once]
        if kind == Kind.SPLIT:
            alone = has & (root == np.arange(len(root)))
            after = _filled(after, objects, np.where(alone, found.n_merged, 0))
        changed[kind] = _change(matched, before, after), root
    return changed


def settled(matched: MatchedUnits) -> tuple[AgreementSums, IndexArray, IndexArray]:
    """Return how sums change if objects are settled as most annotators drew them.

    All kinds of disagreement are repaired at once. Objects that have parts, or share a unit with a
    second box of another object, are left out. Also return as which object each one is then
    counted, (O,), and the objects that are settled.
    """
    objects, found, drawn = drawn_objects(matched), disagreements(matched), matched.data.annotations
    of, n = objects.of, len(objects.image)
    root = joined_objects(found, Kind.TWICE)
    left_out = found.has[:, Kind.SPLIT] | (found.tied != np.arange(n)) | (found.n_merged > 0)
    left_out[of[found.stray == Kind.SPLIT]] = True
    changes = np.zeros(n, np.bool_)
    changes[root[found.has.any(1)]] = True
    changes[root[left_out]] = False
    index = np.flatnonzero(changes[root[of]])
    before = np.stack([root[of], matched.units.unit, drawn.category])[:, index]
    places, _ = distinct_rows(before[0], drawn.annotator[index])[0]
    n_drawn = np.bincount(places, minlength=n)
    n_after = np.where(changes & (2 * n_drawn >= objects.n_asked), objects.n_asked, 0)
    after = _filled(before[:, :0], objects, n_after)
    return _change(matched, before, after), root, distinct(before[0])


def _filled(cells: IndexArray, objects: DrawnObjects, n_more: IndexArray) -> IndexArray:
    """Return cells and `n_more` further ones for each object, in its unit, of its category."""
    more = np.repeat(np.arange(len(objects.image)), n_more)
    return np.hstack([cells, np.stack([more, objects.unit[more], objects.category[more]])])


def _once(home: IndexArray, author: IndexArray, rank: IndexArray) -> IndexArray:
    """Return one cell for each annotator and object (`home`): the one of the lowest rank."""
    order = np.lexsort((rank, author, home))
    starts = (np.diff(home[order], prepend=-1) != 0) | (np.diff(author[order], prepend=-1) != 0)
    return np.sort(order[starts])


def gains(
    matched: MatchedUnits, sums: AgreementSums, group: IndexArray, place: IndexArray, n_groups: int
) -> FloatArray:
    """Return the rise of alpha and F1 of the whole if the sums of a group change, (2, G)."""
    marginal, whole, _ = _whole_sums(matched)
    ends = (np.searchsorted(sums.place, place, side) for side in ("left", "right"))
    entry, offsets = rows(*ends)
    (row, value), at, _ = distinct_rows(np.repeat(group, np.diff(offsets)), sums.value[entry])
    more = sum_by(at, sums.count[entry], len(row))[:, None]
    agreeing, found, possible = (
        sum_by(group, amount, n_groups) for amount in sums.of_object[:, place]
    )
    alpha = alphas_after((marginal[:, None], whole[:1]), row, value, more, agreeing[:, None])[:, 0]
    f1 = ratio(whole[1] + np.append(0.0, found), whole[2] + np.append(0.0, possible))
    return np.stack([alpha[1:] - alpha[0], f1[1:] - f1[0]])


def _kind_gains(matched: MatchedUnits) -> tuple[FloatArray, FloatArray]:
    """Return the gains of alpha and F1 by repairing each `Kind`, (2, 5), and their intervals."""
    n_images, n_values = len(matched.data.image_names), len(matched.data.category_names) + 1
    image, whole = drawn_objects(matched).image, drawn_sums(matched)
    n_empty, changes = _whole_sums(matched)[2], [change for change, _ in repairs(matched).values()]
    of_kind = np.repeat(np.arange(len(Kind)), [len(each.value) for each in changes])
    (kinds, value), row, _ = distinct_rows(
        of_kind, np.concatenate([each.value for each in changes])
    )
    places = image[np.concatenate([each.place for each in changes])]
    counts = np.concatenate([each.count for each in changes])

    def evaluate(*sums: FloatArray) -> FloatArray:
        marginal, change, agreeing, found, possible = sums
        alpha = alphas_after((marginal, agreeing[0]), kinds, value, change, agreeing[1:])
        f1 = ratio(found[0] + found[1:], possible[0] + possible[1:])
        return np.concatenate([alpha[1:] - alpha[0], f1 - ratio(found[0], possible[0])])

    agreeing, found, possible = (
        np.stack([sum_by(image, each, n_images) for each in of_sum])
        for of_sum in zip(*(each.of_object for each in (whole, *changes)), strict=True)
    )
    agreeing[0] += n_empty
    tables = (
        table_of(
            np.append(whole.value, np.full(n_images, n_values - 1)),
            np.append(image[whole.place], np.arange(n_images)),
            np.append(whole.count, n_empty),
            (n_values, n_images),
        ),
        table_of(row, places, counts, (len(kinds), n_images)),
        agreeing,
        found,
        possible,
    )
    gain, bounds = drawn_figures(matched, tables, evaluate)
    if not alpha_has_meaning(matched):
        gain[: len(Kind)] = bounds[: len(Kind)] = np.nan
    return gain.reshape(2, -1), bounds.reshape(2, -1, 2)


_NAMES = (ALL_AGREE, *KINDS)


def decomposition(matched: MatchedUnits) -> Table:
    """Return the number of objects with each kind of disagreement, and the gain of repairing it.

    An object may have several kinds; the last one in `KINDS` is its primary kind. Parts and second
    boxes are counted with the object that they belong to. Columns: kind; n_objects and share, of
    objects with this primary kind; n_any and share_any, of all objects with this kind; and
    alpha_gain and f1_gain, the rise of pooled alpha and F1 if only this kind were repaired (see
    `repairs`), where these have a meaning. Shares and gains have 95 % intervals over images. Gains,
    as those of TIDE (Bolya et al. 2020, doi:10.1007/978-3-030-58580-8_33), do not add up.
    """
    found, image = disagreements(matched), drawn_objects(matched).image
    has, image = found.has_counted[found.counted], image[found.counted]
    has = np.column_stack([~has.any(1), has])
    primary = (has * np.arange(len(_NAMES))).max(1, initial=0)
    kind, place = np.nonzero(has.T)
    everything = [(np.full(len(image), each), image, 0.0, 1.0) for each in range(len(_NAMES))]
    amounts: dict[str, list[Amounts]] = {
        "share": [(primary, image, 1.0, 0.0), *everything],
        "share_any": [(kind, image[place], 1.0, 0.0), *everything],
    }
    shares = RatioSums(matched, len(_NAMES), amounts).ratios()
    # The gain of "all agree" is unknown.
    gain, bounds = (np.insert(each, 0, np.nan, axis=1) for each in _kind_gains(matched))
    return Table(
        {
            "kind": Categorical(np.arange(len(_NAMES), dtype=np.int32), _NAMES),
            "n_objects": shares["share"].n_counted,
            **shares["share"].columns("share"),
            "n_any": shares["share_any"].n_counted,
            **shares["share_any"].columns("share_any"),
            **figure_columns("alpha_gain", gain[0], bounds[0]),
            **figure_columns("f1_gain", gain[1], bounds[1]),
        }
    )


def decomposition_by_category(matched: MatchedUnits) -> Table:
    """Return the number of objects of each category with each kind of disagreement.

    Columns: category, that of the majority; kind; n_objects, the number of objects with the kind,
    perhaps with others; share, n_objects divided by the objects of the category; alpha_gain and
    f1_gain, the rise of alpha and F1 of all objects if it were repaired in this category only.
    """
    found, category = disagreements(matched), drawn_objects(matched).category
    kind, place = np.nonzero(found.has.T)
    total = np.bincount(category[found.counted], minlength=len(matched.data.category_names))
    group = category[found.home[place]]
    return _by_group(matched, "category", np.stack([kind, place, group]), total)


def decomposition_by_annotator(matched: MatchedUnits) -> Table:
    """Return the number of objects in which each kind of disagreement concerns each annotator.

    It concerns those whom `Disagreements` names. Columns: annotator; kind; n_objects; share,
    n_objects divided by the objects in the images of the annotator; alpha_gain and f1_gain, the
    rise of alpha and F1 of all objects if it were repaired in these objects only.
    """
    found, image = disagreements(matched), drawn_objects(matched).image
    of_image = np.bincount(image[found.counted], minlength=len(matched.data.image_names))
    entries = np.stack([found.kind, found.object, found.annotator])
    return _by_group(matched, "annotator", entries, of_image @ matched.data.assigned)


def _by_group(matched: MatchedUnits, title: str, entries: IndexArray, total: IndexArray) -> Table:
    """Return counts and gains by group; entries, (3, E), are kinds, objects and groups."""
    found, (kind, place, group) = disagreements(matched), entries
    (who, of_row), row, _ = distinct_rows(group, kind)
    (counted, _), *_ = distinct_rows(row, found.home[place])
    n, gain = np.bincount(counted, minlength=len(who)), np.full((2, len(who)), np.nan)
    for each in Kind:
        own, rows_of = np.flatnonzero(kind == each), np.flatnonzero(of_row == each)
        # Objects that are joined with another one are counted for that one.
        change, root = repairs(matched)[each]
        chosen, at = distinct_rows(np.searchsorted(rows_of, row[own]), root[place[own]])[0]
        gain[:, rows_of] = gains(matched, change, chosen, at, len(rows_of))
    if not alpha_has_meaning(matched):
        gain[0] = np.nan
    columns: dict[str, Column] = {
        title: Categorical(who.astype(np.int32), getattr(matched.data, f"{title}_names")),
        "kind": Categorical(of_row.astype(np.int32), KINDS),
        "n_objects": n,
        "share": ratio(n.astype(np.float64), total[who]),
        "alpha_gain": gain[0],
        "f1_gain": gain[1],
    }
    return Table(columns)
