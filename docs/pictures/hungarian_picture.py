"""Hungarian matching of two annotators, on a case where the best single pair misleads."""

from matching_parts import (
    COLOURS,
    STROKES,
    THRESHOLD,
    Kind,
    draw_columns,
    draw_edge,
    draw_key,
    draw_units,
    iou,
)
from PIL import Image
from sheet import DASHES, Rectangle, Sheet

from bboxqa.report.drawing import Look, Scale, Shape, draw_shapes
from bboxqa.report.plots import page_style

__all__ = ["draw_hungarian"]

_BOXES: dict[str, dict[int, Rectangle]] = {
    "A": {1: (2, 0.5, 10, 8), 2: (5.2, 1.5, 10, 8), 3: (0, 12, 7, 4.5)},
    "B": {4: (0, 0, 10, 8), 5: (3.2, 1, 10, 8), 6: (3.5, 12.4, 8, 4.5)},
}
_CHOSEN = ((1, 4), (2, 5))
_SCALE = 20
_RIM = 1.4


def draw_hungarian() -> Image.Image:
    """Draw two annotators' boxes, the graph of their pairs and the units that result."""
    sheet = Sheet(1100, 490)
    sheet.text((20, 20), "1  Two annotators box one image", 18)
    _image(sheet, (0, 48, 372, 438))
    sheet.text((400, 20), "2  Pairs that overlap, with their IoU", 18)
    _graph(sheet)
    draw_key(sheet, (412, 408), ("chosen", "candidate", "inadmissible"), down=27)
    sheet.text((820, 20), "3  The units", 18)
    draw_units(sheet, (820, 70), "AB", [*_CHOSEN, (3, None), (None, 6)])
    for line, text in enumerate(_reason()):
        sheet.text((820, 312 + 25 * line), text, 16)
    return sheet.finish()


def _value(first: int, second: int) -> float:
    return iou(_BOXES["A"][first], _BOXES["B"][second])


def _reason() -> tuple[str, ...]:
    total = sum(_value(*pair) for pair in _CHOSEN)
    parts = " + ".join(f"{_value(*pair):.2f}" for pair in _CHOSEN)
    return (
        "Taking the best pair first, 1 and",
        "5, would leave 2 and 4 without",
        f"a partner: a total of {_value(1, 5):.2f}.",
        "Hungarian matching finds the",
        f"greatest total: {parts} = {total:.2f}.",
    )


def _image(sheet: Sheet, place: Rectangle) -> None:
    """Draw the boxes as `bboxqa draw` does."""
    left, top, right, bottom = place
    outlines = [
        Shape(box, look=Look(COLOURS[annotator], DASHES[STROKES[annotator]]), label=str(number))
        for annotator, own in _BOXES.items()
        for number, box in own.items()
    ]
    size = ((right - left) / _SCALE, (bottom - top) / _SCALE)
    part = (-_RIM, -_RIM, size[0] - _RIM, size[1] - _RIM)
    with page_style():
        ax = sheet.axes(place)
        n_hidden = draw_shapes(ax, size, outlines, None, part, Scale(_SCALE, 3, 14))
        # The boxes alone: there is no image.
        ax.patches[0].set_visible(False)
    if n_hidden:
        raise ValueError(f"no room for {n_hidden} labels")
    for number, annotator in enumerate(_BOXES):
        x = 28 + 165 * number
        sheet.stroke([(x, 462), (x + 40, 462)], COLOURS[annotator], 3, STROKES[annotator])
        sheet.text((x + 52, 462), f"annotator {annotator}", 16, anchor="lm")


def _graph(sheet: Sheet) -> None:
    columns = {"A": (430, _BOXES["A"]), "B": (740, _BOXES["B"])}
    places = draw_columns(sheet, columns, top=104, apart=120)
    for first in _BOXES["A"]:
        for second in _BOXES["B"]:
            value = _value(first, second)
            if value == 0:
                continue
            look: Kind = "candidate" if value >= THRESHOLD else "inadmissible"
            if (first, second) in _CHOSEN:
                look = "chosen"
            draw_edge(sheet, places[first], places[second], value, look)
