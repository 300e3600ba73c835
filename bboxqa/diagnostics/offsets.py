"""How far the edges and rotations of annotators are off, systematically."""

from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import t_quantile, t_tail, table_of
from bboxqa.agreement.intervals import centred_intervals
from bboxqa.agreement.object_counts import ratio
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    distinct,
    distinct_rows,
    pairs_within,
    run_starts,
)
from bboxqa.diagnostics.annotator_pairs import independent
from bboxqa.diagnostics.object_cells import drawn_figures, holm, medians, n_images_of, object_cells
from bboxqa.diagnostics.parts import parts
from bboxqa.geometry.boxes import corners
from bboxqa.model.annotations import EDGES, Dataset
from bboxqa.model.rotated_boxes import beyond_rounding
from bboxqa.model.table import Categorical, Column, Table, figure_columns
from bboxqa.model.units import MatchedUnits


class BoxDifferences(FrozenArrays, frozen=True, eq=False):
    """Differences of K measures between two annotators' boxes of E shared objects."""

    annotator: IndexArray
    """(M,) int64. The first annotator of each ordered pair, sorted. Two annotators who share
    objects form two ordered pairs."""
    of_annotators: list[tuple[int, slice]]
    """Each annotator with the ordered pairs that are theirs."""
    pair: IndexArray
    image: IndexArray
    """(E,) int64. The ordered pair and the image of each object; the second half repeats the first
    with the annotators exchanged."""
    differences: FloatArray
    others: FloatArray
    """(E, K) and (E, S) float64. Also the sizes of the other's box, such as width and height."""
    size_of: IndexArray
    """(K,) int64. The index of the size by which each measure is divided."""
    n_shared: IndexArray
    """(A,) int64. How many objects each annotator shares with others."""


def edge_differences(matched: MatchedUnits) -> BoxDifferences:
    """Return the differences of each pair of annotators, also of boxes too far apart to match."""
    bbox, ends = matched.data.annotations.bbox, _shared_boxes(matched)
    edges = corners(bbox)
    difference, sizes = edges[ends[0]] - edges[ends[1]], bbox[ends][..., 2:]
    return _box_differences(matched, ends, difference, sizes, np.array([0, 1, 0, 1]))


def _shared_boxes(matched: MatchedUnits) -> IndexArray:
    """Return the pairs of annotations of one object by two annotators, not odd ones, (2, P)."""
    cells = object_cells(matched)
    odd_boxes = np.append(parts(matched).odd_boxes, True)
    drawn = np.flatnonzero(~odd_boxes[cells.annotation])
    return cells.annotation[drawn[np.stack(pairs_within(cells.object[drawn]))]]


def _box_differences(
    matched: MatchedUnits,
    ends: IndexArray,
    difference: FloatArray,
    sizes: FloatArray,
    size_of: IndexArray,
    *,
    sign: int = -1,
) -> BoxDifferences:
    """Return the differences of pairs of annotations and, times `sign`, of the reversed pairs."""
    of, n_annotators = matched.data.annotations, len(matched.data.annotator_names)
    own, other = ends.ravel(), ends[::-1].ravel()
    (annotator, _), pair, _ = distinct_rows(of.annotator[own], of.annotator[other])
    ends_of = pairwise([*run_starts(annotator).tolist(), len(annotator)])
    return BoxDifferences(
        annotator=annotator,
        of_annotators=[(int(annotator[low]), slice(low, high)) for low, high in ends_of],
        pair=pair,
        image=of.image[own].astype(np.int64),
        differences=np.concatenate([difference, sign * difference]),
        others=np.concatenate([sizes[1], sizes[0]]),
        size_of=size_of,
        n_shared=np.bincount(of.annotator[distinct(own)], minlength=n_annotators),
    )


