"""Shared parts of the sentences: figures in words, and tests of who differs from the others."""

from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.diagnostics.disagreement.kinds import Kind
from bboxqa.model.diagnosis import Line
from bboxqa.model.table import Table

_NORMAL = NormalDist()
_LEVEL = 0.95
# Standard errors that two counts must differ by.
_SIGN_TEST = 1.96


KINDS_OF_ERRORS = 8
"""The kinds of errors that annotators are named for; each is a chance of a false alarm."""
LEAST_CONFUSED = 5
"""Fewest confused objects of two categories that are worth a sentence."""
LEAST_DRAWS = 200
"""Fewest draws that it takes to name somebody: intervals of fewer draws are too imprecise."""
LEAST_IMAGES = 5
"""Fewest images of an annotator who may be named."""
LEAST_SHARE = 0.01
"""Smaller shares of objects are not worth a sentence."""
MOST_NAMED = 3
"""The most annotators named for one kind of error; others are counted."""


MORE = "the tables of --diagnose"
"""Where the findings are that a story has no room for."""


class Sentence(NamedTuple):
    """A sentence about annotators or categories; its weight is about the share of objects."""

    weight: float
    text: str
    kind: Kind | None = None
    """The kind of disagreement that the sentence explains, if it does."""
    who: str = ""
    """The one annotator whose disagreement the sentence explains, if it is just one."""
    n_confused: int = 0
    """The objects of a confusion of two categories."""
    annotators: tuple[str, ...] = ()
    """The annotators that it is about; see `Line`."""
    see: str = ""
    """The words that say where more is; see `Line`."""

    @property
    def line(self) -> Line:
        """The sentence as a line of a story."""
        return Line(self.text, self.annotators, self.see)


class Worst(NamedTuple):
    """The annotator who matches the others least."""

    who: str
    text: str
    without: str
    """What alpha would be without this annotator, as the end of a sentence; "" if no higher."""


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
    from scipy.special import stdtrit

    freedom = np.maximum(n_images, 2) - 1.0
    factor: FloatArray = stdtrit(freedom, 1 - level) / stdtrit(freedom, (1 + _LEVEL) / 2)
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


def most_named(
    places: Sequence[int], table: str, weight: FloatArray | None = None
) -> Iterator[tuple[int, str, str]]:
    """Yield the first few annotators, the last with the number of further ones, and their table.

    With the weights of their sentences, they are in the order of these, so that the number stands
    at the end.

    Examples
    --------
    >>> list(most_named([4, 2, 7, 1, 3], "offsets"))
    [(4, '', ''), (2, '', ''), (7, '; 2 more stand out: offsets.csv', 'offsets.csv')]
    >>> list(most_named([0, 1], "offsets", np.array([0.1, 0.2])))
    [(1, '', ''), (0, '', '')]
    """
    more = len(places) - MOST_NAMED
    shown = [*places[:MOST_NAMED]]
    if weight is not None:
        shown.sort(key=lambda place: -weight[place])
    for rank, place in enumerate(shown):
        is_last = more > 0 and rank == MOST_NAMED - 1
        stand = "stands" if more == 1 else "stand"
        see = f"{table}.csv" if is_last else ""
        yield place, f"; {more} more {stand} out: {see}" if is_last else "", see


def between_others(pairs: Table, name: str, column: str, shown: Callable[[float], str]) -> str:
    """Return the median figure of pairs without an annotator, in words; "" if it is unknown.

    An annotator who errs lowers the mean agreement of the others, but not that with each other.
    """
    others = (pairs["annotator_1"] != name) & (pairs["annotator_2"] != name)
    return of_others_in_words(pairs[column][others], shown)


def of_others_in_words(figures: FloatArray, shown: Callable[[float], str]) -> str:
    """Return the median of the figures of pairs of others, in words; "" if none is known.

    Examples
    --------
    >>> of_others_in_words(np.array([0.8, 0.9, np.nan]), "{:.2f}".format)
    '; the others with each other: 0.85 (median)'
    """
    figures = figures[~np.isnan(figures)]
    if not len(figures):
        return ""
    figure = shown(float(np.median(figures)))
    if len(figures) == 1:
        return f"; the other two with each other: {figure}"
    return f"; the others with each other: {figure} (median)"


def _in_percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def others_in_words(found: Bounds, place: int, shown: Callable[[float], str] = _in_percent) -> str:
    """Return the figure of the others in words, by default in percent: the median of several.

    Examples
    --------
    >>> rates = np.array([0.1, 0.0, 0.04, 0.2])
    >>> others_in_words(Bounds(rates, rates, rates), 0)
    '; the others: 4.0 % (median)'
    >>> others_in_words(Bounds(rates[:2], rates[:2], rates[:2]), 0)
    '; the other one: 0.0 %'
    """
    others = np.delete(found.value, place)
    figure = shown(float(np.nanmedian(others)))
    if len(others) == 1:
        return f"; the other one: {figure}"
    alike = len({shown(each) for each in others[~np.isnan(others)].tolist()}) == 1
    return f"; {'all ' if alike else ''}the others: {figure}{'' if alike else ' (median)'}"


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


def differ(one: float, other: float) -> bool:
    """Return whether a count is significantly larger than another one, by a sign test.

    Examples
    --------
    >>> differ(13, 4), differ(13, 8)
    (True, False)
    """
    return bool(one - other > _SIGN_TEST * np.sqrt(one + other))


def confuser(cells: Table, are_unequal: BoolArray, n_others: int = 1) -> str:
    """Return who of three or more confuse two categories significantly more; "" if nobody.

    These are the one with most confusions and others with at least half as many, if their shares
    are significantly above the others'.

    Parameters
    ----------
    cells : Table
        A row per annotator and pair of categories: the annotator's, that of the `n_others` others,
        and how often they occur together.
    are_unequal : (C,) bool
        Rows with two different categories.
    """
    names, place = np.unique(cells["annotator"].astype(str), return_inverse=True)
    if len(names) < 3:
        return ""
    n = np.bincount(place, cells["n"]) / n_others
    n_confused = np.bincount(place, cells["n"] * are_unequal) / n_others
    found = above_others(share_bounds(n_confused / n, n), n)
    if int(n_confused.argmax()) not in found:
        return ""
    many = found[n_confused[found] >= n_confused.max() / 2]
    return joined(names[many[np.argsort(-n_confused[many], kind="stable")]].tolist())
