"""Dense tables of codes: coefficients of annotators who rate most units, and association.

Comparing whole rows takes a fraction of the time of sorting ratings by unit.
"""

from math import isnan, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.estimators import OK
from bboxqa.agreement.intervals import fisher_interval
from bboxqa.agreement.nominal import Alpha, alpha_of_sums
from bboxqa.agreement.pair_kappas import kappa_of
from bboxqa.agreement.resampling import LEVEL
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count
from bboxqa.model.ratings import Independence, PairTable

# Units compared at a time, so that their rows stay in the cache.
_CHUNK = 1 << 15


def _checked(codes: NDArray[Any], n_values: int) -> IntArray | IndexArray:
    codes = np.asarray(codes)
    if not isinstance(n_values, int | np.integer) or not 0 <= n_values < 1 << 31:
        raise ConfigError(f"n_values is {n_values!r}; expected a whole number, 0 or more")
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise ConfigError(
            f"codes has shape {codes.shape} of {codes.dtype}; expected annotators x units of "
            "integers; for other values use ratings_from_table"
        )
    highest = int(codes.max()) if codes.size else -1
    if highest >= n_values:
        raise ConfigError(f"a code is {highest}; expected -1 (missing) to {n_values - 1}")
    is_wide = codes.dtype in (np.dtype(np.int32), np.dtype(np.int64))
    wide: IntArray | IndexArray = codes if is_wide else codes.astype(np.int64)
    return wide


def alpha_of_codes(codes: NDArray[Any], n_values: int) -> Alpha:
    """Return Krippendorff's nominal alpha of a table of codes.

    The result is that of `measure` on the same ratings. Time grows with A² U; memory does not grow
    with the number of units.

    Parameters
    ----------
    codes : (A, U) integers
        0 to ``n_values - 1``, or negative where missing.
    n_values : int
        K.

    Raises
    ------
    ConfigError
        If the table is not two-dimensional, not of integers, or holds a code of K or more.

    Examples
    --------
    >>> import numpy as np
    >>> round(alpha_of_codes(np.array([[0, 1, 1, -1], [0, 1, 0, 1]]), 2).value, 4)
    0.4444
    """
    codes = _checked(codes, n_values)
    n_annotators, n_units = codes.shape
    kept = np.zeros(n_values + 1, np.int64)
    most = n_annotators * (n_annotators - 1) // 2 + 1
    agreeing = 0.0
    for start in range(0, n_units, _CHUNK):
        part = codes[:, start : start + _CHUNK]
        given = part >= 0
        size = given.sum(0, dtype=np.int32)
        alike = np.zeros(part.shape[1], np.int32)
        for row in range(1, n_annotators):
            for other in range(row):
                alike += (part[row] == part[other]) & given[row]
        shown = np.where(given & (size >= 2), part, -1)
        kept += np.bincount(shown.ravel() + 1, minlength=n_values + 1)
        # Units with the same size and number of equal pairs are counted, not added one by one.
        found, times = np.unique(size.astype(np.int64) * most + alike, return_counts=True)
        sizes, alikes = np.divmod(found, most)
        agreeing += float((times * 2 * alikes / np.maximum(sizes - 1, 1)).sum())
    marginal = kept[1:].astype(np.float64)
    return alpha_of_sums(marginal, agreeing, one_group=False)


def kappa_of_codes(codes: NDArray[Any], n_values: int) -> PairTable:
    """Return Cohen's kappa of each pair of annotators of a table of codes.

    Parameters
    ----------
    codes : (A, U) integers
        0 to ``n_values - 1``, or negative where missing.
    n_values : int
        K.

    Returns
    -------
    PairTable
        Of the pairs that share a unit, without standard errors and intervals; `measure` has these.

    Raises
    ------
    ConfigError
        If the table is not two-dimensional, not of integers, or holds a code of K or more.

    References
    ----------
    .. [1] J. Cohen (1960), A coefficient of agreement for nominal scales, Educational and
           Psychological Measurement 20(1), doi:10.1177/001316446002000104.

    Examples
    --------
    >>> import numpy as np
    >>> kappa_of_codes(np.array([[0, 1, 1, -1], [0, 1, 0, 1]]), 2).kappa.round(4)
    array([0.4])
    """
    codes = _checked(codes, n_values)
    n_annotators = len(codes)
    given = codes >= 0
    # Missing codes differ between annotators, so that they never agree; narrow rows are faster.
    narrow = np.int16 if n_values + n_annotators < np.iinfo(np.int16).max else np.int32
    marked = np.where(given, codes, n_values + np.arange(n_annotators)[:, None]).astype(narrow)
    gaps = [np.flatnonzero(~row) for row in given]
    total = [_tally(row, n_values) for row in marked]
    first, second = np.triu_indices(n_annotators, 1)
    agreeing, chance = np.empty(len(first)), np.empty(len(first))
    shared = np.empty(len(first))
    for place, (left, right) in enumerate(zip(first, second, strict=True)):
        agreeing[place] = np.count_nonzero(marked[left] == marked[right])
        ours = _margin(marked[left], total[left], gaps[right], given[right])
        theirs = _margin(marked[right], total[right], gaps[left], given[left])
        shared[place] = ours.sum()
        chance[place] = ours @ theirs
    kept = np.flatnonzero(shared)
    observed = agreeing[kept] / shared[kept]
    expected = chance[kept] / shared[kept] ** 2
    return PairTable(
        first=first[kept].astype(np.int32),
        second=second[kept].astype(np.int32),
        n_shared=shared[kept].astype(np.int64),
        observed=observed,
        expected=expected,
        kappa=kappa_of(observed, expected),
        standard_error=np.full(len(kept), np.nan),
        interval=np.full((len(kept), 2), np.nan),
    )


def _tally(marked: IntArray, n_values: int) -> FloatArray:
    return np.bincount(marked, minlength=n_values)[:n_values].astype(np.float64)


def _margin(marked: IntArray, total: FloatArray, gaps: IndexArray, given: BoolArray) -> FloatArray:
    if 2 * len(gaps) < len(marked):
        return total - _tally(marked[gaps], len(total)) if len(gaps) else total
    return _tally(marked[given], len(total))


NO_TABLE = "undefined: a feature has fewer than two values that occur"
ABOVE = "Cramér's V is above its interval: in a table of so many cells chance alone raises it"
NO_INTERVAL = "no interval: one feature follows from the other, or an expected count is below 1"

# Beyond this multiple of the degrees of freedom plus one, the spread of chi-square is no longer
# that of a noncentral chi-square, by simulation.
_STRONG = 4
# Cochran (1954, doi:10.2307/3001616), Some methods for strengthening the common chi-square tests.
_FEW = 5


def _counts(table: NDArray[Any]) -> FloatArray:
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
