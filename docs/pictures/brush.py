"""Smooth fruit shapes: outlines that fill a given box, shaded in flat steps."""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from PIL import Image, ImageDraw
from sheet import Rectangle

__all__ = ["Brush", "Colour", "apple_outline", "banana_outline", "fit", "orange_outline"]

Colour: TypeAlias = tuple[int, int, int]
_Points: TypeAlias = list[tuple[float, float]]
_STEPS = 160


class Brush:
    """Draws in scene pixels on a canvas with `fine` pixels for each of them."""

    def __init__(self, size: tuple[int, int], fine: float) -> None:
        self.fine = fine
        self.canvas = Image.new("RGB", (round(size[0] * fine), round(size[1] * fine)), "white")
        self._draw = ImageDraw.Draw(self.canvas)

    def shape(self, points: Sequence[tuple[float, float]], colour: Colour) -> None:
        """Fill an outline."""
        self._draw.polygon([(x * self.fine, y * self.fine) for x, y in points], colour)

    def ellipse(self, box: Rectangle, colour: Colour) -> None:
        """Fill the ellipse that a (left, top, right, bottom) box holds."""
        left, top, right, bottom = (edge * self.fine for edge in box)
        self._draw.ellipse((left, top, right, bottom), colour)

    def band(self, box: Rectangle, colour: Colour) -> None:
        """Fill a rectangle."""
        left, top, right, bottom = (round(edge * self.fine) for edge in box)
        self._draw.rectangle((left, top, right - 1, bottom - 1), colour)

    def line(self, points: Sequence[tuple[float, float]], colour: Colour, width: float) -> None:
        """Draw a line with round ends and joints."""
        fine = [(x * self.fine, y * self.fine) for x, y in points]
        radius = width * self.fine / 2
        self._draw.line(fine, colour, max(1, round(2 * radius)), joint="curve")
        for x, y in (fine[0], fine[-1]):
            self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), colour)

    def round_shape(
        self,
        outline: Callable[[], _Points],
        box: Rectangle,
        shade: Colour,
        light: Colour,
    ) -> None:
        """Fill an outline in steps from `shade` at its rim to `light` towards the upper left."""
        steps = 18
        for step in range(steps):
            share = step / (steps - 1)
            shrink = 1 - 0.55 * share
            left, top, right, bottom = box
            width, height = right - left, bottom - top
            x = left + width * (1 - shrink) * 0.34
            y = top + height * (1 - shrink) * 0.36
            inner = (x, y, x + width * shrink, y + height * shrink)
            self.shape(fit(outline(), inner), blend(shade, light, share**0.8))


def blend(first: Colour, second: Colour, share: float) -> Colour:
    """Mix two colours; `share` is how much of the second.

    Examples
    --------
    >>> blend((0, 0, 0), (100, 200, 50), 0.5)
    (50, 100, 25)
    """
    red, green, blue = (
        round(low + (high - low) * share) for low, high in zip(first, second, strict=True)
    )
    return red, green, blue


def fit(points: Sequence[tuple[float, float]], box: Rectangle) -> _Points:
    """Stretch an outline until it touches all four edges of a (left, top, right, bottom) box."""
    across, down = ([point[axis] for point in points] for axis in (0, 1))
    left, top = min(across), min(down)
    wide, high = max(across) - left, max(down) - top
    return [
        (
            box[0] + (x - left) / wide * (box[2] - box[0]),
            box[1] + (y - top) / high * (box[3] - box[1]),
        )
        for x, y in points
    ]


def orange_outline() -> _Points:
    """Return a circle."""
    turns = (2 * math.pi * step / _STEPS for step in range(_STEPS))
    return [(math.cos(turn), math.sin(turn)) for turn in turns]


def apple_outline() -> _Points:
    """Return a circle with broad shoulders, a dent above and a small one below."""
    points = []
    for x, y in orange_outline():
        dent = 0.24 * math.exp(-((x / 0.34) ** 2)) if y < 0 else -0.1 * math.exp(-((x / 0.3) ** 2))
        points.append((x * (1 - 0.1 * y), y + dent))
    return points


def banana_outline(inner: float = 1, outer: float = 1) -> _Points:
    """Return a crescent that hangs through, its stem at the upper right.

    `inner` and `outer` are the shares of its thickness above and below the middle line; a
    negative one moves that edge across the line.
    """
    above, below = [], []
    for step in range(_STEPS + 1):
        share = step / _STEPS
        turn = math.radians(170 - 152 * share)
        thick = 0.27 * math.sin(math.pi * min(1, 0.04 + share * 0.96)) ** 0.55
        if share > 0.5:
            ease = math.cos(math.pi / 2 * min(1, (share - 0.5) / 0.42)) ** 1.2
            thick = 0.06 + (thick - 0.06) * ease
        x, y = math.cos(turn), math.sin(turn)
        above.append((x * (1 - thick * inner), y * (1 - thick * inner)))
        below.append((x * (1 + thick * outer), y * (1 + thick * outer)))
    return above + below[::-1]
