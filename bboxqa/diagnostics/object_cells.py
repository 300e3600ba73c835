"""Cells of objects and annotators: who drew the object, and how many others did."""

import numpy as np

from bboxqa.agreement.counts.unit_counts import from_units
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, compact, frozen_arrays
from bboxqa.core.remembered import remembered
from bboxqa.model.reliability import Cell, ReliabilityData
from bboxqa.model.shapes.rotated_boxes import bounds, smallest_angle
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable


@frozen_arrays
class ObjectCells:
    """C cells: an object, and an annotator who was asked about its image.

    Sorted by object, then annotator.
    """

    object: IndexArray
    image: IntArray
    annotator: IntArray
    """(C,) each."""
    annotation: IndexArray
    """(C,) int64. The annotation of the object by the annotator; -1 for none."""
    n_others: IndexArray
    n_others_drew: IndexArray
    """(C,) int64. The number of other annotators who were asked, and who drew the object."""
    n_voters: IndexArray
    n_voters_drew: IndexArray
    """(C,) int64. The same without models."""
    n_same_category: IndexArray
    """(C,) int64. The number of others who drew it with the annotator's category; 0 if the
    annotator did not draw it."""

    @property
    def drawn(self) -> BoolArray:
        """(C,) bool. Whether the annotator drew the object."""
        result: BoolArray = self.annotation >= 0
        return result

    @property
    def expected(self) -> BoolArray:
        """(C,) bool. Whether more than half of the others, without models, drew the object."""
        result: BoolArray = 2 * self.n_voters_drew > self.n_voters
        return result

    @property
    def unexpected(self) -> BoolArray:
        """(C,) bool. Whether fewer than half of the others, without models, drew the object."""
        result: BoolArray = 2 * self.n_voters_drew < self.n_voters
        return result


@remembered
def object_reliability(matched: MatchedUnits) -> ReliabilityData:
    """Return the value that each annotator gave each object of `matched.objects`."""
    image = np.zeros(int(matched.objects.max(initial=-1)) + 1, np.int32)
    data = matched.data
    image[matched.objects] = data.annotations.image
    objects = UnitTable(matched.objects, image)
    return from_units(data.annotations, objects, data.assigned, len(data.category_names))


@remembered
def object_cells(matched: MatchedUnits) -> ObjectCells:
    """Return the cells of all objects."""
    cells = object_reliability(matched)
    drawn = cells.state == Cell.CATEGORY
    annotation = np.full(len(drawn), -1)
    # Annotations of an image are sorted by annotator, like the cells of an object.
    annotation[drawn] = np.argsort(matched.objects, kind="stable")
    n_asked = np.bincount(cells.unit, minlength=len(cells.group))
    n_drew = np.bincount(cells.unit, drawn, len(cells.group)).astype(np.int64)
    n_same = np.zeros(len(drawn), np.int64)
    said = cells.unit[drawn] * cells.n_values + cells.value[drawn]
    keys, place = compact(said, len(cells.group) * cells.n_values)
    n_same[drawn] = np.bincount(place, minlength=len(keys))[place] - 1
    votes = ~matched.is_model[cells.annotator]
    n_voters = np.bincount(cells.unit, votes, len(cells.group)).astype(np.int64)
    n_voters_drew = np.bincount(cells.unit, votes & drawn, len(cells.group)).astype(np.int64)
    return ObjectCells(
        object=cells.unit,
        image=cells.group[cells.unit],
        annotator=cells.annotator,
        annotation=annotation,
        n_others=n_asked[cells.unit] - 1,
        n_others_drew=n_drew[cells.unit] - drawn,
        n_voters=n_voters[cells.unit] - votes,
        n_voters_drew=n_voters_drew[cells.unit] - (votes & drawn),
        n_same_category=n_same,
    )


def edges_of(bbox: FloatArray) -> FloatArray:
    """Return the left, top, right and bottom edges of boxes, (N, 4)."""
    return np.concatenate([bbox[:, :2], bbox[:, :2] + bbox[:, 2:]], axis=1)


def drawn_edges(matched: MatchedUnits) -> FloatArray:
    """Return the edges of boxes, or of the extents of key points where these are compared, (N, 4).

    The boxes of key points may have been given to the annotators, and are then equal. For rotated
    boxes, these are the edges of their bounds.
    """
    of = matched.data.annotations
    if of.keypoints is not None and matched.data.joint_sigmas:
        return edges_of(of.keypoints.extent())
    edges = edges_of(of.bbox)
    if of.rotated_box is not None:
        boxes = smallest_angle(of.rotated_box)
        turned = np.flatnonzero(of.rotated_box[:, 4])
        edges[turned] = bounds(boxes[turned])
    return edges


@remembered
def pairs_of_units(matched: MatchedUnits) -> CandidatePairs:
    """Return the pairs of annotations of one unit that overlap."""
    unit, near = matched.units.unit, matched.near
    return near.take(unit[near.left] == unit[near.right])
