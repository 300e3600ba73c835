"""How far the edges and rotations of annotators are off, systematically."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.distributions import t_quantile, t_tail
from bboxqa.agreement.uncertainty.drawn_intervals import centred_intervals, drawn_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    compact,
    frozen_arrays,
    pairs_within,
    run_starts,
    sum_by,
)
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.agreement_groups import independent
from bboxqa.diagnostics.object_cells import (
    drawn_edges,
    edges_of,
    holm,
    object_cells,
    pairs_of_units,
)
from bboxqa.diagnostics.parts import parts
from bboxqa.model.annotations import EDGES, Dataset
from bboxqa.model.shapes.rotated_boxes import ROUNDED_PX, beyond_rounding
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits

# Ordered pairs of annotators that are resampled at a time, to limit memory.
_AT_ONCE = 1 << 13


@frozen_arrays
class BoxDifferences:
    """Differences of K measures between two annotators' boxes of E shared objects."""

    annotator: IndexArray
    """(M,) int64. The first annotator of each ordered pair, sorted. Two annotators who share
    objects form two ordered pairs."""
    pair: IndexArray
    image: IndexArray
    """(E,) int64. The ordered pair and the image of each object; the second half repeats the first
    with the annotators exchanged."""
    differences: FloatArray
    """(E, K) float64."""
    others: FloatArray
    """(E, S) float64. Sizes of the other's box, such as width and height."""
    size_of: IndexArray
    """(K,) int64. The index of the size by which each measure is divided."""
    n_shared: IndexArray
    """(A,) int64. How many objects each annotator shares with others."""


def edge_differences(matched: MatchedUnits) -> BoxDifferences:
    """Return the differences of each pair of annotators, also of boxes too far apart to match.

    Boxes that show parts of objects, or several objects, are left out.
    """
    bbox = matched.data.annotations.bbox
    edges = edges_of(bbox)
    left, right = shared_boxes(matched)
    difference = edges[left] - edges[right]
    return box_differences(
        matched, left, right, difference, (bbox[left, 2:], bbox[right, 2:]), np.array([0, 1, 0, 1])
    )


def shared_boxes(matched: MatchedUnits) -> tuple[IndexArray, IndexArray]:
    """Return the pairs of annotations of one object by two annotators, without odd boxes."""
    cells = object_cells(matched)
    odd_boxes = np.append(parts(matched).odd_boxes, True)
    drawn = np.flatnonzero(~odd_boxes[cells.annotation])
    left, right = (drawn[side] for side in pairs_within(cells.object[drawn]))
    return cells.annotation[left], cells.annotation[right]


def box_differences(
    matched: MatchedUnits,
    left: IndexArray,
    right: IndexArray,
    difference: FloatArray,
    sizes: tuple[FloatArray, FloatArray],
    size_of: IndexArray,
    *,
    sign: int = -1,
) -> BoxDifferences:
    """Return the differences of pairs of annotations and, negated, of the reversed pairs."""
    of, n_annotators = matched.data.annotations, len(matched.data.annotator_names)
    own, other = np.concatenate([left, right]), np.concatenate([right, left])
    key = of.annotator[own].astype(np.int64) * n_annotators + of.annotator[other]
    keys, pair = compact(key, n_annotators**2)
    shared = np.zeros(len(of), np.bool_)
    shared[own] = True
    return BoxDifferences(
        annotator=keys // n_annotators,
        pair=pair,
        image=of.image[own].astype(np.int64),
        differences=np.concatenate([difference, sign * difference]),
        others=np.concatenate([sizes[1], sizes[0]]),
        size_of=size_of,
        n_shared=np.bincount(of.annotator[shared], minlength=n_annotators),
    )


@frozen_arrays
class PairGroup:
    """The P ordered pairs of G annotators with all others."""

    annotator: IndexArray
    start: IndexArray
    stop: IndexArray
    """(G,) int64. The annotators, and where the pairs of each begin and end."""
    differences: Any
    sizes: Any
    counts: Any
    """(K P, I), (S P, I) and (P, I) arrays or sparse arrays. The sums in each image of differences,
    of sizes of the others' boxes, and of objects."""

    @property
    def each(self) -> Iterator[tuple[int, slice]]:
        """Yield the index of each annotator, and the slice of the pairs."""
        yield from enumerate(map(slice, self.start.tolist(), self.stop.tolist()))


