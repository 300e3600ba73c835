"""Drawings of an image: one panel, or one for each annotator, with a legend below."""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import compress
from math import ceil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from bboxqa.core.arrays import ByteArray, FloatArray
from bboxqa.core.errors import OutputError
from bboxqa.core.files import refuse_replacing, write_atomically
from bboxqa.core.text import count, one_line
from bboxqa.core.types import AnyPath
from bboxqa.report.charts.axes import page_style
from bboxqa.report.charts.chart import BACK, DIM, LINE, readable_on
from bboxqa.report.drawing.scene import NO_LOOK, Box, By, Key, Look, Outline, Scene, outlines_by
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

Rectangle = tuple[float, float, float, float]
"""Left, top, right and bottom."""

_BLANK = "#f3f4f6"
# The opacity of areas, of which very many would cover the drawing.
_FILLED, _MOST_FILLED = 0.1, 1000
# Sizes as shares of the longer side of the axes and of a typical box, with limits in points.
_LINE_SHARE, _LINE_OF_BOX, _THINNEST, _THICKEST = 1 / 260, 1 / 10, 0.5, 2.0
_LETTER_SHARE, _LETTER_OF_BOX, _SMALLEST, _LARGEST = 1 / 50, 1 / 2, 5.0, 9.0
# More labels are not tried.
_MOST_LABELS = 300
_CASING = 1.4
# In font sizes: the height of a label, its margins, its distance from others.
_HEIGHT, _PADDING, _GAP = 1.4, 0.35, 0.12
# Screens move letters to whole pixels, which makes texts wider.
_HINTED = 1.04
# Shares of the image that are drawn around it: at most, and for the lines at its border.
_SURROUNDING, _RIM = 0.5, 0.004
# In line widths.
_DOT = 2.5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drawing:
    """A drawing of an image."""

    name: str
    """The image."""
    by: str
    """What colours stand for."""
    figure: "Figure"
    axes: tuple["Axes", ...]
    """One, or one for each annotator, in pixels of the image."""
    notes: tuple[str, ...] = ()
    """Notes for the reader, such as why the drawing has no pixels."""
    read: tuple[Path, ...] = ()
    """The files that were read, which are not replaced."""

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


_Panel = tuple[str, Sequence[Outline]]
"""A title, and what is drawn."""


def drawn_texts(scene: Scene, by: By, *, side_by_side: bool = False) -> list[str]:
    """Return the texts of a drawing: labels, the legend, and the titles of panels."""
    outlines, keys = outlines_by(scene, by)
    titles = [title for title, _ in _side_by_side(scene, by)] if side_by_side else []
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
    panels = _side_by_side(scene, by) if side_by_side else [("", every)]
    if side_by_side and by == "annotator":
        # The titles say who drew what.
        keys = [key for key in keys if key[1] == NO_LOOK]
    part = visible(scene.width, scene.height, every)
    n_columns = 2 if len(panels) == 4 else min(len(panels), 3)
    n_rows = ceil(len(panels) / n_columns)
    ratio = (part[3] - part[1]) / (part[2] - part[0])
    across = min(_WIDTHS[n_columns], _TALLEST / ratio)
    cell = max(across, *(text_width(title, _TITLE_LETTER) / 72 for title, _ in panels))
    inside = n_columns * (cell + _BETWEEN) - _BETWEEN
    legend = _legend(keys, inside)
    width = 2 * _MARGIN + max(inside, legend.widest)
    head = _TITLE if side_by_side else 0
    step = across * ratio + head + _BETWEEN
    height = 2 * _MARGIN + n_rows * step - _BETWEEN
    height += legend.n_rows * _ROW + (_BETWEEN if keys else 0)
    figure = Figure(figsize=(width, height), facecolor=BACK)
    n_hidden = 0
    for place, (title, outlines) in enumerate(panels):
        row, column = divmod(place, n_columns)
        left = (_MARGIN + column * (cell + _BETWEEN)) / width
        top = height - _MARGIN - row * step - head
        low = (top - across * ratio) / height
        ax = figure.add_axes((left, low, across / width, across * ratio / height))
        if title:
            y = (top + 0.07) / height
            figure.text(left, y, title, fontsize=_TITLE_LETTER, va="baseline")
        size = (scene.width, scene.height)
        n_hidden += draw_outlines(ax, size, outlines, scene.pixels, part)
    legend.draw(figure, "lower left", _MARGIN / width)
    return figure, n_hidden


