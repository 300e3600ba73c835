"""Annotators who answer alike, and associations of two columns of answers."""

from contextlib import suppress
from math import isnan, nan, sqrt
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.estimators import OK, ROUNDING
from bboxqa.agreement.intervals import fisher_interval
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.resampling import LEVEL
from bboxqa.core.arrays import FloatArray, FrozenArrays, IndexArray, IntArray
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
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    merges = linkage(pdist(table), "ward") if len(table) > 1 else np.zeros((0, 4))
    labels, tied = _cut(merges, k), False
    if method == "kmeans":
        labels, tied = _best_means(table, different, labels, seed)
    silhouette = _silhouette(table, labels)
    reasons = ((TIED, tied), (NO_CONTRAST, np.isnan(silhouette)), (WEAK, silhouette <= _WEAK))
    status = "; ".join(reason for reason, holds in reasons if holds) or OK
    tree = merges if method == "hierarchical" else None
    return Clusters(labels, _inertia(table, labels), silhouette, status, tree)


def _finite(scores: NDArray[Any]) -> FloatArray:
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
    return table


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


def _cut(merges: FloatArray, k: int) -> IntArray:
    """Return the labels of the k groups that remain after the first merges."""
    n = len(merges) + 1
    labels = np.arange(n)
    for step, (left, right) in enumerate(merges[: n - k, :2].astype(np.int64).tolist()):
        labels[(labels == left) | (labels == right)] = n + step
    return _numbered(labels)


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
    """Return the number of units that each pair of annotators rated, (A, A) int64.

    Weighted units count with their weight; several ratings of a unit count once.
    """
    rated = np.flatnonzero(data.state == Cell.CATEGORY)
    _, first = np.unique(data.unit[rated] * n_annotators + data.annotator[rated], return_index=True)
    once = data.take(rated[first])
    one = np.ones(len(first))
    return _product(once, n_annotators, once.unit, one, one).astype(np.int64)


NO_TABLE = "undefined: a feature has fewer than two values that occur"
NOT_AGREEMENT = (
    "Association is not agreement: annotators who always contradict each other are associated "
    "as strongly as annotators who always agree."
)

ABOVE = "Cramér's V is above its interval: in a table of so many cells chance alone raises it"
NO_INTERVAL = "no interval: one feature follows from the other, or an expected count is below 1"

# Beyond this multiple of the degrees of freedom plus one, the spread of chi-square is no longer
# that of a noncentral chi-square, by simulation.
_STRONG = 4
# Cochran (1954, doi:10.2307/3001616), Some methods for strengthening the common chi-square tests.
_FEW = 5


class Independence(FrozenArrays, frozen=True, eq=False):
    """A chi-square test of independence."""

    statistic: float
    """Chi-square; NaN where undefined."""
    p_value: float
    """The probability of so large a statistic for independent features."""
    degrees_of_freedom: int
    """Of the rows and columns that are not empty; 0 where undefined."""
    expected: FloatArray
    """(R, C) float64. The counts of independent features with these totals; NaN where undefined."""
    cramers_v: float
    """The strength of the association in [0, 1], without correction."""
    interval: tuple[float, float]
    """The 95 % interval of Cramér's V; NaN where undefined. Sampling raises V on average, so that
    the V of a weak association in a small table may lie above its own interval."""
    status: str
    """Why it is undefined, or "ok"."""
    notes: tuple[str, ...] = ()
    """Limits of the numbers."""

    @property
    def sentence(self) -> str:
        """The result of the test in words."""
        if isnan(self.p_value):
            return f"The test of independence is {self.status}."
        low, high = self.interval
        between = "" if isnan(low) else f"; 95 % interval {low:.3f} to {high:.3f}"
        percent = "less than 0.01 %" if self.p_value < 1e-4 else f"{100 * self.p_value:.3g} %"
        return (
            "If the two features were independent, a table at least as far from the expected one "
            f"would come about in {percent} of samples. That is the risk of being "
            "wrong when one takes so large a difference for an association "
            f"(p = {self.p_value:.3g}). The association is {self.cramers_v:.3f} strong on a scale "
            f"from 0 to 1 (Cramér's V{between}). {NOT_AGREEMENT}"
        )


