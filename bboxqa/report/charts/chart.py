"""A chart as marks in its own units, which a page draws as SVG and `result.plot` on axes.

Colours are named by what they mean; drawings use them as well.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log10
from typing import Literal
from unicodedata import east_asian_width

SERIES = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b3294", "#8c6d31",
)  # fmt: skip
"""Colours that people with colour vision deficiencies can distinguish [1]_, for annotators, lines.

References
----------
.. [1] Okabe and Ito (2008), "Color Universal Design"; two colours were added.
"""
DASHES = (
    (), (6, 3), (2, 2), (8, 3, 2, 3), (1.4, 4), (7, 2, 2, 2, 2, 2), (11, 5), (5, 1.4),
)  # fmt: skip
"""Styles of lines. Charts of figures have them in this order."""
N_TOLD_APART = len(SERIES) * len(DASHES)
"""The number of combinations of colour and style that `series_style` returns."""


def series_style(place: int) -> tuple[int, int]:
    """Return the indices of colour and line style of a series; of the first eight, both differ.

    Examples
    --------
    >>> series_style(0), series_style(1), series_style(8)
    ((0, 0), (1, 1), (0, 1))
    >>> len({series_style(place) for place in range(N_TOLD_APART)})
    64
    """
    n_colors = len(SERIES)
    return place % n_colors, (place + place // n_colors) % len(DASHES)


TEXT, DIM, LINE, BACK = "#1c2024", "#5b6470", "#dfe3e8", "#ffffff"

CLASSES = {
    TEXT: "text", DIM: "dim", LINE: "line", BACK: "back",
    **{color: f"series-{place}" for place, color in enumerate(SERIES)},
}  # fmt: skip
"""Class names of the colours that a page redefines for dark screens."""


def readable_on(color: str) -> str:
    """Return a dark or a light colour, the same on all pages, to be read on a colour.

    Examples
    --------
    >>> readable_on("#e69f00"), readable_on("#0072b2")
    ('#101418', '#fdfdfd')
    """
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return "#101418" if 0.299 * red + 0.587 * green + 0.114 * blue > 127 else "#fdfdfd"


WIDTH = 4.8
"""The width of a chart in inches: a phone scales it to three quarters, which is still readable."""
TITLE, LARGE, SMALL = 11.0, 10.0, 8.0
"""Sizes of letters in points."""
# Longer names of rows are written in small letters.
_MOST_LARGE = 24
# Names of columns of so few characters are not turned.
_LEVEL = 2
# Shares of the size of a letter.
_NARROW, _WIDE, _USUAL = 0.34, 0.9, 0.6

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Path:
    """Lines through points, in units of the chart; each piece is a line of its own."""

    pieces: Sequence[Sequence[Point]]
    color: str = "none"
    fill: str = "none"
    width: float = 1.0
    """Of the line, in points."""
    dashes: tuple[float, ...] = ()
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Dot:
    """A point, as a disk with a radius in points."""

    x: float
    y: float
    color: str
    radius: float = 2.25


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of text beside a point, which may be inf: the right or the upper end of the chart."""

    x: float
    y: float
    text: str
    shift: float = 0.0
    """To the right, in points."""
    size: float = SMALL
    align: Literal["start", "middle", "end"] = "start"
    color: str = TEXT
    bold: bool = False
    rise: float = 0.0
    """Of the middle of the text above the point, in points."""


Mark = Path | Dot | Text


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend."""

    name: str
    color: str
    dashes: tuple[float, ...] = ()
    is_dot: bool = False

    @property
    def width(self) -> float:
        """Its width with the space after it, in points."""
        return text_width(self.name, SMALL) + 34


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Marks on two axes.

    Names of `rows` and `columns` stand at 0, 1, … of their axis, in place of its numbers.
    """

    title: str
    marks: Sequence[Mark]
    x: tuple[float, float]
    y: tuple[float, float]
    """The values at the lower and at the upper end."""
    height: float
    """Of the plot, in points."""
    width: float | None = None
    """Of the plot, in points; by default what remains of `WIDTH`."""
    legend: Sequence[str] = ()
    """Lines below the title."""
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    x_label: str = ""
    keys: Sequence[Key] = ()
    grid: Literal["", "x", "y"] = ""
    frame: Literal["", "x", "y", "xy"] = "x"
    """Axes that are drawn, with their numbers."""
    letter: float = 0.0
    """The size of the names of rows and columns; by default one that fits."""

    @property
    def row_size(self) -> float:
        """The size of the letters of names of rows."""
        longest = max(
            (len(line) for name in self.rows or () for line in name.split("\n")), default=0
        )
        return self.letter or (SMALL if longest > _MOST_LARGE else LARGE)

    @property
    def turn(self) -> int:
        """The angle in degrees by which names of columns are turned."""
        columns = self.columns or ()
        if max(map(len, columns), default=0) <= _LEVEL:
            return 0
        return 45 if len(columns) <= MOST_SLANTED else 90

    @property
    def texts(self) -> list[str]:
        """All texts."""
        marked = [mark.text for mark in self.marks if isinstance(mark, Text)]
        names = [*(self.rows or ()), *(self.columns or ())]
        return [self.title, *self.legend, *names, *marked, *(key.name for key in self.keys)]


