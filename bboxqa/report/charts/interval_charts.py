"""Figures with their intervals, below each other on one axis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from bboxqa.report.charts.figures import CHART_WIDTH, AxesMaker, new_axes, page_style
from bboxqa.report.charts.labels import (
    draw_nothing,
    part_of,
    row_size,
    set_apart,
    set_title,
    short_name,
    with_interval,
)
from bboxqa.report.charts.palette import DIM, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CATEGORIES = 30
# Characters of a line that fits beside the longest name of a figure, and lines that fit a row.
_LINE = 29
_MOST_LINES = 3


@dataclass(frozen=True, slots=True)
class _Row:
    """A figure with its interval and, if given, the lowest accepted value.

    `reason` says why there is no value.
    """

    name: str
    color: str
    value: float | None
    interval: Sequence[float] | None = None
    reason: str = ""
    lowest: float | None = None


@page_style()
def intervals(
    threshold: Mapping[str, Any],
    *,
    min_alpha: float | None = None,
    min_f1: float | None = None,
    measure: str = "IoU",
    axes: AxesMaker = new_axes,
) -> "Axes":
    """Draw alpha, existence, class and place of one threshold with their 95 % intervals.

    `threshold` is one of ``summary["thresholds"]``; `min_alpha` and `min_f1` are drawn as lines.
    `measure` is what values of the similarity are called.
    """
    existence, classes, place = (threshold[name] for name in ("existence", "class", "place"))
    rows = [
        _Row("Alpha, pooled", SERIES[0], threshold["alpha"], threshold["interval"],
             threshold["status"], min_alpha),
        _Row("Existence: F1", SERIES[1], existence["f1"], existence["interval"], "no objects",
             min_f1),
        _Row("Existence:\nabove chance", SERIES[1], existence["alpha"],
             existence["alpha_interval"], existence["reason"] or ""),
        _Row("Class: alpha", SERIES[2], classes["alpha"], classes["interval"], classes["status"]),
        _Row(f"Place: mean {measure}", SERIES[3], place["mean_iou"], place["interval"],
             "no matched pairs"),
    ]  # fmt: skip
    ax = axes(CHART_WIDTH, 2.5)
    _draw_rows(ax, rows)
    return ax


@page_style()
def category_intervals(
    categories: Sequence[Mapping[str, Any]], *, axes: AxesMaker = new_axes
) -> "Axes":
    """Draw alpha of each category with its 95 % interval, at most 30 of them, the lowest first.

    `categories` are from one of ``summary["thresholds"]``. If no category has an alpha, F1 is
    drawn.
    """
    figure = "f1" if all(row["alpha"] is None for row in categories) else "alpha"
    low, high = ("f1_low", "f1_high") if figure == "f1" else ("low", "high")
    title = "F1 of categories" if figure == "f1" else "Alpha of categories"
    known = [row for row in categories if row[figure] is not None]
    worst = sorted(known, key=lambda row: (row[figure], -row["n_annotations"]))[:_MOST_CATEGORIES]
    if not worst:
        return draw_nothing(axes(CHART_WIDTH, 1.2), title, "no category has a figure")
    rows = [
        _Row(
            f"{set_apart(short_name(row['category']))} ({row['n_annotations']:,})",
            SERIES[0],
            row[figure],
            None if row[low] is None or row[high] is None else (row[low], row[high]),
        )
        for row in worst
    ]
    ax = axes(CHART_WIDTH, 1.1 + 0.24 * len(rows))
    _draw_rows(ax, rows)
    against = "against all others; " if figure == "alpha" else ""
    shown = part_of(len(worst), len(categories), "categories")
    set_title(ax, title, f"{against}in brackets: annotations", shown and f"{shown}, lowest first")
    return ax


def _draw_rows(ax: "Axes", rows: Sequence[_Row]) -> None:
    """Draw a dot and a bar for each row, the first at the top, and its numbers at the right."""
    ax.set_xlim(_left_end(rows), 1)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    names = [_label(row) for row in rows]
    size = row_size([row.name for row in rows])
    ax.set_yticks(range(len(rows)), names, fontsize=size)
    ax.grid(visible=True, axis="x")
    ax.set_axisbelow(True)
    ax.tick_params(left=False)
    ax.spines[["left"]].set_visible(False)
    for place, row in enumerate(rows):
        _draw_row(ax, place, row, size)


def _draw_row(ax: "Axes", place: int, row: _Row, size: int) -> None:
    if row.lowest is not None and row.value is not None:
        ax.vlines(row.lowest, place - 0.4, place + 0.4, color=DIM, linestyles="dashed")
    if row.value is None:
        text = "\n".join(_reason_lines(row.reason))
        left = ax.get_yaxis_transform()
        ax.text(0.01, place, text, color=DIM, fontsize=7, transform=left, va="center")
        _write_value(ax, place, "–", size)
        return
    low, high = row.interval or (None, None)
    if low is not None and high is not None:
        ax.hlines(place, low, high, color=row.color, linewidth=8, alpha=0.4)
    # Above and below a small dot, narrow intervals show as well.
    ax.plot([row.value], [place], "o", color=row.color, markersize=4.5, clip_on=False)
    _write_value(ax, place, with_interval(row.value, low, high), size)


def _reason_lines(reason: str) -> list[str]:
    """Return a reason in lines that fit between two rows, or what it says before its colon."""
    lines = wrap(short_name(reason, 100), _LINE)
    return lines if len(lines) <= _MOST_LINES else wrap(reason.partition(":")[0], _LINE)


def _label(row: _Row) -> str:
    return row.name if row.lowest is None else f"{row.name}\nat least {row.lowest:g}"


def _write_value(ax: "Axes", place: int, text: str, size: int) -> None:
    # The dot of a figure of 1 extends beyond the axis.
    ax.annotate(
        text, (1, place), (8, 0), va="center_baseline", fontsize=size,
        xycoords=ax.get_yaxis_transform(), textcoords="offset points",
    )  # fmt: skip


def _left_end(rows: Iterable[_Row]) -> float:
    """Return the start of the axis: 0, or the next lower tenth of a negative value."""
    lowest = [row.lowest for row in rows] + [row.value for row in rows]
    lowest += [row.interval[0] for row in rows if row.interval is not None]
    return floor(10 * min([0.0, *(value for value in lowest if value is not None)])) / 10
