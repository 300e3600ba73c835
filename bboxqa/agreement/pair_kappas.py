"""Kappas of pairs of annotators and their mean: Cohen's, also weighted, and of choices."""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf, nan

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import (
    NO_ERROR,
    NO_PAIR,
    NO_VARIATION,
    OK,
    ROUNDING,
    Estimator,
    SumTable,
    table_of,
    undefined,
)
from bboxqa.agreement.intervals import fisher_interval, pseudo_value_estimator
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    chunks,
    compact,
    rows,
    run_starts,
    sum_by,
)
from bboxqa.model.ratings import PairTable
from bboxqa.model.units import ReliabilityData

# Pairs of answers in memory at a time, unless one annotator has more.
_MOST_ANSWERS = 1 << 20


class Runs(FrozenArrays, frozen=True, eq=False):
    """E entries of pairs of annotators: the answers of a pair in a cluster, or in equal ones."""

    pair: IndexArray
    """(E,) int64. The pair of each entry."""
    run: IndexArray
    """(C,) int64. The entry of each answer."""
    times: FloatArray
    """(E,) float64. The number of clusters of the entry."""
    cluster: IntArray | IndexArray
    entry: IndexArray
    """(N,) integers. Each cluster of each pair, and its entry."""


class AnswerPairs(FrozenArrays, frozen=True, eq=False):
    """C pairs of answers of two annotators on one unit."""

    first: IntArray
    second: IntArray
    """(P,) int32. The pairs of annotators, ``first < second``, sorted."""
    pair: IndexArray
    """(C,) int64. Index of the pair of annotators."""
    left: IndexArray
    right: IndexArray
    """(C,) int64. The values of the first and of the second annotator."""
    unit: IndexArray
    """(C,) int64. Sorted."""
    weight: FloatArray
    """(C,) float64. The weight of the unit."""
    data: ReliabilityData

    @property
    def cluster(self) -> IntArray:
        """(C,) int32. The cluster of the unit."""
        return self.data.group[self.unit]

    def runs(self) -> Runs:
        """Return the clusters and pairs that occur together."""
        n_pairs = len(self.first)
        keys, run = _runs(self.cluster.astype(np.int64) * n_pairs + self.pair)
        cluster, pair = np.divmod(keys, n_pairs)
        return Runs(pair, run, np.ones(len(pair)), cluster, np.arange(len(pair)))

    def independent(self, pair: IndexArray) -> BoolArray:
        """Return (P,) bool: pairs in which each unit is its own cluster; `pair` is of `runs`."""
        n_pairs = len(self.first)
        if self.data.units_alone:
            return np.ones(n_pairs, np.bool_)
        units, _ = _runs(self.unit * n_pairs + self.pair)
        times, clusters = (np.bincount(of, minlength=n_pairs) for of in (units % n_pairs, pair))
        # A weighted unit is a cluster of several units.
        several = sum_by(self.pair, self.weight - 1, n_pairs) > 0
        same: BoolArray = (times == clusters) & ~several
        return same


def _runs(key: IndexArray) -> tuple[IndexArray, IndexArray]:
    if (key[1:] < key[:-1]).any():
        keys, place = np.unique(key, return_inverse=True)
        return keys, place
    start = run_starts(key)
    return key[start], np.repeat(np.arange(len(start)), np.diff(start, append=len(key)))


