"""Where and how large annotators draw rotated boxes, and how far they turn them."""

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
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

MEASURES = ("centre x", "centre y", "long side", "short side", "angle")
UNITS = ("px", "degrees")
# Both annotators of a pair scatter alike: the standard deviation is 1.4826 median deviations.
_NORMAL = 1.4826
SIZE_OF = np.array([0, 0, 1, 2, 3])
"""The size that each measure is a share of: the root of the area, a side, or a quarter turn."""

_QUARTER = 90.0


def rotated_offsets(matched: MatchedUnits) -> Table:
    """Return how each annotator places, sizes and turns rotated boxes, against most others.

    A row for each annotator and measure: the middle of the box, positive to the right and down; its
    long and its short side, whichever of them is called the width; and its angle, positive
    clockwise. Each other annotator gives one mean difference, and the offset is what others of 60 %
    of the weight confirm, as for the edges of upright boxes. Half turns, and sides exchanged with a
    quarter turn, change nothing. Boxes across each other, see `quarter_turns`, are left out; those
    of nearly square boxes cannot be told, and both of their sides count by the mean of the two.

    Columns: annotator, measure, unit; n, the objects that others drew, too, and n_others, who drew
    them; offset with its 95 % interval over images; median, made of medians over objects; spread,
    the standard deviation of single differences to another annotator, from their median deviation,
    to which both contribute; offset_percent, with its interval, of the root of the mean area for
    the middle, and of the mean side for sides, NaN for the angle; p_value of a t-test against 0;
    and whether the offset is systematic: it is after Holm's correction for all rows.
    """
    matched = independent(matched)
    found = _differences(matched)
    (offset, percent), in_images = offset_figures(found, matched)
    p_value = p_values(offset[0], offset[1], offset[2], np.repeat(in_images, len(MEASURES)))
    rows = row_columns(found, matched, "measure", MEASURES)
    n_annotators = len(matched.data.annotator_names)
    is_angle = np.tile([measure == "angle" for measure in MEASURES], n_annotators)
    return Table(
        {
            **{name: rows[name] for name in ("annotator", "measure")},
            "unit": Categorical(is_angle.astype(np.int32), UNITS),
            **{name: rows[name] for name in ("n", "n_others")},
            **with_bounds("offset", offset),
            "median": of_others(found, medians, -1).ravel(),
            "spread": of_others(found, _spreads, 1).ravel(),
            **with_bounds("offset_percent", np.where(is_angle, np.nan, percent)),
            "p_value": p_value,
            "systematic": holm(p_value) < ALARM,
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
    """Return how far boxes are moved, larger and turned, (P, 5)."""
    larger = pairs.left_sides - pairs.right_sides
    return np.column_stack([pairs.centre, larger, pairs.angle])


def sizes(sides: FloatArray) -> FloatArray:
    """Return the sizes that measures are a share of, (P, 4)."""
    quarter = np.full(len(sides), _QUARTER)
    return np.column_stack([np.sqrt(sides.prod(1)), sides, quarter])


def _spreads(differences: FloatArray) -> FloatArray:
    """Return standard deviations by median deviations from the median, (P, n, K) → (P, K)."""
    deviation = np.abs(differences - np.median(differences, axis=1, keepdims=True))
    found: FloatArray = _NORMAL * np.median(deviation, axis=1)
    return found
