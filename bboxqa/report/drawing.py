"""Drawings of an image with its annotations: one panel, or one for each annotator."""

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from io import BytesIO
from math import ceil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import AnyPath, BoolArray, ByteArray, FloatArray, listed_by
from bboxqa.core.errors import OutputError, in_python_words
from bboxqa.core.files import refuse_replacing, write_atomically
from bboxqa.core.text import count, one_line
from bboxqa.report.chart import (
    BACK,
    DASHES,
    DIM,
    LINE,
    N_TOLD_APART,
    SERIES,
    readable_on,
    rectangle,
    series_style,
    text_width,
)
from bboxqa.report.numbers import short_name
from bboxqa.report.plots import page_style

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

# Inches: the width of a panel by the number of columns, its greatest height, and spaces.
_WIDTHS = {1: 7.0, 2: 4.6, 3: 3.4}
_TALLEST, _MARGIN, _BETWEEN, _TITLE, _ROW = 8.0, 0.06, 0.12, 0.24, 0.17
_LETTER, _TITLE_LETTER = 8.0, 9.0
# The line of a legend entry, and the space around it, in font sizes.
_SAMPLE, _AROUND = 2.4, 2.6
_MOST_KEYS = 24
_LEGEND: dict[str, Any] = {
    "fontsize": _LETTER, "handlelength": _SAMPLE, "borderaxespad": 0.3, "borderpad": 0,
    "labelcolor": DIM, "labelspacing": 0.42, "columnspacing": 1.4,
}  # fmt: skip
_BLANK = "#f3f4f6"
# The opacity of areas.
_FILLED = 0.1
# Sizes as shares of the longer side of the axes and of a typical box, with limits in points.
_LINE_SHARE, _LINE_OF_BOX, _THINNEST, _THICKEST = 1 / 260, 1 / 10, 0.5, 2.0
_LETTER_SHARE, _LETTER_OF_BOX, _SMALLEST, _LARGEST = 1 / 50, 1 / 2, 5.0, 9.0
# More labels are not tried.
_MOST_LABELS = 300
_CASING = 1.4
# In font sizes: the height of a label, its margins, its distance from others.
_HEIGHT, _PADDING, _GAP = 1.4, 0.35, 0.12
# The font of drawings is wider than that of pages.
_WIDER = 1.1
# Shares of the image that are drawn around it: at most, and for the lines at its border.
_SURROUNDING, _RIM = 0.5, 0.004
# In line widths.
_DOT = 2.5

By = Literal["annotator", "category", "unit"]
"""What colours and labels of a drawing stand for."""
Box = tuple[float, float, float, float]
"""Left, top, width and height in pixels."""
Rectangle = tuple[float, float, float, float]
"""Left, top, right and bottom."""


class Look(msgspec.Struct, frozen=True):
    """A colour and the dashes of a line, empty for a solid line."""

    color: str
    dashes: tuple[float, ...] = ()


NO_LOOK = Look("none")
Key = tuple[str, Look]
"""An entry of a legend: a name and what it looks like; `NO_LOOK` stands for no line."""


class Shape(msgspec.Struct, frozen=True, eq=False):
    """An annotation of an image, and how it is drawn."""

    bbox: Box
    rings: tuple[FloatArray, ...] = ()
    """Each (V, 2) in pixels; without them the box is drawn."""
    annotator: str = ""
    category: str = ""
    unit: int = 0
    """Number of the unit in this image, from 1; 0 for none."""
    points: FloatArray | None = None
    """(K, 3) x, y and visibility of its key points; None where they were not read."""
    limbs: tuple[tuple[int, int], ...] = ()
    """The key points that lines join."""
    look: Look = NO_LOOK
    label: str = ""


class Scene(msgspec.Struct, frozen=True, eq=False):
    """An image with its annotations."""

    name: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
    pixels: ByteArray | None = None
    """(H, W, 3) uint8. The whole image, perhaps reduced; None for a blank canvas."""
    annotators: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """All names of the data set; their order determines the colours."""
    asked: tuple[str, ...] = ()
    """The annotators who were asked about this image."""


