"""Existence, class and place as functions of sums over images, ready to be resampled."""

from collections.abc import Sequence
from functools import partial
from math import nan

import numpy as np

from bboxqa.agreement.counts.object_counts import ObjectSums, ratio
from bboxqa.agreement.uncertainty.estimator import OK, Estimator
from bboxqa.agreement.uncertainty.sum_table import SumTable
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.model.reliability import Cell, ReliabilityData

# The rows of a threshold: those of `ObjectSums`, and matched and possible pairs by chance.
_MATCHED, _POSSIBLE, _SAME, _SIMILARITY, _REST, _BELOW = range(6)
_BY_CHANCE, _POSSIBLE_BY_CHANCE = 6, 7
_N_ROWS = 8


def above_chance(f1: FloatArray, chance: FloatArray) -> FloatArray:
    """Return F1 corrected for chance, 1 − (1 − F1) / (1 − F1 by chance).

    It is NaN where F1 by chance is 1.

    Examples
    --------
    >>> above_chance(np.array([0.9]), np.array([0.5]))
    array([0.8])
    """
    return 1 - ratio(1 - f1, 1 - chance)


def f1_estimator(data: ReliabilityData) -> Estimator:
    """Return the F1 of all pairs of annotators, over images with annotations.

    An object drawn by m of a annotators asked has m (m − 1) ordered matched pairs, of m (a − 1)
    possible ones.

    Examples
    --------
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> values = np.array([[0, 0], [0, -1]])
    >>> round(f1_estimator(from_table(values, np.ones((2, 2), bool), 1)).value, 4)
    0.6667
    """
    drawn = np.bincount(data.unit, data.state != Cell.MISSING, len(data.group))
    asked = np.bincount(data.unit, minlength=len(data.group))
    sums = np.stack(
        [np.bincount(data.group, drawn * (others - 1), data.n_groups) for others in (drawn, asked)]
    )
    total = sums.sum(1)
    images = np.flatnonzero(sums[1])
    value = float(ratio(total[:1], total[1:])[0])
    status = OK if len(images) else "undefined: no annotations of two annotators"
    return Estimator(
        value, nan, nan, status, SumTable(lambda: sums), lambda drawn: ratio(*drawn), images
    )


def object_estimators(
    objects: Sequence[ObjectSums], chance: Sequence[FloatArray], images: IndexArray
) -> dict[tuple[int, str], Estimator]:
    """Return the estimators of each threshold, by the names of `_KINDS`.

    Only `evaluate`, `table` and `clusters` are set.

    Parameters
    ----------
    objects : sequence of ObjectSums
        By image, one per threshold.
    chance : sequence of (I, 2) float64
        Pairs that match by chance, and that could match, by image; one per threshold.
    images : (C,) int64
        The images that are drawn, sorted.
    """

    # One table of all thresholds, so that the weights are read once.
    @SumTable
    def table() -> FloatArray:
        rows = [
            np.concatenate([sums.stacked(), by_chance.T])[:, images]
            for sums, by_chance in zip(objects, chance, strict=True)
        ]
        return np.concatenate(rows)

    clusters = np.arange(len(images))
    return {
        (index, kind): Estimator(
            nan, nan, nan, OK, table, partial(evaluate, index * _N_ROWS), clusters
        )
        for index in range(len(objects))
        for kind, evaluate in _KINDS.items()
    }


def _f1(first: int, sums: FloatArray) -> FloatArray:
    return ratio(sums[first + _MATCHED], sums[first + _POSSIBLE])


def _above_chance(first: int, sums: FloatArray) -> FloatArray:
    chance = ratio(sums[first + _BY_CHANCE], sums[first + _POSSIBLE_BY_CHANCE])
    return above_chance(_f1(first, sums), chance)


def _class_share(first: int, sums: FloatArray) -> FloatArray:
    return ratio(sums[first + _SAME], sums[first + _MATCHED])


def _place(first: int, sums: FloatArray) -> FloatArray:
    return ratio(sums[first + _SIMILARITY] + sums[first + _REST], sums[first + _MATCHED])


def _below(first: int, sums: FloatArray) -> FloatArray:
    return ratio(sums[first + _BELOW], sums[first + _MATCHED])


_KINDS = {
    "f1": _f1, "above chance": _above_chance, "class share": _class_share, "place": _place,
    "below": _below,
}  # fmt: skip
