"""Objects that an annotator drew in parts, or together with another one in one box."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    frozen_arrays,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.annotators.object_cells import edges_of, object_cells
from bboxqa.model.units import MatchedUnits

# A box lies in another one by this share, and parts together overlap the whole as much.
_INSIDE = 0.5
# Pairs of boxes that are compared at a time.
_AT_ONCE = 1 << 20


@frozen_arrays
class Parts:
    """E times an annotator drew an object as a part of another one.

    A *split*: two boxes of the annotator lie in the one that others drew, and one of them is drawn
    by half of the annotators at most. A *merge*: the annotator drew one box around two objects, one
    of which at least half of the annotators drew, and this annotator did not otherwise.
    """

    part: IndexArray
    """(E,) int64. The object of the second box, or the object that was merged."""
    whole: IndexArray
    """(E,) int64. The object that was split or that the part was merged with; -1 where the box of a
    merge shows no single object."""
    annotator: IndexArray
    box: IndexArray
    """(E,) int64. The annotation of the first part, or the one around several objects."""
    is_merge: BoolArray
    odd_boxes: BoolArray
    """(N,) bool. The annotations that show parts, or several objects."""


@frozen_arrays
class _Odd:
    """C boxes that may be parts: of annotators who drew more or less than others."""

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
class _Pairs:
    """P small boxes inside of larger ones, and what else lies in the large one."""

    odd: IndexArray
    box: IndexArray
    """(P,) int64. The odd box, and the annotation of its annotator that it is compared with."""
    small: FloatArray
    large: FloatArray
    other: FloatArray
    """(P, 4) float64. Edges; those of `other` are NaN where nothing else lies in the large box."""

    def take(self, index: IndexArray | BoolArray) -> "_Pairs":
        """Return the pairs at `index`."""
        return _Pairs(
            self.odd[index],
            self.box[index],
            self.small[index],
            self.large[index],
            self.other[index],
        )


@remembered
def parts(matched: MatchedUnits) -> Parts:
    """Return which objects were split or merged, and by whom."""
    of = matched.objects
    edges = edges_of(matched.data.annotations.bbox)
    n_drawn = np.bincount(of)
    sums = np.column_stack([sum_by(of, edge, len(n_drawn)) for edge in edges.T])
    odd = _odd_boxes(matched, sums / n_drawn[:, None])
    found = [
        _nested(odd, few, places, edges, sums[of[places]], n_drawn[of[places]])
        for few, places in _compared(matched, odd)
    ]
    pairs = _joint([*found, _no_pairs()])
    pairs = pairs.take(_accepted(pairs, odd.is_merge))
    is_merge = odd.is_merge[pairs.odd]
    odd_boxes = np.zeros(len(of), np.bool_)
    odd_boxes[pairs.box] = True
    odd_boxes[odd.annotation[pairs.odd[~is_merge]]] = True
    return Parts(
        part=odd.object[pairs.odd],
        whole=np.where(np.isnan(pairs.other[:, 0]), -1, of[pairs.box]),
        annotator=odd.annotator[pairs.odd],
        box=pairs.box,
        is_merge=is_merge,
        odd_boxes=odd_boxes,
    )


def _odd_boxes(matched: MatchedUnits, means: FloatArray) -> _Odd:
    """Return boxes that few drew, and the mean boxes of objects that somebody did not draw."""
    cells = object_cells(matched)
    drawn, n_asked = cells.drawn, cells.n_others + 1
    n_drawn = cells.n_others_drew + drawn
    missed = np.flatnonzero(~drawn & (2 * n_drawn >= n_asked))
    extra = np.flatnonzero(drawn & (2 * n_drawn <= n_asked))
    edges = edges_of(matched.data.annotations.bbox)
    both = np.concatenate([missed, extra])
    return _Odd(
        cells.object[both],
        cells.image[both].astype(np.int64),
        cells.annotator[both].astype(np.int64),
        cells.annotation[both],
        np.concatenate([means[cells.object[missed]], edges[cells.annotation[extra]]]),
    )


def _compared(matched: MatchedUnits, odd: _Odd) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield odd boxes, and the annotations of the same annotator in the same image."""
    annotations, n_annotators = matched.data.annotations, len(matched.data.annotator_names)
    key = annotations.image.astype(np.int64) * n_annotators + annotations.annotator
    wanted = odd.image * n_annotators + odd.annotator
    start, stop = (np.searchsorted(key, wanted, side) for side in ("left", "right"))
    total = np.cumsum(stop - start)
    cuts = np.flatnonzero(np.diff(total // _AT_ONCE, prepend=0))
    for some in np.split(np.arange(len(wanted)), cuts):
        places, offsets = rows(start[some], stop[some])
        few = np.repeat(some, np.diff(offsets))
        apart = np.flatnonzero(matched.objects[places] != odd.object[few])
        yield few[apart], places[apart]


def _nested(
    odd: _Odd,
    few: IndexArray,
    places: IndexArray,
    edges: FloatArray,
    sums: FloatArray,
    n_drawn: IndexArray,
) -> _Pairs:
    """Return which odd boxes lie in a larger one, beside what else lies in it.

    The large box is the annotator's own for a merge, and the mean of the others' for a split.
    """
    is_merge, own, small = odd.is_merge[few], edges[places], odd.edges[few]
    with np.errstate(invalid="ignore"):
        others = np.where(n_drawn > 1, 1.0, np.nan)[:, None] * (sums - own)
        others /= np.maximum(n_drawn - 1, 1)[:, None]
        large = np.where(is_merge[:, None], own, others)
        other = np.where(is_merge[:, None], others, own)
        kept = np.flatnonzero((_areas(small) < _areas(large)) & (_inside(small, large) >= _INSIDE))
    pairs = _Pairs(few[kept], places[kept], small[kept], large[kept], other[kept])
    with np.errstate(invalid="ignore"):
        both = _inside(pairs.other, pairs.large) >= _INSIDE
        nested = np.maximum(_inside(pairs.other, pairs.small), _inside(pairs.small, pairs.other))
    # What lies beside the large box is nothing that was merged with the small one.
    other = np.where(both[:, None], pairs.other, np.nan)
    pairs = _Pairs(pairs.odd, pairs.box, pairs.small, pairs.large, other)
    return pairs.take(np.where(both, nested < _INSIDE, is_merge[kept]))


def _accepted(pairs: _Pairs, is_merge: BoolArray) -> IndexArray:
    """Return the pairs whose small boxes together fill the large one, one of each odd box.

    They overlap it by half at least, and more than the one object does that it might show.
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


def _joint(all_pairs: list[_Pairs]) -> _Pairs:
    return _Pairs(
        np.concatenate([each.odd for each in all_pairs]),
        np.concatenate([each.box for each in all_pairs]),
        np.concatenate([each.small for each in all_pairs]),
        np.concatenate([each.large for each in all_pairs]),
        np.concatenate([each.other for each in all_pairs]),
    )


def _no_pairs() -> _Pairs:
    none, edges = np.zeros(0, np.int64), np.zeros((0, 4))
    return _Pairs(none, none, edges, edges, edges)


def _areas(edges: FloatArray) -> FloatArray:
    area: FloatArray = (edges[:, 2:] - edges[:, :2]).prod(1)
    return area


def _shared(one: FloatArray, other: FloatArray) -> FloatArray:
    sides = np.minimum(one[:, 2:], other[:, 2:]) - np.maximum(one[:, :2], other[:, :2])
    area: FloatArray = np.maximum(sides, 0).prod(1)
    return area


def _inside(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return by which share of its area each box lies in another; 0 for boxes without an area."""
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
