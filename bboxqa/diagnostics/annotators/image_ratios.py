"""Ratios of sums over images, with intervals from common draws."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.uncertainty.drawn_intervals import ratio_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import FloatArray, frozen_arrays


@frozen_arrays
class Ratios:
    """K ratios, NaN where undefined."""

    value: FloatArray
    """(K,) float64."""
    interval: FloatArray
    """(K, 2) float64."""
    numerator: FloatArray
    denominator: FloatArray
    """(K,) float64. The sums over all images."""
    p_value: FloatArray
    """(K,) float64. P-values of tests against the ratio of the null hypothesis; NaN with fewer than
    two images."""

    def part(self, of: slice) -> "Ratios":
        """Return some of the ratios."""
        return Ratios(
            self.value[of],
            self.interval[of],
            self.numerator[of],
            self.denominator[of],
            self.p_value[of],
        )


class RatioSums:
    """Numerators and denominators of K ratios in each of I images, added in parts."""

    def __init__(self, n_ratios: int, n_images: int) -> None:
        self._shape = n_ratios, n_images
        self._tables: list[Any] = []

    @property
    def tables(self) -> tuple[Any, Any]:
        """The numerators and denominators, (K, I) sparse arrays."""
        numerator, denominator = self._tables
        return numerator, denominator

    def add(
        self,
        row: NDArray[Any],
        image: NDArray[Any],
        numerator: NDArray[Any],
        denominator: NDArray[Any],
    ) -> None:
        """Add amounts to numerator and denominator of the ratio `row` in an image; all (E,)."""
        tables = [
            table_of(row.astype(np.int64), image, amount.astype(np.float64), self._shape)
            for amount in (numerator, denominator)
        ]
        before = self._tables
        self._tables = [a + b for a, b in zip(before, tables, strict=True)] if before else tables

    def ratios(self, bootstrap: int, seed: int, null: float = 0.0) -> Ratios:
        """Return the ratios, and the p-values of tests against `null`."""
        numerator, denominator = self.tables
        totals = [np.asarray(table.sum(1), np.float64).ravel() for table in self.tables]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(totals[1] > 0, totals[0] / totals[1], np.nan)
        return Ratios(
            value=value,
            interval=ratio_intervals(numerator, denominator, bootstrap, seed),
            numerator=totals[0],
            denominator=totals[1],
            p_value=_p_values(numerator, denominator, value, null),
        )


def _p_values(numerator: Any, denominator: Any, value: FloatArray, null: float) -> FloatArray:
    """Return the p-values of t-tests of ratios against `null`, (K,).

    The variance is that of a ratio of sums over clusters, by linearisation [1]_.

    References
    ----------
    .. [1] W. G. Cochran (1977), Sampling techniques, 3rd edition, Wiley, eq. 2.39 and 6.9.
    """
    from scipy.special import stdtr

    def products(one: Any, other: Any) -> FloatArray:
        return np.asarray((one * other).sum(1), np.float64).ravel()

    n_images = np.asarray((denominator != 0).sum(1), np.float64).ravel()
    squares = products(numerator, numerator)
    residual = squares - 2 * value * products(numerator, denominator)
    residual += value**2 * products(denominator, denominator)
    # Rounding leaves a residue where all images have the same ratio.
    residual[residual < 1e-12 * squares] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(residual * n_images / (n_images - 1))
        statistic = np.abs(value - null) * np.asarray(denominator.sum(1)).ravel() / scale
        found: FloatArray = 2 * stdtr(n_images - 1, -statistic)
    found[value == null] = 1.0
    found[(n_images < 2) | np.isnan(value)] = np.nan
    return found


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values adjusted for the number of tests by Holm's method [1]_; NaN are ignored.

    References
    ----------
    .. [1] S. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian
           Journal of Statistics 6(2), https://www.jstor.org/stable/4615733.

    Examples
    --------
    >>> holm(np.array([0.04, 0.01, np.nan, 0.03]))
    array([0.06, 0.03,  nan, 0.06])
    """
    result = np.full(len(p_values), np.nan)
    tests = np.flatnonzero(~np.isnan(p_values))
    order = tests[np.argsort(p_values[tests], kind="stable")]
    scaled = p_values[order] * np.arange(len(order), 0, -1)
    result[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    return result
