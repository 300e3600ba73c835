"""Agreement in choice tasks: an annotator picks one of several objects, or none."""

from functools import cache
from typing import Any

import numpy as np

from bboxqa.agreement.answers import AnswerPairs
from bboxqa.agreement.cohen import kappa_of
from bboxqa.agreement.estimator import (
    Estimator,
    clusters_of,
    table_of,
    undefined,
)
from bboxqa.agreement.krippendorff import NO_PAIR, OK
from bboxqa.agreement.linear import linearised
from bboxqa.agreement.pair_means import mean_without_clusters, pair_sums
from bboxqa.arrays import BoolArray, FloatArray, IndexArray, sum_by
from bboxqa.estimates import PairTable

__all__ = ["choice_pairs", "mean_choice_kappa"]

NO_CHANCE = "undefined: a pair would have to agree by chance on everything, and does not"


def choice_pairs(answers: AnswerPairs, is_none: BoolArray, n_options: IndexArray) -> PairTable:
    """Return the kappa of each pair of annotators, with chance as it is where one picks objects.

    Two annotators agree by chance if both pick none, or if both pick something and it is the
    same object: P(none)₁ P(none)₂ + n (1 − P(none)₁)(1 − P(none)₂) / Σ options, with n the
    answers that they share, and the sum over the options of these (the convention of the
    spatial-preposition study of Richard-Bollans et al., 2019).

    Parameters
    ----------
    answers : AnswerPairs
        Of P pairs.
    is_none : (K,) bool
        The values that mean that no object was picked.
    n_options : (U,) int64
        How many objects there were to choose from in each unit.

    Returns
    -------
    PairTable
        kappa is 1 where everything agrees.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.answers import answer_pairs
    >>> from bboxqa.agreement.reliability import from_table
    >>> table = from_table(np.array([[0, 1], [0, 2]]), np.ones((2, 2), bool), 3)
    >>> none = np.array([True, False, False])
    >>> choice_pairs(answer_pairs(table, 2), none, np.array([2, 2])).expected
    array([0.375])
    """
    columns = _columns(answers, is_none, n_options)
    sums = np.stack([sum_by(answers.pair, part, len(answers.first)) for part in columns])
    observed, expected = _shares(sums)
    return PairTable(
        first=answers.first,
        second=answers.second,
        n_shared=sums[0].astype(np.int64),
        observed=observed,
        expected=expected,
        kappa=kappa_of(observed, expected),
    )


def _columns(
    answers: AnswerPairs, is_none: BoolArray, n_options: IndexArray
) -> tuple[FloatArray, ...]:
    """Return what each two answers add: one, agreeing, first and second none, options."""
    weight = answers.weight
    return (
        weight,
        weight * (answers.left == answers.right),
        weight * is_none[answers.left],
        weight * is_none[answers.right],
        weight * n_options[answers.unit],
    )


def _shares(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return observed and expected agreement from the five sums in the first axis."""
    shared, agreeing, first, second, options = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        observed: FloatArray = agreeing / shared
        first, second = first / shared, second / shared
        expected: FloatArray = first * second + shared * (1 - first) * (1 - second) / options
    return observed, expected


def mean_choice_kappa(
    answers: AnswerPairs, table: PairTable, is_none: BoolArray, n_options: IndexArray
) -> Estimator:
    """Return the mean of the kappas of pairs, weighted by the answers that they share.

    Parameters
    ----------
    answers : AnswerPairs
        Of P pairs.
    table : PairTable
        What `choice_pairs` returns for them.
    is_none : (K,) bool
        The values that mean that no object was picked.
    n_options : (U,) int64
        How many objects there were to choose from.

    Returns
    -------
    Estimator
    """
    n_pairs, part = len(answers.first), table.n_shared
    if n_pairs == 0:
        return undefined(NO_PAIR)
    observed = float(part @ table.observed / part.sum())
    expected = float(part @ table.expected / part.sum())
    value = float(part @ table.kappa / part.sum())
    if np.isnan(value):
        return undefined(NO_CHANCE, observed, expected)
    columns = np.stack(_columns(answers, is_none, n_options))
    group = answers.group[answers.unit]
    status, n_shared = OK, int(part.sum())
    if n_pairs > 1:
        found = pair_sums(group.astype(np.int64), answers.pair, columns, n_pairs)
        left = found.whole[:, found.pair] - found.sums
        clusters, without = mean_without_clusters(found, left, _kappa, by_shared=True)
        return linearised(
            value, clusters, without, answers.n_groups, observed=observed, expected=expected,
            n_shared=n_shared,
        )  # fmt: skip

    @cache
    def sums() -> Any:
        rows = np.repeat(np.arange(len(columns)), len(group))
        shape = len(columns), answers.n_groups
        return table_of(rows, np.tile(group, len(columns)), columns.ravel(), shape)

    clusters = clusters_of(group, answers.weight > 0)
    return Estimator(value, observed, expected, status, sums, _kappa, clusters, n_shared=n_shared)


def _kappa(sums: FloatArray) -> FloatArray:
    return kappa_of(*_shares(sums))
