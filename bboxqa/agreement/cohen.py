"""Cohen's kappa of each pair of annotators, also weighted."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import SumTable, table_of
from bboxqa.agreement.pair_kappas import (
    AnswerPairs,
    PairBlock,
    PairKappas,
    Runs,
    Shares,
    kappa_of,
    pair_kappas,
)
from bboxqa.core.arrays import MOST_VALUES, FloatArray, IndexArray, compact, sum_by
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name
from bboxqa.model.units import ReliabilityData

# Cells of tables in memory at a time.
_MOST_CELLS = 1 << 22


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
    """
    return pair_kappas(
        data, n_annotators,
        partial(_label_block, weights=weights), _shares, partial(_single, weights=weights),
    )  # fmt: skip


def _shares(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
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
    """Return the chance agreement of each pair, (P,), and its part for each answer, twice (C,)."""
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
    n_values, amount = answers.n_values, answers.weight
    order = np.argsort(run, kind="stable")
    step = max(1, _MOST_CELLS // max(n_values, 1))
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
    runs, size = answers.runs(), answers.n_values
    n_pairs, n_kinds = len(answers.first), len(answers.first) * size * size
    # Answers that are clusters of their own differ by their values alone, so that equal ones are
    # counted; with many values, few are equal.
    if answers.units_alone and len(runs.pair) == len(answers.pair) > n_kinds:
        key = (answers.pair * size + answers.left) * size + answers.right
        keys, entry = compact(key, n_kinds)
        (pair, left), right = np.divmod(keys // size, size), keys % size
        times = np.bincount(entry).astype(np.float64)
        runs = Runs(pair, np.arange(len(pair)), times, answers.group[answers.unit], entry)
        answers = replace(answers, pair=pair, left=left, right=right, weight=times)
    chance, met_left, met_right = _matched(answers, weights)
    amount = answers.weight / runs.times[runs.run]
    columns = (amount, amount * _agreeing(answers, weights), amount * (met_left + met_right))
    inside = np.stack([sum_by(runs.run, column, len(runs.pair)) for column in columns])
    summed = (sum_by(runs.pair, column * runs.times, n_pairs) for column in inside[:2])
    whole = np.stack([*summed, chance])
    # (L − l)ᵀ W (R − r) = Lᵀ W R − lᵀ W R − Lᵀ W r + lᵀ W r.
    without = whole[:, runs.pair] - inside
    without[2] += _within(answers, amount, runs, weights)
    return PairBlock(runs, whole, without, _moved(whole, runs.pair, inside))


def _moved(whole: FloatArray, pair: IndexArray, inside: FloatArray) -> FloatArray:
    """Return the influence of clusters on kappa (Fleiss, Cohen and Everitt 1969, eq. 14)."""
    observed, expected = _shares(whole)
    kappa = kappa_of(observed, expected)
    factor, constant = (1 - kappa) / whole[0], kappa - expected * (1 - kappa)
    moved: FloatArray = inside[1] - factor[pair] * inside[2] - constant[pair] * inside[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        moved /= (whole[0] * (1 - expected))[pair]
    return moved


def _within(
    answers: AnswerPairs, amount: FloatArray, runs: Runs, weights: FloatArray | None
) -> FloatArray:
    n_values, run, n_runs = answers.n_values, runs.run, len(runs.pair)
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


def _single(answers: AnswerPairs, weights: FloatArray | None) -> tuple[SumTable, Shares]:
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


WEIGHTS = ("identity", "linear", "quadratic")


def agreement_weights(
    weights: str | Sequence[Sequence[float]] | FloatArray,
    n_values: int,
    numbers: FloatArray | None = None,
) -> FloatArray | None:
    """Return the agreement of each pair of values, (K, K) from 0 to 1; None for identity.

    Linear weights are 1 − |x_k − x_l| / (x_max − x_min), quadratic ones 1 − the square of that
    [1]_ [2]_, with x the values as numbers, or their ranks 0 to K − 1 if some value is not a
    number.

    Parameters
    ----------
    weights : {"identity", "linear", "quadratic"} or (K, K) array
        A matrix holds agreements with 1 on the diagonal, or disagreements with 0 there; these are
        divided by the largest, which changes no kappa. Rows are the values of the first annotator
        of a pair, so that the order matters if the matrix is not symmetric. Coefficients that do
        not distinguish annotators then use the mean of both directions.
    n_values : int
    numbers : (K,) float64, optional

    Raises
    ------
    ConfigError
        If the name is unknown, or the matrix has another shape or other numbers.

    References
    ----------
    .. [1] J. Cohen (1968), Weighted kappa, Psychological Bulletin 70(4), doi:10.1037/h0026256.
    .. [2] J. L. Fleiss and J. Cohen (1973), The equivalence of weighted kappa and the intraclass
           correlation coefficient as measures of reliability, Educational and Psychological
           Measurement 33(3), doi:10.1177/001316447303300309.
    """
    if isinstance(weights, str):
        if weights not in WEIGHTS:
            raise ConfigError(f"weights {unknown_name(weights, WEIGHTS)}")
        if weights == "identity":
            return None
        if n_values > MOST_VALUES:
            raise ConfigError(
                f"weights: {n_values:,} different values are too many for {weights} weights "
                f"(at most {MOST_VALUES:,}); for measurements use Krippendorff's alpha of intervals"
            )
        place = np.arange(n_values, dtype=np.float64) if numbers is None else numbers
        distance = np.abs(place[:, None] - place)
        distance /= max(float(distance.max(initial=0)), np.finfo(np.float64).tiny)
        agreement: FloatArray = 1 - (distance if weights == "linear" else distance**2)
        return agreement
    try:
        own = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise ConfigError(
            f"weights are not numbers; expected {', '.join(WEIGHTS)}, or "
            f"{n_values} x {n_values} numbers"
        ) from None
    if own.shape != (n_values, n_values):
        found = " x ".join(map(str, own.shape)) or repr(weights)
        raise ConfigError(
            f"weights is {found}; expected {n_values} x {n_values}, one row per value"
        )
    if not np.isfinite(own).all() or (own < 0).any():
        raise ConfigError("weights: expected finite numbers, 0 or more")
    diagonal = np.diagonal(own)
    largest = float(own.max(initial=0))
    if (diagonal == 1).all() and largest <= 1:
        return own
    if (diagonal == 0).all() and largest > 0:
        own /= -largest
        own += 1
        return own
    raise ConfigError(
        "weights: expected agreements from 0 to 1 with 1 on the diagonal, "
        "or disagreements with 0 on the diagonal"
    )
