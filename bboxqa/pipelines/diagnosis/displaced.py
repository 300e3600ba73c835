"""Boxes of annotators who draw everything too far in one direction, beside small objects."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.diagnostics.annotators.edge_differences import edge_differences, of_others
from bboxqa.diagnostics.annotators.offsets import medians
from bboxqa.diagnostics.disagreement.drawn_objects import drawn_objects
from bboxqa.diagnostics.disagreement.parts import parts
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.matching.objects import loose_objects
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable

# Of fewer objects, a displacement may be that of single boxes.
_FEWEST = 10


def with_displaced_joined(
    matched: MatchedUnits, least: float, memory: int | None = None
) -> MatchedUnits:
    """Return units where displaced boxes belong to the objects that they show.

    A box that is 5 px too far to the right does not overlap an object of 4 px at all. It is badly
    placed, and no miss and an extra: the larger objects tell by how much the boxes of its annotator
    are displaced, and without that its IoU with what the others drew is at least `least`. Objects
    that all annotators drew, second boxes and parts stay as they are.
    """
    shift = _displacements(matched)
    # Larger boxes overlap what they show, even if both annotators are displaced.
    sides = matched.data.annotations.bbox[:, 2:]
    small = (sides <= 4 * np.abs(shift).max(0)).any(1)
    open_boxes = np.flatnonzero(small & _may_show_another(matched))
    if not len(open_boxes):
        return matched
    annotations = matched.data.annotations.take(open_boxes)
    bbox = annotations.bbox.copy()
    bbox[:, :2] -= shift[annotations.annotator]
    moved = replace(matched.data, annotations=replace(annotations, bbox=bbox))
    pairs, _ = candidate_pairs(moved, "bbox", least, memory=memory)
    pairs = CandidatePairs(open_boxes[pairs.left], open_boxes[pairs.right], pairs.similarity)
    everything = matched.data.annotations
    objects = drawn_objects(matched)
    as_units = UnitTable(objects.of, objects.image.astype(np.int32))
    return replace(matched, objects=loose_objects(everything, as_units, pairs)[objects.of])


def _displacements(matched: MatchedUnits) -> FloatArray:
    """Return how far the boxes of each annotator are to the right and down, (A, 2).

    It is what both opposite edges share of the offset that the other annotators confirm, and half
    of it where there is one other, who is displaced as far in the other direction.
    """
    found = edge_differences(matched)
    offset = of_others(found, medians, -1)
    near, far = offset[:, :2], offset[:, 2:]
    least = np.where(np.abs(near) < np.abs(far), near, far)
    n_others = np.bincount(found.annotator, minlength=len(offset))
    shift = np.where(near * far > 0, least, 0) / np.where(n_others == 1, 2, 1)[:, None]
    return np.where(found.n_shared[:, None] >= _FEWEST, shift, 0)


def _may_show_another(matched: MatchedUnits) -> BoolArray:
    """Return which annotations are of objects that not all drew, and no second boxes or parts."""
    objects = drawn_objects(matched)
    some = (objects.n_drawn < objects.n_asked)[objects.of] & ~parts(matched).odd_boxes
    some[np.append(matched.own.left, matched.own.right)] = False
    return some
