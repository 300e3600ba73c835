"""A chart as marks in its own units, placed in points, and as SVG; `result.plot` draws it.

Colours are named by what they mean; drawings use them as well.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Literal
from unicodedata import east_asian_width

import msgspec
from msgspec.structs import replace

from bboxqa.core.text import one_line
from bboxqa.report.numbers import MINUS

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
    """Return the indices of colour and line style of a series; of the first eight, both differ."""
    n_colors = len(SERIES)
    return place % n_colors, (place + place // n_colors) % len(DASHES)


TEXT, DIM, LINE, BACK = "#1c2024", "#5b6470", "#dfe3e8", "#ffffff"

CLASSES = {
    TEXT: "text", DIM: "dim", LINE: "line", BACK: "back",
    **{color: f"series-{place}" for place, color in enumerate(SERIES)},
}  # fmt: skip
"""Class names of the colours that a page redefines for dark screens."""


def readable_on(color: str) -> str:
    """Return a dark or a light colour, the same on all pages, to be read on a colour."""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return "#101418" if 0.299 * red + 0.587 * green + 0.114 * blue > 127 else "#fdfdfd"


WIDTH = 4.8
"""The width of a chart in inches: a phone scales it to three quarters, which is still readable."""
TITLE, LARGE, NAME, SMALL = 11.0, 10.0, 9.0, 8.0
"""Sizes of letters in points: of titles, numbers, names of rows and columns, and legends."""
# Shares of the size of a letter.
_NARROW, _WIDE, _USUAL = 0.34, 0.9, 0.6

Point = tuple[float, float]


class Path(msgspec.Struct, frozen=True):
    """A line through points, in units of the chart, or the area inside it."""

    points: Sequence[Point]
    color: str = "none"
    fill: str = "none"
    width: float = 1.0
    """Of the line, in points."""
    dashes: tuple[float, ...] = ()
    opacity: float = 1.0


class Dot(msgspec.Struct, frozen=True):
    """A point."""

    x: float
    y: float
    color: str


class Text(msgspec.Struct, frozen=True):
    """Lines of text beside a point, at whose height their middle is."""

    x: float
    y: float
    text: str
    size: float = SMALL
    align: Literal["start", "middle", "end"] = "start"
    color: str = TEXT
    is_bold: bool = False
    is_turned: bool = False
    """Whether it rises by 45°."""


Mark = Path | Dot | Text


class Key(msgspec.Struct, frozen=True):
    """An entry of a legend."""

    name: str
    color: str
    dashes: tuple[float, ...] = ()


class Chart(msgspec.Struct, frozen=True, eq=False):
    """Marks on two axes.

    Names of `rows` and `columns` stand at 0, 1, … of their axis, in place of its numbers, and the
    texts `beside` rows at the right.
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
    rows: Sequence[str] = ()
    beside: Sequence[str] = ()
    columns: Sequence[str] = ()
    x_label: str = ""
    keys: Sequence[Key] = ()
    grid: Literal["", "x", "y"] = ""
    frame: Literal["", "x", "xy"] = "x"
    """Axes that are drawn, with their numbers."""
    least_step: float = 0.0
    """The smallest step between these numbers: 1 for counts."""


def nothing(title: str) -> Chart:
    """Return an empty chart that says so."""
    mark = Text(0, 0.5, "there is nothing to compare", LARGE, color=DIM)
    return Chart(title, [mark], (0, 1), (0, 1), 40, frame="")


def rectangle(first: Point, second: Point) -> list[Point]:
    """Return the closed outline of a rectangle between two corners."""
    (left, top), (right, bottom) = first, second
    return [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]


def text_width(text: str, size: float) -> float:
    """Return about the width of the longest line of a text in points, in a usual font."""

    def share(sign: str) -> float:
        if sign in "iljtfrI.,:;'|![]() ":
            return _NARROW
        return _WIDE if sign in "mwMW@%" or east_asian_width(sign) in "WF" else _USUAL

    return size * max(sum(map(share, line)) for line in text.split("\n"))


def _widest(texts: Iterable[str], size: float = SMALL) -> float:
    return max((text_width(text, size) for text in texts), default=0.0)


