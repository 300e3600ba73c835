"""A white sheet for schematic pictures, in pixels, on which matplotlib draws."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from bboxqa.report.chart import readable_on, text_width
from bboxqa.report.plots import page_style

Rectangle: TypeAlias = tuple[float, float, float, float]

Point: TypeAlias = tuple[float, float]
Pattern: TypeAlias = Literal["solid", "dashed", "dotted"]

PATTERNS: tuple[Pattern, ...] = ("solid", "dashed", "dotted")

DASHES: dict[Pattern, tuple[float, ...]] = {"solid": (), "dashed": (5, 2.6), "dotted": (1, 1.4)}
"""Of each pattern, in widths of the line."""

# Okabe and Ito's colours stay apart for every common kind of colour blindness.
PALETTE = {
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "yellow": "#f0e442",
    "black": "#000000",
}
INK = "#222222"
GREY = "#8a8a8a"
PALE = "#e4e4e4"

# A point is a pixel.
_DPI = 72
# The letters of the font are larger than those of others of the same size.
_LETTERS = 0.88
_ACROSS = {"l": "left", "m": "center", "r": "right"}
_DOWN = {"a": "top", "m": "center_baseline"}


def text_size(text: str, size: float) -> tuple[float, float]:
    """Return the (width, height) that a line of text takes at a font size, in pixels."""
    return text_width(text, size * _LETTERS), size


class Sheet:
    """A white canvas in pixels, from its upper left corner; what comes later lies above.

    Parameters
    ----------
    width, height
        Size in pixels.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        with page_style():
            self._figure = Figure((width / _DPI, height / _DPI), dpi=_DPI, facecolor="white")
            self._ax = self.axes((0, 0, width, height))
            self._ax.set(xlim=(0, width), ylim=(height, 0))
            self._ax.set_axis_off()
        self._n_drawn = 0

    def axes(self, place: Rectangle) -> Axes:
        """Return new axes at a (left, top, right, bottom) place."""
        left, top, right, bottom = place
        size = (right - left) / self.width, (bottom - top) / self.height
        return self._figure.add_axes((left / self.width, 1 - bottom / self.height, *size))

    def picture(self, image: Image.Image, left: int, top: int) -> None:
        """Lay an image on the sheet, pixel by pixel."""
        # Rows of figures begin at the bottom.
        below = self.height - top - image.height
        self._figure.figimage(np.asarray(image), left, below, zorder=self._next(), origin="upper")

    def rectangle(
        self,
        box: Rectangle,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 1,
        radius: float = 0,
    ) -> None:
        """Draw a filled or outlined rectangle, with round corners on demand."""
        left, top, right, bottom = box
        style = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
        patch = FancyBboxPatch(
            (left, top), right - left, bottom - top, boxstyle=style, facecolor=fill or "none",
            edgecolor=outline or "none", linewidth=width if outline else 0, zorder=self._next(),
        )  # fmt: skip
        self._ax.add_patch(patch)

    def stroke(
        self,
        points: Sequence[Point],
        colour: str,
        width: float = 2,
        pattern: Pattern = "solid",
    ) -> None:
        """Draw straight lines from point to point."""
        x, y = zip(*points, strict=True)
        style: Any = (0, DASHES[pattern]) if DASHES[pattern] else "-"
        line = Line2D(
            x, y, color=colour, linewidth=width, linestyle=style, zorder=self._next(),
            solid_capstyle="round", dash_capstyle="butt",
        )  # fmt: skip
        self._ax.add_line(line)

    def text(
        self, at: Point, text: str, size: float = 14, colour: str = INK, anchor: str = "la"
    ) -> None:
        """Write one line of text.

        The first letter of `anchor` says which part of it is at the point, the left, middle or
        right; the second says so of its top (a) and middle.
        """
        with page_style():
            self._ax.text(
                *at, text, fontsize=size * _LETTERS, color=colour, ha=_ACROSS[anchor[0]],
                va=_DOWN[anchor[1]], zorder=self._next(),
            )  # fmt: skip

    def tag(self, place: Rectangle, text: str, colour: str, size: float = 13) -> None:
        """Write a text on a filled label."""
        left, top, right, bottom = place
        self.rectangle((left - 1, top - 1, right + 1, bottom + 1), "#ffffff", radius=3)
        self.rectangle(place, colour, radius=2.5)
        self.text(((left + right) / 2, (top + bottom) / 2), text, size, readable_on(colour), "mm")

    def finish(self) -> Image.Image:
        """Return the sheet as an image."""
        content = BytesIO()
        with page_style():
            # Of no use but here: not compressed much.
            options = {"compress_level": 1}
            self._figure.savefig(content, format="png", dpi=_DPI, pil_kwargs=options)
        return Image.open(content).convert("RGB")

    def _next(self) -> int:
        self._n_drawn += 1
        return self._n_drawn