def nothing(title: str, reason: str, width: float | None = None) -> Chart:
    """Return an empty chart that says why it is empty."""
    said = Text(0, 0.5, reason, size=LARGE if width is None else SMALL, color=DIM)
    return Chart(title, [said], (0, 1), (0, 1), 40, width, frame="")


def bar(low: float, high: float, place: float, color: str) -> Path:
    """Return a horizontal bar in a row."""
    top, bottom = place - 0.31, place + 0.31
    corners = [(low, top), (high, top), (high, bottom), (low, bottom)]
    return Path([[*corners, corners[0]]], fill=color, opacity=0.75)


def span(low: float, high: float, place: float, color: str, width: float, opacity: float) -> Path:
    """Return a horizontal line in a row."""
    return Path([[(low, place), (high, place)]], color, width=width, opacity=opacity)


def upright(x: float, low: float, high: float, dashes: tuple[float, ...] = ()) -> Path:
    """Return a dim vertical line; its ends may be infinite."""
    return Path([[(x, low), (x, high)]], DIM, dashes=dashes)


def in_rows(n_rows: int) -> tuple[float, float]:
    """Return the ends of an axis with the first row at its top."""
    return n_rows - 0.5, -0.5


def round_numbers(low: float, high: float) -> list[float]:
    """Return at most about six round numbers from `low` to `high`.

    Examples
    --------
    >>> round_numbers(0, 1), round_numbers(-0.5, 1)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [-0.5, 0.0, 0.5, 1.0])
    """
    step = 10.0 ** floor(log10((high - low) / 6))
    step *= next(each for each in (1, 2, 5, 10, 20) if (high - low) / (each * step) <= 6 + 1e-9)
    places = range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
    return [round(place * step, 10) for place in places]


def text_width(text: str, size: float) -> float:
    """Return about the width of the longest line of a text in points, in a usual font."""
    return size * max(sum(map(_share, line)) for line in text.split("\n"))


def _share(sign: str) -> float:
    if sign in "iljtfrI.,:;'|![]() ":
        return _NARROW
    return _WIDE if sign in "mwMW@%" or east_asian_width(sign) in "WF" else _USUAL


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the plot of a chart is, in points from the upper left."""

    left: float
    top: float
    width: float
    height: float
    total_width: float
    total_height: float
    row_of_keys: int
    """Keys in a row."""

    def place(self, chart: Chart) -> Callable[[float, float], Point]:
        """Return a function from units of the chart to points."""

        def placed(x: float, y: float) -> Point:
            across, up = _share_of(x, chart.x), _share_of(y, chart.y)
            return self.left + across * self.width, self.top + (1 - up) * self.height

        return placed


def _share_of(value: float, ends: tuple[float, float]) -> float:
    if abs(value) == inf:
        return float(value > 0)
    return (value - ends[0]) / (ends[1] - ends[0])


def layout(chart: Chart) -> Layout:
    """Return the place of the plot of a chart, beside which its names and numbers fit."""
    total = 72 * WIDTH
    left = _left(chart)
    keys_wide = [key.width for key in chart.keys]
    if chart.width is None:
        width = total - left - 6.0
        for share, beyond in _beyond(chart):
            if share > 0:
                width = min(width, (total - left - 2 - beyond) / share)
        width = max(width, 60.0)
        ends = (left + share * width + beyond + 2 for share, beyond in _beyond(chart))
        total = max([total, *ends])
    else:
        width = chart.width
        right = max((share * width + beyond for share, beyond in _beyond(chart)), default=0.0)
        title = text_width(chart.title, TITLE) * 1.1
        legend = max((text_width(line, SMALL) for line in chart.legend), default=0.0)
        total = left + max(width + 6, right, title, legend)
    in_row = max(min(len(chart.keys), int((total - left) / max([*keys_wide, 1.0]))), 1)
    top = (22.0 if chart.title else 6.0) + 11 * len([*filter(None, chart.legend)])
    below = 16.0 if "x" in chart.frame else 4.0
    if chart.columns is not None:
        longest = max((text_width(name, chart.row_size) for name in chart.columns), default=0.0)
        below = 10 + {0: chart.row_size, 45: 0.75 * longest, 90: longest}[chart.turn]
    below += 14.0 * bool(chart.x_label)
    below += 13.0 * ceil(len(chart.keys) / in_row) + 4 if chart.keys else 0.0
    return Layout(left, top, width, chart.height, total, top + chart.height + below, in_row)


MOST_SLANTED = 16
"""More columns have upright names."""


def _left(chart: Chart) -> float:
    """Return the room for the names of rows, or for the numbers of an axis."""
    if chart.rows is not None:
        wide = [text_width(name, chart.row_size) for name in chart.rows]
        return 10 + max(wide, default=0.0)
    return 28.0 if "y" in chart.frame else 2.0


def _beyond(chart: Chart) -> Iterator[tuple[float, float]]:
    """Yield where texts begin, as a share of the width of the plot, and their length in points."""
    part = {"start": 1.0, "middle": 0.5, "end": 0.0}
    for mark in chart.marks:
        if isinstance(mark, Text):
            wide = text_width(mark.text, mark.size) * part[mark.align]
            yield _share_of(mark.x, chart.x), mark.shift + wide
