"""How a rotated box is described: its middle, width, height and angle."""

import numpy as np
from PIL import Image
from sheet import GREY, INK, PALE, PALETTE, Point, Sheet

from bboxqa.model.rotated_boxes import corners

__all__ = ["rotated_schematic"]

_PANEL, _TOP, _BOTTOM = 366, 84, 376
_WIDTH, _HEIGHT = 170.0, 84.0
_ANGLES = (0, 30, 120)
_ARM, _ARC = 136.0, 58.0
_ARROW = 9.0
_BLUE, _VERMILLION, _GREEN = PALETTE["blue"], PALETTE["vermillion"], PALETTE["green"]


def rotated_schematic() -> Image.Image:
    """Draw one box at three angles, with the side that is its width and the arc of the angle."""
    sheet = Sheet(1100, 450)
    sheet.text(
        (sheet.width / 2, 26),
        "angle: from the x axis to the side that is the width, clockwise as seen, 0° up to 360°",
        20,
        anchor="mm",
    )
    for number, degrees in enumerate(_ANGLES):
        _panel(sheet, number * _PANEL + 2.0, degrees)
    words = (("width", _VERMILLION), ("height", _BLUE), ("angle", _GREEN))
    for number, (word, colour) in enumerate(words):
        left = 330 + 165 * number
        sheet.stroke([(left, 424), (left + 34, 424)], colour, 5)
        sheet.text((left + 44, 424), word, 16, anchor="lm")
    return sheet.finish()


def _panel(sheet: Sheet, left: float, degrees: int) -> None:
    sheet.rectangle((left + 12, _TOP, left + _PANEL - 12, _BOTTOM), "#ffffff", PALE, 1.5)
    words = f"width {_WIDTH:g}, height {_HEIGHT:g}, angle {degrees}°"
    sheet.text((left + _PANEL / 2, 62), words, 16, anchor="mm")
    _axes(sheet, (left + 30, _TOP + 20))
    middle = (left + _PANEL / 2, (_TOP + _BOTTOM) / 2)
    box = np.array([[*middle, _WIDTH, _HEIGHT, degrees]])
    ring = [(float(x), float(y)) for x, y in corners(box)[0]]
    first, second, third, fourth = ring
    sheet.stroke([middle, (middle[0] + _ARM, middle[1])], GREY, 1.5, "dashed")
    direction = np.array(second) - np.array(first)
    direction /= np.hypot(*direction)
    sheet.stroke([middle, _point(middle, _ARM * direction)], GREY, 1.5, "dashed")
    if degrees:
        _arc(sheet, middle, degrees)
    for sides, colour in (
        (((second, third), (fourth, first)), _BLUE),
        (((third, fourth), (first, second)), _VERMILLION),
    ):
        for number, side in enumerate(sides):
            sheet.stroke(side, colour, 2 + 3 * number * (colour == _VERMILLION))
    _arrow(sheet, first, second, _VERMILLION)
    sheet.rectangle((middle[0] - 3, middle[1] - 3, middle[0] + 3, middle[1] + 3), INK, radius=3)


def _axes(sheet: Sheet, origin: Point) -> None:
    x, y = origin
    for end, name, at in (
        ((x + 44, y), "x", (x + 54, y)),
        ((x, y + 44), "y", (x, y + 56)),
    ):
        sheet.stroke([origin, end], INK, 1.5)
        _arrow(sheet, origin, end, INK, 1.5)
        sheet.text(at, name, 15, anchor="mm")


def _arc(sheet: Sheet, middle: Point, degrees: int) -> None:
    turns = np.deg2rad(np.linspace(0, degrees, 60))
    points = [_point(middle, _ARC * np.array([np.cos(turn), np.sin(turn)])) for turn in turns]
    sheet.stroke(points, _GREEN, 3)
    _arrow(sheet, points[-4], points[-1], _GREEN, 3)


def _arrow(sheet: Sheet, start: Point, end: Point, colour: str, width: float = 5) -> None:
    """Draw the head of an arrow at `end`."""
    along = np.array(end) - np.array(start)
    along = along / np.hypot(*along) * (_ARROW + width)
    across = np.array([-along[1], along[0]]) / 2
    ends = [_point(end, -along + side * across) for side in (1, -1)]
    sheet.stroke([ends[0], end, ends[1]], colour, width)


def _point(origin: Point, step: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Point:
    return float(origin[0] + step[0]), float(origin[1] + step[1])