def confirmed_medians(found: BoxDifferences, amounts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return medians of amounts, (E, K), as the others confirm them, (A, K), and of each pair."""
    n_pairs = len(found.annotator)
    of_pairs = np.column_stack([medians(each, found.pair, n_pairs) for each in amounts.T])
    counts = np.bincount(found.pair, minlength=n_pairs).astype(np.float64)[:, None]
    result = np.full((len(found.n_shared), of_pairs.shape[1]), np.nan)
    for annotator, own in found.of_annotators:
        weights = np.broadcast_to(counts[own], of_pairs[own].shape)
        result[annotator] = confirmed(of_pairs[own], weights)
    return result, of_pairs


def confirmed(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the value nearest to 0 that 60 % of the weight confirm, per column, (M, B) → (B,).

    With three equal weights this is the median; with two the value nearer to 0, or 0 if their signs
    differ. Weights are capped at the second largest of each column. NaN without weight.
    """
    if len(weights) > 1:
        second = np.partition(weights, -2, axis=0)[-2]
        weights = np.minimum(weights, np.where(second > 0, second, np.inf))
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    reached = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    total = reached[-1]
    last = len(values) - 1
    low, high = (
        np.take_along_axis(ordered, np.minimum(below.sum(0), last)[None], axis=0)[0]
        for below in (5 * reached <= 2 * total, 5 * reached < 3 * total)
    )
    return np.where(total > 0, np.clip(0, low, high), np.nan)


ALARM = 0.05
"""An offset is systematic if the chance of a false alarm in the whole table is below this."""

# Standard errors within which the differences from two others are one.
_ALIKE = 3.0

LEAST_OTHERS = 3
"""With fewer others, it is unknown whether these err, the other way: no offset is systematic."""

MOST_DRAWN = 20_000
"""With more pairs of annotators who share objects, counted both ways, offsets have no intervals:
each pair takes as long as a small data set."""


def _figures(found: BoxDifferences, matched: MatchedUnits) -> tuple[FloatArray, IndexArray]:
    """Return offsets in px and in percent, with bounds, (2, 3, A K), and numbers of images."""
    n_annotators, n_pairs = len(found.n_shared), len(found.annotator)
    in_images = n_images_of(found.annotator[found.pair], found.image, n_annotators)
    n_measures, whose = len(found.size_of), found.of_annotators
    if n_pairs > MOST_DRAWN:
        matched = replace(matched, bootstrap=0)
    # Sums by pair and image, a block of rows for each measure, for each size, and for the counts.
    tables = []
    for amounts in (found.differences, found.others, np.ones((len(found.pair), 1))):
        n = amounts.shape[1]
        row = (found.pair + np.arange(n)[:, None] * n_pairs).ravel()
        shape = n * n_pairs, len(matched.data.image_names)
        tables.append(table_of(row, np.tile(found.image, n), amounts.T.ravel(), shape))
    # Where differences from exactly two others differ by chance alone: the one nearer to 0 would be
    # too near to 0.
    are_alike = np.zeros((len(whose), n_measures), np.bool_)
    for place, (_, own) in enumerate(whose):
        if own.stop - own.start == 2:
            both = [found.differences[found.pair == pair] for pair in (own.start, own.stop - 1)]
            one, other = (each.mean(0) for each in both)
            error = np.sqrt(sum(each.var(0) / len(each) for each in both))
            are_alike[place] = np.abs(one - other) < _ALIKE * error

    def evaluate(sums: FloatArray, sizes: FloatArray, counts: FloatArray) -> FloatArray:
        n_columns = counts.shape[1]
        differences = ratio(sums.reshape(n_measures, n_pairs, n_columns), counts)
        sizes = sizes.reshape(found.others.shape[1], n_pairs, n_columns)
        result = np.full((2, n_annotators, n_measures, n_columns), np.nan)
        for (annotator, own), is_one in zip(whose, are_alike, strict=True):
            size = ratio(sizes[:, own].sum(1), counts[own].sum(0))
            values = np.moveaxis(differences[:, own], 0, 1).reshape(own.stop - own.start, -1)
            weights = np.tile(counts[own], (1, n_measures))
            mean = ratio(np.nansum(values * weights, axis=0), weights.sum(0))
            offset = np.where(np.repeat(is_one, n_columns), mean, confirmed(values, weights))
            result[0, annotator] = offset.reshape(n_measures, n_columns)
            result[1, annotator] = 100 * result[0, annotator] / size[found.size_of]
        return result.reshape(-1, n_columns)

    made_of = np.tile(np.repeat(in_images, n_measures), 2)
    offset, drawn = drawn_figures(matched, tables, evaluate, made_of)
    figures = np.column_stack([offset, centred_intervals(offset, drawn)])
    return np.moveaxis(figures.reshape(2, -1, 3), 2, 1), in_images


def p_values(figures: FloatArray, n_images: IndexArray) -> FloatArray:
    """Return p-values of t-tests of values with 95 % intervals against 0, (3, R) → (R,)."""
    value, low, high = figures
    freedom = n_images - 1.0
    error = (high - low) / (2 * t_quantile(freedom, 0.975))
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = 2 * t_tail(freedom, value / error)
    found[value == 0] = 1.0
    found[np.isnan(error)] = np.nan
    return found


def _row_columns(
    found: BoxDifferences, matched: MatchedUnits, title: str, measures: tuple[str, ...]
) -> dict[str, Column]:
    """Return the columns that identify each row, and the numbers of objects and annotators."""
    names, n_measures = matched.data.annotator_names, len(measures)
    n_others = np.bincount(found.annotator, minlength=len(names))
    who, which = np.divmod(np.arange(len(names) * n_measures, dtype=np.int32), n_measures)
    is_angle = np.array([each == "angle" for each in measures], np.int32)[which]
    return {
        "annotator": Categorical(who, names),
        title: Categorical(which, measures),
        **({"unit": Categorical(is_angle, UNITS)} if measures == MEASURES else {}),
        "n": np.repeat(found.n_shared, n_measures),
        "n_others": np.repeat(n_others, n_measures),
    }


def in_halves(sign: IndexArray) -> BoolArray:
    """Return (K,) bool: measures of which half of A annotators err one way, half the other way."""
    n_asked = len(sign)
    return np.asarray(((sign > 0).sum(0) * 2 == n_asked) & ((sign < 0).sum(0) * 2 == n_asked))


def _offset_table(
    matched: MatchedUnits, found: BoxDifferences, title: str, measures: tuple[str, ...], px: str
) -> Table:
    """Return the offsets of each annotator and measure; `px` ends the names of their columns."""
    (offset, percent), in_images = _figures(found, matched)
    rows, spread = _row_columns(found, matched, title, measures), {}
    median, of_pairs = confirmed_medians(found, found.differences)
    if "unit" in rows:
        percent[:, measures.index("angle") :: len(measures)] = np.nan
        # A normal standard deviation is 1.4826 median absolute deviations.
        away, _ = confirmed_medians(found, np.abs(found.differences - of_pairs[found.pair]))
        spread = {"spread": 1.4826 * away.ravel()}
    p_value, n_others = p_values(offset, np.repeat(in_images, len(measures))), rows["n_others"]
    # Significant, beyond rounding, and the others can judge.
    systematic = (holm(p_value) < ALARM) & beyond_rounding(offset[0], percent[0])
    systematic &= np.asarray(n_others) >= LEAST_OTHERS
    sign = (np.sign(offset[0]) * systematic)[np.asarray(n_others) > 0]
    systematic &= ~np.tile(in_halves(sign.reshape(-1, len(measures))), len(found.n_shared))
    return Table(
        {
            **rows,
            **figure_columns(f"offset{px}", offset[0], offset[1:].T),
            f"median{px}": median.ravel(),
            **spread,
            **figure_columns("offset_percent", percent[0], percent[1:].T),
            "p_value": p_value,
            "systematic": systematic,
        }
    )


def offsets(matched: MatchedUnits) -> Table:
    """Return the offsets of the edges of each annotator's boxes from those of most others.

    A row for each annotator and edge of the box; positive is to the right, or down. The difference
    from each other annotator is the mean over the objects that both drew, also of boxes that are
    too far apart to match. The offset is the value that others with 60 % of the weight confirm: the
    median difference of three others; of two others their mean where they differ by chance alone,
    else the one nearer to 0, and 0 if they contradict each other. The weights are the numbers of
    shared objects, capped at the second largest.

    Columns: annotator; edge; n, the number of objects that others drew as well, and n_others, the
    number of these others; offset_px with its 95 % interval over images; median_px, the same from
    medians over objects instead of means; offset_percent, in percent of the mean width of the
    others' boxes (height for top and bottom), with its interval; p_value of a t-test against 0; and
    systematic, whether it is significant after Holm's correction for all rows, and above 0.01 px or
    0.1 %, which rounding may move. With two others, or where half of the annotators differ from
    half, no offset is systematic. Beyond `MOST_DRAWN` there are no intervals.
    """
    matched = independent(matched)
    return _offset_table(matched, edge_differences(matched), "edge", EDGES, "_px")


# Boxes whose sides differ by less say nothing about quarter turns.
_ELONGATED = 1.25
_QUARTER = 90.0

MEASURES = ("centre x", "centre y", "long side", "short side", "angle")
UNITS = ("px", "degrees")
SIZE_OF = np.array([0, 0, 1, 2, 3])
"""The size by which each measure is divided: the root of the area, a side, or a quarter turn."""


class TurnedPairs(FrozenArrays, frozen=True, eq=False):
    """P pairs of annotations of one object, described with angles as near as possible.

    Rectangles are the same with width and height exchanged and a quarter turn. The sides of nearly
    square boxes cannot be distinguished: both count with their mean.
    """

    ends: IndexArray
    """(2, P) int64. The left and the right annotations."""
    differences: FloatArray
    """(P, 5) float64. The `MEASURES` of the left box minus those of the right box."""
    sizes: FloatArray
    """(2, P, 4) float64. The sizes of both, by `SIZE_OF`."""
    is_elongated: BoolArray
    is_across: BoolArray
    """(P,) bool. Whether the sides of both differ enough to recognise a quarter turn, and whether
    the long side of one lies along the short side of the other."""


def compared_pairs(data: Dataset, ends: IndexArray) -> TurnedPairs:
    """Return pairs of annotations, (2, P), described with angles as close as possible."""
    boxes = data.annotations.rotated_box
    if boxes is None:
        raise ValueError("the rotated boxes were not read")
    one, two = boxes[ends]
    turns = np.rint((two[:, 4] - one[:, 4]) / _QUARTER)
    is_odd = np.mod(turns, 2) == 1
    sides = np.stack([np.where(is_odd[:, None], one[:, [3, 2]], one[:, 2:4]), two[:, 2:4]])
    # 1 where the first side is clearly longer, −1 where the second is.
    first, second = sides[..., 0], sides[..., 1]
    ways = (first > _ELONGATED * second) * 1 - (second > _ELONGATED * first) * 1
    is_elongated: BoolArray = (ways != 0).all(0)
    # If sides of nearly square boxes were compared in order of length, annotators with more scatter
    # would seem to draw longer long sides.
    mean = sides.mean(2, keepdims=True)
    long_first = np.where(is_elongated[:, None], np.sort(sides, 2)[..., ::-1], mean)
    is_across = is_elongated & (ways[0] != ways[1])
    angle = one[:, 4] + _QUARTER * turns - two[:, 4]
    centre, longer = one[:, :2] - two[:, :2], long_first[0] - long_first[1]
    root, quarter = np.sqrt(long_first.prod(2)), np.full((2, ends.shape[1]), _QUARTER)
    return TurnedPairs(
        ends=ends,
        differences=np.column_stack([centre, longer, angle]),
        sizes=np.dstack([root, long_first, quarter]),
        is_elongated=is_elongated,
        is_across=is_across,
    )


def rotated_offsets(matched: MatchedUnits) -> Table:
    """Return the offsets of each annotator's rotated boxes from those of most others.

    A row for each annotator and measure: the centre of the box, positive to the right and down; its
    long and its short side, whichever is called the width; and its angle, positive clockwise. Half
    turns, and sides exchanged with a quarter turn, change nothing. Boxes across each other (see
    `quarter_turns`) are left out.

    Columns: as for `offsets`, with measure and its unit for edge, and without px in names; spread,
    the standard deviation of single differences between two annotators, from their median
    deviation. Percent are of the root of the mean area for the centre and of the mean side for
    sides, NaN for the angle.
    """
    matched = independent(matched)
    pairs = compared_pairs(matched.data, _shared_boxes(matched))
    kept = ~pairs.is_across
    found = _box_differences(
        matched, pairs.ends[:, kept], pairs.differences[kept], pairs.sizes[:, kept], SIZE_OF
    )
    return _offset_table(matched, found, "measure", MEASURES, "")


ACROSS = "across the others'"


def quarter_turns(matched: MatchedUnits) -> Table:
    """Return the rates at which each annotator exchanges width and height of rotated boxes.

    "across the others'" are boxes whose long side lies along the short side of the others' boxes,
    as where width and height were exchanged and the angle was not. Nearly square boxes are left
    out.

    Columns: annotator; kind; n, the number of objects that others drew as well; n_others, the
    number of these others; share with its 95 % interval over images.
    """
    matched = independent(matched)
    pairs = compared_pairs(matched.data, _shared_boxes(matched))
    kept = np.flatnonzero(pairs.is_elongated)
    is_across, one = pairs.is_across[kept, None].astype(np.float64), np.ones((2, len(kept), 1))
    size_of = np.zeros(1, np.int64)
    found = _box_differences(matched, pairs.ends[:, kept], is_across, one, size_of, sign=1)
    (figures, _), _ = _figures(found, matched)
    columns = _row_columns(found, matched, "kind", (ACROSS,))
    return Table(columns | figure_columns("share", figures[0], np.clip(figures[1:].T, 0, 1)))