def pair_groups(found: BoxDifferences, n_images: int) -> Iterator[PairGroup]:
    """Yield the sums of a group of annotators at a time."""
    annotators, n_pairs = np.unique(found.annotator, return_counts=True)
    stop = np.cumsum(n_pairs)
    start = stop - n_pairs
    group = start // _AT_ONCE
    ends = np.searchsorted(group, np.unique(group)).tolist()
    for first, last in pairwise([*ends, len(annotators)]):
        low, high = int(start[first]), int(stop[last - 1])
        inside = np.flatnonzero((found.pair >= low) & (found.pair < high))
        of = found.pair[inside] - low, found.image[inside], (high - low, n_images)
        yield PairGroup(
            annotator=annotators[first:last],
            start=start[first:last] - low,
            stop=stop[first:last] - low,
            differences=_table(*of, found.differences[inside]),
            sizes=_table(*of, found.others[inside]),
            counts=_table(*of, np.ones((len(inside), 1))),
        )


def _table(pair: IndexArray, image: IndexArray, shape: tuple[int, int], amounts: FloatArray) -> Any:
    """Return the sums of (E, N) amounts by pair and image, stacked to N blocks of rows."""
    n_amounts = amounts.shape[1]
    row = pair + np.arange(n_amounts)[:, None] * shape[0]
    shape = n_amounts * shape[0], shape[1]
    return table_of(row.ravel(), np.tile(image, n_amounts), amounts.T.ravel(), shape)


def of_others(
    found: BoxDifferences, statistic: Callable[[FloatArray], FloatArray], sign: int
) -> FloatArray:
    """Return the statistic of differences as confirmed by the others, (A, K); NaN without others.

    The statistic reduces the second axis, (P, n, K) → (P, K). `sign` is its factor if the two
    annotators of a pair are exchanged.
    """
    n_annotators, n_measures = len(found.n_shared), found.differences.shape[1]
    half = len(found.pair) // 2
    # The second half repeats the pairs of the first in the other direction.
    pair, mirrored = found.pair[:half], found.pair[half:]
    order = np.argsort(pair, kind="stable")
    of_pairs = np.empty((len(found.annotator), n_measures))
    starts = run_starts(pair[order])
    n_rows = np.diff(starts, append=half)
    # Pairs with equal numbers of objects are computed together: many annotators are many pairs.
    for number in np.unique(n_rows).tolist():
        rows = order[starts[n_rows == number][:, None] + np.arange(number)]
        value = statistic(found.differences[rows])
        of_pairs[pair[rows[:, 0]]] = value
        of_pairs[mirrored[rows[:, 0]]] = sign * value
    counts = np.bincount(found.pair, minlength=len(of_pairs)).astype(np.float64)[:, None]
    result = np.full((n_annotators, n_measures), np.nan)
    starts = run_starts(found.annotator)
    for start, stop in pairwise([*starts.tolist(), len(of_pairs)]):
        weights = np.broadcast_to(counts[start:stop], of_pairs[start:stop].shape)
        result[found.annotator[start]] = confirmed(of_pairs[start:stop], weights)
    return result


