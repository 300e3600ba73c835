"""Independent annotations: copies are left out."""

from dataclasses import replace

import numpy as np

from bboxqa.agreement.counts.unit_counts import from_units
from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.annotators.copies import all_share_boxes, copies
from bboxqa.diagnostics.object_cells import drawn_edges
from bboxqa.model.shapes.rounding import equal_edges
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable

# An image is copied if at least this share of the matched boxes of two annotators are identical.
_COPIED = 0.5
# Fewest annotators with a majority.
_LEAST = 3


def independent(matched: MatchedUnits) -> MatchedUnits:
    """Return the annotations without copies, by which annotators are judged.

    Of two annotators who share boxes (see `copies`), the annotations of the second are left out in
    images where half of their matched boxes are identical, as two equal votes would make a
    majority. Images in which this leaves fewer than three annotators are left out as well, unless
    no others remain: then two annotators can still be compared. Nothing is left out if no image has
    three annotators, as there is no majority, or if shared boxes connect all of three annotators or
    more: they may have kept the same proposals, and their changes to these can be judged.
    """
    return _without_copies(matched) or matched


@remembered
def _without_copies(matched: MatchedUnits) -> MatchedUnits | None:
    """Return the annotations without copies; None if there are none."""
    if matched.data.assigned.sum(1).max(initial=0) < _LEAST:
        return None
    table = copies(matched)
    names = matched.data.annotator_names
    table = table.take(np.flatnonzero(table["copied"]))
    if not len(table) or all_share_boxes(table, names):
        return None
    assigned = matched.data.assigned.copy()
    for row in table.records():
        first, second = names.index(row["annotator_1"]), names.index(row["annotator_2"])
        assigned[_copied_images(matched, first, second), second] = False
    n_before, n_after = matched.data.assigned.sum(1), assigned.sum(1)
    if n_after.max(initial=0) >= _LEAST:
        assigned[(n_after < _LEAST) & (n_before > n_after) & (n_before >= _LEAST)] = False
    return assigned_to(matched, assigned)


def _copied_images(matched: MatchedUnits, first: int, second: int) -> BoolArray:
    """Return (I,) bool: images in which two annotators share boxes.

    If they share boxes in all images with matched boxes, images without matches count as well:
    there, one copied that the other drew nothing.
    """
    of, pairs = matched.data.annotations, matched.pairs
    own = np.flatnonzero(
        (of.annotator[pairs.left] == first) & (of.annotator[pairs.right] == second)
    )
    left, right = pairs.left[own], pairs.right[own]
    edges = drawn_edges(matched)
    same = equal_edges(edges[left], edges[right]).all(1)
    n_images = len(matched.data.image_names)
    n_pairs = np.bincount(of.image[left], minlength=n_images)
    n_same = np.bincount(of.image[left[same]], minlength=n_images)
    copied: BoolArray = (n_same > 0) & (n_same >= _COPIED * n_pairs)
    if copied[n_pairs > 0].all():
        copied = matched.data.assigned[:, first] & matched.data.assigned[:, second]
    return copied


def assigned_to(matched: MatchedUnits, assigned: BoolArray) -> MatchedUnits:
    """Return the matched units with another assignment of annotators to images, (I, A) bool."""
    of = matched.data.annotations
    kept = np.flatnonzero(assigned[of.image, of.annotator])
    place = np.full(len(of), -1)
    place[kept] = np.arange(len(kept))
    data = replace(matched.data, annotations=of.take(kept), assigned=assigned)
    number, unit = np.unique(matched.units.unit[kept], return_inverse=True)
    units = UnitTable(unit.astype(np.int64, copy=False), matched.units.image[number])
    reliability = from_units(data.annotations, units, assigned, len(data.category_names))
    pairs, near, own = (_moved(each, place) for each in (matched.pairs, matched.near, matched.own))
    return replace(
        matched,
        data=data,
        units=units,
        reliability=reliability,
        pairs=pairs,
        objects=np.unique(matched.objects[kept], return_inverse=True)[1].astype(np.int64),
        near=near,
        own=own,
        n_neighbours=matched.n_neighbours[kept],
    )


def _moved(pairs: CandidatePairs, place: IndexArray) -> CandidatePairs:
    """Return the pairs of kept annotations, with their new indices."""
    left, right = place[pairs.left], place[pairs.right]
    kept = (left >= 0) & (right >= 0)
    return CandidatePairs(left[kept], right[kept], pairs.similarity[kept])
