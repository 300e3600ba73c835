"""Objects that an annotator drew twice, in parts or joined."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    find,
    frozen_arrays,
    overlapping_boxes,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.object_cells import edges_of, object_cells
from bboxqa.model.units import CandidatePairs, MatchedUnits


@frozen_arrays
class DrawnObjects:
    """O objects of N annotations."""

    of: IndexArray
    """(N,) int64. The object of each annotation."""
    image: IndexArray
    n_asked: IndexArray
    n_drawn: IndexArray
    """(O,) int64. The image, the annotators who were asked and those who drew the object."""
    category: IndexArray
    """(O,) int64. The category of the majority; in a tie, the more frequent one."""
    n_category: IndexArray
    """(O,) int64. How many annotators gave this category."""
    is_tied: BoolArray
    """(O,) bool. Whether another category is as frequent."""
    n_units: IndexArray
    """(O,) int64."""
    unit: IndexArray
    """(O,) int64. The unit of the object that most drew."""
    key: IndexArray
    """(N,) int64. Object and annotator of each annotation as one number, sorted."""
    by_key: IndexArray
    """(N,) int64. The annotation of each key."""

    def __len__(self) -> int:
        return len(self.image)

    def annotation(self, key: IndexArray) -> IndexArray:
        """Return the annotation of each object and annotator, (K,); -1 where there is none."""
        if len(self.key) == 0:
            return np.full(len(key), -1)
        place = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[place] == key, self.by_key[place], -1)


@remembered
def drawn_objects(matched: MatchedUnits) -> DrawnObjects:
    """Return the objects with their annotations."""
    annotations, units = matched.data.annotations, matched.units
    of = matched.objects
    n_objects = int(matched.objects.max(initial=-1)) + 1
    image = np.zeros(n_objects, np.int64)
    image[of] = annotations.image
    # The number of units over which each object's annotations are spread, (O,).
    # Nearly all annotations of a unit show one object.
    usual = np.zeros(len(units), np.int64)
    usual[units.unit] = of
    other = np.flatnonzero(usual[units.unit] != of)
    more = np.unique(of[other] * len(units) + units.unit[other]) // max(len(units), 1)
    n_units = np.bincount(usual, minlength=n_objects) + np.bincount(more, minlength=n_objects)
    n_drawn = np.bincount(of, minlength=n_objects)
    category, n_category, is_tied = _categories(
        of, annotations.category.astype(np.int64), n_objects
    )
    key = of * len(matched.data.annotator_names) + annotations.annotator
    by_key = np.argsort(key, kind="stable")
    return DrawnObjects(
        of=of,
        image=image,
        n_asked=matched.data.assigned.sum(1)[image],
        n_drawn=n_drawn,
        category=category,
        n_category=n_category,
        is_tied=is_tied,
        n_units=n_units,
        unit=_largest_units(matched, n_units),
        key=key[by_key],
        by_key=by_key,
    )


def _largest_units(matched: MatchedUnits, n_units: IndexArray) -> IndexArray:
    """Return the largest unit of each object; in a tie, the one whose boxes come first."""
    of, unit = matched.objects, matched.units.unit
    chosen = np.zeros(len(n_units), np.int64)
    chosen[of] = unit
    several = np.flatnonzero(n_units[of] > 1)
    if len(several):
        key = of[several] * len(matched.units) + unit[several]
        keys, place, size = np.unique(key, return_inverse=True, return_counts=True)
        mean = mean_boxes(matched.data.annotations.bbox[several], place, len(keys))
        found, its_unit = np.divmod(keys, len(matched.units))
        order = np.lexsort((*mean.T, -size, found))
        best = order[run_starts(found[order])]
        chosen[found[best]] = its_unit[best]
    return chosen


def mean_boxes(bbox: FloatArray, group: IndexArray, n_groups: int) -> FloatArray:
    """Return the mean box of each group, (G, 4); groups without boxes have zeros."""
    size = np.maximum(np.bincount(group, minlength=n_groups), 1)
    return np.column_stack([sum_by(group, side, n_groups) for side in bbox.T]) / size[:, None]


@remembered
def object_ranks(matched: MatchedUnits) -> IndexArray:
    """Return the rank of objects that may be a part or a repetition of another one, (O,).

    They are ranked by the number of annotators, most first, then by their boxes; -1 for others.
    """
    objects = drawn_objects(matched)
    near, own = matched.near, matched.own
    one = objects.of[np.concatenate([near.left, own.left])]
    other = objects.of[np.concatenate([near.right, own.right])]
    apart = one != other
    found = np.unique(np.concatenate([one[apart], other[apart]]))
    boxes = mean_boxes(matched.data.annotations.bbox, objects.of, len(objects))[found]
    order = np.lexsort((objects.category[found], *boxes.T, -objects.n_drawn[found]))
    rank = np.full(len(objects), -1)
    rank[found[order]] = np.arange(len(found))
    return rank


def _categories(
    of: IndexArray, category: IndexArray, n_objects: int
) -> tuple[IndexArray, IndexArray, BoolArray]:
    """Return the most frequent category of each object, how many gave it, and if there are two."""
    n_categories = int(category.max(initial=-1)) + 1
    keys, count = np.unique(of * n_categories + category, return_counts=True)
    each, value = np.divmod(keys, max(n_categories, 1))
    overall = np.bincount(category, minlength=n_categories)[value]
    order = np.lexsort((value, -overall, -count, each))
    starts = run_starts(each[order])
    best = order[starts]
    most = np.zeros(n_objects, np.int64)
    np.maximum.at(most, each, count)
    n_best = np.bincount(each[count == most[each]], minlength=n_objects)
    return value[best], count[best], n_best > 1


# Share of a box that must lie in another one, and lowest IoU of the parts together with the whole.
_INSIDE = 0.5


@frozen_arrays
class OddBoxes:
    """C boxes that may be parts: their annotators drew more or fewer boxes there than others."""

    object: IndexArray
    image: IndexArray
    annotator: IndexArray
    annotation: IndexArray
    """(C,) int64. -1 where the box is the mean of what others drew."""
    edges: FloatArray

    @property
    def is_merge(self) -> BoolArray:
        """Whether the annotator drew less than others, (C,)."""
        result: BoolArray = self.annotation < 0
        return result


@frozen_arrays
class NestedPairs:
    """P small boxes inside larger ones, and the other box inside the large one."""

    odd: IndexArray
    box: IndexArray
    """(P,) int64. The odd box, and the annotation of its annotator with which it is compared."""
    small: FloatArray
    large: FloatArray
    other: FloatArray
    """(P, 4) float64. Edges; those of `other` are NaN where nothing else lies in the large box."""

    def take(self, index: IndexArray | BoolArray) -> "NestedPairs":
        """Return the pairs at `index`."""
        return NestedPairs(
            self.odd[index],
            self.box[index],
            self.small[index],
            self.large[index],
            self.other[index],
        )


def nested_pairs(
    odd: OddBoxes, few: IndexArray, places: IndexArray, own: FloatArray, others: FloatArray
) -> NestedPairs:
    """Return the odd boxes that lie in a larger one, with the other box in it.

    The large box is the annotator's own for a merge, and that of the others for a split.

    Parameters
    ----------
    few, places : (P,) int64
        Odd boxes, and annotations of the same annotators that they are compared with.
    own, others : (P, 4) float64
        The edges of these, and of what the others drew of the same object; NaN for nothing.
    """
    is_merge, small = odd.is_merge[few], odd.edges[few]
    with np.errstate(invalid="ignore"):
        large = np.where(is_merge[:, None], own, others)
        other = np.where(is_merge[:, None], others, own)
        kept = np.flatnonzero((_areas(small) < _areas(large)) & (_inside(small, large) >= _INSIDE))
    pairs = NestedPairs(few[kept], places[kept], small[kept], large[kept], other[kept])
    with np.errstate(invalid="ignore"):
        both = _inside(pairs.other, pairs.large) >= _INSIDE
        nested = np.maximum(_inside(pairs.other, pairs.small), _inside(pairs.small, pairs.other))
    # A box outside the large box was not merged with the small one.
    other = np.where(both[:, None], pairs.other, np.nan)
    pairs = NestedPairs(pairs.odd, pairs.box, pairs.small, pairs.large, other)
    return pairs.take(np.where(both, nested < _INSIDE, is_merge[kept]))


def accepted_pairs(pairs: NestedPairs, is_merge: BoolArray) -> IndexArray:
    """Return the pairs whose small boxes together fill the large one, one per odd box.

    Their joint bounds overlap it by at least half, and by more than the other box alone does.
    """
    if not len(pairs.odd):
        return pairs.odd
    keys, group = np.unique(2 * pairs.box + is_merge[pairs.odd], return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = run_starts(group[order])
    low = np.fmin(pairs.small, pairs.other)[order, :2]
    high = np.fmax(pairs.small, pairs.other)[order, 2:]
    joint = np.concatenate(
        [np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)], axis=1
    )[group]
    n_small = np.bincount(group, minlength=len(keys))[group]
    has_other = ~np.isnan(pairs.other[:, 0])
    overlap = _overlap(joint, pairs.large)
    alone = np.where(has_other, _overlap(np.nan_to_num(pairs.other), pairs.large), 0)
    good = (n_small + has_other >= 2) & (overlap >= _INSIDE) & (overlap > alone)
    found = np.flatnonzero(good)
    found = found[np.lexsort((pairs.box[found], -overlap[found].round(9), pairs.odd[found]))]
    return found[run_starts(pairs.odd[found])]


def joined_pairs(all_pairs: list[NestedPairs]) -> NestedPairs:
    """Return the pairs of all lists."""
    return NestedPairs(
        np.concatenate([each.odd for each in all_pairs]),
        np.concatenate([each.box for each in all_pairs]),
        np.concatenate([each.small for each in all_pairs]),
        np.concatenate([each.large for each in all_pairs]),
        np.concatenate([each.other for each in all_pairs]),
    )


def no_pairs() -> NestedPairs:
    """Return no pairs."""
    none, edges = np.zeros(0, np.int64), np.zeros((0, 4))
    return NestedPairs(none, none, edges, edges, edges)


def _areas(edges: FloatArray) -> FloatArray:
    area: FloatArray = (edges[:, 2:] - edges[:, :2]).prod(1)
    return area


def _shared(one: FloatArray, other: FloatArray) -> FloatArray:
    sides = np.minimum(one[:, 2:], other[:, 2:]) - np.maximum(one[:, :2], other[:, :2])
    area: FloatArray = np.maximum(sides, 0).prod(1)
    return area


def _inside(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return the share of each box's area that lies in the other; 0 for boxes without area."""
    area = _areas(part)
    share: FloatArray = np.divide(
        _shared(part, whole), area, out=np.zeros(len(area)), where=area > 0
    )
    return share