def confirmed(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the value nearest to 0 that 60 % of the weight confirm, per column, (M, B) → (B,).

    With three equal weights this is the median; with two the value nearer to 0, or 0 if their signs
    differ. NaN without weight.
    """
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    reached = np.cumsum(np.take_along_axis(_capped(weights), order, axis=0), axis=0)
    total = reached[-1]
    last = len(values) - 1
    low, high = (
        np.take_along_axis(ordered, np.minimum(below.sum(0), last)[None], axis=0)[0]
        for below in (5 * reached <= 2 * total, 5 * reached < 3 * total)
    )
    return np.where(total > 0, np.clip(0, low, high), np.nan)


def _capped(weights: FloatArray) -> FloatArray:
    """Return weights capped at the second largest of each column."""
    if len(weights) < 2:
        return weights
    second = np.partition(weights, -2, axis=0)[-2]
    return np.minimum(weights, np.where(second > 0, second, np.inf))


ALARM = 0.05
"""An offset is systematic if the chance of a false alarm in the whole table is below this."""

MOST_DRAWN = 20_000
"""With more pairs of annotators who share objects, counted both ways, offsets have no intervals:
each pair takes as long as a small data set."""


def offsets(matched: MatchedUnits) -> Table:
    """Return the offsets of the edges of each annotator's boxes from those of most others.

    A row for each annotator and edge of the box; positive is to the right, or down. The difference
    from each other annotator is the mean over the objects that both drew, also of boxes that are
    too far apart to match. The offset is the value that others with 60 % of the weight confirm: the
    median difference of three others, the one nearer to 0 of two, and 0 if these contradict each
    other. One displaced annotator thus does not displace the others. The weights are the numbers of
    shared objects, capped at the second largest.

    Columns: annotator; edge; n, the number of objects that others drew as well, and n_others, the
    number of these others; offset_px with its 95 % interval over images; median_px, the same from
    medians over objects instead of means; offset_percent, in percent of the mean width of the
    others' boxes (height for top and bottom), with its interval; p_value of a t-test against 0 with
    the standard error that the interval implies, NaN without interval; and systematic, whether it
    is significant after Holm's correction for all rows, and above 0.01 px or 0.1 %: rounding may
    move all edges by less.
    Beyond `MOST_DRAWN` there are no intervals.
    """
    matched = independent(matched)
    found = edge_differences(matched)
    figures, in_images = offset_figures(found, matched)
    px, percent = figures
    p_value = p_values(px[0], px[1], px[2], np.repeat(in_images, len(EDGES)))
    return Table(
        {
            **row_columns(found, matched, "edge", EDGES),
            **with_bounds("offset_px", px),
            "median_px": of_others(found, medians, -1).ravel(),
            **with_bounds("offset_percent", percent),
            "p_value": p_value,
            "systematic": (holm(p_value) < ALARM) & beyond_rounding(px[0], percent[0]),
        }
    )


def n_sharing(tables: Mapping[str, Table]) -> int:
    """Return how many pairs of annotators share objects, counted both ways; 0 without offsets."""
    table = tables.get("offsets")
    if table is None:
        return 0
    return int(table["n_others"][:: len(EDGES)].sum())


def row_columns(
    found: BoxDifferences, matched: MatchedUnits, title: str, measures: Sequence[str]
) -> dict[str, Column]:
    """Return the columns that identify each row, and the numbers of objects and annotators."""
    names = matched.data.annotator_names
    n_annotators, n_measures = len(names), len(measures)
    annotator = np.repeat(np.arange(n_annotators), n_measures).astype(np.int32)
    measure = np.tile(np.arange(n_measures), n_annotators).astype(np.int32)
    n_others = np.bincount(found.annotator, minlength=n_annotators)
    return {
        "annotator": Categorical(annotator, names),
        title: Categorical(measure, tuple(measures)),
        "n": np.repeat(found.n_shared, n_measures),
        "n_others": np.repeat(n_others, n_measures),
    }


def with_bounds(name: str, figures: FloatArray) -> dict[str, Column]:
    """Return the columns of a figure, (3, R): the value and its bounds."""
    return {f"{name}{end}": row for end, row in zip(("", "_low", "_high"), figures, strict=True)}


def medians(differences: FloatArray) -> FloatArray:
    """Return the medians of differences of pairs, (P, n, K) → (P, K)."""
    found: FloatArray = np.median(differences, axis=1)
    return found


def offset_figures(found: BoxDifferences, matched: MatchedUnits) -> tuple[FloatArray, IndexArray]:
    """Return offsets with their bounds, in px and in percent of a size, (2, 3, A K).

    Also return the number of images in which each annotator has differences, (A,).
    """
    n_annotators, n_images = len(found.n_shared), len(matched.data.image_names)
    own_images, _ = compact(
        found.annotator[found.pair] * n_images + found.image, n_annotators * n_images
    )
    in_images = np.bincount(own_images // max(n_images, 1), minlength=n_annotators)
    figures = np.full((2, 3, n_annotators, len(found.size_of)), np.nan)
    if len(found.annotator) > MOST_DRAWN:
        matched = replace(matched, bootstrap=0)
    for group in pair_groups(found, n_images):
        amounts = (
            np.asarray(table.sum(1), np.float64).reshape(-1, 1)
            for table in (group.differences, group.sizes, group.counts)
        )
        offset = _offsets(group, found.size_of, *amounts)[..., 0]
        of_group = in_images[group.annotator]
        figures[:, 0, group.annotator] = offset
        figures[:, 1:, group.annotator] = _intervals(
            group, found.size_of, offset, of_group, matched
        )
    return figures.reshape(2, 3, -1), in_images


def _offsets(
    group: PairGroup,
    size_of: IndexArray,
    sums: FloatArray,
    size_sums: FloatArray,
    counts: FloatArray,
) -> FloatArray:
    """Return offsets in px and in percent, (2, G, K, B), of sums of B columns."""
    n_pairs, n_columns = counts.shape
    differences = ratio(sums.reshape(-1, n_pairs, n_columns), counts)
    sizes = size_sums.reshape(-1, n_pairs, n_columns)
    found = np.empty((2, len(group.annotator), len(size_of), n_columns))
    for place, own in group.each:
        size = ratio(sizes[:, own].sum(1), counts[own].sum(0))
        # All measures side by side, as columns.
        of_pairs = np.moveaxis(differences[:, own], 0, 1).reshape(len(counts[own]), -1)
        weights = np.tile(counts[own], (1, len(size_of)))
        found[0, place] = confirmed(of_pairs, weights).reshape(len(size_of), n_columns)
        found[1, place] = 100 * found[0, place] / size[size_of]
    return found


def _intervals(
    group: PairGroup,
    size_of: IndexArray,
    offset: FloatArray,
    in_images: IndexArray,
    matched: MatchedUnits,
) -> FloatArray:
    """Return the bounds of offsets over images, (2, 2, G, K): low and high of both."""
    tables = group.differences, group.sizes, group.counts

    def evaluate(*sums: FloatArray) -> FloatArray:
        return _offsets(group, size_of, *sums).reshape(offset.size, -1)

    made_of = np.tile(np.repeat(in_images, len(size_of)), 2)
    drawn = drawn_intervals(
        offset.ravel(), tables, evaluate, matched.bootstrap, matched.seed, n_images=made_of
    )
    bounds = centred_intervals(offset.ravel(), drawn)
    return np.moveaxis(bounds.reshape(*offset.shape, 2), 3, 1)


def p_values(
    value: FloatArray, low: FloatArray, high: FloatArray, n_images: IndexArray
) -> FloatArray:
    """Return the p-values of t-tests over images against 0, with errors from 95 % intervals."""
    freedom = n_images - 1.0
    error = (high - low) / (2 * t_quantile(freedom, 0.975))
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = 2 * t_tail(freedom, value / error)
    found[value == 0] = 1.0
    found[np.isnan(error)] = np.nan
    return found


# Fewer pairs, or a lower share of them, may differ alike by chance.
_LEAST, _LEAST_SHARE = 20, 0.95
# Programs differ by half a pixel or a whole one: larger differences of single boxes are drawn.
_LARGEST, _STEP = 1.5, 0.5


class PixelBase(NamedTuple):
    """Two annotators whose boxes differ by a constant, in nearly all of their matched pairs."""

    first: int
    second: int
    shift: FloatArray
    """(4,) float64. First minus second, in pixels; edges are left, top, right and bottom."""
    n_alike: int
    n: int
    """The pairs that differ by `shift`, to 0.01 px, and all."""


def pixel_bases(matched: MatchedUnits) -> list[PixelBase]:
    """Return pairs of annotators whose boxes differ by half a pixel or a whole one throughout.

    Independent annotators differ by other amounts in each box. A constant in 95 % of 20 pairs or
    more comes from programs: one counts pixels from 0 and the other from 1, or one rounds.
    """
    of, pairs = matched.data.annotations, pairs_of_units(matched)
    n_annotators = max(len(matched.data.annotator_names), 1)
    key = of.annotator[pairs.left].astype(np.int64) * n_annotators + of.annotator[pairs.right]
    keys, row = np.unique(key, return_inverse=True)
    edges = drawn_edges(matched)
    apart = edges[pairs.left] - edges[pairs.right]
    small = np.flatnonzero((np.abs(apart) <= _LARGEST).all(1))
    n_small = np.maximum(np.bincount(row[small], minlength=len(keys)), 1)
    mean = np.stack([sum_by(row[small], edge[small], len(keys)) / n_small for edge in apart.T], 1)
    shift = _STEP * np.round(mean / _STEP)
    alike: BoolArray = np.abs(apart - shift[row]).max(1, initial=0) <= ROUNDED_PX
    n, n_alike = np.bincount(row, minlength=len(keys)), sum_by(row, alike, len(keys))
    found = (n >= _LEAST) & (n_alike >= _LEAST_SHARE * n) & shift.any(1)
    return [
        PixelBase(*divmod(int(keys[at]), n_annotators), shift[at], int(n_alike[at]), int(n[at]))
        for at in np.flatnonzero(found).tolist()
    ]


# Boxes whose sides differ by less say nothing about quarter turns.
_ELONGATED = 1.25


@frozen_arrays
class TurnedPairs:
    """P pairs of annotations of one object, described with angles as near as possible.

    Rectangles are the same with width and height exchanged and a quarter turn. Those of a pair are
    described with angles that differ by at most 45 degrees.
    """

    left: IndexArray
    right: IndexArray
    """(P,) int64. Indices of the annotations."""
    centre: FloatArray
    """(P, 2) float64. The centre of the left box minus that of the right box, in px."""
    angle: FloatArray
    """(P,) float64. The clockwise angle from the right box to the left box, in degrees."""
    left_sides: FloatArray
    right_sides: FloatArray
    """(P, 2) float64. The long and the short side; their mean twice if a pair is nearly square, as
    the sides cannot be distinguished."""
    is_elongated: BoolArray
    """(P,) bool. Whether the sides of both differ enough to recognise a quarter turn."""
    is_across: BoolArray
    """(P,) bool. Whether the long side of one lies along the short side of the other."""
    is_renamed: BoolArray
    """(P,) bool. Whether the long sides are parallel, and one annotator calls it width, the other
    height."""


@remembered
def turned_pairs(matched: MatchedUnits) -> TurnedPairs:
    """Return the pairs of annotations of one object by two annotators, without odd boxes."""
    return compared_pairs(matched.data, *shared_boxes(matched))


def compared_pairs(data: Dataset, left: IndexArray, right: IndexArray) -> TurnedPairs:
    """Return pairs of annotations, described with angles as close as possible."""
    boxes = data.annotations.rotated_box
    if boxes is None:
        raise ValueError("the rotated boxes were not read")
    one, two = boxes[left], boxes[right]
    turns = np.rint((two[:, 4] - one[:, 4]) / 90)
    is_odd = np.mod(turns, 2) == 1
    sides = np.where(is_odd[:, None], one[:, [3, 2]], one[:, 2:4]), two[:, 2:4]
    ways = np.stack([_way(each) for each in sides])
    is_elongated: BoolArray = (ways != 0).all(0)
    # If sides of nearly square boxes were compared in order of length, annotators with more scatter
    # would seem to draw longer long sides.
    long_first = [
        np.where(is_elongated[:, None], np.sort(each, 1)[:, ::-1], each.mean(1, keepdims=True))
        for each in sides
    ]
    is_across = is_elongated & (ways[0] != ways[1])
    return TurnedPairs(
        left=left,
        right=right,
        centre=one[:, :2] - two[:, :2],
        angle=one[:, 4] + 90 * turns - two[:, 4],
        left_sides=long_first[0],
        right_sides=long_first[1],
        is_elongated=is_elongated,
        is_across=is_across,
        is_renamed=is_elongated & ~is_across & is_odd,
    )


def _way(sides: FloatArray) -> IndexArray:
    """Return 1 where the first side is clearly longer, -1 where the second is, and 0 elsewhere."""
    first, second = sides.T
    way: IndexArray = (first > _ELONGATED * second) * 1 - (second > _ELONGATED * first) * 1
    return way


MEASURES = ("centre x", "centre y", "long side", "short side", "angle")
UNITS = ("px", "degrees")
# A normal standard deviation is 1.4826 median absolute deviations.
_NORMAL = 1.4826
SIZE_OF = np.array([0, 0, 1, 2, 3])
"""The size by which each measure is divided: the root of the area, a side, or a quarter turn."""

_QUARTER = 90.0


def rotated_offsets(matched: MatchedUnits) -> Table:
    """Return the offsets of each annotator's rotated boxes from those of most others.

    A row for each annotator and measure: the centre of the box, positive to the right and down; its
    long and its short side, whichever is called the width; and its angle, positive clockwise. Each
    other annotator gives one mean difference, and others with 60 % of the weight confirm the
    offset, as for the edges of upright boxes. Half turns, and sides exchanged with a quarter turn,
    change nothing. Boxes across each other (see `quarter_turns`) are left out. The sides of nearly
    square boxes cannot be distinguished: both count with their mean.

    Columns: annotator; measure; unit; n, the number of objects that others drew as well; n_others,
    the number of these others; offset with its 95 % interval over images; median, the same from
    medians over objects; spread, the standard deviation of single differences between two
    annotators, from their median deviation; offset_percent with its interval, in percent of the
    root of the mean area for the centre and of the mean side for sides, NaN for the angle; p_value
    of a t-test against 0; and systematic, whether it is significant after Holm's correction for all
    rows, and beyond rounding (0.01 px, degrees).
    """
    matched = independent(matched)
    pairs = turned_pairs(matched)
    kept = ~pairs.is_across
    left, right = pairs.left_sides[kept], pairs.right_sides[kept]
    difference = measures(pairs)[kept]
    of_both = sizes(left), sizes(right)
    found = box_differences(
        matched, pairs.left[kept], pairs.right[kept], difference, of_both, SIZE_OF
    )
    (offset, percent), in_images = offset_figures(found, matched)
    p_value = p_values(offset[0], offset[1], offset[2], np.repeat(in_images, len(MEASURES)))
    rows = row_columns(found, matched, "measure", MEASURES)
    n_annotators = len(matched.data.annotator_names)
    is_angle = np.tile([measure == "angle" for measure in MEASURES], n_annotators)
    of_size = np.where(is_angle, np.nan, percent)
    return Table(
        {
            **{name: rows[name] for name in ("annotator", "measure")},
            "unit": Categorical(is_angle.astype(np.int32), UNITS),
            **{name: rows[name] for name in ("n", "n_others")},
            **with_bounds("offset", offset),
            "median": of_others(found, medians, -1).ravel(),
            "spread": of_others(found, _spreads, 1).ravel(),
            **with_bounds("offset_percent", of_size),
            "p_value": p_value,
            "systematic": (holm(p_value) < ALARM) & beyond_rounding(offset[0], of_size[0]),
        }
    )


def measures(pairs: TurnedPairs) -> FloatArray:
    """Return the differences of centre, sides and angle, (P, 5)."""
    larger = pairs.left_sides - pairs.right_sides
    return np.column_stack([pairs.centre, larger, pairs.angle])


def sizes(sides: FloatArray) -> FloatArray:
    """Return the sizes by which measures are divided, (P, 4)."""
    quarter = np.full(len(sides), _QUARTER)
    return np.column_stack([np.sqrt(sides.prod(1)), sides, quarter])


def _spreads(differences: FloatArray) -> FloatArray:
    """Return standard deviations from median absolute deviations, (P, n, K) → (P, K)."""
    deviation = np.abs(differences - np.median(differences, axis=1, keepdims=True))
    found: FloatArray = _NORMAL * np.median(deviation, axis=1)
    return found


ACROSS, RENAMED = "across the others'", "the other side is the width"
TURNS = (ACROSS, RENAMED)


def quarter_turns(matched: MatchedUnits) -> Table:
    """Return the rates at which each annotator exchanges width and height of rotated boxes.

    A row for each annotator and kind. "across the others'" are boxes whose long side lies along the
    short side of the others' boxes, as where width and height were exchanged and the angle was not.
    "the other side is the width" are the same rectangles with width and height exchanged and a
    quarter turn, which changes no figure of agreement; NaN if all angles lie in one quarter turn,
    as when boxes are given by their corners, which do not say which side is the width.

    Nearly square boxes, whose sides differ by less than a quarter, are left out: they do not show
    exchanged sides. As for offsets, others with 60 % of the weight confirm the share.

    Columns: annotator; kind; n, the number of objects that others drew as well; n_others, the
    number of these others; share with its 95 % interval over images.
    """
    matched = independent(matched)
    pairs = turned_pairs(matched)
    kept = pairs.is_elongated
    kinds = np.column_stack([pairs.is_across[kept], pairs.is_renamed[kept]]).astype(np.float64)
    one = np.ones((len(kinds), 1))
    found = box_differences(
        matched,
        pairs.left[kept],
        pairs.right[kept],
        kinds,
        (one, one),
        np.zeros(len(TURNS), np.int64),
        sign=1,
    )
    (figures, _), _ = offset_figures(found, matched)
    figures[1:] = np.clip(figures[1:], 0, 1)
    if not _tell_width(matched, pairs):
        figures[:, TURNS.index(RENAMED) :: len(TURNS)] = np.nan
    return Table({**row_columns(found, matched, "kind", TURNS), **with_bounds("share", figures)})


def _tell_width(matched: MatchedUnits, pairs: TurnedPairs) -> bool:
    """Return whether angles lie in both quarters of a half turn."""
    boxes = matched.data.annotations.rotated_box
    rows = np.concatenate([pairs.left, pairs.right])
    if boxes is None or not len(rows):
        return False
    is_second = np.mod(boxes[rows, 4], 180) >= 90
    return bool(is_second.any() and not is_second.all())