def shapes_by(scene: Scene, by: By) -> tuple[list[Shape], list[Key]]:
    """Return the annotations of a scene as they are drawn, and the entries of the legend."""
    looks: list[Look]
    keys = list[Key]()
    if by == "unit":
        drawn = listed_by((shape.unit, shape) for shape in scene.shapes)
        # Units of the same colour are distinguished by their numbers.
        of_unit = {unit: Look(SERIES[(unit - 1) % len(SERIES)]) for unit in drawn}
        for unit, shapes in sorted(drawn.items()):
            named = short_name(" / ".join(dict.fromkeys(shape.category for shape in shapes)))
            whose = f"{len(shapes)} of {len(scene.asked)}" if unit else str(len(shapes))
            keys.append((f"{unit or 'crowd'}  {named} ({whose})", of_unit[unit]))
        # One label is enough for annotations of one object.
        first = {id(shapes[0]): str(unit or "") for unit, shapes in drawn.items()}
        labels = [first.get(id(shape), "") for shape in scene.shapes]
        looks = [of_unit[shape.unit] for shape in scene.shapes]
    else:
        is_category = by == "category"
        names = [shape.category if is_category else shape.annotator for shape in scene.shapes]
        number = Counter(names)
        every, asked = (scene.categories, ()) if is_category else (scene.annotators, scene.asked)
        present = [name for name in every if number[name] or name in asked]
        # With more names than looks, names of the image get the looks in their order.
        distinguished = every if len(every) <= N_TOLD_APART else present
        styles = {name: series_style(place) for place, name in enumerate(distinguished)}
        look = {name: Look(SERIES[styles[name][0]], DASHES[styles[name][1]]) for name in present}
        keys = [(f"{short_name(name)} ({number[name]})", look[name]) for name in present]
        # The only category would repeat all over the image.
        labels = [shape.category if scene.categories[1:] else "" for shape in scene.shapes]
        if is_category:
            one = len({shape.annotator for shape in scene.shapes}) < 2
            labels = names if one else [shape.annotator for shape in scene.shapes]
        looks = [look[name] for name in names]
    as_drawn = zip(scene.shapes, looks, labels, strict=True)
    return [replace(shape, look=of, label=short_name(text)) for shape, of, text in as_drawn], keys


class Drawing(msgspec.Struct, frozen=True, eq=False):
    """A drawing of an image."""

    name: str
    """The image."""
    by: str
    """What colours stand for."""
    figure: Any
    """The figure of matplotlib, which is not loaded before an image is drawn."""
    axes: tuple[Any, ...]
    """Its axes: one, or one for each annotator, in pixels of the image."""
    notes: tuple[str, ...] = ()
    """Notes for the reader, such as why the drawing has no pixels."""
    read: tuple[Path, ...] = ()
    """The files that were read, which are not replaced."""

    def __repr__(self) -> str:
        return f"<Drawing of {one_line(self.name)!r}>"

    def _repr_png_(self) -> bytes:
        return self._rendered(".png", _ON_SCREEN)

    @in_python_words
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


