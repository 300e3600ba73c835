"""Kinds of disagreement about an object, and the annotators that each concerns."""

from enum import IntEnum

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, rows
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects, drawn_objects, mean_boxes
from bboxqa.model.units import MatchedUnits

# A box that lies in another one by this share is a part of it.
_INSIDE = 0.5


class Kind(IntEnum):
    """How annotators disagree about an object; of several kinds, the last one is the primary."""

    MISSED = 0
    CLASS_CONFLICT = 1
    BADLY_PLACED = 2
    SPLIT = 3
    TWICE = 4


ALL_AGREE = "all agree"
KINDS = (
    "missed by some",
    "class conflict",
    "badly placed",
    "split or merged",
    "drawn twice by one",
)
"""What tables call each `Kind`."""


@frozen_arrays
class Disagreements:
    """Which kinds of disagreement O objects have.

    `object` and `annotator` say whom each of E kinds concerns: who missed an object that at least
    half of the annotators asked drew, and who drew one that fewer did; who gave it another category
    than most; who drew it apart from most; who split or merged it otherwise than most; who drew it
    twice.
    """

    has: BoolArray
    """(O, 5) bool. The columns are those of `Kind`."""
    root: IndexArray
    """(O,) int64. The object that an object is a part or a repetition of; else itself."""
    rank: IndexArray
    """(O,) int64. Of objects that overlap others of the same annotator, the place by how many drew
    them, most first, then by what they drew; names and ids have no part in it. -1 for others."""
    n_missing: IndexArray
    """(O,) int64. How many annotators missed it, without those who drew it as a part of another."""
    n_merged: IndexArray
    """(O,) int64. How many annotators drew it as a part of another one."""
    kind: IndexArray
    object: IndexArray
    annotator: IndexArray
    """(E,) int64. Each combination once."""


@remembered
def disagreements(matched: MatchedUnits) -> Disagreements:
    """Return how annotators disagree about each object of `drawn_objects`."""
    objects = drawn_objects(matched)
    n = len(objects)
    rank = _ranks(matched, objects)
    root, again = _repetitions(matched, objects, rank)
    is_again = root != np.arange(n)
    parts = _parts(matched, objects, is_again)
    whole, part, merger, splitter = parts
    half = 2 * objects.n_drawn >= objects.n_asked
    # Where most drew the parts, the annotator who drew one box merged them. Objects are joined to
    # those of a lower rank only, so that there are no circles.
    minor = np.flatnonzero(~half[part] & (rank[whole] < rank[part]))
    minor = minor[np.lexsort((rank[whole[minor]], part[minor]))]
    absorbed, first = np.unique(part[minor], return_index=True)
    root[absorbed] = whole[minor[first]]
    n_annotators = max(len(matched.data.annotator_names), 1)
    merged = np.unique(part * n_annotators + merger)
    n_merged = np.bincount(merged // n_annotators, minlength=n)
    has = np.zeros((n, len(Kind)), np.bool_)
    has[:, Kind.TWICE] = is_again
    has[part, Kind.SPLIT] = True
    has[:, Kind.BADLY_PLACED] = objects.n_units > 1
    has[:, Kind.CLASS_CONFLICT] = objects.n_category < objects.n_drawn
    n_missing = np.where(is_again, 0, objects.n_asked - objects.n_drawn - n_merged)
    has[:, Kind.MISSED] = n_missing > 0
    concerned = [
        (Kind.TWICE, *again),
        (Kind.SPLIT, *_who_differs(objects, part, merger, splitter)),
        (Kind.BADLY_PLACED, *_apart(matched, objects)),
        (Kind.CLASS_CONFLICT, *_dissenting(matched, objects)),
        (Kind.MISSED, *_missing(matched, objects, n_missing > 0, merged)),
    ]
    keys = np.unique(np.concatenate([(k * n + o) * n_annotators + a for k, o, a in concerned]))
    pair, annotator = np.divmod(keys, n_annotators)
    kind, concerned_object = np.divmod(pair, max(n, 1))
    return Disagreements(has, root, rank, n_missing, n_merged, kind, concerned_object, annotator)


def _ranks(matched: MatchedUnits, objects: DrawnObjects) -> IndexArray:
    """Return the rank of the objects that may be a part or a repetition of another one, (O,)."""
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


def _repetitions(
    matched: MatchedUnits, objects: DrawnObjects, rank: IndexArray
) -> tuple[IndexArray, tuple[IndexArray, IndexArray]]:
    """Return which object each one repeats, (O,), and the objects and annotators concerned.

    An object that nobody but one annotator drew twice is a repetition of the one that more drew.
    """
    left, right = matched.own.left, matched.own.right
    one, other = objects.of[left], objects.of[right]
    alone = np.flatnonzero(_n_common(matched, objects, one, other) == 1)
    one, other, left = one[alone], other[alone], left[alone]
    swap = rank[one] > rank[other]
    main, again = np.where(swap, other, one), np.where(swap, one, other)
    order = np.lexsort((rank[main], again))
    found, first = np.unique(again[order], return_index=True)
    root = np.arange(len(objects))
    root[found] = main[order][first]
    annotator = matched.data.annotations.annotator[left].astype(np.int64)
    return root, (again, annotator)


def _n_common(
    matched: MatchedUnits, objects: DrawnObjects, one: IndexArray, other: IndexArray
) -> IndexArray:
    """Return how many annotators drew both objects, for each pair of objects."""
    starts = np.cumsum(objects.n_drawn) - objects.n_drawn
    place, offsets = rows(starts[one], starts[one] + objects.n_drawn[one])
    n_annotators = len(matched.data.annotator_names)
    pair = np.repeat(np.arange(len(one)), np.diff(offsets))
    author = objects.key[place] - objects.of[objects.by_key[place]] * n_annotators
    both = objects.annotation(other[pair] * n_annotators + author) >= 0
    return np.bincount(pair[both], minlength=len(one))


def _parts(
    matched: MatchedUnits, objects: DrawnObjects, is_again: BoolArray
) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray]:
    """Return whole, part, merger and splitter of each object that is drawn as a part of another.

    The merger drew one box where the splitter drew two: both lie in it at least by half, without
    overlapping each other so far, and the merger drew nothing for the second.
    """
    bbox, author = matched.data.annotations.bbox, matched.data.annotations.annotator
    n_annotators = len(matched.data.annotator_names)
    near = matched.near
    large = np.concatenate([near.left, near.right])
    small = np.concatenate([near.right, near.left])
    whole, part = objects.of[large], objects.of[small]
    merger, splitter = author[large].astype(np.int64), author[small].astype(np.int64)
    kept = (whole != part) & ~is_again[part] & (_areas(bbox[small]) < _areas(bbox[large]))
    kept &= objects.annotation(part * n_annotators + merger) < 0
    first = objects.annotation(whole * n_annotators + splitter)
    found = np.flatnonzero(kept & (first >= 0))
    first, large, small = first[found], large[found], small[found]
    inside = (_inside(bbox[small], bbox[large]) >= _INSIDE) & (
        _inside(bbox[first], bbox[large]) >= _INSIDE
    )
    inside &= _inside(bbox[first], bbox[small]) < _INSIDE
    inside &= _inside(bbox[small], bbox[first]) < _INSIDE
    found = found[inside]
    return whole[found], part[found], merger[found], splitter[found]