def _side_by_side(scene: Scene, by: By) -> list[_Panel]:
    """Return a panel for each annotator who was asked, or drew something."""
    drew = {shape.annotator for shape in scene.shapes}
    names = [name for name in scene.annotators if name in drew or name in scene.asked]
    together, _ = outlines_by(scene, by)
    panels: list[_Panel] = []
    for name in names:
        is_own = [shape.annotator == name for shape in scene.shapes]
        own = tuple(compress(scene.shapes, is_own))
        if by == "annotator":
            # What has no label in one panel has none in the others.
            outlines = [*compress(together, is_own)]
        else:
            outlines, _ = outlines_by(replace(scene, shapes=own), by)
        number = count(len(own), "annotation") + " with findings" * (by == "finding")
        panels.append((f"{set_apart(short_name(name))}: {number}", outlines))
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
    letters = max(text_width(name, _LETTER) for name, _ in keys)
    widest = (letters + (_SAMPLE + _AROUND) * _LETTER) / 72
    n_rows = ceil(len(keys) / max(int(width / widest), 1))
    return _Legend(keys, n_rows, ceil(len(keys) / n_rows), widest)


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of lines and letters in axes, in points; `pixel` is the side of one of the image."""

    pixel: float
    line: float
    letter: float


def visible(width: float, height: float, outlines: Sequence[Outline]) -> Rectangle:
    """Return the part of the plane that is drawn: the image and annotations beyond it.

    At most half of the width and height of the image are added on each side, and a margin for the
    lines at the border.

    Examples
    --------
    >>> from bboxqa.report.drawing.scene import Look
    >>> visible(100, 80, [Outline((90, 10, 20, 20), Look("#000000"))])
    (-0.44, -0.44, 110.44, 80.44)
    """
    corners = _corners(outlines)
    size = np.array([width, height])
    left, top = np.clip(corners[:, :2].min(0, initial=0), -_SURROUNDING * size, 0).tolist()
    most = (1 + _SURROUNDING) * size
    right, bottom = np.clip(corners[:, 2:].max(0, initial=0), size, most).tolist()
    margin = _RIM * max(right - left, bottom - top)
    return left - margin, top - margin, right + margin, bottom + margin


def bounds(shapes: Iterable[tuple[Box, Sequence[FloatArray]]]) -> FloatArray:
    """Return (N, 4) left, top, right and bottom of boxes, or of their outlines if there are any."""
    found = []
    for (left, top, width, height), rings in shapes:
        ends = np.array([(left, top), (left + width, top + height)])
        # Sides can be negative: rules report such boxes, and a drawing shows them.
        xy = np.concatenate(rings) if rings else ends
        found.append(np.concatenate([xy.min(0), xy.max(0)]))
    return np.array(found, np.float64).reshape(-1, 4)


def _corners(outlines: Sequence[Outline]) -> FloatArray:
    return bounds((outline.bbox, outline.rings) for outline in outlines)


def draw_outlines(
    ax: "Axes",
    size: tuple[float, float],
    outlines: Sequence[Outline],
    pixels: ByteArray | None = None,
    part: Rectangle | None = None,
    scale: Scale | None = None,
) -> int:
    """Draw annotations on their image, and return the number of labels without room.

    `size` is width and height of the image in the pixels of the annotations; `pixels` are those of
    the whole image, perhaps reduced. By default, `part` is the result of `visible`, and `scale`
    fits the axes and the annotations.
    """
    from matplotlib.patches import Rectangle as Patch

    left, top, right, bottom = part = visible(*size, outlines) if part is None else part
    color = _BLANK if pixels is None else "none"
    ax.set_axis_off()
    ax.add_patch(Patch((0, 0), *size, facecolor=color, edgecolor=LINE, linewidth=0.8))
    if pixels is not None:
        ax.imshow(pixels, extent=(0, size[0], size[1], 0), zorder=0)
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    scale = _scale(ax, part, outlines) if scale is None else scale
    _draw_lines(ax, outlines, scale)
    for outline in outlines:
        _draw_points(ax, outline, scale)
    return _draw_labels(ax, outlines, scale, part)


def _scale(ax: "Axes", part: Rectangle, outlines: Sequence[Outline]) -> Scale:
    """Return the scale of axes, with thinner lines and smaller letters for small boxes."""
    figure: Any = ax.figure
    extent = ax.get_window_extent()
    sides = np.array([extent.width, extent.height]) * 72 / figure.dpi
    shown = np.array([part[2] - part[0], part[3] - part[1]])
    pixel = float(min(sides / shown))
    across = float(max(shown)) * pixel
    corners = _corners(outlines)
    shorter = (corners[:, 2:] - corners[:, :2]).min(1) * pixel
    typical = float(np.median(shorter)) if len(shorter) else across
    line = min(across * _LINE_SHARE, typical * _LINE_OF_BOX, _THICKEST)
    letter = min(across * _LETTER_SHARE, typical * _LETTER_OF_BOX, _LARGEST)
    return Scale(pixel, max(line, _THINNEST), max(letter, _SMALLEST))


def _draw_lines(ax: "Axes", outlines: Sequence[Outline], scale: Scale) -> None:
    """Draw outlines in their colours, cased so that they show on any ground."""
    from matplotlib.collections import PathCollection
    from matplotlib.colors import to_rgba

    # Where outlines coincide, the gaps of a broken line show the fuller line below it.
    drawn = sorted(outlines, key=lambda outline: bool(outline.look.dashes))
    paths: Any = [_path(outline) for outline in drawn]
    widths = scale.line * np.array([each.weight for each in drawn])
    casing: dict[str, Any] = {"linewidths": widths + _CASING, "edgecolors": BACK, "alpha": 0.85}
    ax.add_collection(PathCollection(paths, facecolors="none", zorder=2, **casing))
    filled = _FILLED if len(drawn) <= _MOST_FILLED else 0
    fill = [to_rgba(each.look.color, filled if each.rings else 0) for each in drawn]
    colors = [each.look.color for each in drawn]
    styles: Any = [(0, each.look.dashes) if each.look.dashes else "-" for each in drawn]
    lines: dict[str, Any] = {"linewidths": widths, "edgecolors": colors, "linestyles": styles}
    ax.add_collection(PathCollection(paths, facecolors=fill, zorder=3, **lines))


def _path(outline: Outline) -> Any:
    from matplotlib.path import Path

    left, top, width, height = outline.bbox
    right, bottom = left + width, top + height
    box = np.array([(left, top), (right, top), (right, bottom), (left, bottom)], np.float64)
    rings = outline.rings or (box,)
    paths = (Path(np.vstack([ring, ring[:1]]), closed=True) for ring in rings)
    return Path.make_compound_path(*paths)


def _draw_points(ax: "Axes", outline: Outline, scale: Scale) -> None:
    """Draw key points as dots, hidden ones hollow, and the lines that join them."""
    from matplotlib.collections import LineCollection

    if outline.points is None:
        return
    labelled = outline.points[:, 2] > 0
    limbs: Any = [
        outline.points[[*ends], :2]
        for ends in outline.limbs
        if max(ends) < len(labelled) and labelled[[*ends]].all()
    ]
    color, dashes = outline.look.color, outline.look.dashes
    styles: Any = [(0, dashes)] if dashes else "-"
    ax.add_collection(
        LineCollection(limbs, colors=color, linewidths=scale.line, linestyles=styles, zorder=3.5)
    )
    for value, inside in ((1, BACK), (2, color)):
        x, y, _ = outline.points[outline.points[:, 2] == value].T
        ax.scatter(
            x, y, s=(_DOT * scale.line) ** 2, facecolors=inside, edgecolors=color, zorder=3.6,
            linewidths=scale.line / 2,
        )  # fmt: skip


def _draw_labels(ax: "Axes", outlines: Sequence[Outline], scale: Scale, part: Rectangle) -> int:
    """Write the labels where there is room, and return the number of labels without room."""
    labelled = [outline for outline in outlines if outline.label]
    if len(labelled) > _MOST_LABELS:
        return len(labelled)
    # In pixels of the image.
    letter = scale.letter / scale.pixel
    texts = [short_name(each.label) for each in labelled]
    wide = {
        text: text_width(text, scale.letter) / scale.pixel + 2 * _PADDING * letter
        for text in {*texts}
    }
    sizes = [(wide[text], _HEIGHT * letter) for text in texts]
    corners = np.clip(_corners(labelled), (part[:2] * 2), (part[2:] * 2))
    boxes = [(left, top, right, bottom) for left, top, right, bottom in corners.tolist()]
    places = place_labels(boxes, sizes, part, _GAP * letter)
    for outline, text, place in zip(labelled, texts, places, strict=True):
        if place is not None:
            _draw_label(ax, text, outline.look, place, scale)
    return sum(place is None for place in places)


def _draw_label(ax: "Axes", text: str, look: Look, place: Rectangle, scale: Scale) -> None:
    """Write a label on a background of its colour; `place` is in pixels of the image."""
    from matplotlib.patches import FancyBboxPatch

    left, top, right, bottom = place
    style = f"round,pad=0,rounding_size={0.25 * scale.letter / scale.pixel}"
    ground = FancyBboxPatch(
        (left, top), right - left, bottom - top, boxstyle=style, facecolor=look.color,
        edgecolor=BACK, linewidth=0.6, zorder=4,
    )  # fmt: skip
    ax.add_patch(ground)
    ax.text(
        (left + right) / 2, (top + bottom) / 2, text, fontsize=scale.letter, ha="center",
        va="center_baseline", color=readable_on(look.color), zorder=5, clip_on=True,
    )  # fmt: skip


def text_width(text: str, size: float) -> float:
    """Return the width of a text in points, for a font size in points, at any resolution."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with warnings.catch_warnings():
        # A sign that the font lacks is drawn as a box.
        warnings.simplefilter("ignore")
        found = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)
    return float(found[0]) * _HINTED


