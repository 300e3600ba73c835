"""Drawings of an image: one panel, or one for each annotator, with a legend below."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import compress
from math import ceil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from bboxqa.core.errors import OutputError
from bboxqa.core.files import refuse_replacing, write_atomically
from bboxqa.core.text import count, one_line
from bboxqa.core.types import AnyPath
from bboxqa.report.charts.axes import page_style
from bboxqa.report.charts.chart import BACK, DIM
from bboxqa.report.drawing.canvas import draw_outlines, text_width, visible
from bboxqa.report.drawing.scene import NO_LOOK, By, Key, Outline, Scene, outlines_by
from bboxqa.report.numbers import set_apart, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 300
_ON_SCREEN = 110
# Characters that some systems refuse in file names.
_UNSAFE = re.compile(r"[^\w.() -]")
_LONGEST = 80
# Metadata that would differ from run to run are left out.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
SUFFIXES = tuple(_METADATA)
"""Suffixes of the file formats of drawings."""

# Inches.
_WIDTHS = {1: 7.0, 2: 4.6, 3: 3.4}
_TALLEST = 8.0
_MARGIN, _BETWEEN, _TITLE, _ROW = 0.06, 0.12, 0.24, 0.17
_LETTER, _TITLE_LETTER = 8.0, 9.0
# The line of a legend entry, and the space around it, in font sizes.
_SAMPLE, _AROUND = 2.4, 2.6
_MOST_KEYS = 24
_LEGEND: dict[str, Any] = {
    "fontsize": _LETTER, "handlelength": _SAMPLE, "borderaxespad": 0.3, "borderpad": 0,
    "labelcolor": DIM, "labelspacing": 0.42, "columnspacing": 1.4,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drawing:
    """A drawing of an image.

    Attributes
    ----------
    name : str
        The image.
    by : str
        What colours stand for.
    figure : matplotlib.figure.Figure
    axes : tuple of matplotlib.axes.Axes
        One, or one for each annotator, in pixels of the image.
    notes : tuple of str
        Notes for the reader, such as why the drawing has no pixels.
    read : tuple of Path
        The files that were read, which are not replaced.
    """

    name: str
    by: str
    figure: "Figure"
    axes: tuple["Axes", ...]
    notes: tuple[str, ...] = ()
    read: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return f"<Drawing of {one_line(self.name)!r}>"

    def _repr_png_(self) -> bytes:
        return self._rendered(".png", _ON_SCREEN)

    def save(self, path: AnyPath, *, force: bool = False) -> Path:
        """Write the drawing to a file, and return its path.

        Parameters
        ----------
        path : path
            Ends with .png (300 dots per inch), .svg or .pdf.
        force : bool
            Whether an existing file is replaced.

        Raises
        ------
        OutputError
            If the suffix is another one, the file exists or was read for the drawing, or it cannot
            be written.
        """
        path = Path(path)
        refuse_replacing([path], self.read)
        check_target(path, force=force)
        write_atomically(path, self._rendered(path.suffix.lower(), _DPI))
        return path

    def default_path(self) -> Path:
        """Return the default path of the drawing: a PNG in the current folder."""
        stem = PurePosixPath(self.name.replace("\\", "/")).stem[:_LONGEST]
        return Path(f"{_UNSAFE.sub('_', stem) or 'image'}_{self.by}.png")

    def _rendered(self, suffix: str, dpi: float) -> bytes:
        content = BytesIO()
        metadata = {"Title": one_line(self.name), **_METADATA[suffix]}
        with page_style(), warnings.catch_warnings():
            # Signs that no font has are in the notes.
            warnings.simplefilter("ignore", UserWarning)
            self.figure.savefig(content, format=suffix[1:], dpi=dpi, metadata=metadata)
        return content.getvalue()


def check_target(path: Path, *, force: bool) -> None:
    """Raise OutputError for a file with another suffix, or one that would be replaced."""
    if path.suffix.lower() not in SUFFIXES:
        expected = ", ".join(SUFFIXES)
        raise OutputError(f"{path}: ends with {path.suffix or 'nothing'!r}; expected {expected}")
    if path.exists() and not force:
        raise OutputError(f"{path}: already exists; move it away, or give --force")


@dataclass(frozen=True, slots=True, eq=False)
class _Panel:
    title: str
    outlines: Sequence[Outline]


def drawn_texts(scene: Scene, by: By, *, side_by_side: bool = False) -> list[str]:
    """Return the texts of a drawing: labels, the legend, and the titles of panels."""
    outlines, keys = outlines_by(scene, by)
    titles = [panel.title for panel in _side_by_side(scene, by)] if side_by_side else []
    return [*(outline.label for outline in outlines), *(name for name, _ in keys), *titles]


def draw_scene(ax: "Axes", scene: Scene, by: By) -> int:
    """Draw a scene with its legend on given axes; return the number of labels without room."""
    outlines, keys = outlines_by(scene, by)
    n_hidden = draw_outlines(ax, (scene.width, scene.height), outlines, scene.pixels)
    figure: Any = ax.figure
    _legend(keys, ax.get_window_extent().width / figure.dpi).draw(ax, "upper left", 0)
    return n_hidden


def scene_figure(scene: Scene, by: By, *, side_by_side: bool = False) -> tuple["Figure", int]:
    """Return a figure of a scene, and the number of labels without room.

    Each panel has the scale of the image, so that lines and labels keep their place and size.
    """
    from matplotlib.figure import Figure

    every, keys = outlines_by(scene, by)
    panels = _side_by_side(scene, by) if side_by_side else [_Panel("", every)]
    if side_by_side and by == "annotator":
        # The titles say who drew what.
        keys = [key for key in keys if key[1] == NO_LOOK]
    part = visible(scene.width, scene.height, every)
    n_columns = 2 if len(panels) == 4 else min(len(panels), 3)
    n_rows = ceil(len(panels) / n_columns)
    ratio = (part[3] - part[1]) / (part[2] - part[0])
    across = min(_WIDTHS[n_columns], _TALLEST / ratio)
    cell = max(across, *(text_width(panel.title, _TITLE_LETTER) / 72 for panel in panels))
    inside = n_columns * (cell + _BETWEEN) - _BETWEEN
    legend = _legend(keys, inside)
    width = 2 * _MARGIN + max(inside, legend.widest)
    head = _TITLE if side_by_side else 0
    step = across * ratio + head + _BETWEEN
    height = 2 * _MARGIN + n_rows * step - _BETWEEN
    height += legend.n_rows * _ROW + (_BETWEEN if keys else 0)
    figure = Figure(figsize=(width, height), facecolor=BACK)
    n_hidden = 0
    for place, panel in enumerate(panels):
        row, column = divmod(place, n_columns)
        left = (_MARGIN + column * (cell + _BETWEEN)) / width
        top = height - _MARGIN - row * step - head
        low = (top - across * ratio) / height
        ax = figure.add_axes((left, low, across / width, across * ratio / height))
        if panel.title:
            y = (top + 0.07) / height
            figure.text(left, y, panel.title, fontsize=_TITLE_LETTER, va="baseline")
        size = (scene.width, scene.height)
        n_hidden += draw_outlines(ax, size, panel.outlines, scene.pixels, part)
    legend.draw(figure, "lower left", _MARGIN / width)
    return figure, n_hidden


def _side_by_side(scene: Scene, by: By) -> list[_Panel]:
    """Return a panel for each annotator who was asked, or drew something."""
    drew = {shape.annotator for shape in scene.shapes}
    names = [name for name in scene.annotators if name in drew or name in scene.asked]
    together, _ = outlines_by(scene, by)
    panels = []
    for name in names:
        is_own = [shape.annotator == name for shape in scene.shapes]
        own = tuple(compress(scene.shapes, is_own))
        if by == "annotator":
            # What has no label in one panel has none in the others.
            outlines = [*compress(together, is_own)]
        else:
            outlines, _ = outlines_by(replace(scene, shapes=own), by)
        number = count(len(own), "annotation") + " with findings" * (by == "finding")
        panels.append(_Panel(f"{set_apart(short_name(name))}: {number}", outlines))
    return panels


@dataclass(frozen=True, slots=True)
class _Legend:
    """The entries of a legend that are shown, and its rows and columns."""

    keys: Sequence[Key]
    n_rows: int
    n_columns: int
    widest: float
    """The width of an entry in inches."""

    def draw(self, parent: Any, loc: str, left: float) -> None:
        """Draw the entries at the lower left corner of a figure, or below axes."""
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=look.color, linewidth=1.6,
                   linestyle=(0, look.dashes) if look.dashes else "-")
            for _, look in self.keys
        ]  # fmt: skip
        if handles:
            names = [name for name, _ in self.keys]
            anchor: Any = {"bbox_to_anchor": (left, 0), "ncols": self.n_columns}
            parent.legend(handles, names, loc=loc, **anchor, **_LEGEND)


def _legend(keys: Sequence[Key], width: float) -> _Legend:
    """Return a legend of at least one column that fits a width in inches."""
    if len(keys) > _MOST_KEYS:
        more = f"and {len(keys) - _MOST_KEYS + 1:,} more"
        keys = [*keys[: _MOST_KEYS - 1], (more, NO_LOOK)]
    if not keys:
        return _Legend((), 0, 1, 0.0)
    widest = max(text_width(name, _LETTER) for name, _ in keys)
    widest = (widest + (_SAMPLE + _AROUND) * _LETTER) / 72
    n_rows = ceil(len(keys) / max(int(width / widest), 1))
    return _Legend(keys, n_rows, ceil(len(keys) / n_rows), widest)
