"""The charts of a result on matplotlib axes, in the style of the pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name
from bboxqa.model.results import MeasuredAgreement
from bboxqa.report import charts
from bboxqa.report.agreement_summary import shown_figures, summary
from bboxqa.report.chart import (
    BACK,
    DIM,
    LARGE,
    LINE,
    NAME,
    SERIES,
    SMALL,
    TEXT,
    TITLE,
    Chart,
    Dot,
    Layout,
    Text,
    layout,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE: dict[str, Any] = {
    "axes.edgecolor": DIM, "axes.labelcolor": TEXT, "axes.titlecolor": TEXT,
    "axes.facecolor": "none", "figure.facecolor": "none", "text.color": TEXT,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": False,
    "axes.titlelocation": "left", "axes.titlesize": TITLE, "axes.titleweight": "bold",
    "axes.titley": 1.0,
    "font.size": LARGE, "grid.color": LINE, "grid.linewidth": 0.8, "legend.frameon": False,
    "xtick.color": DIM, "ytick.color": DIM, "xtick.labelcolor": TEXT, "ytick.labelcolor": TEXT,
    "patch.edgecolor": BACK, "text.parse_math": False, "svg.fonttype": "none",
    "svg.hashsalt": "bboxqa", "pdf.fonttype": 42,
}  # fmt: skip
# Parameters of a user's session, which a style must not change.
_OF_SESSION = ("backend", "interactive", "figure.max_open_warning")
# Fonts with letters that the one of matplotlib lacks; those that are installed are used.
_FONTS = (
    "Arial Unicode MS", "Hiragino Sans", "Malgun Gothic", "Microsoft YaHei",
    "Noto Sans Arabic", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans Devanagari",
    "PingFang HK", "Segoe UI", "WenQuanYi Micro Hei", "Yu Gothic",
)  # fmt: skip


@contextmanager
def page_style() -> Iterator[None]:
    """Use the style of the pages inside the context, whatever style the user has chosen."""
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.font_manager import fontManager

    settings: Any = {**mpl.rcParamsDefault, **_STYLE, "axes.prop_cycle": cycler(color=SERIES)}
    installed = {font.name for font in fontManager.ttflist}
    settings["font.family"] = ["sans-serif", *(name for name in _FONTS if name in installed)]
    for name in _OF_SESSION:
        del settings[name]
    # Not rc_context: it would undo the settings that a notebook makes with its first figure.
    before: Any = {name: mpl.rcParams[name] for name in settings}
    mpl.rcParams.update(settings)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def draw_chart(chart: Chart, ax: "Axes | None" = None) -> "Axes":
    """Draw a chart on given axes, or on those of a new figure that a notebook shows."""
    import matplotlib as mpl
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline
    from matplotlib.text import Text as Label

    with page_style():
        found = layout(chart)
        if ax is None:
            from matplotlib import pyplot as plt

            size = (found.total_width / 72, found.total_height / 72)
            ax = plt.figure(figsize=size, layout="constrained", facecolor=BACK).subplots()
        _draw_axes(ax, found)
        for mark in chart.marks:
            if isinstance(mark, Text):
                align: Any = {"start": "left", "middle": "center", "end": "right"}[mark.align]
                ax.text(
                    mark.x, mark.y, mark.text, color=mark.color, fontsize=mark.size, ha=align,
                    va="center", linespacing=1.1,
                )  # fmt: skip
            elif isinstance(mark, Dot):
                ax.plot([mark.x], [mark.y], "o", color=mark.color, markersize=4.5, clip_on=False)
            else:
                ax.add_patch(PathPatch(
                    Outline(mark.points), facecolor=mark.fill, edgecolor=mark.color,
                    linewidth=mark.width, linestyle=(0, mark.dashes or None), alpha=mark.opacity,
                    clip_on=False, capstyle="butt",
                ))  # fmt: skip
        for each in ax.findobj(Label):
            # The axes may have had labels before.
            each.set_fontfamily(mpl.rcParams["font.family"])
    return ax


def _draw_axes(ax: "Axes", found: Layout) -> None:
    """Draw the title and axes with their names, and the entries of the legend."""
    from matplotlib.lines import Line2D

    chart = found.chart
    ax.set(xlim=chart.x, ylim=chart.y, xlabel=chart.x_label)
    lines = [*filter(None, chart.legend)]
    ax.set_title(chart.title, loc="left", pad=7 + 11 * len(lines))
    if lines:
        label = ax.annotate("\n".join(lines), (0, 1), (0, 5), color=DIM, fontsize=SMALL,
                            xycoords="axes fraction", textcoords="offset points")  # fmt: skip
        # A long line must not make the axes narrow.
        label.set_in_layout(False)
    if not chart.frame:
        ax.spines[:].set_visible(False)
        ax.set(xticks=[], yticks=[])
    if chart.width is not None:
        ax.set_aspect("equal")
    if chart.rows:
        ax.set_yticks(range(len(chart.rows)), chart.rows, fontsize=NAME)
        ax.tick_params(left=False)
        ax.spines[["left"]].set_visible(False)
    for row, text in enumerate(chart.beside):
        ax.annotate(text, (1, row), (5, 0), fontsize=NAME, va="center",
                    xycoords=("axes fraction", "data"), textcoords="offset points")  # fmt: skip
    if chart.columns:
        ax.set_xticks(
            range(len(chart.columns)), chart.columns, fontsize=NAME, rotation=45,
            rotation_mode="anchor", ha="right", va="top",
        )  # fmt: skip
        ax.tick_params(length=0)
    if chart.grid:
        ax.grid(visible=True, axis=chart.grid)
        ax.set_axisbelow(True)
    if chart.keys:
        handles = [
            Line2D([], [], color=key.color, linewidth=2, dashes=key.dashes or (None, None))
            for key in chart.keys
        ]
        below = (38 if chart.x_label else 26) / chart.height
        ax.legend(handles, [key.name for key in chart.keys], loc="upper left", fontsize=SMALL,
                  bbox_to_anchor=(0, -below), ncols=found.keys_in_row)  # fmt: skip


class Plots:
    """The charts of a result, at its first threshold.

    Each method draws on the given matplotlib axes, or on those of a new ``pyplot`` figure, which
    notebooks show automatically, and returns the axes.

    All but `intervals` and `category_intervals` need the diagnosis of the result, which is computed
    by the first of them. An annotator who is not there, and an unknown figure, raise ConfigError.

    Examples
    --------
    >>> import bboxqa
    >>> from matplotlib.figure import Figure
    >>> from bboxqa.examples import example_file
    >>> result = bboxqa.agree(bboxqa.read(example_file("fruits")))
    >>> ax = result.plot.category_intervals(Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['Apple (6)', 'Banana (3)']
    """

    def __init__(self, result: MeasuredAgreement) -> None:
        self._result = result

    def intervals(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha, existence, class and place with their 95 % intervals, and the gates."""
        settings, measure = self._result.settings, self._result.thresholds[0].measure
        figures = shown_figures(self._threshold, measure, self._result.n_annotators)
        gates = {"min_alpha": settings.min_alpha, "min_f1": settings.min_f1}
        return draw_chart(charts.intervals(figures, **gates), ax)

    def category_intervals(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha of each category, or F1 where none has an alpha; the 30 lowest, in order."""
        return draw_chart(charts.category_intervals(self._threshold["categories"]), ax)

    def sensitivity(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha, F1 and class alpha by threshold, with 95 % bands and the chosen threshold."""
        chosen = self._threshold["iou_threshold"]
        return draw_chart(charts.sensitivity(self._rows("sensitivity"), chosen), ax)

    def pair_matrix(
        self, ax: "Axes | None" = None, *, figure: Literal["f1", "alpha"] = "f1"
    ) -> "Axes":
        """Draw the agreement of each pair of annotators, similar annotators side by side.

        The number below it counts the units of the pair. With more than 40 annotators, those with
        most units are drawn.
        """
        if figure not in ("f1", "alpha"):
            raise ConfigError(f"figure {unknown_name(figure, ('f1', 'alpha'))}")
        order = [row["annotator"] for row in self._rows("agreement_matrix")]
        return draw_chart(charts.pair_matrix(order, self._threshold["pairs"], figure), ax)

    def confusion_matrix(self, annotator: str | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw the confusion matrix of one annotator, or of all, with the others.

        "no box" stands for a missing annotation. With more than 20 categories, the most confused
        ones are drawn.
        """
        if annotator is not None:
            self._check(annotator)
        return draw_chart(charts.confusion_matrix(self._rows("confusion_matrix"), annotator), ax)

    def offsets(self, annotator: str, ax: "Axes | None" = None) -> "Axes":
        """Draw how far the edges of the boxes of an annotator are from those of the others.

        Rotated boxes and key points, whose offsets are in a table of the diagnosis, raise
        ConfigError.
        """
        self._check(annotator)
        tables = self._result.diagnose().tables
        if "offsets" not in tables:
            other = next(each for each in ("rotated_offsets", "joint_annotators") if each in tables)
            raise ConfigError(f"only upright boxes have edges; the table {other} has offsets")
        own = [row for row in self._rows("offsets") if row["annotator"] == annotator]
        return draw_chart(charts.offsets(own), ax)

    def decomposition(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of objects of each kind of disagreement, with its 95 % interval."""
        return draw_chart(charts.decomposition(self._rows("decomposition")), ax)

    def image_costs(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the rise of alpha, or of F1 without alpha, without each of the 30 worst images."""
        worst = self._result.diagnose().worst_images
        figure = "F1" if self._threshold["alpha"] is None else "alpha"
        return draw_chart(charts.image_costs(worst["images"], worst["n_images"], figure), ax)

    @cached_property
    def _threshold(self) -> dict[str, Any]:
        found: dict[str, Any] = summary(self._result)["thresholds"][0]
        return found

    def _rows(self, table: str) -> list[dict[str, Any]]:
        return self._result.diagnose().tables[table].records()

    def _check(self, annotator: str) -> None:
        names: list[str] = self._result.diagnose().tables["annotators"]["annotator"].tolist()
        if annotator not in names:
            raise ConfigError(f"annotator {unknown_name(annotator, names)}")
