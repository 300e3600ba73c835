"""Rendering of html pages from templates and values."""

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from bboxqa.core.text import FROM_THE_RIGHT, count, one_line
from bboxqa.core.version import __version__
from bboxqa.report.charts.chart import Chart
from bboxqa.report.charts.svg import chart_svg
from bboxqa.report.numbers import MINUS, number, short_name

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

ASSETS = ("page.css", "page.js")
"""The style and the script of all pages."""

# Options, numbers with their unit, and intervals.
_WHOLE = re.compile(r"(?<!\S)--[a-z][a-z-]*|\d[\d.,]* (?:%|px)(?!\w)|\[[\d.,\u2212+ %]+\]")
# The sign of a negative number; names and dates have hyphens inside.
_HYPHEN = re.compile(r"(?<![^\s(\[])-(?=\d)")
_CODE = re.compile("`([^`]+)`")
# More rows of a table make a page large and slow.
_MOST_ROWS = 2000


def render(template: str, *, linked: bool = False, **values: Any) -> str:
    """Return the page of `template`.html.j2 with values; texts of users are escaped.

    Nothing is loaded from elsewhere, and only the script of the page can run: the content security
    policy allows its own style and script by their hashes. If they are `linked`, they are files in
    the folder of the page, and the policy allows files from there.
    """
    style, script = map(asset, ASSETS)
    sources = ["'self'"] * 3 if linked else [f"'{_hash(style)}'", f"'{_hash(script)}'", "data:"]
    styles, scripts, images = sources
    return _environment().get_template(f"{template}.html.j2").render(
        policy=f"default-src 'none'; style-src {styles}; script-src {scripts}; img-src {images}; "
        "base-uri 'none'; form-action 'none'",
        linked=linked,
        style=style,
        script=script,
        generator=f"bboxqa {__version__}",
        **values,
    )  # fmt: skip


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bboxqa.report.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    shown = (prose, marked_up, breakable, number, table, svg)
    environment.filters.update({each.__name__: each for each in shown})
    environment.filters.update(counted=count, short=short_name)
    return environment


def _shown(value: object) -> object:
    """Return a value as a page shows it: texts on one line, without control characters."""
    if type(value) is str:
        return value if value.isprintable() else one_line(value)
    return "" if value is None else value


def prose(text: str) -> "Markup":
    r"""Return a sentence in which words written from the right do not turn the text around them.

    Options, intervals and numbers with a unit are not broken into lines, and negative numbers have
    the minus sign of tables.

    Examples
    --------
    >>> print(prose("not drawn by a<b"))
    not drawn by a&lt;b
    >>> print(prose("gain -0.02 on 2026-01-05, 25.1 % missed"))
    gain −0.02 on 2026-01-05, <span class="whole">25.1 %</span> missed
    >>> print(prose("higher by 0.05 [-0.01, 0.11]"))
    higher by 0.05 <span class="whole">[−0.01, 0.11]</span>
    >>> prose("\u05d3\u05e0 \u05d4 (2)") == "<bdi>\u05d3\u05e0 \u05d4</bdi> (2)"
    True
    """
    from markupsafe import Markup, escape

    # Every second piece is such a run.
    pieces = [
        Markup(_WHOLE.sub(r'<span class="whole">\g<0></span>', str(escape(piece))))  # noqa: S704
        for piece in FROM_THE_RIGHT.split(_HYPHEN.sub(MINUS, one_line(text)))
    ]
    pieces[1::2] = [Markup("<bdi>{}</bdi>").format(piece) for piece in pieces[1::2]]
    return Markup().join(pieces)


def marked_up(text: str) -> "Markup":
    """Return the explanation of a rule, with what is between backticks as code.

    Not for texts with names, in which backticks are backticks.

    Examples
    --------
    >>> print(marked_up("the key `area` < 0"))
    the key <code>area</code> &lt; 0
    """
    from markupsafe import Markup

    code = Markup("<code>{}</code>")
    return Markup().join(
        code.format(piece) if place % 2 else prose(piece)
        for place, piece in enumerate(_CODE.split(text))
    )


def breakable(path: str) -> "Markup":
    """Return a path that breaks into lines at its slashes and colons.

    Examples
    --------
    >>> print(breakable("a/b.json:1:2"))
    a/<wbr>b.json:<wbr>1:<wbr>2
    """
    from markupsafe import Markup, escape

    text = str(escape(one_line(path)))
    return Markup(re.sub("([/\\\\:])", r"\1<wbr>", text))  # noqa: S704 - escaped above


