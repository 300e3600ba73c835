"""Charts as SVG elements of a page or of a notebook."""

from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import quote

from bboxqa.core.text import one_line
from bboxqa.report.charts.chart import (
    BACK,
    CLASSES,
    DIM,
    LARGE,
    LINE,
    TITLE,
    WIDTH,
    Chart,
    Dot,
    Layout,
    Mark,
    Path,
    Point,
    Text,
    layout,
    round_numbers,
)
from bboxqa.report.numbers import MINUS

_PIXELS_PER_POINT = 96 / 72
# Charts that are wider by more than this are scrolled on a phone instead of scaled.
_MOST_SCALED = 1.1
_LINE_HEIGHT = 1.15
# From the middle of a line of text to its baseline, as a share of the size of its letters.
_BASELINE = 0.35
_TICK, _RADIUS = 3.0, 2.25


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


def _svg(chart: Chart, head: str) -> str:
    found = layout(chart)
    size = (found.total_width, found.total_height)
    width, height = (f"{_PIXELS_PER_POINT * side:.6g}" for side in size)
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]:.6g} {size[1]:.6g}" '
        f'width="{width}" height="{height}" {head}>'
    )
    marks = (_mark(mark, found) for mark in chart.marks)
    return "\n".join((start, *_axes(found), *marks, *_names(found), *_keys(found), "</svg>"))


def _paint(fill: str, stroke: str = "none") -> str:
    """Return the attributes for the colours of an area and of a line."""
    pairs = (("fill", fill), ("stroke", stroke))
    known = " ".join(f"{name}-{CLASSES[color]}" for name, color in pairs if color in CLASSES)
    other = "".join(f' {name}="{color}"' for name, color in pairs if color not in CLASSES)
    return (f'class="{known}"' if known else "") + other


def _mark(mark: Mark, found: Layout) -> str:
    if isinstance(mark, Path):
        return _path([found.at(*point) for point in mark.points], mark)
    at = found.at(mark.x, mark.y)
    return _dot(at, mark.color) if isinstance(mark, Dot) else _text(at, mark)


def _path(points: Sequence[Point], look: Path) -> str:
    more = "" if look.opacity == 1 else f' opacity="{look.opacity:g}"'
    if look.color != "none":
        more += f' stroke-width="{look.width:g}"'
    if look.dashes:
        more += f' stroke-dasharray="{" ".join(f"{look.width * each:g}" for each in look.dashes)}"'
    data = "L".join(f"{x:.6g} {y:.6g}" for x, y in points)
    return f'<path d="M{data}" {_paint(look.fill, look.color)}{more}/>'


def _dot(at: Point, color: str) -> str:
    return f'<circle cx="{at[0]:.6g}" cy="{at[1]:.6g}" r="{_RADIUS:g}" {_paint(color)}/>'


def _text(at: Point, mark: Text, more: str = "") -> str:
    """Return the lines of a text, whose middle is at a point."""
    lines, step = mark.text.split("\n"), _LINE_HEIGHT * mark.size
    first = at[1] + _BASELINE * mark.size - step * (len(lines) - 1) / 2
    more += "" if mark.align == "start" else f' text-anchor="{mark.align}"'
    return "".join(
        f'<text x="{at[0]:.6g}" y="{first + place * step:.6g}" font-size="{mark.size:g}" '
        f"{_paint(mark.color)}{more}>{escape(one_line(line))}</text>"
        for place, line in enumerate(lines)
    )


def _axes(found: Layout) -> Iterator[str]:
    """Yield the lines of the axes, with their numbers."""
    chart, left, top, bottom = found.chart, found.left, found.top, found.top + found.chart.height
    right = left + found.width
    if "x" in chart.frame:
        for value, name in _numbers(chart.x):
            x, _ = found.at(value, 0)
            if chart.grid == "x":
                yield _path([(x, top), (x, bottom)], Path((), LINE))
            yield _path([(x, bottom), (x, bottom + _TICK)], Path((), DIM))
            yield _text((x, bottom + 10.5), Text(0, 0, name, LARGE, "middle"))
        yield _path([(left, bottom), (right, bottom)], Path((), DIM))
    if "y" in chart.frame:
        for value, name in _numbers(chart.y):
            _, y = found.at(0, value)
            if chart.grid == "y":
                yield _path([(left, y), (right, y)], Path((), LINE))
            yield _path([(left - _TICK, y), (left, y)], Path((), DIM))
            yield _text((left - 6, y), Text(0, 0, name, LARGE, "end"))
        yield _path([(left, top), (left, bottom)], Path((), DIM))


def _names(found: Layout) -> Iterator[str]:
    """Yield the title with the lines below it, the names of rows and columns, and the x label."""
    chart, bottom = found.chart, found.top + found.chart.height
    if chart.title:
        yield _text((found.title_left, 10), Text(0, 0, chart.title, TITLE), ' font-weight="700"')
    for place, line in enumerate(filter(None, chart.legend)):
        yield _text((found.title_left, 22 + 11 * place), Text(0, 0, line, color=DIM))
    for row, name in enumerate(chart.rows):
        at = (found.left - 6, found.at(0, row)[1])
        yield _text(at, Text(0, 0, name, chart.row_size, "end"))
    for row, text in enumerate(chart.beside):
        at = (found.left + found.width + 8, found.at(0, row)[1])
        yield _text(at, Text(0, 0, text, chart.beside_size))
    for column, name in enumerate(chart.columns):
        x, y = found.at(column, 0)[0], bottom + 8
        turned = f' transform="rotate({-chart.turn} {x:.6g} {y:.6g})"' if chart.turn else ""
        yield _text((x, y), Text(0, 0, name, chart.row_size, "end" if turned else "middle"), turned)
    if chart.x_label:
        middle = found.left + found.width / 2
        below = 24.5 if "x" in chart.frame or chart.columns else 10
        yield _text((middle, bottom + below), Text(0, 0, chart.x_label, LARGE, "middle"))


def _keys(found: Layout) -> Iterator[str]:
    """Yield the entries of the legend in rows below the plot."""
    keys, left = found.chart.keys, max(found.left - 4, 2.0)
    n_rows = -(-len(keys) // found.keys_in_row)
    for place, key in enumerate(keys):
        row, column = divmod(place, found.keys_in_row)
        x, y = left + column * found.key_width, found.total_height - 9 - 13 * (n_rows - 1 - row)
        if key.is_dot:
            yield _dot((x + 10, y), key.color)
        else:
            yield _path([(x, y), (x + 20, y)], Path((), key.color, width=2, dashes=key.dashes))
        yield _text((x + 25, y), Text(0, 0, key.name))


def _numbers(ends: Point) -> list[tuple[float, str]]:
    """Return the numbers of an axis with their texts, all with as many decimals."""
    values = round_numbers(*sorted(ends))
    digits = max(len(f"{value:.10g}".partition(".")[2]) for value in values)
    return [(value, f"{value:,.{digits}f}".replace("-", MINUS)) for value in values]
