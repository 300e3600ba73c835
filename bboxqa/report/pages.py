"""Pages of html: rendering from templates and values, and their files."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bboxqa.core.errors import OutputError
from bboxqa.core.files import filled_folder, writing
from bboxqa.core.text import count, one_line
from bboxqa.core.version import __version__
from bboxqa.report.chart import Chart, chart_svg
from bboxqa.report.numbers import MINUS, number, short_name

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

ASSETS = ("page.css", "page.js")
"""The style and the script of all pages."""
INDEX = "index.html"
"""The page of a folder of pages that the others belong to."""
TOP = 50
"""The number of images that a page shows by default."""

# Options, numbers with their unit, and intervals.
_WHOLE = re.compile(r"(?<!\S)--[a-z][a-z-]*|\d[\d.,]* (?:%|px)(?!\w)|\[[\d.,\u2212+ %]+\]")
# The sign of a negative number; names and dates have hyphens inside.
_HYPHEN = re.compile(r"(?<![^\s(\[])-(?=\d)")
_CODE = re.compile("`([^`]+)`")
# More rows of a table make a page large and slow.
_MOST_ROWS = 2000


def render(template: str, *, linked: bool = False, **values: Any) -> str:
    """Return the page of `template`.html.j2 with values; texts of users are escaped.

    The content security policy allows its own style and script, by their hashes, or if they are
    `linked`, as files in the folder of the page.
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
        loader=PackageLoader("bboxqa.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    shown = (prose, marked_up, number, table, svg)
    environment.filters.update({each.__name__: each for each in shown})
    environment.filters.update(counted=count, short=short_name)
    return environment


def _shown(value: object) -> object:
    """Return a value as a page shows it: texts on one line, without control characters."""
    if type(value) is str:
        return value if value.isprintable() else one_line(value)
    return "" if value is None else value


def prose(text: str) -> "Markup":
    """Return a sentence with the minus sign of tables in negative numbers."""
    from markupsafe import Markup, escape

    whole = r'<span class="whole">\g<0></span>'
    return Markup(_WHOLE.sub(whole, str(escape(_HYPHEN.sub(MINUS, one_line(text))))))  # noqa: S704


def marked_up(text: str) -> "Markup":
    """Return the explanation of a rule, with what is between backticks as code."""
    from markupsafe import Markup

    code = Markup("<code>{}</code>")
    return Markup().join(
        code.format(piece) if place % 2 else prose(piece)
        for place, piece in enumerate(_CODE.split(text))
    )


def table_anchor(title: str) -> str:
    """Return the id of a table with a title."""
    return "table-" + "-".join(re.findall("[a-z0-9]+", title.lower()))


def svg(chart: Chart, label: str) -> "Markup":
    """Return a chart as an `svg` element with a label."""
    from markupsafe import Markup

    return Markup(chart_svg(chart, label))  # noqa: S704 - `chart_svg` escapes texts


@cache
def asset(name: str) -> str:
    """Return the content of one of `ASSETS`, which is trusted."""
    from markupsafe import Markup

    return Markup(files("bboxqa.report").joinpath("templates", name).read_text("utf-8"))  # noqa: S704


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


def _cell(value: object) -> Cell:
    if isinstance(value, Cell):
        return value
    if isinstance(value, bool):
        return Cell("yes" if value else "no", str(value))
    if value is None or isinstance(value, int | float):
        shown, raw = number(value, 4), "" if value is None else str(value)
        return Cell(shown, None if raw == shown else raw, is_number=True)
    return Cell(value)


def table(data: Data, measure: str = "IoU") -> "Markup":
    """Return a table as html, with its first 2,000 rows; macros would be slow."""
    from markupsafe import Markup, escape

    own = "mean_iou" if measure == "IoU" else "mean_similarity"
    rows = [[*map(_cell, row)] for row in data.rows[:_MOST_ROWS]]
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
        more = f"The first {_MOST_ROWS:,} of {n_rows:,} rows; files of <code>--out</code> have all"
        parts.append(f'<p class="dim">{more}.</p>')
    return Markup("\n".join(parts))  # noqa: S704 - escaped above


def _html_cell(cell: Cell) -> str:
    from markupsafe import escape

    shown, kind = cell.shown, "number" if cell.is_number else ""
    if isinstance(shown, str) and not kind:
        kind = "long" if len(shown) > 24 else "whole" if shown.startswith("[") else ""
    named = f' class="{kind}"' if kind else ""
    raw = "" if cell.raw is None else f' data-value="{escape(_shown(cell.raw))}"'
    return f"<td{named}{raw}>{escape(_shown(shown))}</td>"


PIXELS = "images"
"""The folder of the pixels of images in a folder of pages."""

# Of base.html.j2.
_MARK = b'<meta name="generator" content="bboxqa'
_HEAD = 4096
_TOP_OF_FOLDER = 1000
# What a folder of pages holds.
_OWN = re.compile(rf"{'|'.join(map(re.escape, (INDEX, *ASSETS)))}|images(-\d+\.html|/\d+\.webp)?")


class PageTarget(msgspec.Struct, frozen=True):
    """The path of a page, and the images that it shows."""

    path: Path
    images: Sequence[Path] = ()
    """Folders of image files; nothing outside them is opened."""
    split: bool = False
    """Whether it is a folder, with style, script and images as files, instead of one file."""
    n_images: int | None = None
    above: str = ""
    """URL of a parent page to link to."""

    @property
    def top(self) -> int:
        """The number of worst images that are shown."""
        if self.n_images is not None:
            return self.n_images
        return _TOP_OF_FOLDER if self.split else TOP

    @property
    def page(self) -> Path:
        """The file to open."""
        return self.path / INDEX if self.split else self.path

    def check(self, *, force: bool) -> None:
        """Refuse to replace other files; see `check_page` and `check_page_folder`."""
        (check_page_folder if self.split else check_page)(self.path, force=force)


def check_page(path: Path, *, force: bool) -> None:
    """Refuse to replace a file that is not a page."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file, or give --split")
    if not force and path.is_file() and not _is_page(path):
        raise OutputError(f"{path}: is no page of bboxqa; name another file, or give --force")


def check_page_folder(folder: Path, *, force: bool) -> None:
    """Refuse to replace a file, or a folder that holds anything but pages."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; name a folder, or leave out --split")
    try:
        names = (each.relative_to(folder).as_posix() for each in folder.rglob("*"))
        other = next((each for each in names if not _OWN.fullmatch(each)), "")
        is_empty = not (folder.is_dir() and any(folder.iterdir()))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be read: {error.strerror}") from None
    if other or not (is_empty or _is_page(folder / INDEX)):
        raise OutputError(f"{folder}: holds {other or 'no page of bboxqa'}; name another folder")
    if not (is_empty or force):
        raise OutputError(f"{folder}: holds a page; name another folder, or give --force")


def _is_page(path: Path) -> bool:
    """Return whether a file is a page of bboxqa."""
    if not path.is_file():
        return False
    with writing(path), path.open("rb") as file:
        return _MARK in file.read(_HEAD)


@contextmanager
def page_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder with style and script, to fill with pages."""
    target = folder.resolve()
    with writing(folder), filled_folder(target, last=INDEX) as scratch:
        for name in ASSETS:
            (scratch / name).write_text(asset(name), "utf-8")
        yield scratch
        check_page_folder(target, force=True)


def encoded(page: str) -> bytes:
    """Return the bytes of a page."""
    return page.encode("utf-8", "backslashreplace")


ONE_FILE = PageTarget(Path("page.html"))
"""A page in one file, without images."""
