"""Objects of some images, with the disagreement of their annotators."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays
from bboxqa.diagnostics.disagreement.counted_objects import counted_objects
from bboxqa.diagnostics.disagreement.drawn_objects import drawn_objects
from bboxqa.diagnostics.disagreement.kinds import Kind, disagreements
from bboxqa.diagnostics.disagreement.reasons import described_objects
from bboxqa.diagnostics.disagreement.repairs import joined_objects
from bboxqa.model.units import MatchedUnits


@frozen_arrays
class ObjectList:
    """L objects of chosen images, in the order of images."""

    object: IndexArray
    """(L,) int64. The number of each object."""
    image: IndexArray
    """(L,) int64."""
    category: IndexArray
    """(L,) int64. The category of the majority."""
    kind: IndexArray
    """(L,) int64. The primary `Kind`, or -1 where all agree."""
    has: BoolArray
    """(L, 5) bool. All kinds of each object; the columns are those of `Kind`."""
    reason: tuple[str, ...]
    """(L,). Why annotators disagree; empty if they agree."""
    similarity: FloatArray
    """(L,) float64. The mean of the pairs that match; NaN where none does."""
    of: IndexArray
    """(N,) int64. The object of each annotation of the data."""


def object_list(matched: MatchedUnits, images: IndexArray) -> ObjectList:
    """Return the objects of some images, as tables count them.

    A part or a second box has no row: it belongs to the object that it is counted as.
    """
    objects = drawn_objects(matched)
    found = disagreements(matched)
    counted = counted_objects(matched)
    chosen = counted.places[np.isin(objects.image[counted.places], images)]
    has = counted.has[chosen]
    kind = np.where(has.any(1), has.shape[1] - 1 - has[:, ::-1].argmax(1), -1)
    joined = {each: joined_objects(found, each) for each in Kind}
    differs = np.flatnonzero(kind >= 0)
    words = described_objects(matched, objects, found, joined, chosen[differs])
    reason = np.full(len(chosen), "", object)
    reason[differs] = [row.reason for row in words]
    pairs = matched.pairs
    of = counted.home[objects.of]
    of_pairs = of[pairs.left]
    n_pairs = np.bincount(of_pairs, minlength=len(objects))[chosen]
    total = np.bincount(of_pairs, pairs.similarity, len(objects))[chosen]
    return ObjectList(
        object=chosen,
        image=objects.image[chosen],
        category=objects.category[chosen],
        kind=kind,
        has=has,
        reason=tuple(reason.tolist()),
        similarity=np.where(n_pairs > 0, total / np.maximum(n_pairs, 1), np.nan),
        of=of,
    )
