"""A rotated box with an annotator's offsets of centre, sides and angle."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.model.shapes.rotated_boxes import corners
from bboxqa.report.charts.copied import reason_left_out
from bboxqa.report.charts.figures import AxesMaker, new_axes, page_style
from bboxqa.report.charts.labels import (
    THE_OTHERS,
    draw_nothing,
    set_title,
    short_name,
    signed,
)
from bboxqa.report.charts.offset_chart import NOT_MOVED, how_large, is_drawn
from bboxqa.report.charts.palette import DIM, SERIES, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The box of the others, and the largest drawn offset from it: a share of its sides, and degrees.
_SIDES = 1.0, 0.5
_LARGEST_SHARE, _LARGEST_ANGLE = 0.2, 20.0
_FACTORS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
_TITLES = {"centre x": "middle, right", "centre y": "middle, down"}


@page_style()
def rotated_offsets(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str | None = None,
    copies: Sequence[Mapping[str, Any]] = (),
    others: str = THE_OTHERS,
    axes: AxesMaker = new_axes,
) -> "Axes":
    """Draw a box as an annotator draws it on average, over that of the others.

    `rows` are the rows of one annotator of the table "rotated_offsets". Differences are magnified
    by the factor in the legend; the numbers are pixels and degrees clockwise with their 95 %
    intervals. Only systematic ones, in bold, and those without an interval are drawn. The title is
    by default the name of the annotator; `others` is what the other annotators are called.
    """
    name = (short_name(rows[0]["annotator"]) if rows else "") if title is None else title
    if not rows or rows[0]["offset"] is None:
        who = rows[0]["annotator"] if rows else None
        reason = reason_left_out(copies, "no object was drawn by others as well", who)
        return draw_nothing(axes(2.9, 1.2), name, reason)
    off = np.array([(row["offset_percent"] or 0) / 100 for row in rows])
    off[-1] = rows[-1]["offset"]
    moved = np.array([is_drawn(row, row["offset_low"]) for row in rows])
    off[~moved] = 0
    factor = _exaggeration(np.abs(off[:-1]).max(), abs(float(off[-1])))
    ax = axes(2.9, 2.5)
    size = np.sqrt(_SIDES[0] * _SIDES[1])
    off *= factor
    drawn = [size * off[0], size * off[1], _SIDES[0] * (1 + off[2]), _SIDES[1] * (1 + off[3])]
    ax.plot(*_outline([0, 0, *_SIDES, 0]), "--", color=DIM, linewidth=1)
    is_systematic = any(row["systematic"] for row in rows)
    ax.plot(*_outline([*drawn, off[4]]), color=SERIES[1] if is_systematic else TEXT)
    for place, row in enumerate(rows):
        weight = "bold" if row["systematic"] else "normal"
        ax.text(-1.1, 0.85 + 0.22 * place, _TITLES.get(row["measure"], row["measure"]), fontsize=8)
        ax.text(0.1, 0.85 + 0.22 * place, _figure(row), fontsize=8, weight=weight)
    ax.set_xlim(-1.2, 1.2)
    ax.set_ylim(1.8, -0.6)
    ax.set_aspect("equal")
    ax.set_axis_off()
    times = how_large("differences", factor) if moved.any() else NOT_MOVED
    set_title(ax, name, f"dashed: {others}", times)
    return ax


def _outline(box: Sequence[float]) -> FloatArray:
    """Return x and y of a box of five numbers, closed."""
    found = corners(np.array([box]))[0]
    return np.concatenate([found, found[:1]]).T


def _figure(row: Mapping[str, Any]) -> str:
    value, low, high = (row[f"offset{end}"] for end in ("", "_low", "_high"))
    text = f"{signed(value)}{'°' if row['unit'] == 'degrees' else ' px'}"
    return text if low is None or high is None else f"{text} [{signed(low)}, {signed(high)}]"


def _exaggeration(share: float, degrees: float) -> float:
    """Return the magnification of differences."""
    largest = max(share / _LARGEST_SHARE, degrees / _LARGEST_ANGLE)
    return max((factor for factor in _FACTORS if factor * largest <= 1), default=_FACTORS[0])
