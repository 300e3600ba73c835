"""Figures of matplotlib in the style of the pages, whatever style the user has chosen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from bboxqa.report.charts.palette import BACK, DIM, LINE, SERIES, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE: dict[str, Any] = {
    "axes.edgecolor": DIM, "axes.labelcolor": TEXT, "axes.titlecolor": TEXT,
    "axes.facecolor": "none", "figure.facecolor": "none", "text.color": TEXT,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": False,
    "axes.titlelocation": "left", "axes.titlesize": 11, "axes.titleweight": "bold",
    "axes.titley": 1.0,
    "font.size": 10, "grid.color": LINE, "grid.linewidth": 0.8, "hatch.color": DIM,
    "hatch.linewidth": 0.6, "legend.frameon": False, "xtick.color": DIM, "ytick.color": DIM,
    "xtick.labelcolor": TEXT, "ytick.labelcolor": TEXT, "patch.edgecolor": BACK,
    "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "bboxqa", "pdf.fonttype": 42,
}  # fmt: skip
# What belongs to the session of a user, and not to a style.
_OF_SESSION = ("backend", "interactive", "figure.max_open_warning")

# Inches: on a phone, a chart of this width is scaled to three quarters, and can be read.
CHART_WIDTH = 4.8

AxesMaker: TypeAlias = "Callable[[float, float], Axes]"
"""Returns the axes that a chart of this width and height, in inches, is drawn on."""


@contextmanager
def page_style() -> Iterator[None]:
    """Draw what is drawn within in the style of the pages."""
    import matplotlib as mpl
    from cycler import cycler

    if mpl.rcParams["svg.hashsalt"] == _STYLE["svg.hashsalt"]:
        # It is in force already: to set all of it again takes as long as to draw a line.
        yield
        return
    settings: Any = {**mpl.rcParamsDefault, **_STYLE, "axes.prop_cycle": cycler(color=SERIES)}
    for name in _OF_SESSION:
        del settings[name]
    # Not rc_context: it would undo what a notebook sets when its first figure is made.
    before: Any = {name: mpl.rcParams[name] for name in settings}
    mpl.rcParams.update(settings)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def new_axes(width: float, height: float, ax: "Axes | None" = None) -> "Axes":
    """Return the axes that were given, or those of a new figure, in inches.

    The figure belongs to nobody but the caller: pyplot does not keep it.
    """
    if ax is not None:
        return ax
    from bboxqa.report.charts.quiet_figure import QuietFigure

    return QuietFigure(figsize=(width, height), layout="constrained").subplots()


def shown_axes(width: float, height: float) -> "Axes":
    """Return the axes of a new figure that a notebook, or ``pyplot.show()``, shows."""
    from matplotlib import pyplot as plt

    from bboxqa.report.charts.quiet_figure import QuietFigure

    figure = plt.figure(
        FigureClass=QuietFigure, figsize=(width, height), layout="constrained", facecolor=BACK
    )
    return figure.subplots()
