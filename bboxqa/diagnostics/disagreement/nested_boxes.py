"""Boxes that lie in larger ones, and whether they fill them."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, run_starts

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
