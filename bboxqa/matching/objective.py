"""The objective of matching: integer weights from similarities and equal categories."""

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray
from bboxqa.core.blocks import blocks
from bboxqa.model.units import CandidatePairs

_STEPS = 1 << 30
_TIE_STEPS = 1 << 10


def pair_weights(
    pairs: CandidatePairs,
    category: IntArray,
    iou_threshold: float,
    *,
    category_lenient: bool = False,
) -> IndexArray:
    """Return the weight of each pair, (P,) int64 and positive.

    Similarities are rounded to multiples of 2⁻³⁰, so that rounding errors do not matter. Among
    matchings with the same total, the one with more pairs of equal category is preferred. If the
    threshold admits similarities of 0 or less, 1 is added to all, so that weights are positive.

    Parameters
    ----------
    pairs : CandidatePairs
        P pairs that reach the threshold.
    category : (N,) int32
        The category of each annotation.
    category_lenient : bool
        Add 1 to the similarity of pairs of equal category, so that they are preferred, while other
        pairs are still allowed.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = CandidatePairs(np.array([0, 1]), np.array([2, 2]), np.array([0.5, 0.5]))
    >>> same, other = pair_weights(pairs, np.array([7, 8, 7], np.int32), 0.5)
    >>> int(same - other)
    1
    """
    weight: IndexArray = np.empty(len(pairs), np.int64)
    for part in blocks(len(pairs)):
        same = category[pairs.left[part]] == category[pairs.right[part]]
        similarity = pairs.similarity[part] + (1.0 if iou_threshold <= 0 else 0.0)
        if category_lenient:
            similarity = similarity + same
        steps = np.maximum(np.rint(similarity * _STEPS), 1).astype(np.int64)
        weight[part] = steps * _TIE_STEPS + same
    return weight