def scene_figure(scene: Scene, by: By, *, side_by_side: bool = False) -> "Figure":
    """Return a figure of a scene."""
    from matplotlib.figure import Figure

    every, keys = shapes_by(scene, by)
    panels = [] if side_by_side else [("", every)]
    for name in scene.annotators if side_by_side else ():
        own = tuple(shape for shape in scene.shapes if shape.annotator == name)
        if own or name in scene.asked:
            # What has no label in one panel has none in the others.
            shapes = [shape for shape in every if shape.annotator == name]
            if by != "annotator":
                shapes, _ = shapes_by(replace(scene, shapes=own), by)
            number = count(len(own), "annotation")
            panels.append((f"{short_name(name)}: {number}", shapes))
    part = visible(scene.width, scene.height, every)
    n_columns = 2 if len(panels) == 4 else min(len(panels), 3)
    ratio = (part[3] - part[1]) / (part[2] - part[0])
    across = min(_WIDTHS[n_columns], _TALLEST / ratio)
    longest = _WIDER * max(text_width(title, _TITLE_LETTER) for title, _ in panels)
    cell = max(across, longest / 72) + _BETWEEN
    # The titles say who drew what.
    keys = [] if side_by_side and by == "annotator" else keys
    n_rows, entry, legend = _legend(keys, n_columns * cell)
    step = across * ratio + _BETWEEN + _TITLE * side_by_side
    width = max(n_columns * cell, entry) + 2 * _MARGIN - _BETWEEN
    height = ceil(len(panels) / n_columns) * step + 2 * _MARGIN - _BETWEEN
    height += n_rows * _ROW + _BETWEEN * bool(keys)
    figure = Figure(figsize=(width, height), facecolor=BACK)
    for place, (title, shapes) in enumerate(panels):
        row, column = divmod(place, n_columns)
        left = (_MARGIN + column * cell) / width
        low = (height - _MARGIN - (row + 1) * step + _BETWEEN) / height
        ax = figure.add_axes((left, low, across / width, across * ratio / height))
        ax.set_title(title, loc="left", pad=5, fontsize=_TITLE_LETTER, fontweight="normal")
        draw_shapes(ax, (scene.width, scene.height), shapes, scene.pixels, part)
    if keys:
        figure.legend(loc="lower left", bbox_to_anchor=(_MARGIN / width, 0), **legend)
    return figure


def _legend(keys: Sequence[Key], width: float) -> tuple[int, float, dict[str, Any]]:
    """Return rows of a legend in a width in inches, the width of an entry, and its arguments."""
    from matplotlib.lines import Line2D

    if len(keys) > _MOST_KEYS:
        more = f"and {len(keys) - _MOST_KEYS + 1:,} more"
        keys = [*keys[: _MOST_KEYS - 1], (more, NO_LOOK)]
    names = [name for name, _ in keys]
    longest = _WIDER * max((text_width(name, _LETTER) for name in names), default=0.0)
    entry = (longest + (_SAMPLE + _AROUND) * _LETTER) / 72
    n_rows = ceil(len(keys) / max(int(width / entry), 1))
    handles = [
        Line2D([], [], color=look.color, linewidth=1.6, dashes=look.dashes or (None, None))
        for _, look in keys
    ]
    n_columns = ceil(len(keys) / max(n_rows, 1))
    return n_rows, entry, {"handles": handles, "labels": names, "ncols": n_columns, **_LEGEND}


class Scale(msgspec.Struct, frozen=True):
    """Sizes of lines and letters in axes, in points; `pixel` is the side of one of the image."""

    pixel: float
    line: float
    letter: float


def visible(width: float, height: float, shapes: Sequence[Shape]) -> Rectangle:
    """Return the part of the plane that is drawn: the image and annotations beyond it."""
    corners = bounds(shapes)
    size = np.array([width, height])
    left, top = np.clip(corners[:, :2].min(0, initial=0), -_SURROUNDING * size, 0).tolist()
    most = (1 + _SURROUNDING) * size
    right, bottom = np.clip(corners[:, 2:].max(0, initial=0), size, most).tolist()
    margin = _RIM * max(right - left, bottom - top)
    return left - margin, top - margin, right + margin, bottom + margin


def bounds(shapes: Iterable[Shape]) -> FloatArray:
    """Return (N, 4) left, top, right and bottom of boxes, or of their outlines if there are any."""
    found = []
    for shape in shapes:
        left, top, width, height = shape.bbox
        ends = np.array([(left, top), (left + width, top + height)])
        # Sides can be negative: a drawing shows boxes as they are.
        xy = np.concatenate(shape.rings) if any(map(len, shape.rings)) else ends
        found.append(np.concatenate([xy.min(0), xy.max(0)]))
    return np.array(found, np.float64).reshape(-1, 4)


