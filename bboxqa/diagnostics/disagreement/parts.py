"""Objects that an annotator drew in parts, or together with another one in one box."""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    frozen_arrays,
    rows,
    sum_by,
)
from bboxqa.core.overlaps import overlapping_boxes
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.disagreement.nested_boxes import (
    OddBoxes,
    accepted_pairs,
    joined_pairs,
    nested_pairs,
    no_pairs,
)
from bboxqa.diagnostics.object_cells import edges_of, object_cells
from bboxqa.model.units import MatchedUnits

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
    odd = _odd_boxes(matched, shown, known)
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


def _odd_boxes(matched: MatchedUnits, shown: _Shown, known: BoolArray) -> OddBoxes:
    """Return boxes that few drew, and mean boxes of objects that an annotator did not draw."""
    cells = object_cells(matched)
    drawn, n_asked = cells.drawn, cells.n_others + 1
    n_drawn = cells.n_others_drew + drawn
    has_parts = np.zeros(len(matched.data.image_names), np.bool_)
    has_parts[matched.data.annotations.image[known]] = True
    looked_at = has_parts[cells.image] | ~known.any()
    missed = np.flatnonzero(looked_at & ~drawn & (2 * n_drawn >= n_asked))
    extra = np.flatnonzero(looked_at & drawn & (2 * n_drawn <= n_asked))
    both = np.concatenate([missed, extra])
    return OddBoxes(
        cells.object[both],
        cells.image[both].astype(np.int64),
        cells.annotator[both].astype(np.int64),
        cells.annotation[both],
        np.concatenate([shown.means(cells.object[missed]), shown.edges[cells.annotation[extra]]]),
    )


def _compared(
    matched: MatchedUnits, odd: OddBoxes, own: FloatArray, others: FloatArray
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield odd boxes, and the annotations of the same annotator in the same image.

    `own` and `others` are the edges of annotations, and of the others' boxes of the same objects.
    In crowded images, only boxes that overlap the odd one are compared.
    """
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
