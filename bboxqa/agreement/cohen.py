"""Cohen's kappa of every pair of annotators, their mean, and what it takes to resample it."""

from collections.abc import Callable
from functools import cache
from math import inf, nan
from typing import Any

import numpy as np

from bboxqa.agreement.answers import AnswerPairs
from bboxqa.agreement.estimator import (
    Estimator,
    clustered_error,
    clusters_of,
    table_of,
    undefined,
)
from bboxqa.agreement.krippendorff import NO_PAIR, NO_VARIATION, OK
from bboxqa.agreement.linear import linearised
from bboxqa.agreement.pair_means import (
    PairSums,
    mean_without_clusters,
    pair_sums,
)
from bboxqa.arrays import FloatArray, IndexArray, sum_by
from bboxqa.estimates import PairTable

__all__ = ["BY_CONVENTION", "cohen_pairs", "kappa_of", "mean_kappa"]

BY_CONVENTION = "1 by convention: each pair gave one value only, so agreement was certain"

_TINY = 1e-12
# Cells of tables that are held at once.
_CHUNK = 1 << 22


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


def _matched(
    answers: AnswerPairs, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what chance makes of the values that each two annotators gave.

    Returns
    -------
    chance : (P,) float64
        Σ_kl L_k w_kl R_l, L and R how often the first and the second gave each value.
    left, right : (C,) float64
        Σ_l w_kl R_l for the value k of each left answer, and Σ_k L_k w_kl for that of each right
        one.
    """
    n_pairs, n_values = len(answers.first), answers.n_values
    ours, theirs = (answers.pair * n_values + value for value in (answers.left, answers.right))
    if weights is None:
        keys, place = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
        half = len(ours)
        first = sum_by(place[:half], answers.weight, len(keys))
        second = sum_by(place[half:], answers.weight, len(keys))
        chance = sum_by(keys // max(n_values, 1), first * second, n_pairs)
        return chance, second[place[:half]], first[place[half:]]
    shape = n_pairs, n_values
    first = sum_by(ours, answers.weight, n_pairs * n_values).reshape(shape)
    second = sum_by(theirs, answers.weight, n_pairs * n_values).reshape(shape)
    met = second @ weights.T
    chance = (first * met).sum(1)
    return chance, met.ravel()[ours], (first @ weights).ravel()[theirs]


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
    >>> from bboxqa.agreement.answers import answer_pairs
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1, 1], [0, 1, 0]]), np.ones((2, 3), bool), 2)
    >>> cohen_pairs(answer_pairs(table, 2)).kappa.round(4)
    array([0.4])
    """
    n_pairs = len(answers.first)
    shared = sum_by(answers.pair, answers.weight, n_pairs)
    agreeing = sum_by(answers.pair, answers.weight * _agreeing(answers, weights), n_pairs)
    observed = agreeing / np.maximum(shared, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = _matched(answers, weights)[0] / shared**2
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
        The standard error of one pair is that of Fleiss, Cohen and Everitt (1969), NaN where the
        pair agrees on everything: there is no slope at the end of the scale. That of a mean over
        several is by the jackknife.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.answers import answer_pairs
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1]])
    >>> answers = answer_pairs(from_table(table, np.ones((3, 4), bool), 2), 3)
    >>> round(mean_kappa(answers, cohen_pairs(answers)).value, 4)
    0.4
    """
    n_pairs = len(answers.first)
    if n_pairs == 0:
        return undefined(NO_PAIR)
    part = table.n_shared if by_shared else (table.n_shared > 0).astype(np.float64)
    observed = float(part @ table.observed / part.sum())
    expected = float(part @ table.expected / part.sum())
    value = float(part @ table.kappa / part.sum())
    if np.isnan(value):
        return undefined(NO_VARIATION, observed, expected)
    certain = table.expected >= 1 - _TINY
    status = BY_CONVENTION if certain.all() else OK
    n_shared = int(table.n_shared.sum())
    group = answers.group[answers.unit]
    if n_pairs > 1:
        clusters, without = _without(answers, weights, by_shared=by_shared)
        # Kappas with own weights may go below -1.
        return linearised(
            value, clusters, without, answers.n_groups, observed=observed, expected=expected,
            status=status, n_shared=n_shared, lowest=-1.0 if weights is None else -inf,
        )  # fmt: skip
    sums, evaluate = _single(answers, weights)
    clusters = clusters_of(group, answers.weight > 0)
    error = _error(answers, table, weights)
    return Estimator(value, observed, expected, status, sums, evaluate, clusters, error, n_shared)


def _without(
    answers: AnswerPairs, weights: FloatArray | None, *, by_shared: bool
) -> tuple[IndexArray, FloatArray]:
    """Return the mean of the kappas of several pairs without each cluster."""
    chance, met_left, met_right = _matched(answers, weights)
    group = answers.group[answers.unit].astype(np.int64)
    amount = answers.weight
    columns = np.stack([amount, amount * _agreeing(answers, weights)])
    found = pair_sums(group, answers.pair, columns, len(answers.first))
    place = np.searchsorted(
        found.cluster * len(answers.first) + found.pair, group * len(answers.first) + answers.pair
    )
    # (L − l)ᵀ W (R − r) = Lᵀ W R − lᵀ W R − Lᵀ W r + lᵀ W r.
    taken = sum_by(place, amount * (met_left + met_right), len(found.pair))
    inside = AnswerPairs(
        found.cluster.astype(np.int32), found.pair.astype(np.int32), place, answers.left,
        answers.right, answers.unit, amount, answers.group, answers.n_values, answers.n_groups,
    )  # fmt: skip
    taken -= _within(inside, weights)
    whole = PairSums(found.cluster, found.pair, found.sums, np.vstack([found.whole, chance]))
    left = np.vstack([found.whole[:, found.pair] - found.sums, chance[found.pair] - taken])
    return mean_without_clusters(whole, left, _kappa_of_sums, by_shared=by_shared)


def _within(inside: AnswerPairs, weights: FloatArray | None) -> FloatArray:
    """Return lᵀ W r of each cluster and pair, in parts where the weights make it a table."""
    if weights is None:
        return _matched(inside, None)[0]
    n_runs, n_values = len(inside.first), inside.n_values
    result = np.zeros(n_runs)
    order = np.argsort(inside.pair, kind="stable")
    step = max(1, _CHUNK // n_values)
    for start in range(0, n_runs, step):
        low, high = np.searchsorted(inside.pair[order], [start, start + step])
        rows = order[low:high]
        size = min(step, n_runs - start)
        run = (inside.pair[rows] - start) * n_values
        left, right = (
            sum_by(run + value[rows], inside.weight[rows], size * n_values).reshape(size, -1)
            for value in (inside.left, inside.right)
        )
        result[start : start + size] = ((left @ weights) * right).sum(1)
    return result


def _kappa_of_sums(sums: FloatArray) -> FloatArray:
    """Return kappas from answers compared, those that agree, and Lᵀ W R."""
    shared, agreeing, chance = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        return kappa_of(agreeing / shared, chance / shared**2)


def _single(
    answers: AnswerPairs, weights: FloatArray | None
) -> tuple[Callable[[], Any], Callable[[FloatArray], FloatArray]]:
    """Return the sums of one pair, and its kappa from them."""
    n_values = answers.n_values

    @cache
    def sums() -> Any:
        group = answers.group[answers.unit]
        zero = np.zeros(len(group), np.int64)
        rows = np.concatenate([zero, 1 + answers.left, 1 + n_values + answers.right])
        agreeing = answers.weight * _agreeing(answers, weights)
        amount = np.concatenate([agreeing, answers.weight, answers.weight])
        return table_of(rows, np.tile(group, 3), amount, (1 + 2 * n_values, answers.n_groups))

    def evaluate(column: FloatArray) -> FloatArray:
        left, right = column[1 : 1 + n_values], column[1 + n_values :]
        shared = left.sum(0)
        chance = (left * (right if weights is None else weights @ right)).sum(0)
        return _kappa_of_sums(np.stack([shared, column[0], chance]))

    return sums, evaluate


def _error(answers: AnswerPairs, table: PairTable, weights: FloatArray | None) -> float:
    """Return the linearised standard error of the kappa of one pair."""
    if table.observed[0] >= 1 - _TINY:
        return nan
    _, met_left, met_right = _matched(answers, weights)
    shared, kappa = answers.weight.sum(), float(table.kappa[0])
    expected = float(table.expected[0])
    # Fleiss, Cohen and Everitt 1969, eq. 14: what one answer moves kappa by.
    moved = _agreeing(answers, weights) - (met_left + met_right) / shared * (1 - kappa)
    moved -= kappa - expected * (1 - kappa)
    moved /= shared * (1 - expected)
    influence = sum_by(answers.unit, answers.weight * moved, len(answers.group))
    counted = np.bincount(answers.unit, minlength=len(answers.group)) > 0
    error = clustered_error(influence, answers.group, counted, answers.n_groups)
    n_clusters = len(np.unique(answers.group[counted]))
    if n_clusters == np.count_nonzero(counted):
        # Of independent units the paper divides by their number, not one less.
        error *= float(np.sqrt((n_clusters - 1) / n_clusters))
    return error