def draw_shapes(
    ax: "Axes",
    size: tuple[float, float],
    shapes: Sequence[Shape],
    pixels: ByteArray | None = None,
    part: Rectangle | None = None,
    scale: Scale | None = None,
) -> int:
    """Draw annotations on their image, and return the number of labels without room."""
    from matplotlib.patches import Rectangle as Patch

    left, top, right, bottom = part = visible(*size, shapes) if part is None else part
    color = _BLANK if pixels is None else "none"
    ax.set_axis_off()
    ax.add_patch(Patch((0, 0), *size, facecolor=color, edgecolor=LINE, linewidth=0.8))
    if pixels is not None:
        ax.imshow(pixels, extent=(0, size[0], size[1], 0), zorder=0)
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    scale = _scale(ax, part, shapes) if scale is None else scale
    _draw_lines(ax, shapes, scale)
    for shape in shapes:
        _draw_points(ax, shape, scale)
    return _draw_labels(ax, shapes, scale, part)


def _scale(ax: "Axes", part: Rectangle, shapes: Sequence[Shape]) -> Scale:
    """Return the scale of axes, with thinner lines and smaller letters for small boxes."""
    figure: Any = ax.figure
    extent = ax.get_window_extent()
    sides = np.array([extent.width, extent.height]) * 72 / figure.dpi
    shown = np.array([part[2] - part[0], part[3] - part[1]])
    pixel = float(min(sides / shown))
    across = float(max(shown)) * pixel
    corners = bounds(shapes)
    shorter = (corners[:, 2:] - corners[:, :2]).min(1) * pixel
    typical = float(np.median(shorter)) if len(shorter) else across
    line = min(across * _LINE_SHARE, typical * _LINE_OF_BOX, _THICKEST)
    letter = min(across * _LETTER_SHARE, typical * _LETTER_OF_BOX, _LARGEST)
    return Scale(pixel, max(line, _THINNEST), max(letter, _SMALLEST))


def _draw_lines(ax: "Axes", shapes: Sequence[Shape], scale: Scale) -> None:
    """Draw outlines in their colours, cased so that they show on any ground."""
    from matplotlib.collections import PathCollection
    from matplotlib.colors import to_rgba
    from matplotlib.path import Path as Outline

    # Where outlines coincide, the gaps of a broken line show the fuller line below it.
    drawn = sorted(shapes, key=lambda shape: bool(shape.look.dashes))
    paths: Any = []
    for (left, top, width, height), rings in ((each.bbox, each.rings) for each in drawn):
        box = np.array(rectangle((left, top), (left + width, top + height)))
        closed = [np.vstack([ring, ring[:1]]) for ring in rings] or [box]
        paths.append(Outline.make_compound_path(*(Outline(xy, closed=True) for xy in closed)))
    casing: dict[str, Any] = {"linewidths": scale.line + _CASING, "edgecolors": BACK, "alpha": 0.85}
    ax.add_collection(PathCollection(paths, facecolors="none", zorder=2, **casing))
    fill = [to_rgba(each.look.color, _FILLED if each.rings else 0) for each in drawn]
    colors = [each.look.color for each in drawn]
    styles: Any = [(0, each.look.dashes or None) for each in drawn]
    lines: dict[str, Any] = {"linewidths": scale.line, "edgecolors": colors, "linestyles": styles}
    ax.add_collection(PathCollection(paths, facecolors=fill, zorder=3, **lines))


