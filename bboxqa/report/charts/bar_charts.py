"""Bar charts: kinds of disagreement, costs of images, findings by severity."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bboxqa.core.text import count
from bboxqa.report.charts.figures import CHART_WIDTH, AxesMaker, new_axes, page_style
from bboxqa.report.charts.labels import (
    draw_nothing,
    number,
    part_of,
    row_size,
    set_title,
    short_name,
)
from bboxqa.report.charts.palette import DIM, SERIES, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_IMAGES = 30
_SEVERITY_COLORS = {"error": SERIES[1], "warning": SERIES[4], "info": SERIES[5]}


@page_style()
def decomposition(rows: Sequence[Mapping[str, Any]], *, axes: AxesMaker = new_axes) -> "Axes":
    """Draw the share of objects with each kind of disagreement, with its 95 % interval.

    `rows` are the rows of the table "decomposition". Objects may have several kinds. Beside each
    bar are the number of objects, and the rise of alpha (or F1 without alpha) if annotators settled
    them.
    """
    title = "Objects by kind of disagreement"
    if not rows or not any(row["n_objects"] for row in rows):
        return draw_nothing(axes(CHART_WIDTH, 1.2), title, "there are no objects")
    gain = "f1_gain" if all(row["alpha_gain"] is None for row in rows) else "alpha_gain"
    ax = axes(CHART_WIDTH, 0.9 + 0.3 * len(rows))
    shares = [100 * (row["share_any"] or 0) for row in rows]
    colors = [SERIES[2], *[SERIES[0]] * (len(rows) - 1)]
    ax.barh(range(len(rows)), shares, 0.62, color=colors, alpha=0.75)
    for place, row in enumerate(rows):
        end = shares[place]
        if row["share_any_low"] is not None and row["share_any_high"] is not None:
            low, high = 100 * row["share_any_low"], 100 * row["share_any_high"]
            ax.hlines(place, low, high, color=TEXT, linewidth=1.2)
            end = high
        _write_behind(ax, place, end, _gain_text(row, gain))
    _set_rows(ax, [row["kind"] for row in rows])
    ax.set_xlim(0)
    set_title(ax, title, "an object may have several kinds")
    ax.set_xlabel("per cent of objects")
    return ax


def _gain_text(row: Mapping[str, Any], gain: str) -> str:
    text = count(row["n_any"], "object")
    if row[gain] is None or abs(row[gain]) < 0.0005:
        return text
    return f"{text}\n{'F1' if gain == 'f1_gain' else 'alpha'} {_signed(row[gain])} if settled"


@page_style()
def image_costs(
    images: Sequence[Mapping[str, Any]],
    n_images: int,
    figure: str = "alpha",
    *,
    axes: AxesMaker = new_axes,
) -> "Axes":
    """Draw the costs of the costliest images in alpha, or in F1 where alpha has no meaning.

    `images` and `n_images` are from the document "worst_images"; `figure` is "alpha" or "F1". At
    most 30 images are drawn.
    """
    title = f"What images cost in {figure}"
    worst = [row for row in images if row["cost"] is not None][:_MOST_IMAGES]
    if not worst:
        return draw_nothing(axes(CHART_WIDTH, 1.2), title, f"there are no two images with {figure}")
    names = [short_name(row["file_name"]) for row in worst]
    ax = axes(CHART_WIDTH, 1.2 + 0.22 * len(worst))
    costs = [row["cost"] for row in worst]
    ax.barh(range(len(worst)), costs, 0.62, color=SERIES[1], alpha=0.75)
    ax.axvline(0, color=DIM, linewidth=0.8)
    ax.locator_params(axis="x", nbins=5)
    key = figure.lower()
    for place, row in enumerate(worst):
        own = "–" if row[key] is None else number(row[key])
        _write_behind(ax, place, max(row["cost"], 0), own)
    _set_rows(ax, names)
    shown = part_of(len(worst), n_images, "images")
    set_title(
        ax, title, shown and f"{shown}, costliest first",
        f"bar: rise of {figure} without the image", f"number: {figure} of the image",
    )  # fmt: skip
    return ax


@page_style()
def severities(counts: Mapping[str, int], *, axes: AxesMaker = new_axes) -> "Axes":
    """Draw the number of findings of each severity."""
    ax = axes(4.6, 1.2)
    colors = [_SEVERITY_COLORS[name] for name in counts]
    ax.barh(range(len(counts)), [*counts.values()], 0.62, color=colors)
    for place, n in enumerate(counts.values()):
        _write_behind(ax, place, n, f"{n:,}")
    _set_rows(ax, [*counts])
    ax.set_xlim(0, 1.15 * max(1, *counts.values()))
    ax.set_xticks([])
    ax.spines[["bottom"]].set_visible(False)
    return ax


def _write_behind(ax: "Axes", place: int, end: float, text: str) -> None:
    ax.annotate(
        text, (end, place), (5, 0), color=TEXT, fontsize=8, textcoords="offset points", va="center"
    )


def _set_rows(ax: "Axes", names: Sequence[str]) -> None:
    """Name the rows, the first at the top."""
    ax.set_yticks(range(len(names)), names, fontsize=row_size(names))
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(left=False)


def _signed(gain: float) -> str:
    return f"{gain:+z.3f}".replace("-", "\N{MINUS SIGN}")
