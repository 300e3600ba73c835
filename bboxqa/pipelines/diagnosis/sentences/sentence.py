"""Shared parts of the sentences: figures in words, and who and what a sentence names."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.text import joined
from bboxqa.diagnostics.decomposition import Kind
from bboxqa.model.diagnosis import Line
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences.significance import (
    LEAST_IMAGES,
    Bounds,
    above_others,
    share_bounds,
)

LEAST_CONFUSED = 5
"""Fewest confused objects of two categories that are worth a sentence."""
LEAST_DRAWS = 200
"""Fewest draws that it takes to name somebody: intervals of fewer draws are too imprecise."""
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


def confuser(cells: Table, are_unequal: BoolArray, annotators: Table, n_others: int = 1) -> str:
    """Return who of three or more confuse two categories significantly more; "" if nobody.

    These are the one with most confusions and others with at least half as many, if their shares
    are significantly above the others', and if they have enough images to be named.

    Parameters
    ----------
    cells : Table
        A row per annotator and pair of categories: the annotator's, that of the `n_others` others,
        and how often they occur together.
    are_unequal : (C,) bool
        Rows with two different categories.
    annotators : Table
        The number of images of each annotator.
    """
    names, place = np.unique(cells["annotator"].astype(str), return_inverse=True)
    if len(names) < 3:
        return ""
    n = np.bincount(place, cells["n"]) / n_others
    n_confused = np.bincount(place, cells["n"] * are_unequal) / n_others
    found = above_others(share_bounds(n_confused / n, n), n)
    in_images = dict(zip(annotators["annotator"], annotators["n_images"], strict=True))
    has_enough = np.array([in_images[name] >= LEAST_IMAGES for name in names.tolist()])
    found = found[has_enough[found]]
    if int(n_confused.argmax()) not in found:
        return ""
    many = found[n_confused[found] >= n_confused.max() / 2]
    return joined(names[many[np.argsort(-n_confused[many], kind="stable")]].tolist())
