"""Distances between values at each level of measurement."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import ConfigError

LEVELS = ("nominal", "ordinal", "interval", "ratio")

Distance = Callable[[FloatArray, FloatArray], FloatArray]
"""(N,) and (N,) values → (N,) distances δ, 0 for equal values, symmetric."""

_MOST_VALUES = 5000
# Differences of numbers beyond this may overflow.
_LARGE = 1e307
# Distances computed at a time.
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Metric:
    """The distance δ of each two of K values (δ² in the papers of Krippendorff).

    Attributes
    ----------
    between : callable
        (N,) and (N,) codes → (N,) distances.
    mean_to : callable
        (K, B) shares of the values → (K, B) mean distance of each value, Σ_k share_k δ(c, k).
    """

    between: Callable[[IndexArray, IndexArray], FloatArray]
    mean_to: Callable[[FloatArray], FloatArray]


def centred(numbers: FloatArray, marginal: FloatArray) -> tuple[FloatArray, float]:
    """Return interval data relative to their median, and the unit that they are scaled by.

    Alpha changes with neither. Numbers far from 0 keep their digits: a value that occurs is
    subtracted before anything is divided, and the unit is a power of two.

    Parameters
    ----------
    numbers : (K,) float64
        In rising order.
    marginal : (K,) float64
        How often each occurs among the values compared. The result is 0 where a value does not
        occur, and else between −1 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> centred(np.array([1e12, 1e12 + 1, 1e12 + 3]), np.ones(3))
    (array([-0.25,  0.  ,  0.5 ]), 4.0)
    """
    occurring = marginal > 0
    largest = float(np.abs(numbers[occurring]).max(initial=0))
    # Scale down: differences near the float maximum overflow.
    shrunk = 0.25 if largest > _LARGE else 1.0
    number = np.where(occurring, numbers, 0) * shrunk
    middle = np.searchsorted(np.cumsum(marginal), marginal.sum() / 2)
    place = np.where(occurring, number - number[middle], 0)
    exponent = int(np.frexp(np.abs(place).max(initial=0))[1])
    with np.errstate(over="ignore"):
        return np.ldexp(place, -exponent), float(np.ldexp(1 / shrunk, exponent))


def pairwise_metric(distance: str | Distance, numbers: FloatArray) -> Metric:
    """Return the metric of ratio data, or of a distance that the user defines.

    Parameters
    ----------
    distance : "ratio" or callable
        ((c − k) / (c + k))² for ratio data [1]_; or (N,), (N,) values → (N,).
    numbers : (K,) float64

    Raises
    ------
    ConfigError
        If ratio data are negative, or if a check of up to 200 values finds that the distance is not
        symmetric, not 0 for equal values, negative or not finite.

    References
    ----------
    .. [1] K. Krippendorff (2011), Computing Krippendorff's alpha-reliability, University of
           Pennsylvania.

    Examples
    --------
    >>> import numpy as np
    >>> metric = pairwise_metric("ratio", np.array([1.0, 3.0]))
    >>> metric.between(np.array([0]), np.array([1]))
    array([0.25])
    """
    if len(numbers) > _MOST_VALUES:
        name = f"level {distance}" if isinstance(distance, str) else "distance function"
        raise ConfigError(
            f"{name}: {len(numbers):,} different values are too many, since each is compared with "
            f"each (at most {_MOST_VALUES:,}); round them, or use level interval"
        )
    if isinstance(distance, str):
        if (numbers < 0).any():
            raise ConfigError(
                f"level ratio: a value is {numbers.min():g}; expected 0 or more; "
                "for values around 0 use level interval"
            )
        return _tabled(lambda c, k: _ratio(numbers[c], numbers[k]), len(numbers))
    some = np.arange(min(len(numbers), 200))
    row, column = numbers[np.repeat(some, len(some))], numbers[np.tile(some, len(some))]
    found = np.asarray(distance(row, column), np.float64)
    if found.shape != row.shape:
        raise ConfigError(f"distance function returned shape {found.shape}; expected {row.shape}")
    square = found.reshape(len(some), len(some))
    if not np.isfinite(square).all() or (square < 0).any():
        raise ConfigError("distance function: expected finite distances of 0 or more")
    if np.diagonal(square).any() or not np.allclose(square, square.T, rtol=1e-12, atol=0):
        raise ConfigError(
            "distance function: expected 0 for equal values, and the same distance in both orders"
        )
    return _tabled(lambda c, k: np.asarray(distance(numbers[c], numbers[k])), len(numbers))


def _tabled(between: Callable[[IndexArray, IndexArray], FloatArray], n_values: int) -> Metric:
    """Return a metric that computes distances in chunks, never all K × K at once."""

    def mean_to(share: FloatArray) -> FloatArray:
        result = np.empty(share.shape)
        codes = np.arange(n_values)
        step = max(1, _CHUNK // max(n_values, 1))
        for start in range(0, n_values, step):
            part = codes[start : start + step]
            row, column = np.repeat(part, n_values), np.tile(codes, len(part))
            result[part] = between(row, column).reshape(len(part), -1) @ share
        return result

    return Metric(between, mean_to)


def _ratio(left: FloatArray, right: FloatArray) -> FloatArray:
    # Without the minimum, two zeros would be 0 / 0.
    total = np.maximum(left + right, np.finfo(np.float64).tiny)
    quotient: FloatArray = (left - right) / total
    return quotient * quotient


def midranks(marginal: FloatArray) -> FloatArray:
    """Return the mean rank of each value among all pairable ones, (K, B), centred at 0.

    The ordinal metric (Σ_{g=c}^{k} n_g − (n_c + n_k) / 2)² of Krippendorff (2011) is the squared
    difference of two mid-ranks, so that ordinal data are interval data of mid-ranks.

    Parameters
    ----------
    marginal : (K, B) float64
        How often each value occurs, from the lowest to the highest.

    Examples
    --------
    >>> import numpy as np
    >>> midranks(np.array([[2.0], [1.0], [1.0]])).ravel()
    array([-1. ,  0.5,  1.5])
    """
    ranks: FloatArray = np.cumsum(marginal, axis=0) - marginal / 2 - marginal.sum(0) / 2
    return ranks
