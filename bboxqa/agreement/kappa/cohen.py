"""Cohen's kappa of every pair of annotators, with the sums that resampling needs."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bboxqa.agreement.kappa.answers import AnswerPairs, answer_chunks
from bboxqa.agreement.kappa.pair_cells import PairCells, cell_chunks, prefers_cells
from bboxqa.agreement.kappa.pair_kappas import (
    PairBlock,
    PairKappas,
    block_of_answers,
    kappa_of,
    pair_kappas,
    with_single,
)
from bboxqa.agreement.uncertainty.sum_table import SumTable, table_of
from bboxqa.core.arrays import FloatArray, IndexArray, compact, sum_by
from bboxqa.model.reliability import ReliabilityData

# Cells of tables in memory at a time.
_CHUNK = 1 << 22


def cohen_pairs(
    data: ReliabilityData, n_annotators: int, weights: FloatArray | None = None
) -> PairKappas:
    """Return Cohen's kappa of each pair of annotators [1]_, weighted if weights are given [2]_.

    kappa is 1 if everything agrees (`kappa_of`). Standard errors are those of Fleiss, Cohen and
    Everitt [3]_, with the influences of units summed by cluster.

    Parameters
    ----------
    data : ReliabilityData
        If an annotator answered a unit several times, each answer pairs with each of the other's.
    weights : (K, K) float64, optional
        Agreement of unequal values, as `agreement_weights` returns it.

    References
    ----------
    .. [1] J. Cohen (1960), A coefficient of agreement for nominal scales, Educational and
           Psychological Measurement 20(1), doi:10.1177/001316446002000104.
    .. [2] J. Cohen (1968), Weighted kappa, Psychological Bulletin 70(4), doi:10.1037/h0026256.
    .. [3] J. L. Fleiss, J. Cohen and B. S. Everitt (1969), Large sample standard errors of kappa
           and weighted kappa, Psychological Bulletin 72(5), doi:10.1037/h0028106.

    Examples
    --------
    >>> from bboxqa.agreement.counts.reliability_rows import from_table
    >>> table = from_table(np.array([[0, 1, 1], [0, 1, 0]]), np.ones((2, 3), bool), 2)
    >>> cohen_pairs(table, 2).table.kappa.round(4)
    array([0.4])
    """
    if prefers_cells(data, n_annotators):
        blocks = (
            _block_of_cells(cells, weights, data) for cells in cell_chunks(data, n_annotators)
        )
    else:
        blocks = (_label_block(answers, weights) for answers in answer_chunks(data, n_annotators))
    found = pair_kappas(blocks, data, _shares)
    if len(found.table) != 1:
        return found
    (answers,) = answer_chunks(data, n_annotators)
    return with_single(found, answers, *_single(answers, weights))


def _shares(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return observed and expected agreement from sums: answers, agreeing answers, and Lᵀ W R."""
    shared, agreeing, chance = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        return agreeing / shared, chance / shared**2


def _agreeing(answers: AnswerPairs, weights: FloatArray | None) -> FloatArray:
    if weights is None:
        agreeing: FloatArray = (answers.left == answers.right).astype(np.float64)
        return agreeing
    return weights[answers.left, answers.right]


