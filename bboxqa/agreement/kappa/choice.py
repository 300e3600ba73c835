"""Agreement in choice tasks, where an annotator picks one of several objects, or none."""

from typing import Any

import numpy as np

from bboxqa.agreement.kappa.answers import AnswerPairs, answer_chunks
from bboxqa.agreement.kappa.pair_kappas import (
    PairBlock,
    PairKappas,
    block_of_answers,
    pair_kappas,
    with_single,
)
from bboxqa.agreement.uncertainty.sum_table import SumTable, table_of
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, sum_by
from bboxqa.model.reliability import ReliabilityData

NO_CHANCE = "undefined: the chance agreement of a pair is 1, but the pair disagrees"


def choice_pairs(
    data: ReliabilityData, n_annotators: int, is_none: BoolArray, n_options: IndexArray
) -> PairKappas:
    """Return the kappa of each pair of annotators, with the chance agreement of picking objects.

    Two annotators agree by chance if both pick none, or both pick the same object:
    P(none)₁ P(none)₂ + n (1 − P(none)₁)(1 − P(none)₂) / Σ options, with n the number of shared
    answers, and the sum over their options (the convention of the spatial-preposition study of
    Richard-Bollans et al., 2019). kappa is 1 if everything agrees. Standard errors come from the
    jackknife.

    Parameters
    ----------
    data : ReliabilityData
        If an annotator answered a unit several times, each answer is paired with each of the
        other's.
    is_none : (K,) bool
        The values that mean that no object was picked.
    n_options : (U,) int64
        The number of objects to choose from in each unit.

    Examples
    --------
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> table = from_table(np.array([[0, 1], [0, 2]]), np.ones((2, 2), bool), 3)
    >>> none = np.array([True, False, False])
    >>> choice_pairs(table, 2, none, np.array([2, 2])).table.expected
    array([0.375])
    """
    blocks = (
        _choice_block(answers, _columns(answers, is_none, n_options))
        for answers in answer_chunks(data, n_annotators)
    )
    found = pair_kappas(blocks, data, _shares)
    if len(found.table) != 1:
        return found
    (answers,) = answer_chunks(data, n_annotators)

    @SumTable
    def table() -> Any:
        columns, group = _columns(answers, is_none, n_options), answers.group[answers.unit]
        rows = np.repeat(np.arange(len(columns)), len(group))
        shape = len(columns), answers.n_groups
        return table_of(rows, np.tile(group, len(columns)), columns.ravel(), shape)

    return with_single(found, answers, table, _shares)


def _columns(answers: AnswerPairs, is_none: BoolArray, n_options: IndexArray) -> FloatArray:
    """Return the terms of each pair of answers, (5, C): 1, agreeing, either none, options."""
    weight = answers.weight
    return np.stack(
        [
            weight,
            weight * (answers.left == answers.right),
            weight * is_none[answers.left],
            weight * is_none[answers.right],
            weight * n_options[answers.unit],
        ]
    )


def _shares(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return observed and expected agreement from the five sums in the first axis."""
    shared, agreeing, first, second, options = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        observed: FloatArray = agreeing / shared
        first, second = first / shared, second / shared
        expected: FloatArray = first * second + shared * (1 - first) * (1 - second) / options
    return observed, expected


def _choice_block(answers: AnswerPairs, columns: FloatArray) -> PairBlock:
    cluster, pair, run = answers.runs()
    inside = np.stack([sum_by(run, column, len(pair)) for column in columns])
    whole = np.stack([sum_by(pair, column, len(answers.first)) for column in inside])
    return block_of_answers(answers, (cluster, pair), whole, whole[:, pair] - inside)