def _who_differs(
    objects: DrawnObjects, part: IndexArray, merger: IndexArray, splitter: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Return parts and who drew them otherwise than most: both sides if neither is most."""
    drawn, asked = 2 * objects.n_drawn[part], objects.n_asked[part]
    split, merged = drawn <= asked, drawn >= asked
    return (
        np.concatenate([part[split], part[merged]]),
        np.concatenate([splitter[split], merger[merged]]),
    )


def _areas(bbox: FloatArray) -> FloatArray:
    area: FloatArray = bbox[:, 2] * bbox[:, 3]
    return area


def _inside(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return by which share of its area each box lies in another; 0 for boxes without an area."""
    low = np.maximum(part[:, :2], whole[:, :2])
    high = np.minimum(part[:, :2] + part[:, 2:], whole[:, :2] + whole[:, 2:])
    shared = np.maximum(high - low, 0).prod(1)
    area = _areas(part)
    share: FloatArray = np.divide(shared, area, out=np.zeros(len(area)), where=area > 0)
    return share


def _apart(matched: MatchedUnits, objects: DrawnObjects) -> tuple[IndexArray, IndexArray]:
    """Return objects of several units and the annotators outside the unit that most drew."""
    unit = matched.units.unit
    size = np.bincount(unit, minlength=len(matched.units))
    main = objects.unit[objects.of]
    # Where no unit has more annotators than the others, all of them are apart.
    n_largest = np.zeros(len(objects), np.int64)
    np.add.at(n_largest, matched.objects, size == size[objects.unit[matched.objects]])
    several = objects.n_units[objects.of] > 1
    found = np.flatnonzero(several & ((unit != main) | (n_largest[objects.of] > 1)))
    return objects.of[found], matched.data.annotations.annotator[found].astype(np.int64)


def _dissenting(matched: MatchedUnits, objects: DrawnObjects) -> tuple[IndexArray, IndexArray]:
    """Return objects and who gave another category than most; all if no category has most."""
    annotations = matched.data.annotations
    other = annotations.category != objects.category[objects.of]
    found = np.flatnonzero(other | objects.is_tied[objects.of])
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
