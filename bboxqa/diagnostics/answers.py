"""Annotators of a table who answer alike, and alpha without units, annotators or values."""

from contextlib import suppress
from math import nan
from typing import Any, Literal, get_args

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bboxqa.agreement.estimators import OK, ROUNDING
from bboxqa.agreement.levels import (
    Distance,
    alpha,
    centred,
    midranks,
    pairable_marginal,
    pairwise_distances,
)
from bboxqa.agreement.nominal import nominal_alpha, value_sums
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.resampling import jackknife
from bboxqa.agreement.unit_counts import UnitCounts, coincidences_of, unit_counts, value_pairs
from bboxqa.core.arrays import FloatArray, FrozenArrays, IndexArray, IntArray, sum_by
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count
from bboxqa.model.units import Cell, ReliabilityData

TIED = "another grouping fits equally well"
WEAK = "the groups hardly separate: annotators are as close to other groups as to their own"
NO_CONTRAST = "separation is undefined: it needs two groups, and one with two annotators"

Method = Literal["kmeans", "hierarchical"]

# Up to this value Kaufman and Rousseeuw (1990, Finding Groups in Data, p. 88,
# doi:10.1002/9780470316801) see no structure.
_WEAK = 0.25
_STARTS = 30
_STEPS = 30


class Clusters(FrozenArrays, frozen=True, eq=False):
    """Groups of A annotators.

    `labels`, (A,), are numbered in the order of their first members, and `inertia` is the sum of
    squared distances of annotators to the mean of their group. `silhouette` is the separation of
    the groups: the mean over annotators of (b − a) / max(a, b), with a the mean distance to the
    annotator's own group and b that to the nearest other group (Rousseeuw 1987,
    doi:10.1016/0377-0427(87)90125-7); 0 for an annotator alone in a group, NaN for one group, or if
    all are alone. `status` is "ok", or why the groups are not reliable. `merges`, (A − 1, 4), is
    the tree of a hierarchical grouping, as `scipy.cluster.hierarchy.linkage` returns it.
    """

    labels: IntArray
    inertia: float
    silhouette: float
    status: str
    merges: FloatArray | None = None


def cluster_annotators(
    scores: NDArray[Any], k: int, method: Method = "kmeans", seed: int = 0
) -> Clusters:
    """Return k groups of annotators with similar scores.

    Parameters
    ----------
    scores : (A, F) float64
        F numbers about each of A annotators, such as their ratings or a row of
        `annotator_similarity`; nothing missing.
    k : int
        The number of groups, 1 to A; for k-means, at most the number of different rows.
    method : {"kmeans", "hierarchical"}
        Lloyd's k-means, the best of 30 random starts and of the tree; or the tree alone, which
        merges the two groups that add least to the inertia [1]_.
    seed : int
        Seed of the starts of k-means.

    Raises
    ------
    ConfigError
        If the method is not known, or k is out of range.
    DatasetError
        If the scores are not a table of finite numbers.

    References
    ----------
    .. [1] J. H. Ward (1963), Hierarchical grouping to optimize an objective function, Journal of
           the American Statistical Association 58(301), doi:10.1080/01621459.1963.10500845.

    Examples
    --------
    >>> import numpy as np
    >>> found = cluster_annotators(np.array([[5.0], [1.0], [5.2], [0.9]]), 2)
    >>> found.labels, round(found.silhouette, 2)
    (array([0, 1, 0, 1], dtype=int32), 0.96)
    """
    if method not in get_args(Method):
        raise ConfigError(f"method is {method!r}; expected one of {', '.join(get_args(Method))}")
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or not table.size:
        found = f"scores have the shape {table.shape}"
        raise DatasetError([f"{found}; expected one row per annotator and one column or more"])
    for row, column in np.argwhere(~np.isfinite(table))[:1].tolist():
        found = f"scores: row {row}, column {column}: score is {table[row, column]}"
        raise DatasetError(
            [f"{found}; expected a finite number"],
            "Leave out units that not all of the annotators rated.",
        )
    different = np.unique(table, axis=0)
    most = len(different) if method == "kmeans" else len(table)
    if not 1 <= k <= most:
        who = "annotator" if method == "hierarchical" else "different annotator"
        raise ConfigError(f"k is {k}; expected 1 or more, and no more than {count(most, who)}")
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    merges = linkage(pdist(table), "ward") if len(table) > 1 else np.zeros((0, 4))
    # The k groups that remain after the first merges.
    tied, labels = False, np.arange(len(table), dtype=np.int32)
    for step, (left, right) in enumerate(merges[: len(table) - k, :2].astype(int).tolist()):
        labels[(labels == left) | (labels == right)] = len(table) + step
    labels = _numbered(labels)
    if method == "kmeans":
        labels, tied = _best_means(table, different, labels, seed)
    silhouette = _silhouette(table, labels)
    reasons = ((TIED, tied), (NO_CONTRAST, np.isnan(silhouette)), (WEAK, silhouette <= _WEAK))
    status = "; ".join(reason for reason, holds in reasons if holds) or OK
    tree = merges if method == "hierarchical" else None
    return Clusters(labels, _inertia(table, labels), silhouette, status, tree)


