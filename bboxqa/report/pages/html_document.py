"""Rendering of html pages from templates and values."""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from bboxqa.core.text import FROM_THE_RIGHT, count, one_line
from bboxqa.core.version import __version__
from bboxqa.report.charts.chart import Chart
from bboxqa.report.charts.svg import chart_svg
from bboxqa.report.numbers import MINUS, interval, number, percent, short_name, signed

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
    shown = (prose, marked_up, breakable, number, percent, interval, signed)
    of_tables = (cells, number_columns, column_names, svg)
    environment.filters.update({each.__name__: each for each in (*shown, *of_tables)})
    environment.filters.update(counted=count, short=short_name, anchor=table_anchor)
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


def column_names(columns: Iterable[str], measure: str) -> list[str]:
    """Return names of columns; those of other similarities are not called IoU.

    Examples
    --------
    >>> column_names(["f1", "mean_iou"], "OKS"), column_names(["mean_iou"], "IoU")
    (['f1', 'mean_similarity'], ['mean_iou'])
    """
    own = "mean_iou" if measure == "IoU" else "mean_similarity"
    return [name.replace("mean_iou", own) for name in columns]


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


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a table."""

    shown: object
    raw: str | None = None
    """The value for copying and sorting; None if it is the shown one."""
    is_number: bool = False


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


def cells(row: Sequence[object]) -> "Markup":
    """Return values as the cells of a row; macros would take most of the time of a page.

    Examples
    --------
    >>> print(cells([0.98765, "a<b"]))
    <td class="number" data-value="0.98765">0.9877</td><td>a&lt;b</td>
    """
    from markupsafe import Markup, escape

    parts = []
    for cell in map(as_cell, row):
        shown, kind = cell.shown, "number" if cell.is_number else ""
        if isinstance(shown, str) and not kind:
            kind = "long" if len(shown) > 24 else "whole" if shown.startswith("[") else ""
        named = f' class="{kind}"' if kind else ""
        raw = "" if cell.raw is None else f' data-value="{escape(_shown(cell.raw))}"'
        parts.append(f"<td{named}{raw}>{escape(_shown(shown))}</td>")
    return Markup("".join(parts))  # noqa: S704 - escaped above


def number_columns(rows: Sequence[Sequence[object]]) -> set[int]:
    """Return the indices of the columns that have a number in some row.

    Examples
    --------
    >>> number_columns([["cow", None, True], ["sheep", 0.5, False]])
    {1}
    """
    return {
        place
        for place, values in enumerate(zip(*rows, strict=True))
        if any((isinstance(value, int | float) and not isinstance(value, bool))
               or (isinstance(value, Cell) and value.is_number) for value in values)
    }  # fmt: skip