def _matched(
    answers: AnswerPairs, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the chance agreement of each pair, (P,), and its part for each answer, twice (C,).

    Σ_kl L_k w_kl R_l, with L and R the counts of the first and the second annotator's values;
    Σ_l w_kl R_l for the value k of each left answer, and Σ_k L_k w_kl for each right one.
    """
    n_pairs, n_values = len(answers.first), answers.n_values
    ours, theirs = (answers.pair * n_values + value for value in (answers.left, answers.right))
    if weights is None:
        keys, place = compact(np.concatenate([ours, theirs]), n_pairs * n_values)
        half = len(ours)
        first = sum_by(place[:half], answers.weight, len(keys))
        second = sum_by(place[half:], answers.weight, len(keys))
        chance = sum_by(keys // max(n_values, 1), first * second, n_pairs)
        return chance, second[place[:half]], first[place[half:]]
    chance, met_left, met_right = (np.zeros(size) for size in (n_pairs, len(ours), len(ours)))
    for start, rows, left, right in _tables(answers, answers.pair, n_pairs):
        met = right @ weights.T
        chance[start : start + len(left)] = (left * met).sum(1)
        shift = start * n_values
        met_left[rows] = met.ravel()[ours[rows] - shift]
        met_right[rows] = (left @ weights).ravel()[theirs[rows] - shift]
    return chance, met_left, met_right


def _tables(
    answers: AnswerPairs, run: IndexArray, n_runs: int
) -> Iterator[tuple[int, IndexArray, FloatArray, FloatArray]]:
    """Yield counts of the first and the second annotator's values, for some runs at a time.

    Each item is the index of the first run, the answers of these runs, and the two tables.
    """
    n_values, amount = answers.n_values, answers.weight
    order = np.argsort(run, kind="stable")
    step = max(1, _CHUNK // max(n_values, 1))
    for start in range(0, n_runs, step):
        low, high = np.searchsorted(run[order], [start, start + step])
        rows, size = order[low:high], min(step, n_runs - start)
        place = (run[rows] - start) * n_values
        left, right = (
            sum_by(place + value[rows], amount[rows], size * n_values).reshape(size, -1)
            for value in (answers.left, answers.right)
        )
        yield start, rows, left, right


def _label_block(answers: AnswerPairs, weights: FloatArray | None) -> PairBlock:
    n_pairs, amount = len(answers.first), answers.weight
    chance, met_left, met_right = _matched(answers, weights)
    cluster, pair, run = answers.runs()
    columns = (amount, amount * _agreeing(answers, weights), amount * (met_left + met_right))
    inside = np.stack([sum_by(run, column, len(pair)) for column in columns])
    whole = np.stack([*(sum_by(pair, column, n_pairs) for column in inside[:2]), chance])
    # (L − l)ᵀ W (R − r) = Lᵀ W R − lᵀ W R − Lᵀ W r + lᵀ W r.
    left = whole[:, pair] - inside
    left[2] += _within(answers, run, len(pair), weights)
    return block_of_answers(answers, (cluster, pair), whole, left, _moved(whole, pair, inside))


def _block_of_cells(
    cells: PairCells, weights: FloatArray | None, data: ReliabilityData
) -> PairBlock:
    """Return the sums of one pair, with units of equal values merged."""
    times, n_values = cells.times, data.n_values
    ours, theirs = (sum_by(said, times, n_values) for said in (cells.left, cells.right))
    if weights is None:
        agreeing = (cells.left == cells.right).astype(np.float64)
        met = theirs[cells.left] + ours[cells.right]
        chance = ours @ theirs
    else:
        agreeing = weights[cells.left, cells.right]
        met_left = weights @ theirs
        met = met_left[cells.left] + (ours @ weights)[cells.right]
        chance = ours @ met_left
    pair = np.zeros(len(times), np.int64)
    inside = np.stack([np.ones(len(times)), agreeing, met])
    whole = np.array([[times.sum()], [times @ agreeing], [chance]])
    left = whole - inside
    left[2] += agreeing

    def by_cluster(amounts: FloatArray) -> FloatArray:
        everywhere = np.zeros((len(amounts), cells.n_cells))
        everywhere[:, cells.place] = amounts
        # Row by row, so that the row stays in the cache.
        return np.stack([row.take(cells.cell) for row in everywhere])

    return PairBlock(
        first=np.array([cells.first], np.int32),
        second=np.array([cells.second], np.int32),
        pair=pair,
        times=times,
        whole=whole,
        left=left,
        by_cluster=by_cluster,
        moved=_moved(whole, pair, inside),
        independent=np.ones(1, np.bool_),
    )


def _moved(whole: FloatArray, pair: IndexArray, inside: FloatArray) -> FloatArray:
    """Return the influence of clusters on kappa (Fleiss, Cohen and Everitt 1969, eq. 14).

    `inside` are sums of the cluster: answers, agreeing answers, and lᵀ W R + Lᵀ W r.
    """
    observed, expected = _shares(whole)
    kappa = kappa_of(observed, expected)
    factor, constant = (1 - kappa) / whole[0], kappa - expected * (1 - kappa)
    moved: FloatArray = inside[1] - factor[pair] * inside[2] - constant[pair] * inside[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        moved /= (whole[0] * (1 - expected))[pair]
    return moved


def _within(
    answers: AnswerPairs, run: IndexArray, n_runs: int, weights: FloatArray | None
) -> FloatArray:
    """Return lᵀ W r of each cluster and pair."""
    n_values, amount = answers.n_values, answers.weight
    if n_runs == len(run):
        alone: FloatArray = np.zeros(n_runs)
        alone[run] = amount**2 * _agreeing(answers, weights)
        return alone
    if weights is None:
        ours, theirs = (run * n_values + value for value in (answers.left, answers.right))
        keys, place = compact(np.concatenate([ours, theirs]), n_runs * n_values)
        first, second = (
            sum_by(part, amount, len(keys)) for part in (place[: len(run)], place[len(run) :])
        )
        return sum_by(keys // n_values, first * second, n_runs)
    result = np.zeros(n_runs)
    for start, _, left, right in _tables(answers, run, n_runs):
        result[start : start + len(left)] = ((left @ weights) * right).sum(1)
    return result


def _single(
    answers: AnswerPairs, weights: FloatArray | None
) -> tuple[SumTable, Callable[[FloatArray], tuple[FloatArray, FloatArray]]]:
    """Return the sums of one pair by cluster, and its shares from them."""
    n_values = answers.n_values

    @SumTable
    def table() -> Any:
        group = answers.group[answers.unit]
        zero = np.zeros(len(group), np.int64)
        rows = np.concatenate([zero, 1 + answers.left, 1 + n_values + answers.right])
        agreeing = answers.weight * _agreeing(answers, weights)
        amount = np.concatenate([agreeing, answers.weight, answers.weight])
        return table_of(rows, np.tile(group, 3), amount, (1 + 2 * n_values, answers.n_groups))

    def shares(column: FloatArray) -> tuple[FloatArray, FloatArray]:
        left, right = column[1 : 1 + n_values], column[1 + n_values :]
        chance = (left * (right if weights is None else weights @ right)).sum(0)
        return _shares(np.stack([left.sum(0), column[0], chance]))

    return table, shares
