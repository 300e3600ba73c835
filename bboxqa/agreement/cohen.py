"""Cohen's kappa of every pair of annotators, their mean, and what it takes to resample it."""

from dataclasses import dataclass
from math import nan

import numpy as np

from bboxqa.agreement.estimator import (
    Estimator,
    clustered_error,
    clusters_of,
    table_of,
    undefined,
)
from bboxqa.agreement.krippendorff import NO_PAIR, NO_VARIATION, OK
from bboxqa.agreement.partners import partners
from bboxqa.arrays import FloatArray, IndexArray, IntArray, freeze, sum_by
from bboxqa.estimates import PairTable
from bboxqa.model import Cell, ReliabilityData

__all__ = ["BY_CONVENTION", "AnswerPairs", "answer_pairs", "cohen_pairs", "kappa_of", "mean_kappa"]

BY_CONVENTION = "1 by convention: each pair gave one value only, so agreement was certain"

_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class AnswerPairs:
    """C times that two annotators answered one unit.

    Attributes
    ----------
    first, second : (P,) int32
        The pairs of annotators, ``first < second``, sorted.
    pair : (C,) int64
        Index of the pair.
    left, right : (C,) int64
        The values of the first and of the second annotator.
    unit : (C,) int64
    weight : (C,) float64
        How many equal ones it stands for.
    group : (U,) int32
        The cluster of each unit.
    n_values, n_groups : int
    """

    first: IntArray
    second: IntArray
    pair: IndexArray
    left: IndexArray
    right: IndexArray
    unit: IndexArray
    weight: FloatArray
    group: IntArray
    n_values: int
    n_groups: int

    def __post_init__(self) -> None:
        freeze(self)


def answer_pairs(data: ReliabilityData, n_annotators: int) -> AnswerPairs:
    """Return every answer of an annotator beside every answer of another on the same unit.

    An annotator may have answered a unit several times: each answer pairs with each of the
    other's.

    Parameters
    ----------
    data : ReliabilityData
        M ratings. Missing ones are left out.
    n_annotators : int

    Returns
    -------
    AnswerPairs

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1], [0, 0]]), np.ones((2, 2), bool), 2)
    >>> answer_pairs(table, 2).left, answer_pairs(table, 2).right
    (array([0, 1]), array([0, 0]))
    """
    nothing = np.zeros(0, np.int64)
    lefts, rights = [nothing], [nothing]
    for left, right in partners(data.unit, data.state == Cell.CATEGORY, "ignore"):
        other = data.annotator[left] != data.annotator[right]
        lefts.append(left[other])
        rights.append(right[other])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    swap = data.annotator[left] > data.annotator[right]
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    key = data.annotator[left].astype(np.int64) * n_annotators + data.annotator[right]
    keys, pair = np.unique(key, return_inverse=True)
    first, second = np.divmod(keys, n_annotators)
    unit = data.unit[left]
    return AnswerPairs(
        first=first.astype(np.int32),
        second=second.astype(np.int32),
        pair=pair,
        left=data.value[left].astype(np.int64),
        right=data.value[right].astype(np.int64),
        unit=unit,
        weight=np.ones(len(unit)) if data.weight is None else data.weight[unit].astype(np.float64),
        group=data.group,
        n_values=data.n_values,
        n_groups=data.n_groups,
    )