def answer_chunks(data: ReliabilityData, n_annotators: int) -> Iterator[AnswerPairs]:
    """Yield the pairs of answers of two annotators to the same unit, in chunks."""
    drawn = data.counted
    key = data.unit[drawn] * n_annotators + data.annotator[drawn]
    unit, annotator = data.unit[drawn], data.annotator[drawn].astype(np.int64)
    value = data.value[drawn].astype(np.int64)
    # The partners of an answer are the answers of later annotators to the unit.
    begins = np.searchsorted(key, key, side="right")
    ends = np.searchsorted(unit, unit, side="right")
    n_partners = sum_by(annotator, ends - begins, n_annotators).astype(np.int64)
    for start, stop in chunks(n_partners, _MOST_ANSWERS):
        here = np.flatnonzero((annotator >= start) & (annotator < stop) & (begins < ends))
        right, offsets = rows(begins[here], ends[here])
        left = np.repeat(here, np.diff(offsets))
        pairs = (annotator[left] - start) * n_annotators + annotator[right]
        keys, pair = compact(pairs, (stop - start) * n_annotators)
        of = unit[left]
        if len(keys):
            yield AnswerPairs(
                first=(start + keys // n_annotators).astype(np.int32),
                second=(keys % n_annotators).astype(np.int32),
                pair=pair,
                left=value[left],
                right=value[right],
                unit=of,
                weight=np.ones(len(of)) if data.weight is None else data.weight[of].astype(float),
                data=data,
            )


BY_CONVENTION = (
    "1 by convention: each pair was certain to agree, for instance by using one value only"
)

Shares = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""(S, N) sums of pairs → N shares of observed and of expected agreement."""


def kappa_of(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return (p_o − p_e) / (1 − p_e), and 1 where everything agrees, (N,).

    Two annotators who agree on everything have kappa 1, even if they gave a single value, so that
    chance agreement is 1: the convention of published studies that weight pairs by shared answers.
    NaN if either share is NaN, or if chance agreement is 1 and they do not agree.
    """
    kappa: FloatArray
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = (observed - expected) / (1 - expected)
    kappa[~(expected < 1 - ROUNDING)] = np.nan
    kappa[observed >= 1 - ROUNDING] = 1.0
    return kappa


class PairBlock(msgspec.Struct, frozen=True, eq=False):
    """The sums of P pairs of annotators, with and without each cluster."""

    runs: Runs
    whole: FloatArray
    """(S, P) float64. Sums of each pair; the first is the number of compared answers."""
    left: FloatArray
    """(S, E) float64. Sums of the pair without one of the clusters of the entry."""
    moved: FloatArray | None = None
    """(E,) float64. The influence of one of these clusters on the kappa of the pair, where a
    formula is known."""


class PairKappas(FrozenArrays, frozen=True, eq=False):
    """The kappa of every pair, with the data for resampling their means."""

    table: PairTable
    clusters: IndexArray
    """(C,) int64. Those in which some pair was compared, sorted."""
    without: FloatArray
    """(2, C) float64. The mean of the kappas without each cluster, with pairs weighted by the
    answers compared, and with equal weights; NaN where no pair remains."""
    n_groups: int
    single: Estimator | None = None
    """Of the pair, if there is only one."""


def _with_errors(
    answers: AnswerPairs, block: PairBlock, kappa_left: FloatArray, shares: Shares
) -> PairTable:
    """Return the kappas of a block; `kappa_left` is that without a cluster of each entry, (E,)."""
    n_pairs, pair, times = len(answers.first), block.runs.pair, block.runs.times
    observed, expected = shares(block.whole)
    kappa = kappa_of(observed, expected)
    n_clusters = sum_by(pair, times, n_pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        if block.moved is None:
            mean = sum_by(pair, times * kappa_left, n_pairs) / n_clusters
            squares = sum_by(pair, times * (kappa_left - mean[pair]) ** 2, n_pairs)
            error = np.sqrt((n_clusters - 1) / n_clusters * squares)
        else:
            squares = sum_by(pair, times * block.moved**2, n_pairs)
            # For independent units Fleiss, Cohen and Everitt divide by n, not by n - 1.
            less = np.where(answers.independent(pair), 1, n_clusters / (n_clusters - 1))
            error = np.sqrt(squares * less)
    # Without variation, as at the ends of the scale, the linearised error is 0.
    error[(observed >= 1 - ROUNDING) | (n_clusters < 2) | ~(error > NO_ERROR)] = nan
    return PairTable(
        first=answers.first,
        second=answers.second,
        n_shared=block.whole[0].astype(np.int64),
        observed=observed,
        expected=expected,
        kappa=kappa,
        standard_error=error,
        interval=fisher_interval(kappa, error, n_clusters - 1),
    )


def pair_kappas(
    data: ReliabilityData,
    n_annotators: int,
    block_of: Callable[[AnswerPairs], PairBlock],
    shares: Shares,
    single: Callable[[AnswerPairs], tuple[SumTable, Shares]],
) -> PairKappas:
    """Return the kappa of every pair of annotators with its uncertainty."""
    # Without pairs, the table is empty.
    none, nobody = np.zeros(0), np.zeros(0, np.int32)
    count, bounds = np.zeros(0, np.int64), np.zeros((0, 2))
    tables = [PairTable(nobody, nobody, count, none, none, none, none, bounds)]
    change, total, estimator = np.zeros((4, data.n_groups)), np.zeros(4), None
    for answers in answer_chunks(data, n_annotators):
        block = block_of(answers)
        kappa_left = kappa_of(*shares(block.left))
        runs, table = block.runs, _with_errors(answers, block, kappa_left, shares)
        tables.append(table)
        part = _parts(block.whole, table.kappa)
        total += part.sum(1)
        for row, each in enumerate(_parts(block.left, kappa_left) - part[:, runs.pair]):
            change[row] += sum_by(runs.cluster, each[runs.entry], data.n_groups)
    # Clusters in which some pair is compared.
    drawn = data.counted
    unit, annotator = data.unit[drawn], data.annotator[drawn]
    start = run_starts(unit)
    several = np.maximum.reduceat(annotator, start) > np.minimum.reduceat(annotator, start)
    clusters = np.unique(data.group[unit[start[several]]]).astype(np.int64)
    left = total[:, None] + change[:, clusters]
    with np.errstate(divide="ignore", invalid="ignore"):
        without = left[1::2] / left[::2]
    # The remaining weight is a count: 0, or 1 at least.
    without[left[::2] < 0.5] = nan
    table = PairTable.join(tables)
    if len(table) == 1:
        sums, of_sums = single(answers)
        estimator = Estimator(
            float(table.kappa[0]), float(table.observed[0]), float(table.expected[0]), OK, sums,
            lambda sums: kappa_of(*of_sums(sums)),
            np.unique(answers.cluster).astype(np.int64),
            float(table.standard_error[0]), int(table.n_shared[0]),
        )  # fmt: skip
    return PairKappas(table, clusters, without, data.n_groups, estimator)


def _parts(sums: FloatArray, kappa: FloatArray) -> FloatArray:
    """Return the terms of pairs in their means, (4, N): weights and weighted kappas, twice."""
    shared = sums[0]
    alike = (shared > 0).astype(np.float64)
    return np.stack(
        [shared, np.where(shared > 0, shared * kappa, 0), alike, np.where(shared > 0, kappa, 0)]
    )


def mean_of_pairs(
    found: PairKappas, *, by_shared: bool = True, lowest: float = -inf, nothing: str = NO_VARIATION
) -> Estimator:
    """Return the mean of the kappas of pairs; with two annotators, their kappa itself.

    The standard error of a mean over several pairs is that of the jackknife. With `by_shared`,
    pairs are weighted by the number of answers compared, otherwise equally (Light 1971,
    doi:10.1037/h0031643). `lowest` is the lower end of the scale of kappa, `nothing` the status
    where the kappa of a pair is undefined.
    """
    table = found.table
    if len(table) == 0:
        return undefined(NO_PAIR)
    part = table.n_shared if by_shared else np.ones(len(table))
    observed = float(part @ table.observed / part.sum())
    expected = float(part @ table.expected / part.sum())
    value = float(part @ table.kappa / part.sum())
    if np.isnan(value):
        return undefined(nothing, observed, expected)
    status = BY_CONVENTION if (table.expected >= 1 - ROUNDING).all() else OK
    if found.single is not None:
        return replace(found.single, status=status)
    return pseudo_value_estimator(
        value, found.clusters, found.without[0 if by_shared else 1], found.n_groups,
        observed=observed, expected=expected, status=status, n_shared=int(table.n_shared.sum()),
        lowest=lowest,
    )  # fmt: skip


# Cells of tables in memory at a time.
_MOST_CELLS = 1 << 22


def cohen_pairs(
    data: ReliabilityData, n_annotators: int, weights: FloatArray | None = None
) -> PairKappas:
    """Return Cohen's kappa of each pair of annotators, weighted if (K, K) weights are given.

    kappa (Cohen 1960, doi:10.1177/001316446002000104; weighted, 1968, doi:10.1037/h0026256) is 1 if
    everything agrees (`kappa_of`). Standard errors are those of Fleiss, Cohen and Everitt (1969,
    doi:10.1037/h0028106), with the influences of units summed by cluster. If an annotator answered
    a unit several times, each answer pairs with each of the other's.
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
    n_pairs, n_values = len(answers.first), answers.data.n_values
    ours, theirs = (answers.pair * n_values + value for value in (answers.left, answers.right))
    if weights is None:
        keys, place = compact(np.concatenate([ours, theirs]), n_pairs * n_values)
        half = len(ours)
        first = sum_by(place[:half], answers.weight, len(keys))
        second = sum_by(place[half:], answers.weight, len(keys))
        chance = sum_by(keys // max(n_values, 1), first * second, n_pairs)
        return chance, second[place[:half]], first[place[half:]]
    chance, met_left, met_right = (np.zeros(size) for size in (n_pairs, len(ours), len(ours)))
    for start, own, left, right in _tables(answers, answers.pair, n_pairs):
        met = right @ weights.T
        chance[start : start + len(left)] = (left * met).sum(1)
        shift = start * n_values
        met_left[own] = met.ravel()[ours[own] - shift]
        met_right[own] = (left @ weights).ravel()[theirs[own] - shift]
    return chance, met_left, met_right


def _tables(
    answers: AnswerPairs, run: IndexArray, n_runs: int
) -> Iterator[tuple[int, IndexArray, FloatArray, FloatArray]]:
    n_values, amount = answers.data.n_values, answers.weight
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
    runs, size = answers.runs(), answers.data.n_values
    n_pairs, n_kinds = len(answers.first), len(answers.first) * size * size
    # Answers that are clusters of their own differ by their values alone, so that equal ones are
    # counted; with many values, few are equal.
    if len(runs.pair) == len(answers.pair) > n_kinds and answers.data.units_alone:
        key = (answers.pair * size + answers.left) * size + answers.right
        keys, entry = compact(key, n_kinds)
        (pair, left), right = np.divmod(keys // size, size), keys % size
        times = np.bincount(entry).astype(np.float64)
        runs = Runs(pair, np.arange(len(pair)), times, answers.cluster, entry)
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
    n_values, run, n_runs = answers.data.n_values, runs.run, len(runs.pair)
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
    n_values, group = answers.data.n_values, answers.cluster
    zero, amount = np.zeros(len(group), np.int64), answers.weight
    row = np.concatenate([zero, 1 + answers.left, 1 + n_values + answers.right])
    amount = np.concatenate([amount * _agreeing(answers, weights), amount, amount])
    shape = 1 + 2 * n_values, answers.data.n_groups
    table = SumTable(lambda: table_of(row, np.tile(group, 3), amount, shape))

    def shares(column: FloatArray) -> tuple[FloatArray, FloatArray]:
        left, right = column[1 : 1 + n_values], column[1 + n_values :]
        chance = (left * (right if weights is None else weights @ right)).sum(0)
        return _shares(np.stack([left.sum(0), column[0], chance]))

    return table, shares


NO_CHANCE = "undefined: the chance agreement of a pair is 1, but the pair disagrees"


def choice_pairs(
    data: ReliabilityData, n_annotators: int, is_none: BoolArray, n_options: IndexArray
) -> PairKappas:
    """Return the kappa of each pair of annotators, with the chance agreement of picking objects.

    Two annotators agree by chance if both pick none, or both pick the same object: P(none)₁
    P(none)₂ + n (1 − P(none)₁)(1 − P(none)₂) / Σ options, with n the number of shared answers, and
    the sum over their options (the convention of the spatial-preposition study of Richard-Bollans
    et al., 2019). Of the K values, `is_none` mean that no object was picked; `n_options`, (U,), are
    the objects to choose from. Standard errors come from the jackknife.
    """

    def terms(answers: AnswerPairs) -> FloatArray:
        """Return the terms of pairs of answers, (5, C): 1, agreeing, either none, options."""
        left, right = answers.left, answers.right
        ones = np.ones(len(left))
        parts = (ones, left == right, is_none[left], is_none[right], n_options[answers.unit])
        return np.stack([answers.weight * part for part in parts])

    def block_of(answers: AnswerPairs) -> PairBlock:
        runs = answers.runs()
        pair, n_pairs = runs.pair, len(answers.first)
        inside = np.stack([sum_by(runs.run, each, len(pair)) for each in terms(answers)])
        whole = np.stack([sum_by(pair, column, n_pairs) for column in inside])
        return PairBlock(runs, whole, whole[:, pair] - inside)

    def single(answers: AnswerPairs) -> tuple[SumTable, Shares]:
        columns, group = terms(answers), answers.cluster
        rows = np.repeat(np.arange(len(columns)), len(group))
        shape = len(columns), data.n_groups
        return SumTable(
            lambda: table_of(rows, np.tile(group, len(columns)), columns.ravel(), shape)
        ), _choice_shares

    return pair_kappas(data, n_annotators, block_of, _choice_shares, single)


def _choice_shares(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    shared, agreeing, first, second, options = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        observed: FloatArray = agreeing / shared
        first, second = first / shared, second / shared
        expected: FloatArray = first * second + shared * (1 - first) * (1 - second) / options
    return observed, expected
