"""Agreement of each pair of annotators on objects and their categories."""

import numpy as np

from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, pairs_within
from bboxqa.core.remembered import remembered
from bboxqa.model.units import MatchedUnits


@frozen_arrays
class PairSums:
    """Numbers of matched pairs of annotations, by pair of annotators."""

    matched: FloatArray
    same_category: FloatArray
    """(A, A) float64. Pairs of annotations of one unit, and those of one category; symmetric."""
    possible: FloatArray
    """(A, A) float64. Half of the annotations of both in the images that both were asked about."""

    @property
    def agreement(self) -> FloatArray:
        """The F1 of objects with their category, (A, A); NaN if undefined and on the diagonal."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: FloatArray = np.where(
                self.possible > 0, self.same_category / self.possible, np.nan
            )
        np.fill_diagonal(found, np.nan)
        return found


@remembered
def unit_members(matched: MatchedUnits) -> tuple[IndexArray, IndexArray]:
    """Return all pairs of annotations of one unit, (P,) each, ordered by annotator."""
    order = np.argsort(matched.units.unit, kind="stable")
    left, right = pairs_within(matched.units.unit[order])
    return order[left], order[right]


def pair_sums(matched: MatchedUnits, images: BoolArray | None = None) -> PairSums:
    """Return the sums of each pair of annotators, over all images or over `images`, (I,) bool."""
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
    # The number of annotations of each in images that the other was asked about as well.
    shared = np.asarray(n_drawn.T @ asked.astype(np.float64))
    same = of.category[left] == of.category[right]
    return PairSums(symmetric(key), symmetric(key[same]), (shared + shared.T) / 2)
