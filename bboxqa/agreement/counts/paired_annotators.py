"""The annotators whose pairs are counted: all of them, unless these are very many pairs."""

import numpy as np

from bboxqa.agreement.counts.object_counts import image_chunks
from bboxqa.core.arrays import BoolArray, IndexArray, IntArray, pairs_within

MOST_PAIRED = 447
"""How many annotators tables of pairs have at most: about 100,000 pairs."""


def paired_annotators(annotator: IntArray, assigned: BoolArray) -> BoolArray | None:
    """Return (A,) bool: the 447 annotators who drew most; None if few pairs share an image.

    `annotator`, (N,), is who drew each annotation, and `assigned`, (I, A), who was asked to
    annotate which image. Ties go to the first annotators.

    Examples
    --------
    >>> paired_annotators(np.array([0, 1, 1]), np.ones((1, 3), bool)) is None
    True
    """
    n_annotators = assigned.shape[1]
    if n_annotators <= MOST_PAIRED or not _are_many(assigned):
        return None
    n_drawn = np.bincount(annotator, minlength=n_annotators)
    result = np.zeros(n_annotators, np.bool_)
    result[np.argsort(-n_drawn, kind="stable")[:MOST_PAIRED]] = True
    return result


def _are_many(assigned: BoolArray) -> bool:
    """Return whether more pairs of annotators share an image than so many annotators have."""
    most = MOST_PAIRED * (MOST_PAIRED - 1) // 2
    if assigned.sum(1).max(initial=0) > MOST_PAIRED:
        return True
    n_annotators = assigned.shape[1]
    image, annotator = np.nonzero(assigned)
    keys: IndexArray = np.zeros(0, np.int64)
    for start, stop in image_chunks(image):
        left, right = (annotator[start:stop][side] for side in pairs_within(image[start:stop]))
        keys = np.union1d(keys, left * n_annotators + right)
        if len(keys) > most:
            return True
    return False
