"""Offsets of the edges of each annotator's boxes from those of the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import centred_intervals, drawn_intervals
from bboxqa.core.arrays import FloatArray, IndexArray, compact
from bboxqa.diagnostics.annotators.edge_differences import (
    BoxDifferences,
    PairGroup,
    confirmed,
    edge_differences,
    of_others,
    pair_groups,
)
from bboxqa.diagnostics.annotators.image_ratios import holm
from bboxqa.diagnostics.annotators.independent import independent
from bboxqa.model.annotations import EDGES
from bboxqa.model.shapes.rounding import beyond_rounding
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits

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
    """Return the bounds of offsets over images, (2, 2, G, K): low and high of both.

    As wide as the middle of the draws, about the offset: beside a displaced annotator, what the
    others confirm is the lower or the higher of their differences. It is a little too low, or high,
    in the data, and in the draws once more. NaN without draws, and of annotators with fewer than
    two images.
    """
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
    from scipy.special import stdtr, stdtrit

    freedom = n_images - 1.0
    error = (high - low) / (2 * stdtrit(freedom, 0.975))
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = 2 * stdtr(freedom, -np.abs(value) / error)
    found[value == 0] = 1.0
    found[np.isnan(error)] = np.nan
    return found
