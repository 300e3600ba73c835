"""Charts as SVG elements of a page or of a notebook."""

from collections.abc import Callable, Iterator
from html import escape
from urllib.parse import quote

from bboxqa.core.text import one_line
from bboxqa.report.charts.chart import (
    BACK,
    CLASSES,
    DIM,
    LARGE,
    LINE,
    SMALL,
    TEXT,
    TITLE,
    WIDTH,
    Chart,
    Dot,
    Layout,
    Path,
    Point,
    Text,
    layout,
    round_numbers,
    text_width,
)
from bboxqa.report.numbers import MINUS

_PIXELS_PER_POINT = 96 / 72
# Charts that are wider by more than this are scrolled on a phone instead of scaled.
_MOST_SCALED = 1.1
_LINE_HEIGHT = 1.15
# From the middle of a line of text to its baseline, as a share of the size of its letters.
_BASELINE = 0.35
_TICK = 3.0


def chart_svg(chart: Chart, label: str) -> str:
    """Return a chart as an `svg` element of a page.

    A page whose policy forbids inline styles shows it unchanged: properties are attributes, and
    colours of the palette are classes, such as ``fill-text``, that the page defines for light and
    dark screens. Texts remain texts.
    """
    broad = " broad" if layout(chart).total_width > 72 * _MOST_SCALED * WIDTH else ""
    head = f'class="chart{broad}" role="img" aria-label="{escape(one_line(label))}"'
    return _svg(chart, head)


def chart_image(chart: Chart, label: str) -> str:
    """Return a chart as an `img` element that holds its SVG, with its style, on white."""
    rules = "".join(
        f".fill-{name}{{fill:{color}}}.stroke-{name}{{stroke:{color}}}"
        for color, name in CLASSES.items()
    )
    style = f'font-family="sans-serif" style="background: {BACK}"><style>{rules}</style'
    content = quote(_svg(chart, style), safe=" /:;=,()")
    return f'<img alt="{escape(label)}" src="data:image/svg+xml,{content}">'


def _paint(fill: str, stroke: str) -> str:
    """Return the attributes for the colours of an area and of a line."""
    pairs = (("fill", fill), ("stroke", stroke))
    known = " ".join(f"{name}-{CLASSES[color]}" for name, color in pairs if color in CLASSES)
    other = "".join(f' {name}="{color}"' for name, color in pairs if color not in CLASSES)
    return (f'class="{known}"' if known else "") + other


def _svg(chart: Chart, head: str) -> str:
    found = layout(chart)
    place = found.place(chart)
    width, height = found.total_width, found.total_height
    sides = (f"{each * _PIXELS_PER_POINT:.6g}" for each in (width, height))
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.6g} {height:.6g}" '
        'width="{}" height="{}" '.format(*sides)
    )
    parts = [f"{start}{head}>", *_axes(chart, found)]
    for mark in chart.marks:
        if isinstance(mark, Path):
            parts.append(_path(mark, place))
        elif isinstance(mark, Dot):
            x, y = place(mark.x, mark.y)
            color = _paint(mark.color, "none")
            parts.append(f'<circle cx="{x:.6g}" cy="{y:.6g}" r="{mark.radius:g}" {color}/>')
        else:
            parts.append(_text(mark, place(mark.x, mark.y)))
    return "\n".join([*parts, *_titles(chart, found), *_keys(chart, found), "</svg>"])


def _path(mark: Path, place: Callable[[float, float], Point]) -> str:
    """Return lines as one path; thousands of elements would make a page slow."""
    pieces = (
        map("{0[0]:.6g} {0[1]:.6g}".format, (place(*each) for each in piece))
        for piece in mark.pieces
    )
    data = "".join(f"M{'L'.join(piece)}" for piece in pieces)
    more = "" if mark.opacity == 1 else f' opacity="{mark.opacity:g}"'
    if mark.color != "none":
        more += f' stroke-width="{mark.width:g}"'
    if mark.dashes:
        more += f' stroke-dasharray="{" ".join(f"{mark.width * each:g}" for each in mark.dashes)}"'
    return f'<path d="{data}" {_paint(mark.fill, mark.color)}{more}/>'


def _text(mark: Text, at: Point) -> str:
    x, y, lines = at[0] + mark.shift, at[1] - mark.rise, mark.text.split("\n")
    y += mark.size * (_BASELINE - _LINE_HEIGHT * (len(lines) - 1) / 2)
    color, step = _paint(mark.color, "none"), _LINE_HEIGHT * mark.size
    return "".join(
        _words(line, (x, y + place * step), mark.size, color, mark.align, bold=mark.bold)
        for place, line in enumerate(lines)
    )


