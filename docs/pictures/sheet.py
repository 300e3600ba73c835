"""A white sheet to draw pictures on: smooth shapes, crisp text, strokes in three patterns."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from PIL import Image, ImageDraw, ImageFont

Rectangle: TypeAlias = tuple[float, float, float, float]

Point: TypeAlias = tuple[float, float]
Pattern: TypeAlias = Literal["solid", "dashed", "dotted"]

PATTERNS: tuple[Pattern, ...] = ("solid", "dashed", "dotted")

# Okabe and Ito's colours stay apart for every common kind of colour blindness.
PALETTE = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
    "black": "#000000",
}
INK = "#222222"
GREY = "#8A8A8A"
PALE = "#E4E4E4"

_FINE = 3


def _font(size: float) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise TypeError("Pillow was built without FreeType, so it cannot write text in any size")
    return font


def text_size(text: str, size: float) -> tuple[float, float]:
    """Return the (width, height) that a line of text takes at a font size, in pixels."""
    left, _, right, _ = _font(size).getbbox(text)
    return right - left, size


def readable_on(colour: str) -> str:
    """Return black or white, whichever is read better on a `#rrggbb` colour.

    Examples
    --------
    >>> readable_on("#F0E442"), readable_on("#0072B2")
    ('#000000', '#FFFFFF')
    """
    return "#000000" if _luminance(colour) > 140 else "#FFFFFF"


def _luminance(colour: str) -> float:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


class Sheet:
    """A white canvas in final pixels.

    Shapes are drawn three times finer and averaged down; text is written last at its final
    size, so that it stays crisp and nothing covers it.

    Parameters
    ----------
    width, height
        Size in pixels.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._canvas = Image.new("RGB", (width * _FINE, height * _FINE), "white")
        self._draw = ImageDraw.Draw(self._canvas)
        self._texts: list[tuple[Point, str, float, str, str]] = []

    def picture(self, image: Image.Image, left: int, top: int) -> None:
        """Lay an image on the sheet, pixel by pixel."""
        size = (image.width * _FINE, image.height * _FINE)
        fine = image.resize(size, Image.Resampling.NEAREST)
        self._canvas.paste(fine, (left * _FINE, top * _FINE))

    def rectangle(
        self,
        box: Rectangle,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 1,
        radius: float = 0,
    ) -> None:
        """Draw a filled or outlined rectangle, with round corners on demand."""
        left, top, right, bottom = (round(edge * _FINE) for edge in box)
        self._draw.rounded_rectangle(
            (left, top, right - 1, bottom - 1),
            radius * _FINE,
            fill,
            outline,
            round(width * _FINE) if outline else 0,
        )

    def polygon(self, points: Sequence[Point], fill: str) -> None:
        """Fill a polygon."""
        self._draw.polygon([(x * _FINE, y * _FINE) for x, y in points], fill)

    def stroke(
        self,
        points: Sequence[Point],
        colour: str,
        width: float = 2,
        pattern: Pattern = "solid",
    ) -> None:
        """Draw straight lines from point to point; the pattern starts anew at each point."""
        for start, end in pairwise(points):
            for first, last in _pieces(start, end, width, pattern):
                self._piece(first, last, colour, width)

    def boxes(
        self,
        boxes: Sequence[Rectangle],
        colours: Sequence[str],
        patterns: Sequence[Pattern],
        width: float,
    ) -> None:
        """Outline rectangles in patterns, cased so that they show on any ground."""
        outlines = [
            [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
            for left, top, right, bottom in boxes
        ]
        for outline, colour in zip(outlines, colours, strict=True):
            casing = "#FFFFFF" if _luminance(colour) < 155 else "#3A3A3A"
            self.stroke(outline, casing, width + 2)
        # Where outlines coincide, the gaps of a broken line show the fuller line below it.
        order = sorted(range(len(boxes)), key=lambda index: PATTERNS.index(patterns[index]))
        for index in order:
            self.stroke(outlines[index], colours[index], width, patterns[index])

    def text(
        self, at: Point, text: str, size: float = 14, colour: str = INK, anchor: str = "la"
    ) -> None:
        """Write one line of text; `anchor` is Pillow's."""
        self._texts.append((at, text, size, colour, anchor))

    def tag(self, place: Rectangle, text: str, colour: str, size: float = 13) -> None:
        """Write a text on a filled label."""
        left, top, right, bottom = place
        self.rectangle((left - 1, top - 1, right + 1, bottom + 1), "#FFFFFF", radius=3)
        self.rectangle(place, colour, radius=2.5)
        middle = ((left + right) / 2, (top + bottom) / 2)
        self.text(middle, text, size, readable_on(colour), "mm")

    def finish(self) -> Image.Image:
        """Return the sheet as an image."""
        image = self._canvas.reduce(_FINE)
        draw = ImageDraw.Draw(image)
        for (x, y), text, size, colour, anchor in self._texts:
            draw.text((round(x), round(y)), text, colour, _font(size), anchor)
        return image

    def _piece(self, start: Point, end: Point, colour: str, width: float) -> None:
        radius = width * _FINE / 2
        ends = [(x * _FINE, y * _FINE) for x, y in (start, end)]
        if start != end:
            self._draw.line(ends, colour, round(width * _FINE))
        for x, y in ends:
            self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), colour)


def _pieces(start: Point, end: Point, width: float, pattern: Pattern) -> list[tuple[Point, Point]]:
    length = math.dist(start, end)
    if pattern == "solid" or length == 0:
        return [(start, end)]
    # Round ends add to each dash what they take from the gap.
    dash, space = (5 * width - 2, 2.6 * width + 1) if pattern == "dashed" else (0.0, 2 * width + 1)
    count = max(1, round((length - dash) / (dash + space)))
    step = (length - dash) / count

    def along(distance: float) -> Point:
        share = min(distance, length) / length
        return (
            start[0] + (end[0] - start[0]) * share,
            start[1] + (end[1] - start[1]) * share,
        )

    if step <= dash:
        return [(start, end)]
    return [(along(number * step), along(number * step + dash)) for number in range(count + 1)]
