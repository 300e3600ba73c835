"""Annotations on axes: pixels, outlines and labels, in the scale of the axes."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray
from bboxqa.report.charts.palette import BACK, LINE
from bboxqa.report.drawing.scene import Box, Look, Outline, readable_on
from bboxqa.report.numbers import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rectangle = tuple[float, float, float, float]
"""Left, top, right and bottom."""

_BLANK = "#f3f4f6"
_FILLED = 0.1
_MOST_FILLED = 1000
# Sizes as shares of the side of the axes, with limits in points.
_LINE_SHARE, _THINNEST, _THICKEST = 1 / 260, 0.5, 2.0
_LETTER_SHARE, _SMALLEST, _LARGEST = 1 / 50, 5.0, 9.0
# Sizes as shares of the shorter side of a typical box, and of the space per box.
_LINE_OF_BOX, _LETTER_OF_BOX, _LINE_OF_ROOM, _LETTER_OF_ROOM = 1 / 10, 1 / 2, 1 / 26, 1 / 5
# If labels would cover more of the axes, some are left out.
_MOST_COVERED = 0.25
# The most characters of a label; fewer if labels would cover too much.
_LENGTHS = (28, 16, 10, 7)
_CASING = 1.4
# In font sizes: the height of a label, its margins, its distance from others, and the height of
# capitals.
_HEIGHT, _MARGIN, _GAP, _CAPITAL = 1.4, 0.35, 0.12, 0.73
# Screens move letters to whole pixels, which makes texts wider.
_HINTED = 1.04
_SURROUNDING, _RIM = 0.5, 0.004
# In line widths.
_DOT = 2.5
# A label hides a box if it covers more than this share of it.
_HIDDEN = 0.5


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of lines and letters in axes, in points."""

    pixel: float
    """The side of a pixel of the image."""
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
    low = np.minimum(corners[:, :2].min(0, initial=0), 0)
    high = np.maximum(corners[:, 2:].max(0, initial=0), (width, height))
    beyond = _SURROUNDING * np.array([width, height])
    left, top = np.maximum(low, -beyond).tolist()
    right, bottom = np.minimum(high, np.array([width, height]) + beyond).tolist()
    margin = _RIM * max(right - left, bottom - top)
    return left - margin, top - margin, right + margin, bottom + margin


def draw_outlines(
    ax: "Axes",
    size: tuple[float, float],
    outlines: Sequence[Outline],
    pixels: ByteArray | None = None,
    part: Rectangle | None = None,
    scale: Scale | None = None,
) -> int:
    """Draw annotations on their image, and return the number of labels without room.

    Parameters
    ----------
    ax : Axes
    size : (float, float)
        Width and height of the image in the pixels of the annotations.
    outlines : sequence of Outline
    pixels : (H, W, 3) uint8, optional
        The whole image, perhaps reduced.
    part : (left, top, right, bottom), optional
        The part of the plane that is drawn; by default the result of `visible`.
    scale : Scale, optional
        By default one that fits the axes and the annotations.
    """
    part = visible(*size, outlines) if part is None else part
    _draw_ground(ax, size, pixels, part)
    scale = _scale(ax, part, outlines) if scale is None else scale
    _draw_lines(ax, outlines, scale)
    _draw_points(ax, outlines, scale)
    return _draw_labels(ax, outlines, scale, part)


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


def _draw_ground(
    ax: "Axes", size: tuple[float, float], pixels: ByteArray | None, part: Rectangle
) -> None:
    """Draw the image or a blank canvas, and set the limits of the axes."""
    from matplotlib.patches import Rectangle as Patch

    width, height = size
    ax.set_axis_off()
    color = _BLANK if pixels is None else "none"
    ax.add_patch(Patch((0, 0), width, height, facecolor=color, edgecolor=LINE, linewidth=0.8))
    if pixels is not None:
        ax.imshow(pixels, extent=(0, width, height, 0), zorder=0)
    left, top, right, bottom = part
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")