def cross_table(
    first_codes: NDArray[Any], second_codes: NDArray[Any], shape: tuple[int, int]
) -> IndexArray:
    """Return the contingency table of two features.

    Parameters
    ----------
    first_codes, second_codes : (N,) integers
        One value per annotation, 0 to ``R - 1`` and 0 to ``C - 1``.
    shape : (R, C)
        The number of values of each feature.

    Returns
    -------
    (R, C) int64

    Raises
    ------
    DatasetError
        If the features have different lengths, or a code is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> cross_table(np.array([0, 0, 1]), np.array([2, 2, 0]), (2, 3))
    array([[0, 0, 2],
           [1, 0, 0]])
    """
    problems = []
    if len(first_codes) != len(second_codes):
        lengths = f"{len(first_codes)} and {len(second_codes)}"
        problems.append(f"lengths of the features are {lengths}; expected equal ones")
    features = (("first", first_codes, shape[0]), ("second", second_codes, shape[1]))
    for name, codes, size in features:
        wrong = np.flatnonzero((codes < 0) | (codes >= size))
        problems += [
            f"record {place}: {name} code is {codes[place]}; "
            f"expected 0 or more and less than {size}"
            for place in wrong[:1].tolist()
        ]
    if problems:
        raise DatasetError(
            [f"cross table: {each}" for each in problems],
            "Leave out annotations that lack one of the two.",
        )
    cell = first_codes.astype(np.int64) * shape[1] + second_codes
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


def _counts(table: NDArray[Any]) -> FloatArray:
    """Return a table as counts: whole numbers, 0 or more."""
    try:
        counts = np.asarray(table, np.float64)
    except (TypeError, ValueError):
        raise DatasetError(["cross table: expected a table of numbers"]) from None
    if counts.ndim != 2:
        raise DatasetError(
            [f"cross table has {count(counts.ndim, 'dimension')}; expected rows and columns"]
        )
    wrong = ~(np.isfinite(counts) & (counts >= 0) & (counts == np.round(counts)))
    for row, column in np.argwhere(wrong)[:1].tolist():
        found = f"row {row}, column {column}: count is {counts[row, column]:g}"
        raise DatasetError(
            [f"cross table: {found}; expected a whole number, 0 or more"],
            "Give counts of annotations, not shares or percentages.",
        )
    return counts


