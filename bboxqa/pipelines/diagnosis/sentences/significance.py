"""Tests of who differs from the others."""

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.uncertainty.distributions import t_quantile
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.model.table import Table

_NORMAL = NormalDist()
_LEVEL = 0.95
# Standard errors that two counts must differ by.
_SIGN_TEST = 1.96
KINDS_OF_ERRORS = 8
"""The kinds of errors that annotators are named for; each is a chance of a false alarm."""
LEAST_IMAGES = 5
"""Fewest images of an annotator who may be named."""


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
        return f"[{factor * self.low[place]:z.1f}, {factor * self.high[place]:z.1f}]"

    def percent(self, place: int) -> str:
        """Return a figure in percent with its interval."""
        return f"{100 * self.value[place]:.1f} % {self.text(place, 100)}"


def bounds(table: Table, name: str) -> Bounds:
    """Return a column of a table with its interval."""
    return Bounds(table[name], table[f"{name}_low"], table[f"{name}_high"])


def above_others(
    found: Bounds,
    n_images: NDArray[Any],
    difference: Bounds | None = None,
    n_kinds: int = KINDS_OF_ERRORS,
    *,
    n_cases: NDArray[Any] | None = None,
) -> IndexArray:
    """Return the figures significantly above the median of the others, the largest first.

    If annotators err alike, the chance that any of the K figures of any kind is named is 5 % at
    most, by Bonferroni's correction: the distance to the lower bound is widened to that of a lower
    level of Student's t for the number of images. Figures of fewer than `LEAST_IMAGES` images are
    not judged. Figures that are equal in all draws are not judged either if a sign test with that
    number of cases could not be significant.

    Parameters
    ----------
    found : Bounds
        The figures; larger is worse.
    n_images : (K,) array
        The number of images, or independent cases, of each figure.
    difference : Bounds, optional
        Difference from the median of the others, over the same draws. Without it, the median counts
        as known.
    n_kinds : int
        The number of kinds of figures that are tested.
    n_cases : (K,) array, optional
        The number of cases for the sign test of figures that are equal in all draws; by default the
        images.

    Examples
    --------
    >>> low, high = np.array([0.05, 0.06, 0.2]), np.array([0.15, 0.16, 0.4])
    >>> above_others(Bounds((low + high) / 2, low, high), np.full(3, 50))
    array([2])
    >>> above_others(Bounds((low + high) / 2, low, high), np.full(3, 6))
    array([], dtype=int64)
    """
    if difference is None:
        median = median_of_others(found.value[:, None])[:, 0]
        difference = Bounds(*(each - median for each in found))
    length = difference.value - difference.low
    known = ~np.isnan(length) & (n_images >= LEAST_IMAGES)
    n_judged = int(known.sum())
    if n_judged < 2:
        return np.flatnonzero(known)[:0]
    level = (1 - _LEVEL) / (2 * n_judged * n_kinds)
    known &= (length > 0) | (0.5 ** (n_images if n_cases is None else n_cases) <= level)
    above = np.flatnonzero(known & (difference.value > _wider(level, n_images) * length))
    return above[np.argsort(-found.value[above], kind="stable")]


def _wider(level: float, n_images: NDArray[Any]) -> FloatArray:
    """Return the factor from the bound of a 95 % interval to that of a smaller level, (K,)."""
    freedom = np.maximum(n_images, 2) - 1.0
    factor: FloatArray = t_quantile(freedom, 1 - level) / t_quantile(freedom, (1 + _LEVEL) / 2)
    return factor


def median_of_others(values: FloatArray) -> FloatArray:
    """Return the median of all other known values of a column, (K, B) both.

    Examples
    --------
    >>> median_of_others(np.array([[1.0], [2.0], [np.nan], [6.0]])).ravel()
    array([4. , 3.5, 2. , 1.5])
    """
    known = ~np.isnan(values)
    order = np.argsort(values, axis=0, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(len(values))[:, None], axis=0)
    # Unknown values are sorted last; the others of an unknown value are all known values.
    n = known.sum(0) - known
    ordered = np.take_along_axis(values, order, axis=0)

    def without(place: IndexArray) -> FloatArray:
        moved = np.clip(np.where(place >= rank, place + 1, place), 0, len(values) - 1)
        return np.take_along_axis(ordered, moved, axis=0)

    return np.where(n > 0, (without((n - 1) // 2) + without(n // 2)) / 2, np.nan)


def is_first(found: Bounds, place: int) -> bool:
    """Return whether the interval of a figure lies above the intervals of all others.

    Figures without an interval count as points.

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
    """Return figures, with the intervals of annotators with few images set to NaN."""
    few = table["n_images"] < LEAST_IMAGES
    return Bounds(found.value, *(np.where(few, np.nan, each) for each in (found.low, found.high)))


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


def differ(one: float, other: float) -> bool:
    """Return whether a count is significantly larger than another one, by a sign test.

    Examples
    --------
    >>> differ(13, 4), differ(13, 8)
    (True, False)
    """
    return bool(one - other > _SIGN_TEST * np.sqrt(one + other))
