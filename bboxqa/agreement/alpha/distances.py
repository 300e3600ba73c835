"""Levels of measurement, and values as numbers whose squared differences are distances."""

from collections.abc import Callable

import numpy as np

from bboxqa.core.arrays import FloatArray

LEVELS = ("nominal", "ordinal", "interval", "ratio")

Distance = Callable[[FloatArray, FloatArray], FloatArray]
"""(N,) and (N,) values → (N,) distances δ, 0 for equal values, symmetric."""

# Differences of larger numbers may overflow.
_LARGE = 1e307


def centred(numbers: FloatArray, marginal: FloatArray) -> tuple[FloatArray, float]:
    """Return interval data relative to their median, and the unit that they are scaled by.

    Alpha depends on neither. Numbers far from 0 keep their digits: a value that occurs is
    subtracted before the division, and the unit is a power of two. `numbers` are in rising order;
    `marginal` is the frequency of each among the compared values. The result is 0 for values that
    do not occur, otherwise between −1 and 1.

    Examples
    --------
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


def midranks(marginal: FloatArray) -> FloatArray:
    """Return the mean rank of each value among all pairable ones, (K, B), centred at 0.

    The ordinal metric (Σ_{g=c}^{k} n_g − (n_c + n_k) / 2)² of Krippendorff (2011) is the squared
    difference of two mid-ranks, so that ordinal data are interval data of mid-ranks. `marginal`,
    (K, B), is how often each value occurs, from the lowest to the highest.

    Examples
    --------
    >>> midranks(np.array([[2.0], [1.0], [1.0]])).ravel()
    array([-1. ,  0.5,  1.5])
    """
    ranks: FloatArray = np.cumsum(marginal, axis=0) - marginal / 2 - marginal.sum(0) / 2
    return ranks
