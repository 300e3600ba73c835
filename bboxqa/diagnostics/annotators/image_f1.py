"""F1 of each annotator with the others in each image."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, sum_by
from bboxqa.model.units import MatchedUnits


@frozen_arrays
class ImageF1:
    """C pairs of an image, which has two annotators or more, and one of its annotators."""

    image: IndexArray
    annotator: IndexArray
    """(C,) each; sorted by image, then annotator."""
    matched: FloatArray
    """(C,) float64. Twice the number of matched pairs with an annotation of the annotator."""
    drawn: FloatArray
    """(C,) float64. The number of annotations of the annotator and of another, summed over the
    others. The ratio of the two sums is F1."""


def asked_with_others(matched: MatchedUnits) -> BoolArray:
    """Return (I, A) bool: annotators who were asked about an image together with others."""
    assigned = matched.data.assigned
    result: BoolArray = assigned & (assigned.sum(1, keepdims=True) > 1)
    return result


def image_f1(matched: MatchedUnits) -> ImageF1:
    """Return the sums of F1 of each image and annotator."""
    of, unit = matched.data.annotations, matched.units.unit
    image, annotator = np.nonzero(asked_with_others(matched))
    n_images, n_annotators = matched.data.assigned.shape
    cell = of.image.astype(np.int64) * n_annotators + of.annotator
    others = np.bincount(unit, minlength=len(matched.units))[unit] - 1
    place = image * n_annotators + annotator
    own = np.bincount(cell, minlength=n_images * n_annotators)[place]
    everyone = np.bincount(of.image, minlength=n_images)[image]
    n_others = matched.data.assigned.sum(1)[image] - 1
    return ImageF1(
        image=image,
        annotator=annotator,
        matched=sum_by(cell, 2 * others, n_images * n_annotators)[place],
        # F1 counts the annotations of both sides of each pair of annotators.
        drawn=(n_others * own + everyone - own).astype(np.float64),
    )
