"""The two fruit scenes, drawn where the annotators agree that the fruits are."""

import math

from brush import (
    Brush,
    Colour,
    apple_outline,
    banana_outline,
    blend,
    fit,
    orange_outline,
)
from PIL import Image
from scene_records import SceneRecord
from sheet import Rectangle

__all__ = ["draw_fruits", "draw_smiling_fruits"]

_RED: tuple[Colour, Colour] = ((150, 22, 30), (232, 66, 58))
_GREEN: tuple[Colour, Colour] = ((92, 138, 36), (184, 214, 84))
_ORANGE: tuple[Colour, Colour] = ((214, 108, 14), (255, 174, 60))
_BROWN: Colour = (92, 60, 34)
_INK: Colour = (58, 34, 26)
_WHITE: Colour = (255, 255, 255)


def draw_fruits(record: SceneRecord, fine: float) -> Image.Image:
    """Draw a banana behind two apples on a plate."""
    brush = Brush((record.width, record.height), fine)
    _table(brush, record)
    _banana(brush, record.mean_box(1, 6, 9))
    _apple(brush, record.mean_box(3, 4, 8), _GREEN)
    _apple(brush, record.mean_box(2, 5), _RED)
    return brush.canvas


def draw_smiling_fruits(record: SceneRecord, fine: float) -> Image.Image:
    """Draw two apples, an orange and a banana as stickers with faces."""
    brush = Brush((record.width, record.height), fine)
    _wall(brush, record)
    for boxes, colours in (((4, 8), _RED), ((3, 7, 11), _GREEN)):
        box = record.mean_box(*boxes)
        brush.shape(fit(apple_outline(), _body(box)), _WHITE)
        _apple(brush, _inset(box, 4), colours)
        _face(brush, ((box[0] + box[2]) / 2, box[1] * 0.4 + box[3] * 0.6), 0.30 * (box[2] - box[0]))
    banana = record.mean_box(1, 5, 9)
    brush.shape(fit(banana_outline(), banana), _WHITE)
    _banana(brush, _inset(banana, 5))
    middle = (banana[0] + banana[2]) / 2
    _face(brush, (middle, banana[3] - 0.26 * (banana[3] - banana[1])), 40)
    orange = record.mean_box(2, 6, 10)
    brush.ellipse(orange, _WHITE)
    _orange(brush, _inset(orange, 4))
    _face(brush, ((orange[0] + orange[2]) / 2, orange[1] * 0.42 + orange[3] * 0.58), 40)
    return brush.canvas


def _table(brush: Brush, record: SceneRecord) -> None:
    width, height = record.width, record.height
    brush.band((0, 0, width, height), (219, 231, 234))
    for stripe in range(0, width, 44):
        brush.band((stripe, 0, stripe + 22, 236), (211, 224, 228))
    brush.band((0, 232, width, height), (176, 124, 80))
    brush.band((0, 232, width, 237), (142, 96, 60))
    for plank in (262, 300, 344):
        brush.band((0, plank, width, plank + 2), (156, 107, 67))
    brush.ellipse((18, 262, 441, 380), (134, 90, 56))
    brush.ellipse((14, 252, 437, 370), (200, 208, 216))
    brush.ellipse((18, 252, 433, 364), (246, 248, 250))
    brush.ellipse((62, 266, 389, 350), (226, 232, 238))
    brush.ellipse((110, 296, 392, 346), (196, 204, 213))


def _wall(brush: Brush, record: SceneRecord) -> None:
    brush.band((0, 0, record.width, record.height), (198, 228, 232))
    for row in range(-1, 13):
        for column in range(-1, 10):
            x, y = column * 42 + (row % 2) * 21, row * 42 + 8
            brush.ellipse((x, y, x + 11, y + 11), (181, 217, 223))


def _inset(box: Rectangle, margin: float) -> Rectangle:
    return box[0] + margin, box[1] + margin, box[2] - margin, box[3] - margin


def _body(box: Rectangle) -> Rectangle:
    left, top, right, bottom = box
    return left, top + 0.07 * (bottom - top), right, bottom


def _apple(brush: Brush, box: Rectangle, colours: tuple[Colour, Colour]) -> None:
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    middle = (left + right) / 2
    brush.round_shape(apple_outline, _body(box), *colours)
    shade = blend(colours[0], _INK, 0.35)
    dent = top + 0.19 * height
    brush.ellipse((middle - 0.13 * width, dent - 4, middle + 0.13 * width, dent + 5), shade)
    stem = [
        (middle, dent),
        (middle + 0.015 * width, top + 0.10 * height),
        (middle + 0.05 * width, top + 0.02 * height),
    ]
    brush.line(stem, _BROWN, 0.04 * width)
    leaf = [
        (
            middle + 0.04 * width + 0.27 * width * share,
            top
            + 0.10 * height
            - bend * 0.05 * height * math.sin(math.pi * share)
            - 0.04 * share * height,
        )
        for bend, shares in ((1.2, range(21)), (-1.0, range(20, -1, -1)))
        for share in (step / 20 for step in shares)
    ]
    brush.shape(leaf, (86, 146, 62))
    gleam = (left + 0.17 * width, top + 0.27 * height, left + 0.29 * width, top + 0.45 * height)
    brush.ellipse(gleam, blend(colours[1], _WHITE, 0.62))


def _orange(brush: Brush, box: Rectangle) -> None:
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    brush.round_shape(orange_outline, box, *_ORANGE)
    middle = (left + right) / 2
    for turn in range(5):
        angle = math.radians(90 + 72 * turn)
        tip = (middle + 11 * math.cos(angle), top + 0.1 * height + 6 * math.sin(angle))
        brush.line([(middle, top + 0.1 * height), tip], (78, 128, 58), 4)
    gleam = (left + 0.16 * width, top + 0.22 * height, left + 0.28 * width, top + 0.38 * height)
    brush.ellipse(gleam, blend(_ORANGE[1], _WHITE, 0.6))


def _banana(brush: Brush, box: Rectangle) -> None:
    whole = banana_outline()
    tones: tuple[tuple[float, float, Colour], ...] = (
        (1.0, 1.0, (214, 158, 28)),
        (1.0, 0.62, (238, 190, 44)),
        (1.0, 0.12, (250, 214, 72)),
        (0.55, -0.25, (255, 230, 116)),
    )
    for inner, outer, colour in tones:
        # Fitted together with the whole, so that every tone keeps its place in it.
        part = banana_outline(inner, outer)
        brush.shape(fit(whole + part, box)[len(whole) :], colour)
    outline = fit(whole, box)
    half = len(outline) // 2
    for first, last, colour in ((0, 3, _BROWN), (half - 9, half, (128, 104, 40))):
        tip = outline[first:last] + outline[len(outline) - last : len(outline) - first]
        brush.shape(tip, colour)


def _face(brush: Brush, middle: tuple[float, float], width: float) -> None:
    x, y = middle
    for side in (-1, 1):
        eye = x + side * 0.42 * width
        brush.ellipse((eye - 6, y - 16, eye + 6, y), _INK)
        brush.ellipse((eye - 3.5, y - 13.5, eye + 0.5, y - 9.5), _WHITE)
        cheek = x + side * 0.72 * width
        brush.ellipse((cheek - 6, y + 2, cheek + 6, y + 10), (240, 134, 120))
    smile = [
        (x + 0.34 * width * math.cos(turn), y + 3 + 0.26 * width * math.sin(turn))
        for turn in (math.pi * step / 24 for step in range(1, 24))
    ]
    brush.line(smile, _INK, 3.2)
