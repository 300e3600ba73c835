"""Who differs from the others significantly: tests of figures with their intervals."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.uncertainty.distributions import t_quantile
from bboxqa.agreement.uncertainty.drawn_intervals import n_nonzero
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.diagnostics.agreement_groups import independent
from bboxqa.diagnostics.categories import difficulty_sums
from bboxqa.diagnostics.object_cells import drawn_figures
from bboxqa.diagnostics.rates import RATES, rate_sums
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits

_LEVEL = 0.95
KINDS_OF_ERRORS = 8
"""The kinds of errors that annotators are named for; each is a chance of a false alarm."""
LEAST_IMAGES = 5
"""Fewest images of an annotator who may be named."""
LEAST_CONFUSED = 5
"""Fewest confused objects of two categories that are worth a sentence."""
LEAST_DRAWS = 200
"""Fewest draws that it takes to name somebody: intervals of fewer draws are too imprecise."""
LEAST_SHARE = 0.01
"""Smaller shares of objects are not worth a sentence."""
# Rates of which a lower value is worse.
_AGREEMENT = ("f1", "class_share", "mean_similarity")


class Measure(NamedTuple):
    """A figure with the bounds of its 95 % interval, NaN where there is none."""

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        """Return the figure with two digits, as a share ("%"), size ("px", "°") or number."""
        if spec == "%":
            return in_percent(self.value)
        # The direction of an offset is in words.
        size = two_digits(abs(self.value))
        return f"{self.value:z.2f}" if spec.isdigit() else f"{size}{spec}"


def two_digits(value: float) -> str:
    """Return a number with two digits, without decimals from 10 on."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:z.1f}" if value >= 0.05 else "0"


def in_percent(share: float) -> str:
    """Return a share in percent."""
    return f"{two_digits(100 * share)} %"


class Bounds(NamedTuple):
    """K figures with their 95 % intervals; NaN where there is none."""

    value: FloatArray
    low: FloatArray
    high: FloatArray

    def of_complement(self) -> "Bounds":
        """Return 1 − the figures."""
        return Bounds(1 - self.value, 1 - self.high, 1 - self.low)

    def at(self, place: int) -> Measure:
        """Return one figure with its interval."""
        return Measure(*(float(each[place]) for each in self))

    def take(self, rows: IndexArray) -> "Bounds":
        """Return some of the figures."""
        return Bounds(*(each[rows] for each in self))


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

    If annotators err alike, the chance that any of the K figures of any of `n_kinds` is named is
    5 % at most, by Bonferroni's correction: the distance to the lower bound is widened to that of a
    lower level of Student's t for the number of images. Figures of fewer than `LEAST_IMAGES` images
    are not judged, nor are figures that are equal in all draws if a sign test with `n_cases`, by
    default the images, could not be significant.

    `difference` is that from the median of the others, over the same draws; without it, the median
    counts as known.
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
    factor = _wider(level, tuple(np.asarray(n_images).tolist()))
    above = np.flatnonzero(known & (difference.value > factor * length))
    return above[np.argsort(-found.value[above], kind="stable")]


@lru_cache(maxsize=32)
def _wider(level: float, n_images: tuple[float, ...]) -> FloatArray:
    """Return the factor from the bound of a 95 % interval to that of a smaller level, (K,)."""
    freedom = np.maximum(n_images, 2) - 1.0
    return t_quantile(freedom, 1 - level) / t_quantile(freedom, (1 + _LEVEL) / 2)


def median_of_others(values: FloatArray) -> FloatArray:
    """Return the median of all other known values of a column, (K, B) both."""
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
    """
    ends = np.where(np.isnan(found.high), found.value, found.high)
    others = np.delete(ends, place)
    others = others[~np.isnan(others)]
    return bool(found.low[place] > others.max(initial=-np.inf))


def judged(table: Table, found: Bounds) -> Bounds:
    """Return figures, with the intervals of annotators with few images set to NaN."""
    few = table["n_images"] < LEAST_IMAGES
    return Bounds(found.value, *(np.where(few, np.nan, each) for each in (found.low, found.high)))


def share_bounds(share: FloatArray, n: FloatArray) -> Bounds:
    """Return shares of `n` cases with Wilson's 95 % intervals [1]_.

    References
    ----------
    .. [1] E. B. Wilson (1927), Probable inference, the law of succession, and statistical
           inference, Journal of the American Statistical Association 22(158),
           doi:10.1080/01621459.1927.10502953.
    """
    z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return Bounds(share, middle - half, middle + half)


def confuser(
    cells: Table, are_unequal: BoolArray, annotators: Table, column: str = "n"
) -> list[str]:
    """Return who of three or more confuse two categories significantly more, if anybody.

    These are the one with most confusions and others with at least half as many, if their shares
    are significantly above the others', and if they have enough images to be named. `cells` has a
    row per annotator and pair of categories: the annotator's, that of the others, and in a `column`
    the objects with both; `are_unequal` are rows with two categories.
    """
    names, place = np.unique(cells["annotator"].astype(str), return_inverse=True)
    if len(names) < 3:
        return []
    counts = cells[column], cells[column] * are_unequal
    n, n_confused = (np.bincount(place, each).astype(np.float64) for each in counts)
    found = above_others(share_bounds(n_confused / n, n), n)
    in_images = dict(zip(annotators["annotator"], annotators["n_images"], strict=True))
    has_enough = np.array([in_images[name] >= LEAST_IMAGES for name in names.tolist()])
    found = found[has_enough[found]]
    if int(n_confused.argmax()) not in found:
        return []
    many = found[n_confused[found] >= n_confused.max() / 2]
    found_names: list[str] = names[many[np.argsort(-n_confused[many], kind="stable")]].tolist()
    return found_names


def differences(matched: MatchedUnits) -> Mapping[str, Bounds]:
    """Return by how much each annotator is worse than the median of the others, for each rate.

    Images that are hard for all do not widen the intervals, as both sides share the draws. The keys
    are `RATES`.
    """
    sign = np.array([-1.0 if rate in _AGREEMENT else 1.0 for rate in RATES])
    tables = rate_sums(independent(matched)).tables
    found = _from_median(matched, tables, sign).reshape(len(RATES), -1, 3)
    return {rate: Bounds(*found[place].T) for place, rate in enumerate(RATES)}


def category_differences(matched: MatchedUnits, places: IndexArray) -> Bounds:
    """Return by how much less each category is found than the median of the others.

    `places` are the indices of the compared categories among all that were drawn, (K,).
    """
    tables = [table[places] for table in difficulty_sums(matched).tables]
    return Bounds(*_from_median(matched, tables, np.array([-1.0])).T)


def _from_median(matched: MatchedUnits, tables: Sequence[Any], sign: FloatArray) -> FloatArray:
    """Return (G · K, 3): ratios less the median of the others of their group, with intervals.

    The rows of both tables are G groups of K ratios; `sign` is -1 for groups where more is better.
    """

    def evaluate(above: FloatArray, below: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(below > 0, above / below, np.nan)
        groups = rates.reshape(len(sign), -1, rates.shape[-1])
        others = np.stack([median_of_others(each) for each in groups])
        return (sign[:, None, None] * (groups - others)).reshape(rates.shape)

    return np.column_stack(drawn_figures(matched, tables, evaluate, n_nonzero(tables[1])))
