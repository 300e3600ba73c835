"""Groups of annotators with similar ratings."""

from contextlib import suppress
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.uncertainty.estimator import OK, ROUNDING
from bboxqa.core.arrays import FloatArray, IntArray, frozen_arrays
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count

TIED = "another grouping fits equally well"
WEAK = "the groups hardly separate: annotators are as close to other groups as to their own"
NO_CONTRAST = "separation is undefined: it needs two groups, and one with two annotators"

Method = Literal["kmeans", "hierarchical"]

# Up to this value Kaufman and Rousseeuw (1990, Finding Groups in Data, p. 88,
# doi:10.1002/9780470316801) see no structure.
_WEAK = 0.25
_STARTS = 30
_STEPS = 30


@frozen_arrays
class Clusters:
    """Groups of A annotators.

    Attributes
    ----------
    labels : (A,) int32
        The group of each annotator, numbered in the order of their first members.
    inertia : float
        The sum of squared distances of annotators to the mean of their group.
    silhouette : float
        The separation of the groups: the mean over annotators of (b − a) / max(a, b), with a the
        mean distance to the annotator's own group and b that to the nearest other group [1]_; 0 for
        an annotator alone in a group. NaN for one group, or if all are alone.
    status : str
        "ok", or why the groups are not reliable.
    merges : (A − 1, 4) float64, optional
        The tree of a hierarchical grouping, as `scipy.cluster.hierarchy.linkage` returns it.

    References
    ----------
    .. [1] P. J. Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation
           of cluster analysis, Journal of Computational and Applied Mathematics 20,
           doi:10.1016/0377-0427(87)90125-7.
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
    table = _finite(scores)
    different = np.unique(table, axis=0)
    most = len(different) if method == "kmeans" else len(table)
    if not 1 <= k <= most:
        who = "annotator" if method == "hierarchical" else "different annotator"
        raise ConfigError(f"k is {k}; expected 1 or more, and no more than {count(most, who)}")
    if method == "hierarchical":
        merges = _tree(table)
        return _described(table, _cut(merges, k), tied=False, merges=merges)
    labels, tied = _best_means(table, different, k, seed)
    return _described(table, labels, tied=tied)


def _finite(scores: NDArray[Any]) -> FloatArray:
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or not table.size:
        found = f"scores have the shape {table.shape}"
        raise DatasetError([f"{found}; expected one row per annotator and one column or more"])
    wrong = np.argwhere(~np.isfinite(table)).tolist()
    if wrong:
        raise DatasetError(
            [
                f"scores: row {row}, column {column}: score is {table[row, column]}; "
                "expected a finite number"
                for row, column in wrong
            ],
            "Leave out units that not all of the annotators rated.",
        )
    return table


def _numbered(labels: NDArray[Any]) -> IntArray:
    """Return labels numbered in the order of their first members."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)


def _inertia(table: FloatArray, labels: IntArray) -> float:
    members = (table[labels == label] for label in range(int(labels.max()) + 1))
    return float(sum(((own - own.mean(0)) ** 2).sum() for own in members))


def _best_means(
    table: FloatArray, different: FloatArray, k: int, seed: int
) -> tuple[IntArray, bool]:
    """Return the labels of least inertia, and whether other labels have the same inertia."""
    from scipy.cluster.vq import ClusterError, kmeans2

    rng = np.random.default_rng(seed)
    # The tree always has k groups; a start may lose one.
    candidates = [_cut(_tree(table), k)]
    for _ in range(_STARTS):
        start = different[rng.choice(len(different), k, replace=False)]
        # A start whose groups lose all their members is no candidate.
        with suppress(ClusterError):
            _, labels = kmeans2(table, start, iter=_STEPS, minit="matrix", missing="raise")
            candidates.append(_numbered(labels))
    found = {tuple(labels.tolist()): _inertia(table, labels) for labels in candidates}
    least = min(found.values())
    slack = ROUNDING * float(((table - table.mean(0)) ** 2).sum())
    best = sorted(labels for labels, inertia in found.items() if inertia <= least + slack)
    return np.array(best[0], np.int32), len(best) > 1


def _tree(table: FloatArray) -> FloatArray:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    if len(table) == 1:
        return np.zeros((0, 4))
    merges: FloatArray = linkage(pdist(table), "ward")
    return merges


def _cut(merges: FloatArray, k: int) -> IntArray:
    """Return the labels of the k groups that remain after the first merges."""
    n = len(merges) + 1
    labels = np.arange(n)
    for step, (left, right) in enumerate(merges[: n - k, :2].astype(np.int64).tolist()):
        labels[(labels == left) | (labels == right)] = n + step
    return _numbered(labels)


def _silhouette(table: FloatArray, labels: IntArray) -> float:
    from scipy.spatial.distance import pdist, squareform

    sizes = np.bincount(labels)
    if not 1 < len(sizes) < len(labels):
        return float("nan")
    distance = squareform(pdist(table))
    to_group = np.stack([distance[:, labels == group].sum(1) for group in range(len(sizes))], 1)
    everyone = np.arange(len(labels))
    own = to_group[everyone, labels] / np.maximum(sizes[labels] - 1, 1)
    others = to_group / sizes
    others[everyone, labels] = np.inf
    nearest = others.min(1)
    widest = np.maximum(own, nearest)
    known = (sizes[labels] > 1) & (widest > 0)
    return float(np.where(known, (nearest - own) / np.where(known, widest, 1), 0).mean())


def _described(
    table: FloatArray, labels: IntArray, *, tied: bool, merges: FloatArray | None = None
) -> Clusters:
    silhouette = _silhouette(table, labels)
    reasons = [
        reason
        for reason, holds in (
            (TIED, tied),
            (NO_CONTRAST, np.isnan(silhouette)),
            (WEAK, silhouette <= _WEAK),
        )
        if holds
    ]
    return Clusters(labels, _inertia(table, labels), silhouette, "; ".join(reasons) or OK, merges)
