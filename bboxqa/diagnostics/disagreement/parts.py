"""Objects that an annotator drew in parts, or together with another one in one box."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    frozen_arrays,
    rows,
    sum_by,
)
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.annotators.object_cells import edges_of, object_cells
from bboxqa.diagnostics.disagreement.nested_boxes import (
    OddBoxes,
    accepted_pairs,
    joined_pairs,
    nested_pairs,
    no_pairs,
)
from bboxqa.model.units import MatchedUnits

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


@remembered
def parts(matched: MatchedUnits) -> Parts:
    """Return which objects were split or merged, and by whom."""
    of = matched.objects
    edges = edges_of(matched.data.annotations.bbox)
    n_drawn = np.bincount(of)
    sums = np.column_stack([sum_by(of, edge, len(n_drawn)) for edge in edges.T])
    odd = _odd_boxes(matched, sums / n_drawn[:, None])
    found = [
        nested_pairs(odd, few, places, edges, sums[of[places]], n_drawn[of[places]])
        for few, places in _compared(matched, odd)
    ]
    pairs = joined_pairs([*found, no_pairs()])
    pairs = pairs.take(accepted_pairs(pairs, odd.is_merge))
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


def _odd_boxes(matched: MatchedUnits, means: FloatArray) -> OddBoxes:
    """Return boxes that few drew, and the mean boxes of objects that somebody did not draw."""
    cells = object_cells(matched)
    drawn, n_asked = cells.drawn, cells.n_others + 1
    n_drawn = cells.n_others_drew + drawn
    missed = np.flatnonzero(~drawn & (2 * n_drawn >= n_asked))
    extra = np.flatnonzero(drawn & (2 * n_drawn <= n_asked))
    edges = edges_of(matched.data.annotations.bbox)
    both = np.concatenate([missed, extra])
    return OddBoxes(
        cells.object[both],
        cells.image[both].astype(np.int64),
        cells.annotator[both].astype(np.int64),
        cells.annotation[both],
        np.concatenate([means[cells.object[missed]], edges[cells.annotation[extra]]]),
    )


def _compared(matched: MatchedUnits, odd: OddBoxes) -> Iterator[tuple[IndexArray, IndexArray]]:
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
