"""Means over pairs of annotators, and what they are without each cluster.

Answers of one cluster touch few pairs. So the value without a cluster is that of all, with the
kappas of these pairs taken out and put in again: exact, in time that grows with the answers.
Replicates are made of these values too (`linearised`). Drawn anew, pairs that share little come to
agree on everything, which moves a mean of their kappas away from its value; leaving out one cluster
does not.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bboxqa.arrays import FloatArray, IndexArray, freeze, sum_by

__all__ = ["PairSums", "mean_without_clusters", "pair_sums"]

Kappa = Callable[[FloatArray], FloatArray]
"""(S, N) sums of pairs → (N,) kappas."""


@dataclass(frozen=True, slots=True, eq=False)
class PairSums:
    """What N pairs of annotators, or the same in one cluster each, have in common.

    Attributes
    ----------
    cluster, pair : (E,) int64
        Each two that occur together once, sorted by cluster.
    sums : (S, E) float64
        The first is the number of answers that were compared.
    whole : (S, P) float64
        Of each pair over all clusters.
    """

    cluster: IndexArray
    pair: IndexArray
    sums: FloatArray
    whole: FloatArray

    def __post_init__(self) -> None:
        freeze(self)


def pair_sums(cluster: IndexArray, pair: IndexArray, columns: FloatArray, n_pairs: int) -> PairSums:
    """Return the sums of answers by cluster and pair.

    Parameters
    ----------
    cluster, pair : (C,) int64
        Of each answer.
    columns : (S, C) float64
        What each answer adds.
    n_pairs : int
        P.

    Returns
    -------
    PairSums

    Examples
    --------
    >>> zero, pair = np.zeros(2, np.int64), np.array([0, 1])
    >>> pair_sums(zero, pair, np.ones((1, 2)), 2).whole.tolist()
    [[1.0, 1.0]]
    """
    keys, place = np.unique(cluster * n_pairs + pair, return_inverse=True)
    of, which = np.divmod(keys, max(n_pairs, 1))
    return PairSums(
        cluster=of,
        pair=which,
        sums=np.stack([sum_by(place, column, len(keys)) for column in columns]),
        whole=np.stack([sum_by(pair, column, n_pairs) for column in columns]),
    )


def mean_without_clusters(
    found: PairSums, left: FloatArray, kappa: Kappa, *, by_shared: bool
) -> tuple[IndexArray, FloatArray]:
    """Return the mean of the kappas without each cluster (delete-one jackknife).

    Parameters
    ----------
    found : PairSums
    left : (S, E) float64
        The sums of the pair without the cluster; where they are no simple differences, such as
        products of margins, the caller knows what is left.
    kappa : callable
        From sums to kappas.
    by_shared : bool
        Whether a pair counts by the number of answers compared, or as one.

    Returns
    -------
    clusters : (G,) int64
        Sorted.
    mean : (G,) float64
        NaN where nothing is left.
    """

    def parts(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        part = sums[0] if by_shared else (sums[0] > 0).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return part, np.where(part > 0, part * kappa(sums), 0.0)

    clusters, place = np.unique(found.cluster, return_inverse=True)
    weight, weighted = parts(found.whole)
    total, sum_of = weight.sum(), weighted.sum()
    rest, rest_weighted = parts(left)
    change = sum_by(place, rest - weight[found.pair], len(clusters))
    change_weighted = sum_by(place, rest_weighted - weighted[found.pair], len(clusters))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: FloatArray = (sum_of + change_weighted) / (total + change)
    mean[total + change < 0.5] = np.nan
    return clusters, mean
