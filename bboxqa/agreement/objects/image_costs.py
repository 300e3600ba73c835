"""Costs of images: by how much each image lowers agreement."""

import numpy as np

from bboxqa.agreement.alpha.nominal import nominal_alpha, value_sums
from bboxqa.agreement.counts.object_counts import ObjectSums, ratio
from bboxqa.core.arrays import FloatArray, sum_by
from bboxqa.model.reliability import Coincidences


def alpha_costs(data: Coincidences) -> FloatArray:
    """Return pooled alpha without each group, minus pooled alpha, (G,).

    It is positive for an image that lowers agreement, and NaN if alpha is undefined with or without
    the image.

    Examples
    --------
    >>> from bboxqa.agreement.counts.coincidences import coincidences
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> table = from_table(np.array([[0, 1, 0], [0, 1, 1]]), np.ones((2, 3), bool), 2)
    >>> alpha_costs(coincidences(table, "ignore")).round(4)
    array([-0.4444, -0.4444,  0.5556])
    """
    marginal, diagonal = value_sums(data)
    inside = sum_by(data.group, data.marginal, data.n_groups)
    agreeing = sum_by(data.group, data.diagonal, data.n_groups)
    # (n_c − n_ic)² = n_c² − n_ic (2 n_c − n_ic)
    less = data.marginal * (2 * marginal[data.value] - data.marginal)
    squares = sum_by(data.group, less, data.n_groups)
    total, all_squares = marginal.sum(), (marginal**2).sum()
    without = nominal_alpha(total - inside, diagonal.sum() - agreeing, all_squares - squares)[0]
    pooled = nominal_alpha(*(np.array([n]) for n in (total, diagonal.sum(), all_squares)))[0]
    return without - pooled


def f1_costs(images: ObjectSums) -> FloatArray:
    """Return F1 without each image, minus F1, (I,); NaN if one of them is undefined.

    Examples
    --------
    >>> sums = ObjectSums(*np.array([[1.0, 3.0], [2.0, 4.0], [0, 0], [0, 0], [0, 0], [0, 0]]))
    >>> f1_costs(sums).round(4)
    array([ 0.0833, -0.1667])
    """
    matched, possible = images.matched.sum(), images.possible.sum()
    without = ratio(matched - images.matched, possible - images.possible)
    return without - ratio(np.array([matched]), np.array([possible]))
