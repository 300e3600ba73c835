"""Sentences about where annotators place boxes: offsets, sizes, and how precisely."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.text import joined
from bboxqa.diagnostics.review import in_words
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences.sentence import (
    LEAST_SHARE,
    Sentence,
    between_others,
    most_named,
)
from bboxqa.pipelines.diagnosis.sentences.significance import Bounds, above_others, bounds, judged

# Smaller offsets in px are not worth a sentence.
_LEAST_OFFSET = 0.5
# A smaller difference of the mean IoU is not worth a sentence.
_LEAST_DIFFERENCE = 0.03
# Two edges count as moved alike if their offsets differ by less than this factor.
_ALIKE = 0.5


class _Axis(NamedTuple):
    """The two edges of boxes along one axis, and the words for them."""

    edges: tuple[int, int]
    names: tuple[str, str]
    directions: tuple[str, str]
    sizes: tuple[str, str]
    side: str


_AXES = (
    _Axis((0, 2), ("left", "right"), ("left", "right"), ("narrower", "wider"), "width"),
    _Axis((1, 3), ("top", "bottom"), ("up", "down"), ("shorter", "taller"), "height"),
)


class _Offsets(NamedTuple):
    """Offsets of A annotators, edge by edge."""

    px: FloatArray
    """(3, A, 4): values, lower and upper bounds."""
    percent: FloatArray
    """(A, 4)."""
    systematic: BoolArray
    """(A, 4)."""


def offset_sentences(
    table: Table, annotators: Table, reference: str | None = None
) -> Iterator[Sentence]:
    """Yield who displaces boxes, or draws them larger or smaller, significantly more than others.

    Offsets are measured from the others, or from the reference of this name.
    """
    names, share = annotators["annotator"], annotators["n"] / max(int(annotators["n"].sum()), 1)
    found = _offsets(table, len(names))
    of_reference = reference is not None
    moved = _displaced(annotators, found, of_reference=of_reference)
    two = len(names) == 2 and not of_reference
    # The offset of one of two annotators is that of the other in the opposite direction.
    places = [0] if two and 0 in moved else list(moved)
    others = "the others" if reference is None else reference
    file = "reference_offsets" if of_reference else "offsets"
    largest = np.abs(found.percent).max(1) / 100
    places.sort(key=lambda place: -largest[place])
    for place, more, see in most_named(places, file, largest * share):
        name = names[place]
        than = names[1 - place] if two else others
        words = joined([_moved(found, place, axis) for axis in moved[place]])
        text = f"{name} draws boxes {words} than {than}{more}"
        weight, who = largest[place] * share[place], "" if more else name
        yield Sentence(weight, text, who=who, annotators=(name,), see=see)


def _displaced(
    annotators: Table, found: _Offsets, *, of_reference: bool = False
) -> dict[int, list[_Axis]]:
    """Return the axes along which each annotator significantly moves or resizes boxes."""
    result: dict[int, list[_Axis]] = {}
    for axis in _AXES:
        edges = list(axis.edges)
        for place in _misplaced(annotators, found, axis, of_reference=of_reference):
            size = np.abs(found.percent[place, edges]).max()
            if size >= 100 * LEAST_SHARE and found.systematic[place, edges].any():
                result.setdefault(place, []).append(axis)
    return result


def _offsets(table: Table, n_annotators: int) -> _Offsets:
    shape = n_annotators, 4
    return _Offsets(
        np.stack(bounds(table, "offset_px")).reshape(3, *shape),
        table["offset_percent"].reshape(shape),
        table["systematic"].reshape(shape),
    )


def _misplaced(annotators: Table, found: _Offsets, axis: _Axis, *, of_reference: bool) -> list[int]:
    """Return who significantly moves, narrows or widens boxes; of two annotators, the first."""
    low, high = axis.edges
    value, lower, upper = found.px
    # Intervals of sums and differences of edges from the edges' bounds are wide enough.
    shift = Bounds(*((each[:, low] + each[:, high]) / 2 for each in (value, lower, upper)))
    size = Bounds(
        value[:, high] - value[:, low],
        lower[:, high] - upper[:, low],
        upper[:, high] - lower[:, low],
    )
    places: list[int] = []
    for figures in (shift, size):
        named = significant_offsets(annotators, figures, _LEAST_OFFSET, of_reference=of_reference)
        places += [place for place in named if place not in places]
    return places


def significant_offsets(
    annotators: Table, found: Bounds, least: float, *, of_reference: bool = False
) -> list[int]:
    """Return whose figure differs from 0 by `least` or more, significantly more than the others'.

    Of two annotators it is the first, as the other's offset is the opposite. Against a reference,
    it is each of one or two annotators whose interval excludes 0.
    """
    found = judged(annotators, found)
    sign = np.sign(found.value)
    ends = np.stack([sign * found.low, sign * found.high])
    size = Bounds(np.abs(found.value), ends.min(0), ends.max(0))
    if of_reference and len(size.value) <= 2:
        return np.flatnonzero(size.low >= least).tolist()
    if len(size.value) == 2:
        return [0] if size.low[0] >= least else []
    return [
        place
        for place in above_others(size, annotators["n_images"]).tolist()
        if size.low[place] >= least
    ]


def _moved(found: _Offsets, place: int, axis: _Axis) -> str:
    """Return the moves of the two edges of an axis in words."""
    px = found.px[:, place, list(axis.edges)]
    percent = np.abs(found.percent[place, list(axis.edges)])
    low, high = px[0]
    sure = (np.sign(px[1]) == np.sign(px[2])) & (np.abs(px[0]) >= _LEAST_OFFSET)
    sides = f"% of the mean {axis.side}"
    alike = low * high > 0 and min(abs(low), abs(high)) >= _ALIKE * max(abs(low), abs(high))
    if alike:
        word = f"further {axis.directions[int(low > 0)]}"
        return f"{_length(px.mean(1))} {word} ({percent.mean():.1f} {sides})"
    size = axis.sizes[int(high > low)]
    if low * high < 0 and sure.all():
        change = np.array([high - low, px[1, 1] - px[2, 0], px[2, 1] - px[1, 0]])
        return f"{_length(change)} {size} ({percent.sum():.1f} {sides})"
    edge = int(abs(high) > abs(low))
    word = axis.directions[int(px[0, edge] > 0)]
    to = word if axis.side == "height" else f"to the {word}"
    moved = f"{axis.names[edge]} edge {_length(px[:, edge])} {to}"
    return f"{size} ({moved}, {percent[edge]:.1f} {sides})"


def _length(figures: Sequence[float] | FloatArray) -> str:
    return size_in_words(figures, " px")


def size_in_words(figures: Sequence[float] | FloatArray, unit: str) -> str:
    """Return the size of an offset with its interval.

    Examples
    --------
    >>> size_in_words((-3, -4.2, -2.1), " px"), size_in_words((0.4, -0.04, 1), " px")
    ('3.0 px [2.1, 4.2]', '0.4 px [0.0, 1.0]')
    """
    value, low, high = figures
    # The direction is in words, so that the figure and its interval are positive.
    low, high = (low, high) if value >= 0 else (-high, -low)
    return f"{abs(value):.1f}{unit} [{low:z.1f}, {high:z.1f}]"


FURTHER_OFF = "is off in one direction by as much and significantly more than those of the others"
"""What no edge or other measure is, if no offset that is told explains the dissimilarity."""


class Explained(NamedTuple):
    """The share of dissimilarity that systematic offsets explain, and the words for it."""

    lost: FloatArray
    """(A,). How much the reported offsets lower the similarity of each annotator."""
    places: str
    what: str
    nothing: str


def edges_explain(tables: Mapping[str, Table], compared: str) -> Explained:
    """Return how much of the dissimilarity the reported offsets of edges explain.

    Moving an edge by a share of the side lowers the IoU by about that share.
    """
    table = tables["annotators"]
    offsets = _offsets(tables["offsets"], len(table))
    reported = np.isin(np.arange(len(table)), list(_displaced(table, offsets)))
    lost = np.where(reported, np.abs(offsets.percent).sum(1) / 100, 0)
    drawn = in_words(compared)
    edge = "no edge" if drawn == "boxes" else "no edge of their boxes"
    return Explained(lost, drawn, f"overlap with matched {drawn}", f"{edge} {FURTHER_OFF}")


def precision_sentences(
    tables: Mapping[str, Table],
    differences: Mapping[str, Bounds],
    pairs: Table,
    explained: Explained,
) -> Iterator[Sentence]:
    """Yield whose annotations are significantly less similar, if no offset explains it."""
    table = tables["annotators"]
    names, share = table["annotator"], table["n"] / max(int(table["n"].sum()), 1)
    found, difference = bounds(table, "mean_similarity"), differences["mean_similarity"]
    places = above_others(found.of_complement(), table["n_images"], difference)
    is_large = difference.value >= _LEAST_DIFFERENCE
    large = is_large & (explained.lost < difference.value / 2)
    weight = difference.value * share
    for place, more, see in most_named(places[large[places]].tolist(), "annotators", weight):
        name = names[place]
        text = (
            f"{name} places {explained.places} less precisely: their mean {explained.what} "
            f"of the others is {found.value[place]:.2f} [{found.low[place]:.2f}, "
            f"{found.high[place]:.2f}]"
        )
        text += between_others(pairs, name, "mean_iou", "{:.2f}".format)
        text += f"; {explained.nothing}{more}"
        who = "" if more else name
        yield Sentence(weight[place], text, who=who, annotators=(name,), see=see)