def _words(
    text: str, at: Point, size: float, color: str, align: str = "start", *, bold: bool = False
) -> str:
    more = "" if align == "start" else f' text-anchor="{align}"'
    more += ' font-weight="700"' * bold
    return (
        f'<text x="{at[0]:.6g}" y="{at[1]:.6g}" font-size="{size:g}" {color}{more}>'
        f"{escape(one_line(text))}</text>"
    )


def _titles(chart: Chart, found: Layout) -> Iterator[str]:
    """Yield the title, and below it the lines of a legend in small letters."""
    left, y = found.left, 14.0
    widest = max(
        [text_width(chart.title, TITLE) * 1.1, *(text_width(each, SMALL) for each in chart.legend)]
    )
    # A long title begins at the left of the names of rows.
    left = max(min(left, found.total_width - widest), 2.0)
    if chart.title:
        yield _words(chart.title, (left, y), TITLE, _paint(TEXT, "none"), bold=True)
    for line in filter(None, chart.legend):
        y += 11
        yield _words(line, (left, y), SMALL, _paint(DIM, "none"))


def _axes(chart: Chart, found: Layout) -> Iterator[str]:
    """Yield the lines of the axes, with their numbers or names."""
    place = found.place(chart)
    left, bottom = found.left, found.top + found.height
    right, text = left + found.width, _paint(TEXT, "none")

    def line(start: Point, end: Point, color: str) -> str:
        return _path(Path([[start, end]], color), lambda across, down: (across, down))

    low, high = sorted(chart.x)
    for value, name in _numbers(low, high) if "x" in chart.frame else ():
        x = place(value, 0)[0]
        if chart.grid == "x":
            yield line((x, found.top), (x, bottom), LINE)
        yield line((x, bottom), (x, bottom + _TICK), DIM)
        yield _words(name, (x, bottom + 14), LARGE, text, "middle")
    for value, name in _numbers(*sorted(chart.y)) if "y" in chart.frame else ():
        y = place(0, value)[1]
        if chart.grid == "y":
            yield line((left, y), (right, y), LINE)
        yield line((left - _TICK, y), (left, y), DIM)
        yield _words(name, (left - 6, y + _BASELINE * LARGE), LARGE, text, "end")
    if "x" in chart.frame:
        yield line((left, bottom), (right, bottom), DIM)
    if "y" in chart.frame:
        yield line((left, found.top), (left, bottom), DIM)
    for row, name in enumerate(chart.rows or ()):
        mark = Text(0, 0, name, size=chart.row_size, align="end")
        yield _text(mark, (left - 6, place(0, row)[1]))
    for column, name in enumerate(chart.columns or ()):
        x, y = place(column, 0)[0], bottom + 8
        if not chart.turn:
            yield _words(name, (x, y + _BASELINE * chart.row_size), chart.row_size, text, "middle")
            continue
        turned = f'transform="rotate({-chart.turn} {x:.6g} {y:.6g})" {text}'
        yield _words(name, (x + _BASELINE * chart.row_size, y), chart.row_size, turned, "end")
    if chart.x_label:
        middle = (left + right) / 2
        yield _words(chart.x_label, (middle, bottom + 28), LARGE, text, "middle")


def _keys(chart: Chart, found: Layout) -> Iterator[str]:
    """Yield the entries of the legend in rows below the plot."""
    left, y = max(found.left - 4, 2.0), found.total_height - 6.0
    n_rows = -(-len(chart.keys) // found.row_of_keys)
    widest = max((key.width for key in chart.keys), default=0.0)
    for place, key in enumerate(chart.keys):
        row, column = divmod(place, found.row_of_keys)
        x = left + column * widest
        baseline = y - 13 * (n_rows - 1 - row)
        sample = baseline - 3
        if key.is_dot:
            color = _paint(key.color, "none")
            yield f'<circle cx="{x + 10:.6g}" cy="{sample:.6g}" r="2.5" {color}/>'
        else:
            line = Path([[(x, sample), (x + 20, sample)]], key.color, width=2, dashes=key.dashes)
            yield _path(line, lambda across, down: (across, down))
        yield _words(key.name, (x + 25, baseline), SMALL, _paint(TEXT, "none"))


def _numbers(low: float, high: float) -> list[tuple[float, str]]:
    """Return the numbers of an axis with their texts, all with as many decimals."""
    values = round_numbers(low, high)
    digits = max(len(f"{value:.10g}".partition(".")[2]) for value in values)
    return [(value, f"{value:,.{digits}f}".replace("-", MINUS)) for value in values]
