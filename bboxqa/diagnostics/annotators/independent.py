"""What annotators drew independently of each other: each copy is left out."""

from dataclasses import replace

import numpy as np

from bboxqa.agreement.counts.reliability_rows import from_units
from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.annotators.copies import all_share_boxes, copies
from bboxqa.diagnostics.annotators.object_cells import drawn_edges
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable

# An image is copied where so many of the matched boxes of two annotators are identical.
_COPIED = 0.5
# So many annotators tell who of them is right.
_LEAST = 3


def independent(matched: MatchedUnits) -> MatchedUnits:
    """Return the annotations by which annotators are judged.

    Of two annotators who share boxes (see `copies`), the second one's are left out in the images
    where half of their matched boxes are identical: two equal voices would make a majority. Images
    where fewer than three annotators are left, of three or more, are left out, unless these are all
    images: then two can be compared with each other. Nobody is left out where no image has three
    annotators: there is no majority, and all images tell how two differ. Nor is anybody where three
    or more are all connected by shared boxes: they may have kept the same proposed boxes, and what
    they did with these can be judged.
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
    """Return in which images two annotators share boxes, (I,).

    If they do in all images in which their boxes match, also where none does: one has copied there
    that the other one drew nothing.
    """
    of, pairs = matched.data.annotations, matched.pairs
    own = np.flatnonzero(
        (of.annotator[pairs.left] == first) & (of.annotator[pairs.right] == second)
    )
    left, right = pairs.left[own], pairs.right[own]
    edges = drawn_edges(matched)
    same = (edges[left] == edges[right]).all(1)
    n_images = len(matched.data.image_names)
    n_pairs = np.bincount(of.image[left], minlength=n_images)
    n_same = np.bincount(of.image[left[same]], minlength=n_images)
    copied: BoolArray = (n_same > 0) & (n_same >= _COPIED * n_pairs)
    if copied[n_pairs > 0].all():
        copied = matched.data.assigned[:, first] & matched.data.assigned[:, second]
    return copied


def assigned_to(matched: MatchedUnits, assigned: BoolArray) -> MatchedUnits:
    """Return what those asked drew, where others are asked about each image."""
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
    """Return the pairs of annotations that are kept, at their new places."""
    left, right = place[pairs.left], place[pairs.right]
    kept = (left >= 0) & (right >= 0)
    return CandidatePairs(left[kept], right[kept], pairs.similarity[kept])
