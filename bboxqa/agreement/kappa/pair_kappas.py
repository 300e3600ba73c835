"""Kappas of pairs of annotators, their uncertainty, and their means.

The mean without a cluster is the mean of all pairs with the kappas of the cluster's pairs replaced:
this is exact, and the time is linear in the answers. Replicates are made of these values as well
(`pseudo_value_estimator`): in a bootstrap sample, pairs that share few units may agree on
everything, which would bias a mean of their kappas.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from math import inf, nan

import numpy as np

from bboxqa.agreement.kappa.answers import AnswerPairs
from bboxqa.agreement.uncertainty.estimator import (
    NO_PAIR,
    NO_VARIATION,
    OK,
    ROUNDING,
    Estimator,
    undefined,
)
from bboxqa.agreement.uncertainty.linear import NO_ERROR, fisher_interval, pseudo_value_estimator
from bboxqa.agreement.uncertainty.sum_table import SumTable
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    frozen_arrays,
    run_starts,
    sum_by,
)
from bboxqa.model.estimates import PairTable
from bboxqa.model.reliability import ReliabilityData

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

    Examples
    --------
    >>> kappa_of(np.array([0.75, 1.0]), np.array([0.5, 1.0]))
    array([0.5, 1. ])
    """
    kappa: FloatArray
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = (observed - expected) / (1 - expected)
    kappa[~(expected < 1 - ROUNDING)] = np.nan
    kappa[observed >= 1 - ROUNDING] = 1.0
    return kappa


@frozen_arrays
class PairBlock:
    """The sums of P pairs, with and without each cluster."""

    first: IntArray
    second: IntArray
    """(P,) int32. The annotators, ``first < second``, sorted."""
    pair: IndexArray
    """(E,) int64. The pair of each entry; an entry is a cluster, or several equal ones."""
    times: FloatArray
    """(E,) float64. The number of clusters of the entry."""
    whole: FloatArray
    """(S, P) float64. Sums of each pair; the first is the number of compared answers."""
    left: FloatArray
    """(S, E) float64. Sums of the pair without one of these clusters."""
    by_cluster: Callable[[FloatArray], FloatArray]
    """(N, E) amounts of entries → (N, G) sums of clusters."""
    moved: FloatArray | None
    """(E,) float64. The influence of one of these clusters on the kappa of the pair, where a
    formula is known."""
    independent: BoolArray
    """(P,) bool. Whether each unit of the pair is a cluster of its own."""


@frozen_arrays
class PairKappas:
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


def pair_kappas(blocks: Iterable[PairBlock], data: ReliabilityData, shares: Shares) -> PairKappas:
    """Return the kappa of every pair of annotators with its uncertainty, without `single`.

    Standard errors come from the influences of the clusters, otherwise from the jackknife. The
    blocks are all pairs of the data, in order; `shares` returns observed and expected agreement
    from their sums.
    """
    change, total, tables = np.zeros((4, data.n_groups)), np.zeros(4), []
    for block in blocks:
        kappa_left = kappa_of(*shares(block.left))
        table = _table(block, shares, kappa_left)
        tables.append(table)
        part = _parts(block.whole, table.kappa)
        total += part.sum(1)
        change += block.by_cluster(_parts(block.left, kappa_left) - part[:, block.pair])
    clusters = _compared(data)
    left = total[:, None] + change[:, clusters]
    with np.errstate(divide="ignore", invalid="ignore"):
        without = left[1::2] / left[::2]
    # The remaining weight is a count: 0, or 1 at least.
    without[left[::2] < 0.5] = nan
    return PairKappas(_joined(tables), clusters, without, data.n_groups)