class Layout(msgspec.Struct, frozen=True, eq=False):
    """Where the plot of a chart is, in points from the upper left."""

    chart: Chart
    left: float
    top: float
    width: float
    total_width: float
    total_height: float
    key_width: float
    """The width of an entry of the legend with the space after it."""
    keys_in_row: int

    def at(self, x: float, y: float) -> Point:
        """Return a place in units of the chart in points."""
        (x_low, x_high), (y_low, y_high) = self.chart.x, self.chart.y
        across, down = (x - x_low) / (x_high - x_low), (y_high - y) / (y_high - y_low)
        return self.left + across * self.width, self.top + down * self.chart.height


def layout(chart: Chart) -> Layout:
    """Return the place of the plot of a chart, beside which its names and numbers fit."""
    left = 10 + _widest(chart.rows, NAME) if chart.rows else 28.0 if "y" in chart.frame else 2.0
    right = 10 + _widest(chart.beside, NAME)
    width = chart.width or max(72 * WIDTH - left - right, 60.0)
    heading = max(1.1 * text_width(chart.title, TITLE), _widest(chart.legend))
    total = max(left + width + right, heading + 2)
    key_width = 34 + _widest(key.name for key in chart.keys)
    in_row = max(min(len(chart.keys), int((total - left) / key_width)), 1)
    top = (22.0 if chart.title else 6.0) + 11 * len([*filter(None, chart.legend)])
    below = 16.0 if "x" in chart.frame else 4.0
    if chart.columns:
        # Names are turned by 45°.
        below = 10 + max(0.75 * _widest(chart.columns, NAME), NAME)
    below += 14.0 * bool(chart.x_label)
    below += 13.0 * ceil(len(chart.keys) / in_row) + 4 if chart.keys else 0.0
    return Layout(chart, left, top, width, total, top + chart.height + below, key_width, in_row)


_PIXELS_PER_POINT = 96 / 72
# Charts that are wider by more than this are scrolled on a phone instead of scaled.
_MOST_SCALED = 1.1
LINE_HEIGHT, RADIUS = 1.15, 2.25
"""The height of a line as a share of the size of its letters; the radius of a dot in points."""
# From the middle of a line of text to its baseline, as a share of the size of its letters.
_BASELINE = 0.35
_TICK = 3.0


def chart_svg(chart: Chart, label: str) -> str:
    """Return a chart as an `svg` element of a page, without inline styles."""
    found = layout(chart)
    broad = " broad" if found.total_width > 72 * _MOST_SCALED * WIDTH else ""
    size = (found.total_width, found.total_height)
    width, height = (f"{_PIXELS_PER_POINT * side:.6g}" for side in size)
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]:.6g} {size[1]:.6g}" '
        f'width="{width}" height="{height}" class="chart{broad}" role="img" '
        f'aria-label="{escape(one_line(label))}">'
    )
    return "\n".join((start, *map(_element, placed_marks(found)), "</svg>"))


def _paint(fill: str, stroke: str = "none") -> str:
    """Return the attributes for the colours of an area and of a line."""
    pairs = (("fill", fill), ("stroke", stroke))
    known = " ".join(f"{name}-{CLASSES[color]}" for name, color in pairs if color in CLASSES)
    other = "".join(f' {name}="{color}"' for name, color in pairs if color not in CLASSES)
    return (f'class="{known}"' if known else "") + other


def _element(mark: Mark) -> str:
    """Return a mark, whose places are in points, as an element of SVG."""
    if isinstance(mark, Dot):
        at = f'cx="{mark.x:.6g}" cy="{mark.y:.6g}" r="{RADIUS:g}"'
        return f"<circle {at} {_paint(mark.color)}/>"
    if isinstance(mark, Text):
        return _text(mark)
    more = "" if mark.opacity == 1 else f' opacity="{mark.opacity:g}"'
    if mark.color != "none":
        more += f' stroke-width="{mark.width:g}"'
    if mark.dashes:
        more += f' stroke-dasharray="{" ".join(f"{mark.width * each:g}" for each in mark.dashes)}"'
    data = "L".join(f"{x:.6g} {y:.6g}" for x, y in mark.points)
    return f'<path d="M{data}" {_paint(mark.fill, mark.color)}{more}/>'