def _scale(ax: "Axes", part: Rectangle, outlines: Sequence[Outline]) -> Scale:
    """Return the scale of axes, with thinner lines and smaller letters for many small boxes."""
    figure: Any = ax.figure
    extent = ax.get_window_extent()
    sides = np.array([extent.width, extent.height]) * 72 / figure.dpi
    pixel = float(min(sides / np.array([part[2] - part[0], part[3] - part[1]])))
    across = float(max(part[2] - part[0], part[3] - part[1])) * pixel
    corners = _corners(outlines)
    shorter = (corners[:, 2:] - corners[:, :2]).min(1) * pixel
    typical = float(np.median(shorter)) if len(shorter) else across
    room = (float(sides.prod()) / max(len(outlines), 1)) ** 0.5
    line = min(across * _LINE_SHARE, typical * _LINE_OF_BOX, room * _LINE_OF_ROOM, _THICKEST)
    letter = min(across * _LETTER_SHARE, typical * _LETTER_OF_BOX, room * _LETTER_OF_ROOM, _LARGEST)
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
    # Very many filled outlines would cover the drawing.
    filled = 0 if len(drawn) > _MOST_FILLED else _FILLED
    fill = [to_rgba(each.look.color, filled if each.rings else 0) for each in drawn]
    colors = [each.look.color for each in drawn]
    styles: Any = [(0, each.look.dashes) if each.look.dashes else "-" for each in drawn]
    lines: dict[str, Any] = {"linewidths": widths, "edgecolors": colors, "linestyles": styles}
    ax.add_collection(PathCollection(paths, facecolors=fill, zorder=3, **lines))


def _draw_points(ax: "Axes", outlines: Sequence[Outline], scale: Scale) -> None:
    """Draw key points as dots, hidden ones hollow, and the lines that join them."""
    from matplotlib.collections import LineCollection

    for outline in outlines:
        if outline.points is None:
            continue
        labelled = outline.points[:, 2] > 0
        limbs: Any = [
            outline.points[[*ends], :2]
            for ends in outline.limbs
            if max(ends) < len(labelled) and labelled[[*ends]].all()
        ]
        color = outline.look.color
        lines: dict[str, Any] = {"colors": color, "linewidths": scale.line, "zorder": 3.5}
        lines["linestyles"] = [(0, outline.look.dashes)] if outline.look.dashes else "-"
        ax.add_collection(LineCollection(limbs, **lines))
        for value, inside in ((1, BACK), (2, color)):
            x, y, _ = outline.points[outline.points[:, 2] == value].T
            ax.scatter(
                x, y, s=(_DOT * scale.line) ** 2, facecolors=inside, edgecolors=color, zorder=3.6,
                linewidths=scale.line / 2,
            )  # fmt: skip


def _path(outline: Outline) -> Any:
    from matplotlib.path import Path

    if outline.rings:
        return Path.make_compound_path(
            *(Path(np.vstack([ring, ring[:1]]), closed=True) for ring in outline.rings)
        )
    left, top, width, height = outline.bbox
    right, bottom = left + width, top + height
    around = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    return Path(np.array(around, np.float64), closed=True)


def _draw_labels(ax: "Axes", outlines: Sequence[Outline], scale: Scale, part: Rectangle) -> int:
    """Write the labels where there is room, and return the number of labels without room."""
    labelled = [outline for outline in outlines if outline.label]
    origin, letter = np.array([part[0], part[1]] * 2), scale.letter
    width, height = ((np.array(part[2:]) - origin[:2]) * scale.pixel).tolist()
    room = _MOST_COVERED * width * height / (_HEIGHT * letter)
    # Measuring texts takes long, and the margins alone of very many cover too much.
    if len(labelled) * 2 * _MARGIN * letter > room:
        return len(labelled)
    for most in _LENGTHS:
        texts = [short_name(each.label, most) for each in labelled]
        across = {text: text_width(text, letter) + 2 * _MARGIN * letter for text in {*texts}}
        if sum(across[text] for text in texts) <= room:
            break
    if sum(across[text] for text in texts) > room or len({*texts}) < len(
        {each.label for each in labelled}
    ):
        # Shortened, two names would become the same label.
        return len(labelled)
    corners = (_corners(labelled) - origin) * scale.pixel
    shown = np.clip(corners, 0, (width, height, width, height))
    sizes = [(across[text], _HEIGHT * letter) for text in texts]
    places = place_labels(shown, sizes, (0, 0, width, height), _GAP * letter)
    for outline, text, place in zip(labelled, texts, places, strict=True):
        if place is not None:
            _draw_label(ax, text, outline.look, np.array(place) / scale.pixel + origin, scale)
    return sum(place is None for place in places)


