"""Figures with intervals, grouped by annotator."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from bboxqa.report.charts.figures import CHART_WIDTH, AxesMaker, new_axes, page_style
from bboxqa.report.charts.labels import (
    draw_nothing,
    part_of,
    row_size,
    set_title,
    short_name,
    with_interval,
)
from bboxqa.report.charts.palette import DIM, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 30
_APART = 0.22
# The most characters of a legend in one row.
_MOST_BESIDE = 45


@page_style()
def annotator_intervals(
    title: str,
    people: Sequence[Mapping[str, Any]],
    figures: Mapping[str, str],
    *,
    highest_first: bool = False,
    at_zero: bool = False,
    axes: AxesMaker = new_axes,
) -> "Axes":
    """Draw figures of each annotator with their 95 % intervals, at most 30 annotators.

    Parameters
    ----------
    title : str
    people : sequence of mapping
        "name", and for each figure its "value" and "interval", None where undefined.
    figures : mapping of str to str
        Keys and labels of the figures. The first one decides the order, the lowest value at the
        top, and is written at the right.
    highest_first : bool
        Whether the highest value is at the top instead.
    at_zero : bool
        Whether 0 is marked, with increases on its right.
    axes : callable
    """
    known = [row for row in people if any(row[key]["value"] is not None for key in figures)]
    if not known:
        return draw_nothing(axes(CHART_WIDTH, 1.2), title, "nobody has such a figure")
    # Figures that no annotator has are left out.
    figures = {
        key: figures[key] for key in figures if any(row[key]["value"] is not None for row in known)
    }
    first = next(iter(figures))
    sign = -1 if highest_first else 1
    known.sort(key=lambda row: _place(row[first]["value"], sign))
    shown = known[:_MOST]
    ax = axes(CHART_WIDTH, 1.3 + (0.16 + 0.1 * len(figures)) * len(shown))
    for place, (key, label) in enumerate(figures.items()):
        shift = _APART * (place - (len(figures) - 1) / 2)
        _draw(ax, [row[key] for row in shown], shift, SERIES[place], label)
    for place, row in enumerate(shown):
        _write(ax, place, row[first])
    names = [short_name(row["name"]) for row in shown]
    ax.set_yticks(range(len(shown)), names, fontsize=row_size(names))
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.tick_params(left=False)
    ax.grid(visible=True, axis="x")
    ax.set_axisbelow(True)
    if at_zero:
        ax.axvline(0, color=DIM, linewidth=1)
    if len(figures) > 1:
        wide = sum(map(len, figures.values())) > _MOST_BESIDE
        below = (0, -0.25 / _height(ax))
        ax.legend(loc="upper left", bbox_to_anchor=below, ncols=1 if wide else len(figures))
    order = "highest" if highest_first else "lowest"
    part = part_of(len(shown), len(known), "annotators")
    written = "" if figures[first].lower() == title.lower() else f"numbers: {figures[first]}"
    set_title(ax, title, part and f"{part}, {order} first", written)
    return ax


def _place(value: float | None, sign: int) -> float:
    return inf if value is None else sign * value


def _draw(
    ax: "Axes", values: Sequence[Mapping[str, Any]], shift: float, color: str, label: str
) -> None:
    """Draw one figure of all annotators, a dot and a bar each."""
    found = [
        (place + shift, each) for place, each in enumerate(values) if each["value"] is not None
    ]
    ends = [(y, *each["interval"]) for y, each in found if each["interval"] is not None]
    if ends:
        y, low, high = zip(*ends, strict=True)
        ax.hlines(y, low, high, color=color, linewidth=3, alpha=0.45)
    ax.plot(
        [each["value"] for _, each in found], [y for y, _ in found], "o", color=color,
        label=label, clip_on=False, markersize=5,
    )  # fmt: skip


def _write(ax: "Axes", place: int, figure: Mapping[str, Any]) -> None:
    low, high = figure["interval"] or (None, None)
    value = figure["value"]
    text = "–" if value is None else with_interval(value, low, high)
    ax.text(1.03, place, text, fontsize=8, transform=ax.get_yaxis_transform(), va="center")


def _height(ax: "Axes") -> float:
    """Return the height of axes in inches."""
    figure: Any = ax.figure
    return float(figure.get_figheight() * ax.get_position().height)
