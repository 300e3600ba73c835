"""Boxes of annotators who draw everything too far in one direction, beside small objects."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.diagnostics.annotators.edge_differences import (
    confirmed,
    edge_differences,
    pair_medians,
)
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
    medians = pair_medians(found)
    weights = np.bincount(found.pair, minlength=len(found.annotator))[:, None].astype(np.float64)
    shift = np.zeros((len(matched.data.annotator_names), 2))
    for annotator in np.flatnonzero(found.n_shared >= _FEWEST).tolist():
        own = _rows_of(found.annotator, annotator)
        offset = np.array([confirmed(edge[own, None], weights[own])[0] for edge in medians])
        near, far = offset[:2], offset[2:]
        least = np.where(np.abs(near) < np.abs(far), near, far)
        n_others = own.stop - own.start
        shift[annotator] = np.where(near * far > 0, least, 0) / (2 if n_others == 1 else 1)
    return shift


def _rows_of(values: IndexArray, value: int) -> slice:
    """Return where sorted values have a value."""
    return slice(*np.searchsorted(values, [value, value + 1]).tolist())


def _may_show_another(matched: MatchedUnits) -> BoolArray:
    """Return which annotations are of objects that not all drew, and no second boxes or parts."""
    objects = drawn_objects(matched)
    some = (objects.n_drawn < objects.n_asked)[objects.of] & ~parts(matched).odd_boxes
    some[np.append(matched.own.left, matched.own.right)] = False
    return some
