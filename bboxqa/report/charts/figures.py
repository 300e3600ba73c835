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
# Parameters of a user's session, which a style must not change.
_OF_SESSION = ("backend", "interactive", "figure.max_open_warning")

# In inches. A phone scales charts of this width to three quarters, which is still readable.
CHART_WIDTH = 4.8

AxesMaker: TypeAlias = "Callable[[float, float], Axes]"
"""Returns the axes of a chart with this width and height in inches."""


@contextmanager
def page_style() -> Iterator[None]:
    """Use the style of the pages inside the context."""
    import matplotlib as mpl
    from cycler import cycler

    if mpl.rcParams["svg.hashsalt"] == _STYLE["svg.hashsalt"]:
        # The style is already active: setting it again takes as long as drawing a line.
        yield
        return
    settings: Any = {**mpl.rcParamsDefault, **_STYLE, "axes.prop_cycle": cycler(color=SERIES)}
    for name in _OF_SESSION:
        del settings[name]
    # Not rc_context: it would undo the settings that a notebook makes with its first figure.
    before: Any = {name: mpl.rcParams[name] for name in settings}
    mpl.rcParams.update(settings)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def new_axes(width: float, height: float, ax: "Axes | None" = None) -> "Axes":
    """Return the axes that were given, or those of a new figure, in inches.

    The figure belongs to the caller: pyplot does not keep it.
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
