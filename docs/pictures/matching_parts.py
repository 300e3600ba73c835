"""Parts that both matching pictures are made of: nodes, edges, their key, the unit table."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from sheet import (
    GREY,
    INK,
    PALE,
    PALETTE,
    PATTERNS,
    Pattern,
    Point,
    Rectangle,
    Sheet,
)  # fmt: skip

from bboxqa.geometry.boxes import bbox_iou, corners

__all__ = [
    "COLOURS", "STROKES", "THRESHOLD", "Kind", "draw_columns", "draw_edge", "draw_key",
    "draw_node", "draw_units", "iou",
]  # fmt: skip

Kind: TypeAlias = Literal["chosen", "candidate", "inadmissible"]

COLOURS = {"A": PALETTE["blue"], "B": PALETTE["vermillion"], "C": PALETTE["black"]}
STROKES = dict(zip("ABC", PATTERNS, strict=True))
THRESHOLD = 0.5

_INKS: dict[Kind, str] = {
    "chosen": PALETTE["green"],
    "candidate": INK,
    "inadmissible": GREY,
}
_MEANING: dict[Kind, str] = {
    "chosen": "chosen pair",
    "candidate": f"candidate: IoU of {THRESHOLD} or more",
    "inadmissible": f"not admissible: IoU below {THRESHOLD}",
}


def iou(first: Rectangle, second: Rectangle) -> float:
    """Return the intersection over union of two xywh boxes.

    Examples
    --------
    >>> iou((0, 0, 5, 5), (0, 0, 5, 10))
    0.5
    """
    a, b = (corners(np.array([box], np.float64)) for box in (first, second))
    return float(bbox_iou(a, b)[0])


def draw_columns(
    sheet: Sheet,
    columns: Mapping[str, tuple[float, Iterable[int]]],
    top: float,
    apart: float,
    faded: Collection[int] = (),
) -> dict[int, Point]:
    """Draw the boxes of each annotator below each other, and return where they are.

    `columns` holds the place of each annotator's column and the numbers of the boxes.
    """
    places: dict[int, Point] = {}
    for annotator, (x, numbers) in columns.items():
        sheet.text((x, 70), annotator, 18, COLOURS[annotator], "mm")
        for row, number in enumerate(numbers):
            places[number] = (x, top + apart * row)
            draw_node(sheet, places[number], annotator, number, faded=number in faded)
    return places


def draw_node(
    sheet: Sheet, middle: Point, annotator: str, number: int, *, faded: bool = False
) -> None:
    """Draw a numbered box of an annotator; a faded one takes no part."""
    x, y = middle
    place = (x - 20, y - 15, x + 20, y + 15)
    if faded:
        sheet.rectangle(place, "#F4F4F4", "#B8B8B8", 1.3, radius=2.5)
        sheet.text(middle, str(number), 18, GREY, "mm")
    else:
        sheet.tag(place, str(number), COLOURS[annotator], 18)


def draw_edge(sheet: Sheet, start: Point, end: Point, value: float, look: Kind) -> None:
    """Join two nodes and write the IoU of their boxes on the line."""
    first, last = (start[0] + 24, start[1]), (end[0] - 24, end[1])
    _line(sheet, first, last, look)
    # Off the middle, so that the numbers of crossing lines stay apart.
    x, y = _between(first, last, 0.36)
    sheet.rectangle((x - 20, y - 11, x + 20, y + 11), "#FFFFFF", radius=4)
    sheet.text((x, y), f"{value:.2f}", 15, _INKS[look], "mm")
    if look == "inadmissible":
        _cross(sheet, _between(first, last, 0.76))


def draw_key(
    sheet: Sheet, at: Point, looks: Sequence[Kind], *, across: float = 0, down: float = 0
) -> None:
    """Explain kinds of line; `across` and `down` lead from one entry to the next."""
    for number, look in enumerate(looks):
        x, y = at[0] + across * number, at[1] + down * number
        _line(sheet, (x, y), (x + 50, y), look)
        if look == "inadmissible":
            _cross(sheet, (x + 25, y))
        sheet.text((x + 64, y), _MEANING[look], 16, anchor="lm")


def draw_units(
    sheet: Sheet, at: Point, annotators: str, units: Sequence[Sequence[int | None]]
) -> None:
    """Draw the table of units: one row per unit, one column per annotator."""
    left, top = at
    columns = [left + 82 + 62 * number for number in range(len(annotators))]
    right = columns[-1] + 34
    sheet.text((left, top), "unit", 16, GREY, "lm")
    for annotator, x in zip(annotators, columns, strict=True):
        sheet.text((x, top), annotator, 18, COLOURS[annotator], "mm")
    for line, unit in enumerate(units):
        middle = top + 46 + 46 * line
        sheet.stroke([(left, middle - 23), (right, middle - 23)], PALE, 1)
        sheet.text((left + 6, middle), str(line + 1), 16, GREY, "lm")
        for number, annotator, x in zip(unit, annotators, columns, strict=True):
            if number is None:
                sheet.stroke([(x - 5, middle), (x + 5, middle)], GREY, 1.5)
            else:
                draw_node(sheet, (x, middle), annotator, number)
    bottom = top + 23 + 46 * len(units)
    sheet.stroke([(left, bottom), (right, bottom)], PALE, 1)


def _line(sheet: Sheet, start: Point, end: Point, look: Kind) -> None:
    width = 5 if look == "chosen" else 1.5
    pattern: Pattern = "dashed" if look == "inadmissible" else "solid"
    sheet.stroke([start, end], _INKS[look], width, pattern)


def _between(start: Point, end: Point, share: float) -> Point:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _cross(sheet: Sheet, middle: Point) -> None:
    x, y = middle
    for rise in (-6, 6):
        sheet.stroke([(x - 6, y - rise), (x + 6, y + rise)], GREY, 2.5)
