"""Cronbach's alpha of ratings, ready to be resampled: consistency, which is not agreement."""

from math import nan

import numpy as np

from bboxqa.agreement.consistency import (
    NO_SPREAD,
    TOO_FEW,
    cronbach_of_sums,
    cronbach_sums,
)
from bboxqa.agreement.estimator import OK, Estimator, clusters_of, undefined
from bboxqa.arrays import FloatArray
from bboxqa.model import Cell, ReliabilityData
from bboxqa.words import count

__all__ = ["cronbach"]

NOT_NUMBERS = "undefined: some values are not numbers"


def cronbach(data: ReliabilityData, numbers: FloatArray | None) -> Estimator:
    """Return Cronbach's alpha with annotators as items and units as subjects.

    Parameters
    ----------
    data : ReliabilityData
        M ratings, no annotator twice in a unit. Units that not everybody rated are left out, and
        so are annotators who rated none.
    numbers : (K,) float64, optional
        The values as numbers.

    Returns
    -------
    Estimator

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1, 2], [1, 1, 3]]), np.ones((2, 3), bool), 4)
    >>> round(cronbach(table, np.arange(1.0, 5)).value, 4)
    0.9231
    """
    if numbers is None:
        return undefined(NOT_NUMBERS)
    drawn = np.flatnonzero(data.state == Cell.CATEGORY)
    size = np.bincount(data.unit[drawn], minlength=len(data.group))
    n_annotators = len(np.unique(data.annotator[drawn]))
    complete = np.flatnonzero((size == n_annotators) & (n_annotators > 1))
    if len(complete) < 2:
        return undefined(TOO_FEW)
    cells = drawn[size[data.unit[drawn]] == n_annotators]
    scores = numbers[data.value[cells]].reshape(len(complete), n_annotators)
    parts = cronbach_sums(scores)
    if data.weight is not None:
        parts = parts * data.weight[complete]
    group = data.group[complete]
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    clusters = clusters_of(group, np.ones(len(group), np.bool_))
    sums = np.zeros((len(parts), data.n_groups))
    sums[:, clusters] = np.add.reduceat(parts[:, order], starts, axis=1)

    def evaluate(column: FloatArray) -> FloatArray:
        return cronbach_of_sums(column, n_annotators)

    rated = int(np.count_nonzero(size))
    left_out = rated - len(complete)
    status = f"{left_out:,} of {count(rated, 'unit')} left out: a rating is missing"
    value = float(evaluate(parts.sum(1, keepdims=True))[0])
    if np.isnan(value):
        return undefined(NO_SPREAD)
    return Estimator(value, nan, nan, status if left_out else OK, lambda: sums, evaluate, clusters)