def kappa_of(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return (p_o − p_e) / (1 − p_e), and 1 where everything agrees.

    Two annotators who agree on everything have kappa 1, also where they only ever gave one
    value, so that agreement was certain by chance: the convention of the published
    studies of pairwise agreement that weight pairs by what they share.

    Parameters
    ----------
    observed, expected : (N,) float64

    Returns
    -------
    (N,) float64
        NaN where either is, or where chance leaves nothing to agree on and they do not agree.

    Examples
    --------
    >>> import numpy as np
    >>> kappa_of(np.array([0.75, 1.0]), np.array([0.5, 1.0]))
    array([0.5, 1. ])
    """
    kappa: FloatArray
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = (observed - expected) / (1 - expected)
    kappa[~(expected < 1 - _TINY)] = np.nan
    kappa[observed >= 1 - _TINY] = 1.0
    return kappa


def _agreeing(answers: AnswerPairs, weights: FloatArray | None) -> FloatArray:
    if weights is None:
        agreeing: FloatArray = (answers.left == answers.right).astype(np.float64)
        return agreeing
    return weights[answers.left, answers.right]


def _margins(answers: AnswerPairs) -> tuple[FloatArray, FloatArray]:
    """Return how often the first and the second of each pair gave each value, (P, K) each."""
    shape = len(answers.first), answers.n_values
    left, right = (
        sum_by(answers.pair * shape[1] + value, answers.weight, shape[0] * shape[1])
        for value in (answers.left, answers.right)
    )
    return left.reshape(shape), right.reshape(shape)


def _chance(left: FloatArray, right: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the agreement of independent draws from two margins, over their last axis."""
    matched = right if weights is None else right @ weights.T
    with np.errstate(divide="ignore", invalid="ignore"):
        result: FloatArray = (left * matched).sum(-1) / (left.sum(-1) * right.sum(-1))
    return result


def cohen_pairs(answers: AnswerPairs, weights: FloatArray | None = None) -> PairTable:
    """Return Cohen's kappa of each pair of annotators (Cohen 1960; weighted: Cohen 1968).

    Parameters
    ----------
    answers : AnswerPairs
        Of P pairs.
    weights : (K, K) float64, optional
        Agreement of unequal values, as `agreement_weights` returns it.

    Returns
    -------
    PairTable
        kappa is 1 where everything agrees, as `kappa_of` says.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1, 1], [0, 1, 0]]), np.ones((2, 3), bool), 2)
    >>> cohen_pairs(answer_pairs(table, 2)).kappa.round(4)
    array([0.4])
    """
    n_pairs = len(answers.first)
    shared = sum_by(answers.pair, answers.weight, n_pairs)
    agreeing = sum_by(answers.pair, answers.weight * _agreeing(answers, weights), n_pairs)
    observed = agreeing / np.maximum(shared, 1)
    expected = _chance(*_margins(answers), weights)
    return PairTable(
        first=answers.first,
        second=answers.second,
        n_shared=shared.astype(np.int64),
        observed=observed,
        expected=expected,
        kappa=kappa_of(observed, expected),
    )


def mean_kappa(
    answers: AnswerPairs,
    table: PairTable,
    weights: FloatArray | None = None,
    *,
    by_shared: bool = True,
) -> Estimator:
    """Return the mean of the kappas of pairs.

    Parameters
    ----------
    answers : AnswerPairs
        Of P pairs; with two annotators, one, and the mean is Cohen's kappa itself.
    table : PairTable
        What `cohen_pairs` returns for them.
    weights : (K, K) float64, optional
        Agreement of unequal values, the same.
    by_shared : bool
        Whether each pair counts by the number of answers that were compared, or all alike
        (Light 1971).

    Returns
    -------
    Estimator
        The standard error of one pair is that of Fleiss, Cohen and Everitt (1969); that of means
        counts the answers of one cluster together. It is NaN where some pair agrees on
        everything: there is no slope at the end of the scale.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1]])
    >>> answers = answer_pairs(from_table(table, np.ones((3, 4), bool), 2), 3)
    >>> round(mean_kappa(answers, cohen_pairs(answers)).value, 4)
    0.4
    """
    n_pairs, n_values = len(answers.first), answers.n_values
    if n_pairs == 0:
        return undefined(NO_PAIR)
    part = table.n_shared if by_shared else (table.n_shared > 0).astype(np.float64)
    observed = float(part @ table.observed / part.sum())
    expected = float(part @ table.expected / part.sum())
    value = float(part @ table.kappa / part.sum())
    if np.isnan(value):
        return undefined(NO_VARIATION, observed, expected)
    group = answers.group[answers.unit]
    rows = np.concatenate(
        [
            answers.pair,
            n_pairs + answers.pair * n_values + answers.left,
            n_pairs * (1 + n_values) + answers.pair * n_values + answers.right,
        ]
    )
    amount = np.concatenate([answers.weight * _agreeing(answers, weights), *[answers.weight] * 2])
    depth = n_pairs * (1 + 2 * n_values)
    sums = table_of(rows, np.tile(group, 3), amount, (depth, answers.n_groups))

    def evaluate(column: FloatArray) -> FloatArray:
        margins = column[n_pairs:].reshape(2, n_pairs, n_values, -1).transpose(0, 1, 3, 2)
        shared = margins[0].sum(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            kappa = kappa_of(column[:n_pairs] / shared, _chance(margins[0], margins[1], weights))
            # A pair that no drawn cluster has says nothing.
            part = shared if by_shared else (shared > 0).astype(np.float64)
            mean: FloatArray = np.where(part > 0, part * kappa, 0).sum(0) / part.sum(0)
        return mean

    n_shared = int(table.n_shared.sum())
    clusters = clusters_of(group, answers.weight > 0)
    error = _error(answers, table, weights, part / part.sum(), value, by_shared=by_shared)
    one_value = bool((table.expected >= 1 - _TINY).all())
    return Estimator(
        value,
        observed,
        expected,
        BY_CONVENTION if one_value else OK,
        sums,
        evaluate,
        clusters,
        error,
        n_shared=n_shared,
        of_many_pairs=n_pairs > 1,
    )


def _error(
    answers: AnswerPairs,
    table: PairTable,
    weights: FloatArray | None,
    part: FloatArray,
    mean: float,
    *,
    by_shared: bool,
) -> float:
    """Return the linearised standard error of a mean of kappas."""
    if (table.observed >= 1 - _TINY).any():
        return nan
    left, right = _margins(answers)
    shared = left.sum(1, keepdims=True)
    first = (right / shared) @ (np.eye(answers.n_values) if weights is None else weights.T)
    second = (left / shared) @ (np.eye(answers.n_values) if weights is None else weights)
    pair, kappa = answers.pair, table.kappa[answers.pair]
    # Fleiss, Cohen and Everitt 1969, eq. 14: what one answer moves kappa by.
    moved = _agreeing(answers, weights)
    moved -= (first[pair, answers.left] + second[pair, answers.right]) * (1 - kappa)
    moved -= kappa - table.expected[pair] * (1 - kappa)
    moved *= part[pair] / (shared[pair, 0] * (1 - table.expected[pair]))
    if by_shared:
        moved += (kappa - mean) / shared.sum()
    influence = sum_by(answers.unit, answers.weight * moved, len(answers.group))
    counted = np.bincount(answers.unit, minlength=len(answers.group)) > 0
    error = clustered_error(influence, answers.group, counted, answers.n_groups)
    n_clusters = len(np.unique(answers.group[counted]))
    if len(table) == 1 and n_clusters == np.count_nonzero(counted):
        # Of one pair and independent units the paper divides by their number, not one less.
        error *= float(np.sqrt((n_clusters - 1) / n_clusters))
    return error