def independence(table: NDArray[Any], *, correction: bool = True) -> Independence:
    """Return Pearson's chi-square test of independence of two features of annotations.

    It assumes that annotations are independent of each other; with many annotations per image, the
    p-value is too small.

    Parameters
    ----------
    table : (R, C) whole numbers
        Counts of each pair of values of the two features; rows and columns of zeros are left out.
    correction : bool
        Moves each count of a 2 × 2 table by up to 0.5 towards the expected one [1]_, for the
        statistic and its p-value. Larger tables have no correction.

    Returns
    -------
    Independence
        Cramér's V is √(χ² / (n (min(R, C) − 1))) of the uncorrected χ² ([2]_, p. 282), so that it
        is 1 for a perfect association. Its interval is that of the noncentral chi-square
        distribution ([3]_, ch. 4) where χ² is small, and by linearisation under Fisher's
        transformation where it is not, about the value less the mean of χ² under independence
        ([4]_, ch. 14); NaN where an expected count is below 1. Undefined where fewer than two rows
        or two columns occur.

    Raises
    ------
    DatasetError
        If the table does not hold counts.

    References
    ----------
    .. [1] F. Yates (1934), Contingency tables involving small numbers and the χ² test,
           Supplement to the Journal of the Royal Statistical Society 1(2), doi:10.2307/2983604.
    .. [2] H. Cramér (1946), Mathematical methods of statistics, Princeton University Press,
           doi:10.1515/9781400883868.
    .. [3] M. Smithson (2003), Confidence intervals, SAGE, doi:10.4135/9781412983761.
    .. [4] Y. M. M. Bishop, S. E. Fienberg and P. W. Holland (1975), Discrete multivariate analysis:
           theory and practice, MIT Press, reprinted 2007, doi:10.1007/978-0-387-72806-3.

    Examples
    --------
    >>> import numpy as np
    >>> test = independence(np.array([[5000, 2500], [3000, 1580]]))
    >>> round(test.statistic, 5), round(test.p_value, 5), round(test.cramers_v, 5)
    (1.67222, 0.19596, 0.01195)
    >>> [round(bound, 4) for bound in test.interval]
    [0.0, 0.0298]
    """
    from scipy.stats import chi2_contingency

    counts = _counts(table)
    occur = np.ix_(counts.sum(1) > 0, counts.sum(0) > 0)
    used = counts[occur]
    if min(used.shape) < 2:
        nothing = np.full(counts.shape, np.nan)
        return Independence(nan, nan, 0, nothing, nan, (nan, nan), NO_TABLE)
    statistic, p_value, freedom, expected = chi2_contingency(used, correction=correction)
    plain = float(((used - expected) ** 2 / expected).sum())
    # Cochran's other limit: with a lower expected count, a single annotation dominates.
    bounds = (nan, nan) if expected.min() < 1 else _interval(used, plain, int(freedom))
    strength = min(1.0, sqrt(plain / (used.sum() * (min(used.shape) - 1))))
    everywhere = np.zeros(counts.shape)
    everywhere[occur] = expected
    notes = []
    empty = [a - b for a, b in zip(counts.shape, used.shape, strict=True)]
    if any(empty):
        left_out = f"{count(empty[0], 'empty row')} and {count(empty[1], 'empty column')}"
        notes.append(f"{left_out} left out: values that do not occur")
    if n_few := int((expected < _FEW).sum()):
        notes.append(
            f"{n_few:,} of {count(expected.size, 'expected count')} below {_FEW}: "
            "the p-value and the interval are rough ones; join rare values"
        )
    if isnan(bounds[0]) or strength > bounds[1]:
        notes.append(NO_INTERVAL if isnan(bounds[0]) else ABOVE)
    return Independence(
        float(statistic), float(p_value), int(freedom), everywhere, strength, bounds, OK,
        tuple(notes),
    )  # fmt: skip


def _interval(counts: FloatArray, statistic: float, freedom: int) -> tuple[float, float]:
    """Return the bounds of Cramér's V of a table without empty rows and columns."""
    n, smaller = float(counts.sum()), min(counts.shape) - 1
    # With a tolerance: rounding, which depends on the order of rows, must not decide at the limit.
    if statistic > _STRONG * (freedom + 1) * (1 + 1e-9):
        return _linearised(counts / n, n, smaller, freedom)
    from scipy.special import chdtr, chndtrinc

    def bound(found: float, share: float) -> float:
        # Otherwise no noncentrality makes so small a statistic this improbable.
        possible = chdtr(freedom, found) > share
        noncentral = float(chndtrinc(found, freedom, share)) if possible else 0.0
        return min(1.0, sqrt(noncentral / (n * smaller)))

    # A table that is closer to the expected one than by chance does not prove independence.
    return bound(statistic, (1 + LEVEL) / 2), bound(max(statistic, freedom), (1 - LEVEL) / 2)


def _linearised(share: FloatArray, n: float, smaller: int, freedom: int) -> tuple[float, float]:
    rows, columns = share.sum(1, keepdims=True), share.sum(0, keepdims=True)
    parts = share**2 / (rows * columns)
    strength = float(parts.sum()) - 1
    # The slope of φ² along the share of each cell.
    slope = 2 * share / (rows * columns)
    slope = slope - parts.sum(1, keepdims=True) / rows - parts.sum(0, keepdims=True) / columns
    variance = float((share * (slope - (share * slope).sum()) ** 2).sum())
    value = sqrt(strength / smaller)
    error = sqrt(variance / n) / (2 * value * smaller)
    middle = sqrt((strength - freedom / n) / smaller)
    bounds = fisher_interval(
        np.array([value]), np.array([error]), np.array([n - 1]), middle=np.array([middle])
    )[0]
    # The scale of V ends at 0; NaN stays.
    low, high = np.maximum(bounds, 0).tolist()
    return low, high
