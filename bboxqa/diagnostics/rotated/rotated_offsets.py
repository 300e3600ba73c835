"""Offsets of centre, sides and angle of each annotator's rotated boxes from the others."""

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.diagnostics.annotators.edge_differences import (
    BoxDifferences,
    box_differences,
    of_others,
)
from bboxqa.diagnostics.annotators.image_ratios import holm
from bboxqa.diagnostics.annotators.independent import independent
from bboxqa.diagnostics.annotators.offsets import (
    ALARM,
    medians,
    offset_figures,
    p_values,
    row_columns,
    with_bounds,
)
from bboxqa.diagnostics.rotated.turned_pairs import TurnedPairs, turned_pairs
from bboxqa.model.shapes.rounding import beyond_rounding
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

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
    found = _differences(matched)
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


def _differences(matched: MatchedUnits) -> BoxDifferences:
    pairs = turned_pairs(matched)
    kept = ~pairs.is_across
    left, right = pairs.left_sides[kept], pairs.right_sides[kept]
    difference = measures(pairs)[kept]
    of_both = sizes(left), sizes(right)
    return box_differences(
        matched, pairs.left[kept], pairs.right[kept], difference, of_both, SIZE_OF
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