def _text(mark: Text) -> str:
    """Return the lines of a text, whose middle is at its point."""
    lines, step = mark.text.split("\n"), LINE_HEIGHT * mark.size
    first = mark.y + _BASELINE * mark.size - step * (len(lines) - 1) / 2
    more = "" if mark.align == "start" else f' text-anchor="{mark.align}"'
    more += ' font-weight="700"' if mark.is_bold else ""
    more += f' transform="rotate(-45 {mark.x:.6g} {mark.y:.6g})"' if mark.is_turned else ""
    return "".join(
        f'<text x="{mark.x:.6g}" y="{first + place * step:.6g}" font-size="{mark.size:g}" '
        f"{_paint(mark.color)}{more}>{escape(one_line(line))}</text>"
        for place, line in enumerate(lines)
    )


def placed_marks(found: Layout) -> Iterator[Mark]:
    """Yield all marks of a chart, its axes and names included, in points from the upper left."""
    yield from _axes(found)
    for mark in found.chart.marks:
        if isinstance(mark, Path):
            yield replace(mark, points=[found.at(*point) for point in mark.points])
        else:
            x, y = found.at(mark.x, mark.y)
            yield replace(mark, x=x, y=y)
    yield from _names(found)


def _axes(found: Layout) -> Iterator[Mark]:
    """Yield the lines of the axes, with at most about six round numbers."""
    chart, left, top = found.chart, found.left, found.top
    right, bottom = left + found.width, top + chart.height
    for axis in chart.frame:
        is_x = axis == "x"
        low, high = sorted(chart.x if is_x else chart.y)
        step = 10.0 ** floor(log10((high - low) / 6))
        step *= next(each for each in (1, 2, 5, 10, 20) if (high - low) / (each * step) <= 6 + 1e-9)
        step = max(step, chart.least_step)
        places = range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
        # All with as many decimals.
        digits = max(-floor(log10(step) + 1e-9), 0)
        for value in (place * step for place in places):
            name = f"{value:z,.{digits}f}".replace("-", MINUS)
            x, y = (found.at(value, 0)[0], bottom) if is_x else (left, found.at(0, value)[1])
            tick = (x, y + _TICK) if is_x else (x - _TICK, y)
            if chart.grid == axis:
                yield Path([(x, y), (x, top) if is_x else (right, y)], LINE)
            yield Path([(x, y), tick], DIM)
            at = (x, y + 10.5) if is_x else (x - 6, y)
            yield Text(*at, name, LARGE, "middle" if is_x else "end")
        yield Path([(left, bottom), (right, bottom) if is_x else (left, top)], DIM)


def _names(found: Layout) -> Iterator[Mark]:
    """Yield the title, names of rows and columns, the x label, and the legend below the plot."""
    chart, bottom = found.chart, found.top + found.chart.height
    if chart.title:
        yield Text(2, 10, chart.title, TITLE, is_bold=True)
    for place, line in enumerate(filter(None, chart.legend)):
        yield Text(2, 22 + 11 * place, line, color=DIM)
    for row, name in enumerate(chart.rows):
        yield Text(found.left - 6, found.at(0, row)[1], name, NAME, "end")
    for row, name in enumerate(chart.beside):
        yield Text(found.left + found.width + 8, found.at(0, row)[1], name, NAME)
    for column, name in enumerate(chart.columns):
        yield Text(found.at(column, 0)[0], bottom + 8, name, NAME, "end", is_turned=True)
    if chart.x_label:
        yield Text(found.left + found.width / 2, bottom + 24.5, chart.x_label, LARGE, "middle")
    n_rows = -(-len(chart.keys) // found.keys_in_row)
    for place, key in enumerate(chart.keys):
        row, column = divmod(place, found.keys_in_row)
        x = max(found.left - 4, 2.0) + column * found.key_width
        y = found.total_height - 9 - 13 * (n_rows - 1 - row)
        yield Path([(x, y), (x + 20, y)], key.color, width=2, dashes=key.dashes)
        yield Text(x + 25, y, key.name)
