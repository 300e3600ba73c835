"""Images matched again without an annotator who affects the units of the others."""

import numpy as np

from bboxqa.agreement.counts.unit_counts import coincidences, from_units, join_coincidences
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, frozen_arrays, rows
from bboxqa.core.components import component_of_each
from bboxqa.core.remembered import remembered
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Annotations
from bboxqa.model.reliability import Coincidences, ReliabilityData
from bboxqa.model.units import CandidatePairs, MatchedUnits

# Rows that are matched at a time, to limit memory.
_ROWS = 1 << 21


@frozen_arrays
class Rematched:
    """V images, each without one annotator."""

    image: IndexArray
    annotator: IndexArray
    """(V,) int64. Sorted by image, then annotator."""
    counts: Coincidences
    """The coincidences of the values of the others; the V groups are these images."""

    def holds(self, image: IndexArray, annotator: IndexArray, n_annotators: int) -> BoolArray:
        """Return which pairs of image and annotator are among these."""
        keys = self.image * n_annotators + self.annotator
        found: BoolArray = np.isin(image * n_annotators + annotator, keys)
        return found

    def losses(
        self, data: ReliabilityData, missing: str
    ) -> tuple[IndexArray, IndexArray, FloatArray, FloatArray]:
        """Return the index among V, the value, and the decreases of marginal and diagonal sums."""
        before, after = coincidences(data, missing), self.counts
        start, stop = (
            np.searchsorted(before.group, self.image, side) for side in ("left", "right")
        )
        place, offsets = rows(start, stop)
        of = np.repeat(np.arange(len(self.image)), np.diff(offsets))
        return (
            np.concatenate([of, after.group]).astype(np.int64),
            np.concatenate([before.value[place], after.value]).astype(np.int64),
            _both(before.marginal[place], after.marginal),
            _both(before.diagonal[place], after.diagonal),
        )


def _both(before: FloatArray, after: FloatArray) -> FloatArray:
    return np.concatenate([before, -after])


@remembered
def rematched(matched: MatchedUnits) -> Rematched:
    """Return the images whose units may change without an annotator, matched again.

    In other images each box matches all others of its unit and no box outside, so that a unit
    without one of its annotators is still one unit.
    """
    pairs, image, who = _changed_images(matched)
    n_rows = _rows_of_images(matched, pairs)[image]
    ends = np.flatnonzero(np.diff(np.cumsum(n_rows) // _ROWS, prepend=0)) + 1
    counts = [
        _counted_again(matched, pairs, image[part], who[part])
        for part in map(slice, [0, *ends], [*ends, len(image)])
    ]
    return Rematched(image, who, join_coincidences(counts))


def _counted_again(
    matched: MatchedUnits, pairs: CandidatePairs, image: IndexArray, who: IndexArray
) -> Coincidences:
    """Return the coincidences of images that are matched again, each without one annotator."""
    annotations, kept_pairs = _without(matched.data.annotations, pairs, image, who)
    units = match(
        annotations,
        kept_pairs,
        matched.matcher,
        matched.threshold,
        category_lenient=matched.category_lenient,
    )
    asked = matched.data.assigned[image]
    asked[np.arange(len(image)), who] = False
    data = from_units(annotations, units, asked, len(matched.data.category_names))
    return coincidences(data, matched.missing)


def rows_to_rematch(matched: MatchedUnits) -> IndexArray:
    """Return how many rows it takes to match each image again without each annotator, (I,) int64.

    Rows are annotations, pairs of them, and values that the others gave.
    """
    pairs, image, _ = _changed_images(matched)
    n_rows = _rows_of_images(matched, pairs)
    return n_rows * np.bincount(image, minlength=len(n_rows))


def _rows_of_images(matched: MatchedUnits, pairs: CandidatePairs) -> IndexArray:
    """Return how many rows it takes to match each image once, (I,) int64."""
    of, n_images = matched.data.annotations, len(matched.data.image_names)
    each = np.bincount(of.image, minlength=n_images)
    each += np.bincount(of.image[pairs.left], minlength=n_images)
    each += np.bincount(matched.units.image, minlength=n_images) * matched.data.assigned.sum(1)
    return each


def _changed_images(matched: MatchedUnits) -> tuple[CandidatePairs, IndexArray, IndexArray]:
    """Return pairs that match, and images whose units may change without which annotator."""
    of, assigned = matched.data.annotations, matched.data.assigned
    n_annotators = len(matched.data.annotator_names)
    pairs = matched.near.take(matched.near.similarity >= matched.threshold - TOLERANCE)
    open_rows = _in_open_groups(matched, pairs) & (assigned.sum(1) > 2)[of.image]
    keys = np.unique(of.image[open_rows].astype(np.int64) * n_annotators + of.annotator[open_rows])
    return pairs, *np.divmod(keys, max(n_annotators, 1))


def _in_open_groups(matched: MatchedUnits, pairs: CandidatePairs) -> BoolArray:
    """Return the annotations in groups of matching boxes that are not one unit, (N,)."""
    n = len(matched.data.annotations)
    group = component_of_each(n, pairs.left, pairs.right)
    size = np.bincount(group, minlength=n)
    n_pairs = np.bincount(group[matched.pairs.left], minlength=n)
    is_open: BoolArray = (2 * n_pairs < size * (size - 1))[group]
    return is_open


def _without(
    of: Annotations, pairs: CandidatePairs, image: IndexArray, who: IndexArray
) -> tuple[Annotations, CandidatePairs]:
    """Return the annotations of the others in each (image, annotator), and the pairs of these."""
    place, number, start, offsets = _rows_of(of.image, image)
    kept = of.annotator[place] != who[number]
    new = np.cumsum(kept) - 1
    drawn, at = place[kept], number[kept]
    # Ties are broken by all shapes.
    annotations = Annotations(
        id=of.id[drawn],
        image=at.astype(np.int32),
        annotator=of.annotator[drawn],
        category=of.category[drawn],
        bbox=of.bbox[drawn],
        iscrowd=of.iscrowd[drawn],
        segmentation=None if of.segmentation is None else of.segmentation.take(drawn),
        keypoints=None if of.keypoints is None else of.keypoints.take(drawn),
        rotated_box=None if of.rotated_box is None else of.rotated_box[drawn],
    )
    pair, number, _, _ = _rows_of(of.image[pairs.left], image)
    shift = (offsets[:-1] - start)[number]
    left, right = pairs.left[pair] + shift, pairs.right[pair] + shift
    both = kept[left] & kept[right]
    return annotations, CandidatePairs(
        new[left[both]], new[right[both]], pairs.similarity[pair[both]]
    )


def _rows_of(
    group: IntArray | IndexArray, wanted: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray]:
    """Return the rows of each wanted group, the index of the group, and where each begins."""
    start, stop = (np.searchsorted(group, wanted, side) for side in ("left", "right"))
    place, offsets = rows(start, stop)
    return place, np.repeat(np.arange(len(wanted)), np.diff(offsets)), start, offsets
