"""Recursive matching of three annotators: who is matched against whom, and in which order."""

from dataclasses import dataclass
from itertools import product

from matching_parts import (
    THRESHOLD,
    Kind,
    draw_columns,
    draw_edge,
    draw_key,
    draw_units,
    iou,
)
from PIL import Image
from sheet import PALE, Rectangle, Sheet

from bboxqa.examples import read_expected

__all__ = ["draw_recursive"]


@dataclass(frozen=True, slots=True)
class _Step:
    """One step: the annotators compared, the boxes already in a common unit, and a caption."""

    title: str
    annotators: str
    settled: frozenset[int]
    caption: tuple[str, ...]


# Boxes of the worked matching cases, by annotator; equal places in a column lie near each other.
_NUMBERS = {"A": (1, 15), "B": (2, 4), "C": (23, 24, 25)}
_UNITS = ((1, 2, 23), (15, None, None), (None, 4, 24), (None, None, 25))
_STEPS = (
    _Step("1  A comes first", "A", frozenset(), ("Each box of A", "opens a unit.")),
    _Step(
        "2  B against A",
        "AB",
        frozenset(),
        ("2 joins the unit of 1.", "4 stays unmatched", "and opens a unit."),
    ),
    _Step("3  C against A", "AC", frozenset(), ("23 joins the unit of", "1 and 2.")),
    _Step(
        "4  C against B",
        "BC",
        frozenset({2, 23}),
        ("24 joins the unit of 4.", "25 stays unmatched", "and opens a unit."),
    ),
)


def draw_recursive() -> Image.Image:
    """Draw the four steps of placing three annotators, and the units that result."""
    sheet = Sheet(1100, 430)
    boxes = _boxes()
    for number, step in enumerate(_STEPS):
        left = 20 + 197 * number
        sheet.text((left, 20), step.title, 18)
        _step(sheet, left, step, boxes)
        for line, text in enumerate(step.caption):
            sheet.text((left, 290 + 24 * line), text, 16)
        sheet.stroke([(left + 184, 20), (left + 184, 354)], PALE, 1)
    sheet.text((824, 20), "5  The units", 18)
    draw_units(sheet, (824, 70), "ABC", _UNITS)
    for line, text in enumerate(
        ("No annotator is in a unit twice.", "Grey: already in a unit together.")
    ):
        sheet.text((824, 300 + 24 * line), text, 16)
    sheet.stroke([(20, 378), (1080, 378)], PALE, 1)
    draw_key(sheet, (24, 404), ("chosen", "inadmissible"), across=230)
    return sheet.finish()


def _boxes() -> dict[int, Rectangle]:
    stored = read_expected()["matching"]["boxes"]
    numbers = (number for own in _NUMBERS.values() for number in own)
    return {number: tuple(stored[str(number)]["bbox"]) for number in numbers}


def _step(sheet: Sheet, left: float, step: _Step, boxes: dict[int, Rectangle]) -> None:
    across = (84,) if len(step.annotators) == 1 else (22, 150)
    columns = {
        annotator: (left + x, _NUMBERS[annotator])
        for annotator, x in zip(step.annotators, across, strict=True)
    }
    places = draw_columns(sheet, columns, top=116, apart=62, faded=step.settled)
    for pair in product(*(_NUMBERS[annotator] for annotator in step.annotators)):
        if len(pair) < 2 or step.settled & set(pair):
            continue
        first, second = pair
        value = iou(boxes[first], boxes[second])
        if value > 0:
            look: Kind = "chosen" if value >= THRESHOLD else "inadmissible"
            draw_edge(sheet, places[first], places[second], value, look)