def _draw_points(ax: "Axes", shape: Shape, scale: Scale) -> None:
    """Draw key points as dots, hidden ones hollow, and the lines that join them."""
    from matplotlib.collections import LineCollection

    if shape.points is None:
        return
    labelled = shape.points[:, 2] > 0
    limbs: Any = [
        shape.points[[*ends], :2]
        for ends in shape.limbs
        if max(ends) < len(labelled) and labelled[[*ends]].all()
    ]
    color, style = shape.look.color, [(0, shape.look.dashes or None)]
    lines: Any = {"colors": color, "linewidths": scale.line, "linestyles": style}
    ax.add_collection(LineCollection(limbs, zorder=3.5, **lines))
    for value, inside in ((1, BACK), (2, color)):
        x, y, _ = shape.points[shape.points[:, 2] == value].T
        ax.scatter(
            x, y, s=(_DOT * scale.line) ** 2, facecolors=inside, edgecolors=color, zorder=3.6,
            linewidths=scale.line / 2,
        )  # fmt: skip


def _draw_labels(ax: "Axes", shapes: Sequence[Shape], scale: Scale, part: Rectangle) -> int:
    """Write labels on their colours where there is room; return the number of those without."""
    from matplotlib.patches import FancyBboxPatch

    labelled = [shape for shape in shapes if shape.label]
    if len(labelled) > _MOST_LABELS:
        return len(labelled)
    # In pixels of the image.
    letter = scale.letter / scale.pixel
    wide = {
        text: _WIDER * text_width(text, scale.letter) / scale.pixel + 2 * _PADDING * letter
        for text in {each.label for each in labelled}
    }
    sizes = [(wide[each.label], _HEIGHT * letter) for each in labelled]
    corners = np.clip(bounds(labelled), (part[:2] * 2), (part[2:] * 2))
    boxes = [(left, top, right, bottom) for left, top, right, bottom in corners.tolist()]
    places = place_labels(boxes, sizes, part, _GAP * letter)
    style = f"round,pad=0,rounding_size={0.25 * letter}"
    for shape, place in zip(labelled, places, strict=True):
        if place is None:
            continue
        left, top, right, bottom = place
        ground = FancyBboxPatch(
            (left, top), right - left, bottom - top, boxstyle=style, facecolor=shape.look.color,
            edgecolor=BACK, linewidth=0.6, zorder=4,
        )  # fmt: skip
        ax.add_patch(ground)
        ax.text(
            (left + right) / 2, (top + bottom) / 2, shape.label, fontsize=scale.letter, ha="center",
            va="center_baseline", color=readable_on(shape.look.color), zorder=5, clip_on=True,
        )  # fmt: skip
    return sum(place is None for place in places)


def place_labels(
    boxes: Sequence[Rectangle],
    sizes: Sequence[tuple[float, float]],
    bounds: Rectangle,
    gap: float = 1,
) -> list[Rectangle | None]:
    """Return a place for the label of each box, at a corner and clear of all other labels."""
    placed: list[Rectangle | None] = [None] * len(boxes)
    taken, smaller = list[Rectangle](), list[Rectangle]()
    areas = [(right - left) * (bottom - top) for left, top, right, bottom in boxes]
    for index in sorted(range(len(boxes)), key=areas.__getitem__):
        (left, top, right, bottom), (width, height) = boxes[index], sizes[index]
        places = [
            (x, y, x + width, y + height)
            for y in (top - height, bottom, top, bottom - height)
            for x in (left, right - width)
        ]
        corners = np.array(places)
        is_free = (corners[:, :2] >= bounds[:2]).all(1) & (corners[:, 2:] <= bounds[2:]).all(1)
        is_free &= ~_overlap(corners, taken, gap).any(1)
        if is_free.any():
            n_covered = np.where(is_free, _overlap(corners, smaller).sum(1), np.inf)
            placed[index] = places[n_covered.argmin()]
            taken.append(places[n_covered.argmin()])
        smaller.append(boxes[index])
    return placed


def _overlap(places: FloatArray, others: Sequence[Rectangle], gap: float = 0.0) -> BoolArray:
    """Return (N, M) whether places overlap others, or are nearer than a gap."""
    other = np.array(others, np.float64).reshape(-1, 4)
    before = places[:, None, :2] < other[:, 2:] + gap
    return np.asarray((before & (other[:, :2] < places[:, None, 2:] + gap)).all(2))