def block_of_answers(
    answers: AnswerPairs,
    runs: tuple[IndexArray, IndexArray],
    whole: FloatArray,
    left: FloatArray,
    moved: FloatArray | None = None,
) -> PairBlock:
    """Return the sums of the pairs of some answers; `runs` is the result of `AnswerPairs.runs`."""
    cluster, pair = runs

    def by_cluster(amounts: FloatArray) -> FloatArray:
        return np.stack([sum_by(cluster, row, answers.n_groups) for row in amounts])

    return PairBlock(
        first=answers.first,
        second=answers.second,
        pair=pair,
        times=np.ones(len(pair)),
        whole=whole,
        left=left,
        by_cluster=by_cluster,
        moved=moved,
        independent=answers.independent(pair),
    )


def _compared(data: ReliabilityData) -> IndexArray:
    """Return the clusters with a unit that two annotators answered, sorted."""
    drawn = data.counted
    unit, annotator = data.unit[drawn], data.annotator[drawn]
    if len(unit) == 0:
        return np.zeros(0, np.int64)
    start = run_starts(unit)
    several = np.maximum.reduceat(annotator, start) > np.minimum.reduceat(annotator, start)
    return np.unique(data.group[unit[start[several]]]).astype(np.int64)


def with_single(
    found: PairKappas, answers: AnswerPairs, sums: SumTable, shares: Shares
) -> PairKappas:
    """Return kappas of a single pair, with the (D, G) sums of its clusters for resampling."""
    table = found.table
    single = Estimator(
        float(table.kappa[0]), float(table.observed[0]), float(table.expected[0]), OK, sums,
        lambda sums: kappa_of(*shares(sums)),
        np.unique(answers.group[answers.unit]).astype(np.int64),
        float(table.standard_error[0]), int(table.n_shared[0]),
    )  # fmt: skip
    return replace(found, single=single)


def _parts(sums: FloatArray, kappa: FloatArray) -> FloatArray:
    """Return the terms of pairs in their means, (4, N): weights and weighted kappas, twice."""
    shared = sums[0]
    alike = (shared > 0).astype(np.float64)
    return np.stack(
        [shared, np.where(shared > 0, shared * kappa, 0), alike, np.where(shared > 0, kappa, 0)]
    )


def _table(block: PairBlock, shares: Shares, kappa_left: FloatArray) -> PairTable:
    n_pairs, pair, times = len(block.first), block.pair, block.times
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
            less = np.where(block.independent, 1, n_clusters / (n_clusters - 1))
            error = np.sqrt(squares * less)
    # Without variation, as at the ends of the scale, the linearised error is 0.
    error[(observed >= 1 - ROUNDING) | (n_clusters < 2) | ~(error > NO_ERROR)] = nan
    return PairTable(
        first=block.first,
        second=block.second,
        n_shared=block.whole[0].astype(np.int64),
        observed=observed,
        expected=expected,
        kappa=kappa,
        standard_error=error,
        interval=fisher_interval(kappa, error, n_clusters - 1),
    )


def _joined(tables: list[PairTable]) -> PairTable:
    if not tables:
        annotators, empty = np.zeros(0, np.int32), np.zeros(0)
        count, bounds = np.zeros(0, np.int64), np.zeros((0, 2))
        return PairTable(annotators, annotators, count, empty, empty, empty, empty, bounds)
    return PairTable(
        *(
            np.concatenate([getattr(table, field.name) for table in tables])
            for field in fields(PairTable)
        )
    )


def mean_of_pairs(
    found: PairKappas, *, by_shared: bool = True, lowest: float = -inf, nothing: str = NO_VARIATION
) -> Estimator:
    """Return the mean of the kappas of pairs; with two annotators, their kappa itself.

    The standard error of a mean over several pairs is that of the jackknife. With `by_shared`,
    pairs are weighted by the number of answers compared, otherwise equally [1]_. `lowest` is the
    lower end of the scale of kappa, `nothing` the status where the kappa of a pair is undefined.

    References
    ----------
    .. [1] R. J. Light (1971), Measures of response agreement for qualitative data: some
           generalizations and alternatives, Psychological Bulletin 76(5), doi:10.1037/h0031643.
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
