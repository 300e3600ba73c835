"""Agreement over the threshold."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.report.charts.figures import CHART_WIDTH, AxesMaker, new_axes, page_style
from bboxqa.report.charts.labels import draw_nothing
from bboxqa.report.charts.palette import DASHES, DIM, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE = "Agreement by threshold"
_LINES = {"alpha": "alpha, pooled", "f1": "existence: F1", "class_alpha": "class: alpha"}


@page_style()
def sensitivity(
    rows: Sequence[Mapping[str, Any]], chosen: float | None = None, *, axes: AxesMaker = new_axes
) -> "Axes":
    """Draw alpha, F1 and class alpha with their 95 % bands, and F1 by chance, by threshold.

    `rows` are those of the table "sensitivity"; `chosen` is the threshold of the result.
    """
    of = {name: _column(rows, name) for name in [*_LINES, "f1_by_chance"]}
    if np.isnan([*of.values()]).all():
        return draw_nothing(
            axes(CHART_WIDTH, 1.2), _TITLE, "no agreement is defined at any threshold"
        )
    threshold = _column(rows, "threshold")
    ax = axes(CHART_WIDTH, 3.7)
    for place, (name, label) in enumerate(_LINES.items()):
        if np.isnan(of[name]).all():
            continue
        low, high = _column(rows, f"{name}_low"), _column(rows, f"{name}_high")
        color = SERIES[place]
        ax.fill_between(threshold, low, high, color=color, alpha=0.18, linewidth=0)
        line = ax.plot(threshold, of[name], color=color, label=label, linewidth=2)[0]
        if DASHES[place]:
            line.set_dashes(DASHES[place])
    if not np.isnan(of["f1_by_chance"]).all():
        ax.plot(threshold, of["f1_by_chance"], ":", color=DIM, label="F1 by chance")
    if chosen is not None:
        ax.axvline(chosen, color=DIM, linewidth=1)
        ax.annotate(
            f"chosen: {chosen:g}", (chosen, 1), (3, 2), color=DIM, fontsize=8,
            textcoords="offset points", xycoords=ax.get_xaxis_transform(),
        )  # fmt: skip
    _set_axis(ax, threshold)
    return ax


def _set_axis(ax: "Axes", threshold: FloatArray) -> None:
    ax.set_xlim(threshold.min() - 0.01, threshold.max() + 0.01)
    low, high = ax.get_ylim()
    ax.set_ylim(min(low, 0), max(high, 1))
    ax.grid(visible=True, axis="y")
    ax.set_axisbelow(True)
    ax.set_xlabel("least similarity of two annotations of one object")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    ax.set_title(_TITLE, pad=14)


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> FloatArray:
    return np.array([row[name] for row in rows], np.float64)
