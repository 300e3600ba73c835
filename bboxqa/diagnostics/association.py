"""Association between two features of annotations."""

from collections.abc import Iterator
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.uncertainty.estimator import OK
from bboxqa.agreement.uncertainty.linear import fisher_interval
from bboxqa.agreement.uncertainty.resampling import LEVEL
from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count

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


@frozen_arrays
class Independence:
    """A chi-square test of independence.

    Attributes
    ----------
    statistic : float
        Chi-square; NaN where undefined.
    p_value : float
        The probability of so large a statistic for independent features.
    degrees_of_freedom : int
        Of the rows and columns that are not empty; 0 where undefined.
    expected : (R, C) float64
        The counts of independent features with these totals; NaN where undefined.
    cramers_v : float
        The strength of the association in [0, 1], without correction.
    interval : tuple of float
        The 95 % interval of Cramér's V; NaN where undefined. Sampling raises V on average, so that
        the V of a weak association in a small table may lie above its own interval.
    status : str
        Why it is undefined, or "ok".
    notes : tuple of str
        Limits of the numbers.
    """

    statistic: float
    p_value: float
    degrees_of_freedom: int
    expected: FloatArray
    cramers_v: float
    interval: tuple[float, float]
    status: str
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The result of the test in words."""
        if isnan(self.p_value):
            return f"The test of independence is {self.status}."
        return (
            "If the two features were independent, a table at least as far from the expected one "
            f"would come about in {_percent(self.p_value)} of samples. That is the risk of being "
            "wrong when one takes so large a difference for an association "
            f"(p = {self.p_value:.3g}). The association is {self.cramers_v:.3f} strong on a scale "
            f"from 0 to 1 (Cramér's V{_between(self.interval)}). {NOT_AGREEMENT}"
        )


def _between(interval: tuple[float, float]) -> str:
    low, high = interval
    return "" if isnan(low) else f"; 95 % interval {low:.3f} to {high:.3f}"


def _percent(share: float) -> str:
    return "less than 0.01 %" if share < 1e-4 else f"{100 * share:.3g} %"


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
    if len(first_codes) != len(second_codes):
        lengths = f"{len(first_codes)} and {len(second_codes)}"
        raise DatasetError(
            [f"cross table: lengths of the features are {lengths}; expected equal ones"],
            "Leave out annotations that lack one of the two.",
        )
    features = (("first", first_codes, shape[0]), ("second", second_codes, shape[1]))
    problems = [
        f"cross table: record {place}: {name} code is {codes[place]}; "
        f"expected 0 or more and less than {size}"
        for name, codes, size in features
        for place in np.flatnonzero((codes < 0) | (codes >= size)).tolist()
    ]
    if problems:
        raise DatasetError(problems, "Leave out annotations that lack one of the two.")
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
    wrong = np.argwhere(~(np.isfinite(counts) & (counts >= 0) & (counts == np.round(counts))))
    if len(wrong):
        raise DatasetError(
            [
                f"cross table: row {row}, column {column}: count is {counts[row, column]:g}; "
                "expected a whole number, 0 or more"
                for row, column in wrong.tolist()
            ],
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
    notes = (*_notes(counts.shape, expected), *_notes_on_interval(strength, bounds))
    return Independence(
        float(statistic), float(p_value), int(freedom), everywhere, strength, bounds, OK, notes
    )


def _notes(shape: tuple[int, ...], expected: FloatArray) -> Iterator[str]:
    """Yield the limits of a test with these expected counts, without empty rows and columns."""
    empty = [a - b for a, b in zip(shape, expected.shape, strict=True)]
    if any(empty):
        left_out = f"{count(empty[0], 'empty row')} and {count(empty[1], 'empty column')}"
        yield f"{left_out} left out: values that do not occur"
    few = int((expected < _FEW).sum())
    if few:
        yield (
            f"{few:,} of {count(expected.size, 'expected count')} below {_FEW}: "
            "the p-value and the interval are rough ones; join rare values"
        )


def _notes_on_interval(strength: float, interval: tuple[float, float]) -> Iterator[str]:
    if isnan(interval[0]):
        yield NO_INTERVAL
    elif strength > interval[1]:
        yield ABOVE


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
