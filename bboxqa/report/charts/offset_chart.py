"""A box with its edges displaced as an annotator draws them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bboxqa.report.charts.copied import reason_left_out
from bboxqa.report.charts.figures import AxesMaker, new_axes, page_style
from bboxqa.report.charts.labels import (
    THE_OTHERS,
    draw_nothing,
    set_title,
    short_name,
    signed,
)
from bboxqa.report.charts.palette import DIM, SERIES, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOT_MOVED = "no systematic offset"
"""Legend for an annotator without significant offsets."""
# The largest offset is drawn as at most this share of the side of the box.
_LARGEST_DRAWN = 0.25
_FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
# For each edge, its midpoint in a box from 0 to 1, and whether it moves up and down.
_EDGES = {
    "left": (0.0, 0.5, False), "top": (0.5, 0.0, True), "right": (1.0, 0.5, False),
    "bottom": (0.5, 1.0, True),
}  # fmt: skip
_TEXTS = {
    "left": (-0.32, 0.5, "right", "center"), "right": (1.32, 0.5, "left", "center"),
    "top": (0.5, -0.32, "center", "bottom"), "bottom": (0.5, 1.32, "center", "top"),
}  # fmt: skip


@page_style()
def offsets(
    edges: Sequence[Mapping[str, Any]],
    *,
    title: str | None = None,
    copies: Sequence[Mapping[str, Any]] = (),
    others: str = THE_OTHERS,
    axes: AxesMaker = new_axes,
) -> "Axes":
    """Draw a box with its four edges where an annotator draws them on average.

    `edges` are the rows of one annotator of the table "offsets". Arrows from the edges of the
    others to those of the annotator are magnified by the factor in the legend; the numbers are
    pixels with their 95 % intervals. Only systematic offsets are drawn, since magnified chance
    would look like a finding; offsets without an interval are grey. The title is by default the
    name of the annotator. `copies` are the rows of the table of this name; `others` is what the
    other annotators are called.
    """
    known = [row for row in edges if row["offset_percent"] is not None]
    name = (short_name(edges[0]["annotator"]) if edges else "") if title is None else title
    if not known:
        who = edges[0]["annotator"] if edges else None
        reason = reason_left_out(copies, "no object was drawn by others as well", who)
        return draw_nothing(axes(2.9, 1.2), name, reason)
    moved = [row for row in known if is_drawn(row, row["offset_px_low"])]
    factor = _exaggeration(max((abs(row["offset_percent"]) for row in moved), default=0) / 100)
    ax = axes(2.9, 2.7)
    drawn = {row["edge"]: factor * row["offset_percent"] / 100 for row in moved}
    left, right = drawn.get("left", 0.0), 1 + drawn.get("right", 0.0)
    top, bottom = drawn.get("top", 0.0), 1 + drawn.get("bottom", 0.0)
    ax.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], "--", color=DIM, linewidth=1)
    ax.plot([left, right, right, left, left], [top, top, bottom, bottom, top], color=TEXT)
    for row in edges:
        _draw_edge(ax, row, drawn.get(row["edge"]))
    ax.set_xlim(-1.2, 2.2)
    # Above are two lines of text.
    ax.set_ylim(1.65, -0.9)
    ax.set_aspect("equal")
    ax.set_axis_off()
    set_title(ax, name, f"dashed: {others}", how_large("drawn", factor) if moved else NOT_MOVED)
    return ax


def is_drawn(row: Mapping[str, Any], low: float | None) -> bool:
    """Return whether an offset is drawn: if it is systematic, or has no interval.

    Examples
    --------
    >>> is_drawn({"systematic": False}, -0.2), is_drawn({"systematic": False}, None)
    (False, True)
    """
    return low is None or bool(row["systematic"])


def how_large(what: str, factor: float) -> str:
    """Return the magnification of a drawing in words.

    Examples
    --------
    >>> how_large("drawn", 20), how_large("drawn", 0.5)
    ('drawn 20 times as large', 'drawn 2 times smaller')
    """
    if factor < 1:
        return f"{what} {1 / factor:g} times smaller"
    return "true to scale" if factor == 1 else f"{what} {factor:g} times as large"


def _draw_edge(ax: "Axes", row: Mapping[str, Any], drawn: float | None) -> None:
    """Draw the arrow of an edge and write its offset."""
    x, y, is_vertical = _EDGES[row["edge"]]
    color = SERIES[1] if row["systematic"] else DIM
    if drawn is not None and abs(drawn) > 0.005:
        end = (x, y + drawn) if is_vertical else (x + drawn, y)
        ax.annotate(
            "", end, (x, y), zorder=3,
            arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2, "shrinkA": 0,
                        "shrinkB": 0, "mutation_scale": 9},
        )  # fmt: skip
    text_x, text_y, across, along = _TEXTS[row["edge"]]
    weight = "bold" if row["systematic"] else "normal"
    ax.text(text_x, text_y, _pixels(row), fontsize=8, ha=across, va=along, weight=weight)


def _pixels(row: Mapping[str, Any]) -> str:
    value, low, high = (row[f"offset_px{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return "–"
    text = f"{signed(value)} px"
    return text if low is None or high is None else f"{text}\n[{signed(low)}, {signed(high)}]"


def _exaggeration(largest: float) -> float:
    """Return the magnification of offsets, given the largest as a share of the side."""
    fitting = [factor for factor in _FACTORS if factor * largest <= _LARGEST_DRAWN]
    return max(fitting, default=_FACTORS[0])
