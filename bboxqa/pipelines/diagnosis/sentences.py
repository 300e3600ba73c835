"""What sentences of a diagnosis have in common: numbers, and who differs surely from the others."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.model.table import Table

_NORMAL = NormalDist()
_LEVEL = 0.95


KINDS_OF_ERRORS = 8
"""Errors that annotators are named for, and that each may be named for by mistake."""
LEAST_DRAWS = 200
"""The draws that it takes: the intervals of fewer are too narrow as often as too wide."""
LEAST_IMAGES = 5
"""The images of an annotator that it takes to be named."""


class Sentence(NamedTuple):
    """A sentence, and which share of the objects it concerns, about."""

    weight: float
    text: str


class Bounds(NamedTuple):
    """K figures with their 95 % intervals; NaN where there is none."""

    value: FloatArray
    low: FloatArray
    high: FloatArray

    def of_complement(self) -> "Bounds":
        """Return 1 − the figures."""
        return Bounds(1 - self.value, 1 - self.high, 1 - self.low)

    def text(self, place: int, factor: float = 1.0) -> str:
        """Return the bounds of a figure times a factor, in brackets."""
        return f"[{factor * self.low[place]:.1f}, {factor * self.high[place]:.1f}]"

    def percent(self, place: int) -> str:
        """Return a figure in percent with its interval."""
        return f"{100 * self.value[place]:.1f} % {self.text(place, 100)}"


def bounds(table: Table, name: str) -> Bounds:
    """Return a column of a table with its interval."""
    return Bounds(table[name], table[f"{name}_low"], table[f"{name}_high"])


def above_others(found: Bounds, n_kinds: int = 1) -> IndexArray:
    """Return the figures that surely are above the median of the others, the largest first.

    The intervals are widened as those of Bonferroni are, so that of all K figures one is named by
    mistake in 5 % of the cases at most; with several kinds of figures, of all of them together.

    Examples
    --------
    >>> low, high = np.array([0.05, 0.06, 0.2]), np.array([0.15, 0.16, 0.4])
    >>> above_others(Bounds((low + high) / 2, low, high))
    array([2])
    """
    value, low = found.value, found.low
    known = np.flatnonzero(~np.isnan(low))
    if len(known) < 2:
        return known[:0]
    wider = _NORMAL.inv_cdf(1 - (1 - _LEVEL) / (2 * len(known) * n_kinds)) / _NORMAL.inv_cdf(
        (1 + _LEVEL) / 2
    )
    surely = value[known] - wider * (value[known] - low[known])
    ordered = np.sort(value[known])
    rank = np.searchsorted(ordered, value[known])
    # The median of all but one: the place of that one is left out.
    n = len(known) - 1

    def without(place: int) -> FloatArray:
        return ordered[np.where(place >= rank, place + 1, place)]

    median = (without((n - 1) // 2) + without(n // 2)) / 2
    named = known[surely > median]
    return named[np.argsort(-value[named], kind="stable")]


def is_first(found: Bounds, place: int) -> bool:
    """Return whether a figure is surely above all others: its interval lies above theirs.

    Figures without an interval count as they are.

    Examples
    --------
    >>> low, high = np.array([0.05, np.nan, 0.2]), np.array([0.15, np.nan, 0.4])
    >>> found = Bounds(np.array([0.1, 0.25, 0.3]), low, high)
    >>> is_first(found, 2), is_first(Bounds(*(each[[0, 2]] for each in found)), 1)
    (False, True)
    """
    ends = np.where(np.isnan(found.high), found.value, found.high)
    others = np.delete(ends, place)
    others = others[~np.isnan(others)]
    return bool(found.low[place] > others.max(initial=-np.inf))


def judged(table: Table, found: Bounds) -> Bounds:
    """Return figures without intervals where an annotator has few images."""
    few = table["n_images"] < LEAST_IMAGES
    return Bounds(found.value, *(np.where(few, np.nan, each) for each in (found.low, found.high)))


def joined(parts: Sequence[str]) -> str:
    """Return parts of a sentence with commas and an "and".

    Examples
    --------
    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([part for part in (", ".join(parts[:-1]), *parts[-1:]) if part])


def share_bounds(share: FloatArray, n: FloatArray, n_shares: int = 1) -> Bounds:
    """Return shares of `n` cases with Wilson's 95 % intervals [1]_, corrected for their number.

    References
    ----------
    .. [1] E. B. Wilson (1927), Probable inference, the law of succession, and statistical
           inference, Journal of the American Statistical Association 22(158),
           doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> found = share_bounds(np.array([0.1]), np.array([10.0]))
    >>> found.low.round(4), found.high.round(4)
    (array([0.0179]), array([0.4042]))
    """
    z = _NORMAL.inv_cdf(1 - (1 - _LEVEL) / (2 * max(n_shares, 1)))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return Bounds(share, middle - half, middle + half)