def table_anchor(title: str) -> str:
    """Return the id of a table with a title.

    Examples
    --------
    >>> table_anchor("Boxes per object")
    'table-boxes-per-object'
    """
    return "table-" + "-".join(re.findall("[a-z0-9]+", title.lower()))


def svg(chart: Chart, label: str) -> "Markup":
    """Return a chart as an `svg` element with a label."""
    from markupsafe import Markup

    return Markup(chart_svg(chart, label))  # noqa: S704 - `chart_svg` escapes texts


@cache
def asset(name: str) -> str:
    """Return the content of one of `ASSETS`, which is trusted."""
    from markupsafe import Markup

    return Markup(files("bboxqa.report.pages").joinpath(name).read_text("utf-8"))  # noqa: S704


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


class Cell(msgspec.Struct, frozen=True):
    """A value of a table."""

    shown: object
    raw: str | None = None
    """The value for copying and sorting; None if it is the shown one."""
    is_number: bool = False


class Data(msgspec.Struct, frozen=True):
    """A table of a page; unless it is open, a click shows it."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    is_open: bool = False


def as_cell(value: object) -> Cell:
    """Return a value as a cell of a table.

    Examples
    --------
    >>> as_cell(1234)
    Cell(shown='1,234', raw='1234', is_number=True)
    >>> as_cell(0.98765), as_cell("cow").raw
    (Cell(shown='0.9877', raw='0.98765', is_number=True), None)
    """
    if isinstance(value, Cell):
        return value
    if value is None:
        return Cell(number(None), "", is_number=True)
    if isinstance(value, bool):
        return Cell("yes" if value else "no", str(value))
    if isinstance(value, int | float):
        shown, raw = number(value, 4), str(value)
        return Cell(shown, None if raw == shown else raw, is_number=True)
    return Cell(value)


def table(data: Data, measure: str = "IoU") -> "Markup":
    """Return a table as html, with its first 2,000 rows; macros would be slow.

    Columns of other measures are not called IoU.

    Examples
    --------
    >>> html = table(Data("F1", ["name", "mean_iou"], [["a<b", 0.98765]]), "OKS")
    >>> print(html.splitlines()[4])
    <tr><td>a&lt;b</td><td class="number" data-value="0.98765">0.9877</td></tr>
    """
    from markupsafe import Markup, escape

    own = "mean_iou" if measure == "IoU" else "mean_similarity"
    rows = [[*map(as_cell, row)] for row in data.rows[:_MOST_ROWS]]
    numeric = {
        place for row in rows for place, cell in enumerate(row) if cell.is_number and cell.raw != ""
    }
    head = []
    for place, column in enumerate(data.columns):
        kind = ' class="number"' if place in numeric else ""
        name = escape(_shown(column.replace("mean_iou", own)))
        raw = f' data-value="{name}"' if "_" in name else ""
        head.append(f'<th scope="col"{kind}{raw}>{name.replace("_", " ")}</th>')
    lines = [f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows]
    name, n_rows = escape(_shown(data.name)), len(data.rows)
    opening = f'<div class="scroll" id="{table_anchor(data.name)}" tabindex="0" role="region"'
    parts = [
        f'{opening} aria-label="{name}">', f'<table data-name="{name}">',
        f"<thead><tr>{''.join(head)}</tr></thead>", "<tbody>", *lines, "</tbody>", "</table>",
        "</div>",
    ]  # fmt: skip
    if n_rows > _MOST_ROWS:
        more = f"The first {_MOST_ROWS:,} of {n_rows:,} rows; the files that <code>--out</code>"
        parts.append(f'<p class="dim">{more} writes have all.</p>')
    return Markup("\n".join(parts))  # noqa: S704 - escaped above


def _html_cell(cell: Cell) -> str:
    from markupsafe import escape

    shown, kind = cell.shown, "number" if cell.is_number else ""
    if isinstance(shown, str) and not kind:
        kind = "long" if len(shown) > 24 else "whole" if shown.startswith("[") else ""
    named = f' class="{kind}"' if kind else ""
    raw = "" if cell.raw is None else f' data-value="{escape(_shown(cell.raw))}"'
    return f"<td{named}{raw}>{escape(_shown(shown))}</td>"
