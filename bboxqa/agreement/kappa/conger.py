"""Conger's kappa: Cohen's kappa for many annotators, each with their own distribution."""

from typing import Any

import numpy as np

from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.agreement.kappa.chance import beyond_chance, linearised, unit_agreement
from bboxqa.agreement.uncertainty.estimator import NO_PAIR, Estimator, undefined
from bboxqa.agreement.uncertainty.sum_table import SumTable, table_of
from bboxqa.core.arrays import FloatArray, sum_by
from bboxqa.model.reliability import Cell, ReliabilityData


def _expected(
    given: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the expected agreement, each annotator's shares, and half its slope along them.

    It is the mean over pairs of annotators of the agreement of two independent draws, one from the
    distribution of each. `given`, (A, K, B), are the counts of each annotator's values.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.nan_to_num(given / given.sum(1, keepdims=True))
    # In a resample an annotator may have no ratings; then only the others are compared.
    n_annotators = (given.sum(1) > 0).sum(0)
    others = share.sum(0) - share
    if weights is not None:
        others = np.einsum("kl,alb->akb", (weights + weights.T) / 2, others)
    slope = others / np.maximum(n_annotators * (n_annotators - 1), 1)
    return (share * slope).sum((0, 1)), share, slope


def conger_kappa(data: ReliabilityData, weights: FloatArray | None = None) -> Estimator:
    """Return Conger's kappa [1]_, with the linearised standard error.

    With missing ratings, the distribution of each annotator is that of the units that they rated
    (Gwet 2014, Handbook of Inter-Rater Reliability, ch. 2).

    Parameters
    ----------
    data : ReliabilityData
        No annotator twice in a unit.
    weights : (K, K) float64, optional
        Agreement of unequal values, as `agreement_weights` returns it.

    References
    ----------
    .. [1] A. J. Conger (1980), Integration and generalization of kappas for multiple raters,
           Psychological Bulletin 88(2), doi:10.1037/0033-2909.88.2.322.
    """
    counts = unit_counts(data)
    drawn = np.flatnonzero(data.state == Cell.CATEGORY)
    unit, annotator = data.unit[drawn], data.annotator[drawn].astype(np.int64)
    value = data.value[drawn]
    present, annotator = np.unique(annotator, return_inverse=True)
    weight, size = counts.weight, counts.size
    paired = weight * (size >= 2)
    if not paired.any():
        return undefined(NO_PAIR)
    agreement = unit_agreement(counts, weights)
    shape = len(present), counts.n_values
    place = annotator * shape[1] + value

    @SumTable
    def table() -> Any:
        return table_of(
            np.concatenate([np.repeat(np.arange(2), len(size)), 2 + place]),
            np.concatenate([counts.group, counts.group, counts.group[unit]]),
            np.concatenate([paired, paired * agreement, weight[unit]]),
            (2 + shape[0] * shape[1], counts.n_groups),
        )

    def evaluate(column: FloatArray) -> FloatArray:
        return beyond_chance(column, _expected(column[2:].reshape(*shape, -1), weights)[0])

    given = sum_by(place, weight[unit], shape[0] * shape[1]).reshape(*shape, 1)
    expected, share, slope = _expected(given, weights)
    # The slope along the rating's share of its annotator, minus its mean.
    centred = (slope - (share * slope).sum(1, keepdims=True))[annotator, value, 0]
    chance = sum_by(unit, weight[unit] * centred / given.sum(1)[annotator, 0], len(size))
    return linearised(counts, agreement, float(expected[0]), chance, 1.0, table, evaluate)