def _overlap(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the IoU of each two boxes."""
    shared = _shared(one, other)
    union = _areas(one) + _areas(other) - shared
    iou: FloatArray = np.divide(shared, union, out=np.zeros(len(union)), where=union > 0)
    return iou


# Pairs of boxes that are compared at a time.
_AT_ONCE = 1 << 20
# Up to so many boxes of an annotator in an image, each box is compared with all of them.
_MANY = 64


@frozen_arrays
class Parts:
    """E pairs of an annotator and an object that was split, or merged with another one.

    A *split*: two boxes of the annotator lie in the box that others drew, and at most half of the
    annotators drew one of these two. A *merge*: the annotator drew one box around two objects and
    has no other box for one of them, which at least half of the annotators drew.
    """

    part: IndexArray
    """(E,) int64. The object of the second box, or the object that was merged."""
    whole: IndexArray
    """(E,) int64. The object that was split, or with which the part was merged; -1 if the box of a
    merge shows no single object."""
    annotator: IndexArray
    box: IndexArray
    """(E,) int64. The annotation of the first part, or the one around several objects."""
    is_merge: BoolArray
    odd_boxes: BoolArray
    """(N,) bool. The annotations that show parts, or several objects."""


@frozen_arrays
class _Shown:
    """Boxes of O objects, without odd boxes if there are others."""

    edges: FloatArray
    """(N, 4) float64. Of all annotations."""
    of: IndexArray
    n_all: IndexArray
    sum_all: FloatArray
    is_counted: BoolArray
    """(N,) bool. The annotations that count for the extent of their object."""
    n: IndexArray
    sum: FloatArray
    """(O,) and (O, 4). Number and sums of edges of all annotations, and of those counted."""

    def means(self, of: IndexArray) -> FloatArray:
        """Return the mean edges of objects."""
        means: FloatArray = self.sum[of] / self.n[of][:, None]
        return means

    def by_others(self, places: IndexArray) -> FloatArray:
        """Return the mean edges of the others' boxes of the same object, NaN without others."""
        of, own, counted = self.of[places], self.edges[places], self.is_counted[places]
        n = self.n[of] - counted
        others = np.where(
            (n > 0)[:, None],
            self.sum[of] - own * counted[:, None],
            self.sum_all[of] - own,
        )
        n = np.where(n > 0, n, self.n_all[of] - 1)
        means: FloatArray = np.where(n > 0, 1.0, np.nan)[:, None] * others
        return means / np.maximum(n, 1)[:, None]


def _shown(matched: MatchedUnits, odd: BoolArray) -> _Shown:
    """Return the boxes of objects, without odd boxes."""
    edges, of = edges_of(matched.data.annotations.bbox), matched.objects
    n_all = np.bincount(of)
    is_counted = ~odd | (np.bincount(of, ~odd) == 0)[of]
    sum_all = _sums(of, edges, len(n_all))
    if is_counted.all():
        return _Shown(edges, of, n_all, sum_all, is_counted, n_all, sum_all)
    n = np.bincount(of[is_counted], minlength=len(n_all))
    counted = _sums(of[is_counted], edges[is_counted], len(n_all))
    return _Shown(edges, of, n_all, sum_all, is_counted, n, counted)


def _sums(of: IndexArray, edges: FloatArray, n_objects: int) -> FloatArray:
    return np.column_stack([sum_by(of, edge, n_objects) for edge in edges.T])


@remembered
def parts(matched: MatchedUnits) -> Parts:
    """Return which objects were split or merged, and by whom.

    A second pass leaves parts, and boxes around several objects, out of the boxes of the others.
    """
    found = _parts(matched, np.zeros(len(matched.objects), np.bool_))
    return _parts(matched, found.odd_boxes) if len(found.part) else found


def _parts(matched: MatchedUnits, known: BoolArray) -> Parts:
    """Return parts in images with known odd boxes, or in all images if none are known."""
    shown = _shown(matched, known)
    # Boxes that few drew, and mean boxes of objects that an annotator did not draw.
    cells = object_cells(matched)
    drawn, n_asked = cells.drawn, cells.n_others + 1
    n_drawn = cells.n_others_drew + drawn
    has_parts = np.zeros(len(matched.data.image_names), np.bool_)
    has_parts[matched.data.annotations.image[known]] = True
    looked_at = has_parts[cells.image] | ~known.any()
    missed = np.flatnonzero(looked_at & ~drawn & (2 * n_drawn >= n_asked))
    extra = np.flatnonzero(looked_at & drawn & (2 * n_drawn <= n_asked))
    both = np.concatenate([missed, extra])
    odd = OddBoxes(
        cells.object[both],
        cells.image[both].astype(np.int64),
        cells.annotator[both].astype(np.int64),
        cells.annotation[both],
        np.concatenate([shown.means(cells.object[missed]), shown.edges[cells.annotation[extra]]]),
    )
    others = shown.by_others(np.arange(len(known)))
    found = [
        nested_pairs(odd, few, places, shown.edges[places], others[places])
        for few, places in _compared(matched, odd, shown.edges, others)
    ]
    pairs = joined_pairs([*found, no_pairs()])
    pairs = pairs.take(accepted_pairs(pairs, odd.is_merge))
    is_merge = odd.is_merge[pairs.odd]
    odd_boxes = np.zeros(len(known), np.bool_)
    odd_boxes[pairs.box] = True
    odd_boxes[odd.annotation[pairs.odd[~is_merge]]] = True
    return Parts(
        part=odd.object[pairs.odd],
        whole=np.where(np.isnan(pairs.other[:, 0]), -1, matched.objects[pairs.box]),
        annotator=odd.annotator[pairs.odd],
        box=pairs.box,
        is_merge=is_merge,
        odd_boxes=odd_boxes,
    )


def _compared(
    matched: MatchedUnits, odd: OddBoxes, own: FloatArray, others: FloatArray
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield odd boxes, and the annotations of the same annotator in the same image."""
    annotations, n_annotators = matched.data.annotations, len(matched.data.annotator_names)
    key = annotations.image.astype(np.int64) * n_annotators + annotations.annotator
    wanted = odd.image * n_annotators + odd.annotator
    start, stop = (np.searchsorted(key, wanted, side) for side in ("left", "right"))
    is_many = stop - start > _MANY
    found = [_each_with_each(np.flatnonzero(~is_many), start, stop)]
    for chosen, large in ((odd.is_merge, own), (~odd.is_merge, others)):
        several = np.flatnonzero(is_many & chosen)
        if len(several):
            found.append(_overlapping(several, wanted, odd.edges, key, large))
    for one, place in chain(*found):
        apart = np.flatnonzero(matched.objects[place] != odd.object[one])
        yield one[apart], place[apart]


def _each_with_each(
    few: IndexArray, start: IndexArray, stop: IndexArray
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield some odd boxes, and all annotations that each is compared with."""
    total = np.cumsum((stop - start)[few])
    cuts = np.flatnonzero(np.diff(total // _AT_ONCE, prepend=0))
    for some in np.split(few, cuts):
        places, offsets = rows(start[some], stop[some])
        yield np.repeat(some, np.diff(offsets)), places


def _overlapping(
    several: IndexArray,
    wanted: IndexArray,
    edges: FloatArray,
    key: IndexArray,
    large: FloatArray,
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield some odd boxes, and the annotations whose large boxes overlap each."""
    for one, place in overlapping_boxes(wanted[several], edges[several], key, large):
        yield several[one], place


@frozen_arrays
class JoinedParts:
    """O objects, and E pairs of an object and an annotator who split or merged it."""

    object: IndexArray
    annotator: IndexArray
    """(E,) int64."""
    merged: IndexArray
    """Sorted numbers of an object and an annotator who merged it."""
    n_merged: IndexArray
    """(O,) int64. How many annotators merged it."""
    n_filled: IndexArray
    """(O,) int64. How many of them have no box that is joined with it."""
    is_part: BoolArray
    """(O,) bool. Whether it is joined with another object: a part, or a box around several."""


def joined_parts(
    objects: DrawnObjects, drawn: Parts, root: IndexArray, n_annotators: int
) -> JoinedParts:
    """Return split and merged objects, and set in `root` the objects that parts are joined with."""
    n, split, merge = len(objects), ~drawn.is_merge, drawn.is_merge
    is_again = root != np.arange(n)
    # Boxes around several objects that nobody else drew: object, annotator, a part.
    part, of = drawn.part, objects.of[drawn.box]
    single = (objects.n_drawn == 1) & ~is_again
    alone = np.flatnonzero(drawn.is_merge & (drawn.whole < 0) & single[of])
    # Of the objects in the box, the one that most annotators drew; in a tie, the first.
    order = alone[np.lexsort((part[alone], -objects.n_drawn[part[alone]], of[alone]))]
    first = order[run_starts(of[order])]
    joint, joint_author, joint_part = of[first], drawn.annotator[first], part[first]
    root[joint] = joint_part
    half = 2 * objects.n_drawn >= objects.n_asked
    # Parts are joined to what more annotators drew, so that there are no circles.
    minor = np.flatnonzero(split & ~(half | is_again)[drawn.part])
    minor = minor[objects.n_drawn[drawn.whole[minor]] > objects.n_drawn[drawn.part[minor]]]
    whole, part = drawn.whole[minor], drawn.part[minor]
    minor = minor[np.lexsort((whole, -objects.n_drawn[whole], part))]
    first = minor[run_starts(drawn.part[minor])]
    root[drawn.part[first]] = drawn.whole[first]
    is_part = np.zeros(n, np.bool_)
    is_part[joint] = True
    is_part[drawn.part[first]] = True
    merged = np.unique(drawn.part[merge] * n_annotators + drawn.annotator[merge])
    n_merged = np.bincount(merged // n_annotators, minlength=n)
    most = merge & (drawn.whole >= 0) & (2 * objects.n_drawn > objects.n_asked)[drawn.part]
    return JoinedParts(
        object=np.concatenate([drawn.part, drawn.whole[most], joint]),
        annotator=np.concatenate([drawn.annotator, drawn.annotator[most], joint_author]),
        merged=merged,
        n_merged=n_merged,
        n_filled=n_merged - np.bincount(joint_part, minlength=n),
        is_part=is_part,
    )


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
    # Pairs of objects of several annotators whose annotations overlap.
    rank, (left, right) = object_ranks(matched), _pairs_of_objects(matched)
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
    beside = _Beside(small, large, pair, objects.by_key[place], other)
    shared = beside.other >= 0
    twice, part = shared & _are_twice(matched, beside), shared & _are_parts(matched, beside)
    part &= ~twice
    known = beside.count(twice | part)
    # (B,) bool: boxes around several objects.
    possible = ~shared & (known > 0)[beside.pair]
    result = np.zeros(len(possible), np.bool_)
    if possible.any():
        found = parts(matched)
        result[possible] = np.isin(beside.box[possible], found.box[found.is_merge])
    around = result
    single = ~shared & ~around
    apart = (known > 0) & (beside.count(shared & ~twice & ~part) == 0)
    for reason in (twice, part, around):
        apart &= 2 * beside.count(reason) <= objects.n_asked[beside.small]
    apart &= ~_are_two_objects(matched, beside, twice)
    apart &= beside.count(single & ~_overlaps_others(matched, beside, single)) == 0
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


def _pairs_of_objects(matched: MatchedUnits) -> tuple[IndexArray, IndexArray]:
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
    """Return (P,) bool: pairs that are two objects, as two or more drew the same two boxes."""
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
    """Return (B,) bool: boxes that are further parts of the large object."""
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


def _overlaps_others(matched: MatchedUnits, beside: _Beside, single: BoolArray) -> BoolArray:
    """Return (B,) bool: boxes that overlap others' boxes of the large object."""
    left, right = _pairs_of_objects(matched)
    of, n = matched.objects, int(matched.objects.max(initial=0)) + 1
    wanted = np.where(single, beside.box * n + beside.large[beside.pair], -1)
    known = np.concatenate([left * n + of[right], right * n + of[left]])
    result: BoolArray = np.isin(wanted, known)
    return result