def _numbered(labels: NDArray[Any]) -> IntArray:
    """Return labels numbered in the order of their first members."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)


def _inertia(table: FloatArray, labels: IntArray) -> float:
    members = (table[labels == label] for label in range(int(labels.max()) + 1))
    return float(sum(((own - own.mean(0)) ** 2).sum() for own in members))


def _best_means(
    table: FloatArray, different: FloatArray, of_tree: IntArray, seed: int
) -> tuple[IntArray, bool]:
    """Return the labels of least inertia, and whether other labels have the same inertia."""
    from scipy.cluster.vq import ClusterError, kmeans2

    rng, k = np.random.default_rng(seed), int(of_tree.max()) + 1
    # The tree always has k groups; a start may lose one.
    found = {tuple(of_tree.tolist()): _inertia(table, of_tree)}
    for _ in range(_STARTS):
        start = different[rng.choice(len(different), k, replace=False)]
        # A start whose groups lose all their members is no candidate.
        with suppress(ClusterError):
            _, labels = kmeans2(table, start, iter=_STEPS, minit="matrix", missing="raise")
            found[tuple(_numbered(labels).tolist())] = _inertia(table, labels)
    slack = ROUNDING * float(((table - table.mean(0)) ** 2).sum())
    least = min(found.values()) + slack
    best = sorted(labels for labels, inertia in found.items() if inertia <= least)
    return np.array(best[0], np.int32), len(best) > 1


def _silhouette(table: FloatArray, labels: IntArray) -> float:
    from scipy.spatial.distance import pdist, squareform

    sizes, everyone = np.bincount(labels), np.arange(len(labels))
    if not 1 < len(sizes) < len(labels):
        return nan
    distance = squareform(pdist(table))
    to_group = np.stack([distance[:, labels == group].sum(1) for group in range(len(sizes))], 1)
    own = to_group[everyone, labels] / np.maximum(sizes[labels] - 1, 1)
    others = to_group / sizes
    others[everyone, labels] = np.inf
    nearest = others.min(1)
    widest = np.maximum(own, nearest)
    known = (sizes[labels] > 1) & (widest > 0)
    return float(np.where(known, (nearest - own) / np.where(known, widest, 1), 0).mean())


Measure = Literal["agreement", "cosine", "correlation"]


def annotator_similarity(
    data: ReliabilityData,
    n_annotators: int,
    numbers: FloatArray | None = None,
    measure: Measure = "agreement",
) -> FloatArray:
    """Return the similarity of each pair of annotators on the units that both rated.

    If annotators rated a unit several times, each rating of one is paired with each of the other.

    Parameters
    ----------
    data : ReliabilityData
        Ratings; missing ones do not count.
    n_annotators : int
        A.
    numbers : (K,) float64, optional
        The values as numbers; cosine and correlation need them.
    measure : {"agreement", "cosine", "correlation"}
        The share of equal values; the cosine of the angle between two vectors of numbers;
        Pearson's correlation.

    Returns
    -------
    (A, A) float64
        Symmetric, 1 on the diagonal. NaN where two annotators share no unit; for a cosine, where
        one gave zeros only; for a correlation, where one gave equal numbers only.

    Raises
    ------
    ConfigError
        The measure is not known.
    DatasetError
        The measure needs numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bboxqa.agreement.unit_counts import from_table
    >>> table = from_table(np.array([[0, 1], [0, 0]]), np.ones((2, 2), bool), 2)
    >>> annotator_similarity(table, 2)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    if measure not in get_args(Measure):
        raise ConfigError(f"measure is {measure!r}; expected one of {', '.join(get_args(Measure))}")
    rated = data.state == Cell.CATEGORY
    unit, value, annotator = data.unit[rated], data.value[rated], data.annotator[rated]
    one = np.ones(len(unit))
    if measure == "agreement":
        _, answer = np.unique(unit * data.n_values + value, return_inverse=True)
        equal, shared = (
            _product(data, n_annotators, column, one, one) for column in (answer, unit)
        )
        similarity = ratio(equal, shared)
    elif numbers is None:
        raise DatasetError(
            [f"{measure} of annotators: values are not numbers; expected numbers"],
            'Use measure "agreement", which needs none.',
        )
    else:
        x = numbers[value]
        if measure == "correlation":
            # Centring reduces cancellation in the sums below.
            n = np.maximum(np.bincount(annotator, minlength=n_annotators), 1)
            x = x - (np.bincount(annotator, x, n_annotators) / n)[annotator]
        products, squares, sums, shared = (
            _product(data, n_annotators, unit, *each)
            for each in ((x, x), (x * x, one), (x, one), (one, one))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = squares
            if measure == "correlation":
                products = products - sums * sums.T / shared
                spread = squares - sums**2 / shared
            spread = np.where(spread > ROUNDING * squares, spread, np.nan)
            similarity = np.clip(products / np.sqrt(spread) / np.sqrt(spread.T), -1, 1)
    own = np.diag(similarity)
    np.fill_diagonal(similarity, np.where(np.isnan(own), np.nan, 1.0))
    return similarity


def _product(
    data: ReliabilityData,
    n_annotators: int,
    column: IndexArray,
    first: FloatArray,
    second: FloatArray,
) -> FloatArray:
    """Return the (A, A) sums of products of amounts of ratings in one column, by weight."""
    from scipy.sparse import csr_array

    rated = data.state == Cell.CATEGORY
    weight = 1 if data.weight is None else data.weight[data.unit[rated]]
    shape = n_annotators, int(column.max(initial=-1)) + 1
    place = data.annotator[rated], column
    left, right = (csr_array((each, place), shape=shape) for each in (first * weight, second))
    return np.asarray((left @ right.T).toarray())


def shared_units(data: ReliabilityData, n_annotators: int) -> IndexArray:
    """Return the number of units that each pair of annotators rated, (A, A) int64."""
    rated = np.flatnonzero(data.state == Cell.CATEGORY)
    _, first = np.unique(data.unit[rated] * n_annotators + data.annotator[rated], return_index=True)
    once = data.take(rated[first])
    one = np.ones(len(first))
    return _product(once, n_annotators, once.unit, one, one).astype(np.int64)


def alpha_without_units(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without each unit, (U,); NaN where it is then undefined.

    A weighted unit is left out with its whole weight. Level, numbers and errors are as for `alpha`.
    The sums of each unit are taken from those of all units, which takes a step per rating for
    nominal data, more by pairs of values that coincide for ordinal and ratio data, and by K² for
    the latter.
    """
    n_units = len(counts.size)
    alone = replace(counts, group=np.arange(n_units, dtype=np.int32), n_groups=n_units)
    of_all = alpha(alone, level, numbers)
    result = np.full(n_units, of_all.value)
    if np.isnan(of_all.value):
        # If all units have no disagreement, no part of them has any.
        return result
    if level != "nominal":
        result[of_all.clusters] = jackknife(of_all)
        return result
    found = coincidences_of(alone)
    marginal, diagonal = value_sums(found)
    squares = found.marginal * (2 * marginal[found.value] - found.marginal)
    total, agreeing, squares = (
        whole - sum_by(found.group, lost, n_units)
        for whole, lost in (
            (marginal.sum(), found.marginal),
            (diagonal.sum(), found.diagonal),
            (marginal @ marginal, squares),
        )
    )
    return nominal_alpha(total, agreeing, squares)[0]


def _coinciding(counts: UnitCounts) -> tuple[FloatArray, IndexArray, FloatArray]:
    """Return marginals, (K,), pairs of values that coincide, lower · K + higher, and how often."""
    pairs = value_pairs(counts)
    amount = sum_by(pairs.pair, pairs.amount * counts.weight[pairs.unit], len(pairs.first))
    return pairable_marginal(counts), pairs.first * counts.n_values + pairs.second, amount


def alpha_without_annotators(
    data: ReliabilityData,
    n_annotators: int,
    level: str | Distance = "nominal",
    numbers: FloatArray | None = None,
) -> FloatArray:
    """Return alpha without each annotator, (A,); NaN where it is then undefined.

    The difference to alpha of all annotators is the vitality of the annotator. Units with one
    remaining rating are no longer pairable. No annotator may be twice in a unit. Level, numbers and
    errors are as for `alpha`; it takes a step for each value, unit and pair of values of each
    annotator.
    """
    rated = data.take(np.flatnonzero(data.state == Cell.CATEGORY))
    marginal, keys, amount = _coinciding(unit_counts(rated))
    first, second = np.divmod(keys, max(data.n_values, 1))
    result = np.full(n_annotators, nan)
    for annotator in range(n_annotators):
        is_own = rated.annotator == annotator
        inside = np.bincount(rated.unit[is_own], minlength=len(data.group))[rated.unit] > 0
        kept, left = marginal.copy(), amount.copy()
        # The units of the annotator count without the annotator's ratings.
        for sign, part in ((-1, inside), (1, inside & ~is_own)):
            own, own_keys, own_amount = _coinciding(unit_counts(rated.take(np.flatnonzero(part))))
            kept += sign * own
            left[np.searchsorted(keys, own_keys)] += sign * own_amount
        left[left <= ROUNDING * amount] = 0
        result[annotator] = _of_coincidences(kept, first, second, left, level, numbers)
    return result


def alpha_without_values(
    counts: UnitCounts, level: str | Distance = "nominal", numbers: FloatArray | None = None
) -> FloatArray:
    """Return alpha without the row and the column of each value in the coincidence matrix, (K,).

    Confusions with the value no longer count, while the coincidences of the others stay
    (Krippendorff 2022, Content analysis, ch. 12: leaving out a category). NaN where alpha is then
    undefined. Level, numbers and errors are as for `alpha`. It takes a step per pair of values that
    coincide for nominal data, K for others, and K³ steps for ratio data and user-defined distances.
    """
    marginal, keys, amount = _coinciding(counts)
    first, second = np.divmod(keys, max(counts.n_values, 1))
    one, other = np.concatenate([first, second]), np.concatenate([second, first])
    # Coincidences are fractions: rounding may leave a residue where the difference is 0.
    kept = marginal[other] - np.tile(amount / 2, 2)
    kept[kept <= ROUNDING * marginal[other]] = 0
    if level == "nominal":
        n_values = len(marginal)
        total, squares = (
            of.sum() - of - sum_by(one, of[other] - left, n_values)
            for of, left in ((marginal, kept), (marginal**2, kept**2))
        )
        within = amount.sum() - sum_by(one, np.tile(amount, 2), n_values)
        within[within <= ROUNDING * amount.sum()] = 0
        total[total**2 - squares <= ROUNDING * marginal.sum() * total] = nan
        total[total <= 1 + ROUNDING] = nan
        return nominal_alpha(total, total - within, squares)[0]
    result = np.full(len(marginal), nan)
    for value in range(len(marginal)):
        rest, gone = marginal.copy(), one == value
        rest[value], rest[other[gone]] = 0, kept[gone]
        left = (first != value) & (second != value)
        result[value] = _of_coincidences(
            rest, first[left], second[left], amount[left], level, numbers
        )
    return result


def _of_coincidences(
    marginal: FloatArray,
    first: IndexArray,
    second: IndexArray,
    amount: FloatArray,
    level: str | Distance,
    numbers: FloatArray | None,
) -> float:
    """Return alpha of marginals and of the coincidences of pairs of values; NaN if undefined."""
    total = float(marginal.sum())
    if level == "nominal":
        within, between = amount.sum(), total**2 - marginal @ marginal
    elif level == "ordinal" or (level == "interval" and numbers is not None):
        if numbers is None or level == "ordinal":
            place = midranks(marginal[:, None])[:, 0]
        else:
            place = centred(numbers, marginal)[0]
        within = amount @ (place[first] - place[second]) ** 2
        place = place - marginal @ place / max(total, 1)
        between = 2 * total * (marginal @ place**2)
    elif numbers is None:
        raise ConfigError(f"level {level}: some values are not numbers; expected numbers only")
    else:
        distances = pairwise_distances(level, numbers)
        within = amount @ distances.between(first, second)
        between = marginal @ distances.mean_to(marginal[:, None])[:, 0]
    # D_e is divided by n − 1.
    defined = total > 1 + ROUNDING and between > 0
    return 1 - float(within) * (total - 1) / float(between) if defined else nan