def place_labels(
    boxes: Sequence[Rectangle],
    sizes: Sequence[tuple[float, float]],
    bounds: Rectangle,
    gap: float = 1,
) -> list[Rectangle | None]:
    """Return a place for the label of each box, at a corner and clear of all other labels.

    Places above the box are tried first, then below it and inside; those that cover a smaller box
    come last. Small boxes come before large ones. None stands for a label without a place.

    `sizes` are width and height of labels, which stay inside `bounds`, and `gap` apart.

    Examples
    --------
    >>> place_labels([(20, 20, 60, 60), (20, 20, 60, 60)], [(10, 8), (10, 8)], (0, 0, 99, 99))
    [(20, 12, 30, 20), (50, 12, 60, 20)]
    """
    placed: list[Rectangle | None] = [None] * len(boxes)
    taken: list[Rectangle] = []
    smaller: list[Rectangle] = []
    areas = [(right - left) * (bottom - top) for left, top, right, bottom in boxes]
    for index in sorted(range(len(boxes)), key=areas.__getitem__):
        (left, top, right, bottom), (width, height) = boxes[index], sizes[index]
        best, fewest = None, len(boxes)
        for y in (top - height, bottom, top, bottom - height):
            for x in (left, right - width):
                place = (x, y, x + width, y + height)
                is_inside = bounds[0] <= x and bounds[1] <= y
                is_inside &= place[2] <= bounds[2] and place[3] <= bounds[3]
                if not is_inside or any(_overlap(place, other, gap) for other in taken):
                    continue
                n_covered = sum(_overlap(place, box) for box in smaller)
                if n_covered < fewest:
                    best, fewest = place, n_covered
        if best is not None:
            placed[index] = best
            taken.append(best)
        smaller.append(boxes[index])
    return placed


def _overlap(one: Rectangle, other: Rectangle, gap: float = 0.0) -> bool:
    across = one[0] < other[2] + gap and other[0] < one[2] + gap
    return across and one[1] < other[3] + gap and other[1] < one[3] + gap
