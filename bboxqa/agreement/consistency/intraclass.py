"""Intraclass correlations, the share of the variance of ratings that lies between units."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

from numpy.typing import NDArray

from bboxqa.agreement.consistency.cronbach import (
    NO_SPREAD,
    TOO_FEW,
    centred_columns,
    complete_units,
    f_quantiles,
)
from bboxqa.core.arrays import FloatArray
from bboxqa.model.estimates import Estimate

FORMS = ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")

# Sums of squares that cancel leave a residue of about 1e-16 of their terms.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class _MeanSquares:
    """Mean squares of N units and k annotators, by the names of Shrout and Fleiss."""

    n_units: int
    n_annotators: int
    between: float
    within: float
    annotators: float
    error: float


def _mean_squares(table: FloatArray) -> _MeanSquares:
    n_units, n_annotators = table.shape
    centred = centred_columns(table)
    of_units = centred.mean(1)
    shifted = table - table[0, 0]
    between = n_annotators * float((of_units**2).sum())
    error = float(((centred - of_units[:, None]) ** 2).sum())
    annotators = n_units * float(((shifted.mean(0) - shifted.mean()) ** 2).sum())
    if between <= _ROUNDING * (between + error):
        between = 0.0
    return _MeanSquares(
        n_units,
        n_annotators,
        between / (n_units - 1),
        (annotators + error) / (n_units * (n_annotators - 1)),
        annotators / (n_annotators - 1),
        error / ((n_units - 1) * (n_annotators - 1)),
    )


def _ratio(above: float, *below: float) -> float:
    """Return a share of a sum; NaN where the sum is negative, or only rounding."""
    total = sum(below)
    return above / total if total > _ROUNDING * sum(map(abs, below)) else nan


def _against(squares: _MeanSquares, noise: float) -> tuple[float, float]:
    """Return the correlation of one rating, and of the mean of all, for a mean square of noise.

    With the noise multiplied by a quantile of F, these are bounds.
    """
    signal = squares.between - noise
    return (
        _ratio(signal, squares.between, (squares.n_annotators - 1) * noise),
        _ratio(signal, squares.between),
    )


def _random_annotators(squares: _MeanSquares, factor: float) -> tuple[float, float]:
    """Return the correlations for random annotators, with their noise times a factor."""
    n, k = squares.n_units, squares.n_annotators
    signal = n * (squares.between - factor * squares.error)
    one = factor * (k * squares.annotators + (k * n - k - n) * squares.error)
    mean = factor * (squares.annotators - squares.error)
    total = n * squares.between
    return _ratio(signal, total, one), _ratio(signal, total, mean)


def _freedom_of_random(squares: _MeanSquares, value: float) -> float:
    """Return the degrees of freedom of the noise for random annotators.

    Satterthwaite's approximation as printed by Shrout and Fleiss on p. 424, multiplied by the
    mean square of the error, which may be 0.
    """
    n, k = squares.n_units, squares.n_annotators
    if squares.annotators == squares.error == 0:
        # Without noise both bounds equal the value.
        return float((n - 1) * (k - 1))
    of_annotators = k * value * squares.annotators
    of_error = (n * (1 + (k - 1) * value) - k * value) * squares.error
    return _ratio(
        (k - 1) * (n - 1) * (of_annotators + of_error) ** 2,
        (n - 1) * of_annotators**2,
        of_error**2,
    )


def _estimates(
    values: tuple[float, float],
    lower: tuple[float, float],
    upper: tuple[float, float],
    status: str,
) -> list[Estimate]:
    return [
        Estimate(nan, status=NO_SPREAD)
        if isnan(value)
        else Estimate(value, (low, high), status=status)
        for value, low, high in zip(values, lower, upper, strict=True)
    ]


def intraclass_correlations(scores: NDArray[Any]) -> Mapping[str, Estimate]:
    """Return the six intraclass correlations of Shrout and Fleiss [1]_, with 95 % intervals.

    ICC1: each unit has its own annotators. ICC2: annotators are a random sample, and differences
    between them count. ICC3: annotators are fixed, and constant differences between them do not
    count. With k: of the mean of all annotators instead of one rating. ICC3k is Cronbach's alpha.
    Bounds of ICC2k are those of McGraw and Wong [2]_, table 7.

    Parameters
    ----------
    scores : (N, k) float64
        N units, k annotators; units with a NaN are left out, and the status says so.

    Returns
    -------
    mapping of str to Estimate
        By the names in `FORMS`. Undefined where the units do not vary; a bound that the formula
        does not give is NaN.

    Raises
    ------
    DatasetError
        If the scores are not a table of finite numbers.

    References
    ----------
    .. [1] P. E. Shrout and J. L. Fleiss (1979), Intraclass correlations: uses in assessing rater
           reliability, Psychological Bulletin 86(2), doi:10.1037/0033-2909.86.2.420.
    .. [2] K. O. McGraw and S. P. Wong (1996), Forming inferences about some intraclass correlation
           coefficients, Psychological Methods 1(1), doi:10.1037/1082-989X.1.1.30.

    Examples
    --------
    >>> import numpy as np
    >>> found = intraclass_correlations(np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 5.0]]))
    >>> {name: round(one.value, 2) for name, one in found.items()}
    {'ICC1': 0.62, 'ICC2': 0.64, 'ICC3': 0.75, 'ICC1k': 0.76, 'ICC2k': 0.78, 'ICC3k': 0.86}
    """
    table, status = complete_units(scores)
    n, k = table.shape
    if min(n, k) < 2:
        return {name: Estimate(nan, status=TOO_FEW) for name in FORMS}
    squares = _mean_squares(table)
    low, high = f_quantiles(n - 1, n * (k - 1))
    first = _estimates(
        _against(squares, squares.within),
        _against(squares, high * squares.within),
        _against(squares, low * squares.within),
        status,
    )
    values = _random_annotators(squares, 1.0)
    low, high = f_quantiles(n - 1, _freedom_of_random(squares, values[0]))
    # A negative value leaves few degrees of freedom, and the bound would be below the value.
    low = low if low <= 1 else nan
    second = _estimates(
        values, _random_annotators(squares, high), _random_annotators(squares, low), status
    )
    low, high = f_quantiles(n - 1, (n - 1) * (k - 1))
    third = _estimates(
        _against(squares, squares.error),
        _against(squares, high * squares.error),
        _against(squares, low * squares.error),
        status,
    )
    ordered = [*zip(first, second, third, strict=True)]
    return dict(zip(FORMS, [*ordered[0], *ordered[1]], strict=True))