def _draw_label(ax: "Axes", text: str, look: Look, place: FloatArray, scale: Scale) -> None:
    """Write a label on a background of its colour; `place` is in pixels of the image."""
    from matplotlib.patches import FancyBboxPatch

    left, top, right, bottom = place.tolist()
    radius = 0.25 * scale.letter / scale.pixel
    ground = FancyBboxPatch(
        (left, top), right - left, bottom - top, boxstyle=f"round,pad=0,rounding_size={radius}",
        facecolor=look.color, edgecolor=BACK, linewidth=0.6, zorder=4,
    )  # fmt: skip
    ax.add_patch(ground)
    # The baseline is at the same height in all labels, with or without descenders.
    below = (_HEIGHT - _CAPITAL) / 2 * scale.letter / scale.pixel
    ax.text(
        (left + right) / 2, bottom - below, text, fontsize=scale.letter, ha="center",
        va="baseline", color=readable_on(look.color), zorder=5, clip_on=True,
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
    boxes: Sequence[Rectangle] | FloatArray,
    sizes: Sequence[tuple[float, float]],
    bounds: Rectangle,
    gap: float = 1,
) -> list[Rectangle | None]:
    """Return a place for the label of each box, at the box and clear of all other labels.

    The corners of the box are tried first, outside and inside, then the middles of its edges. Of
    the free places, the one that hides the fewest boxes is chosen, of these the one that crosses
    the fewest outlines of other boxes, in a tie the one tried first. Small boxes come before large
    ones, which have more alternatives.

    Parameters
    ----------
    boxes : sequence of (left, top, right, bottom)
    sizes : sequence of (width, height)
        The size of the label of each box.
    bounds : (left, top, right, bottom)
        Labels stay inside these.
    gap : float
        Smallest distance between two labels.

    Returns
    -------
    list
        (left, top, right, bottom) of each label in the order of `boxes`; None if there is no free
        place.

    Examples
    --------
    >>> place_labels([(20, 20, 60, 60), (20, 20, 60, 60)], [(10, 8), (10, 8)], (0, 0, 99, 99))
    [(20.0, 12.0, 30.0, 20.0), (50.0, 12.0, 60.0, 20.0)]
    """
    every = np.array(boxes, np.float64).reshape(-1, 4)
    area = (every[:, 2:] - every[:, :2]).prod(1)
    placed: list[Rectangle | None] = [None] * len(boxes)
    taken = np.zeros((0, 4))
    rim, margin = np.array([bounds], np.float64), np.array([-gap, -gap, gap, gap])
    for index in np.argsort(area, kind="stable").tolist():
        places = _beside(every[index], np.array(sizes[index], np.float64))
        places = places[_within(places, rim)[:, 0] & ~_overlap(places, taken).any(1)]
        if len(places):
            others = np.delete(every, index, 0)
            crosses = (_overlap(places, others) & ~_within(places, others)).sum(1)
            best = places[np.lexsort((crosses, _n_hidden(places, every, area)))[0]]
            left, top, right, bottom = best.tolist()
            placed[index] = (left, top, right, bottom)
            taken = np.vstack([taken, best + margin])
    return placed


def _beside(box: FloatArray, size: FloatArray) -> FloatArray:
    """Return (18, 4) places at the corners and edges of a box."""
    left, top, right, bottom = box.tolist()
    width, height = size.tolist()
    middle, centre = (left + right - width) / 2, (top + bottom - height) / 2
    starts = [
        *((x, y) for y in (top - height, top) for x in (left, right - width)),
        *((x, y) for y in (bottom, bottom - height) for x in (left, right - width)),
        *((x, y) for y in (top, bottom - height) for x in (left - width, right)),
        *((middle, y) for y in (top - height, top, bottom, bottom - height)),
        *((x, centre) for x in (left - width, left, right, right - width)),
    ]
    first = np.array(starts)
    return np.hstack([first, first + size])


def _n_hidden(places: FloatArray, boxes: FloatArray, area: FloatArray) -> IndexArray:
    """Return (K,) how many boxes each place hides; boxes without area cannot be hidden."""
    low = np.maximum(places[:, None, :2], boxes[None, :, :2])
    high = np.minimum(places[:, None, 2:], boxes[None, :, 2:])
    covered = np.maximum(high - low, 0).prod(2)
    n_hidden: IndexArray = ((area > 0) & (covered > _HIDDEN * area)).sum(1)
    return n_hidden


def _overlap(places: FloatArray, others: FloatArray) -> BoolArray:
    """Return (K, N) bool: whether rectangles share an area."""
    places, others = places[:, None], others[None]
    shared = (places[..., :2] < others[..., 2:]) & (others[..., :2] < places[..., 2:])
    return np.logical_and(shared[..., 0], shared[..., 1])


def _within(places: FloatArray, others: FloatArray) -> BoolArray:
    """Return (K, N) bool: whether the first rectangles lie inside the second."""
    places, others = places[:, None], others[None]
    inside = (others[..., :2] <= places[..., :2]) & (places[..., 2:] <= others[..., 2:])
    return np.logical_and(inside[..., 0], inside[..., 1])
