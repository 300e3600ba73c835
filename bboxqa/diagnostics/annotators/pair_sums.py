"""How far each two annotators agree on objects and their categories."""

import numpy as np

from bboxqa.agreement.uncertainty.sum_table import table_of
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, pairs_within
from bboxqa.core.remembered import remembered
from bboxqa.model.units import MatchedUnits


@frozen_arrays
class PairSums:
    """Sums over pairs of annotations of one unit, by pair of annotators."""

    matched: FloatArray
    same_category: FloatArray
    """(A, A) float64. Pairs of annotations of one unit, and those of one category; symmetric."""
    possible: FloatArray
    """(A, A) float64. Half of what both drew in the images that both were asked about."""

    @property
    def agreement(self) -> FloatArray:
        """The F1 of objects with their category, (A, A); NaN where undefined or of one."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: FloatArray = np.where(
                self.possible > 0, self.same_category / self.possible, np.nan
            )
        np.fill_diagonal(found, np.nan)
        return found


@remembered
def unit_members(matched: MatchedUnits) -> tuple[IndexArray, IndexArray]:
    """Return every two annotations of one unit, (P,) each, the one of the first annotator left."""
    order = np.argsort(matched.units.unit, kind="stable")
    left, right = pairs_within(matched.units.unit[order])
    return order[left], order[right]


def pair_sums(matched: MatchedUnits, images: BoolArray | None = None) -> PairSums:
    """Return the sums of each two annotators, over all images or some, (I,) bool."""
    of, assigned = matched.data.annotations, matched.data.assigned
    n_images, n_annotators = assigned.shape
    counted = np.ones(n_images, np.bool_) if images is None else images
    left, right = unit_members(matched)
    kept = counted[of.image[left]]
    left, right = left[kept], right[kept]
    key = of.annotator[left].astype(np.int64) * n_annotators + of.annotator[right]

    def symmetric(cells: IndexArray) -> FloatArray:
        one_way = np.bincount(cells, minlength=n_annotators**2).reshape(n_annotators, n_annotators)
        return (one_way + one_way.T).astype(np.float64)

    drawn = np.flatnonzero(counted[of.image])
    place = of.image[drawn].astype(np.int64), of.annotator[drawn].astype(np.int64)
    n_drawn = table_of(*place, np.ones(len(drawn)), (n_images, n_annotators))
    asked = assigned & counted[:, None]
    # What each drew where the other was asked, too.
    shared = np.asarray(n_drawn.T @ asked.astype(np.float64))
    same = of.category[left] == of.category[right]
    return PairSums(symmetric(key), symmetric(key[same]), (shared + shared.T) / 2)
