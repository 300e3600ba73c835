"""What IoU is, in three worked pairs of boxes."""

from typing import Any

from PIL import Image
from sheet import GREY, PALE, PALETTE, Rectangle, Sheet

from bboxqa.examples import read_expected

__all__ = ["iou_schematic"]

_PANELS = (
    ("identical", [0, 0, 5, 5], [0, 0, 5, 5]),
    ("partly overlapping", [0, 0, 5, 5], [1, 1, 5, 5]),
    ("touching at a corner", [0, 0, 5, 5], [5, 5, 5, 5]),
)
_PANEL = 366
_CELL = 22
_BLUE, _VERMILLION = PALETTE["blue"], PALETTE["vermillion"]


def iou_schematic() -> Image.Image:
    """Draw three pairs of boxes with their intersection, their union and the numbers."""
    sheet = Sheet(1100, 470)
    middle = sheet.width / 2
    formula = "IoU = area of the intersection / area of the union"
    sheet.text((middle, 26), formula, 22, anchor="mm")
    for number, (title, first, second) in enumerate(_PANELS):
        centre = (number + 0.5) * _PANEL + 1
        sheet.text((centre, 74), title, 18, anchor="mm")
        _pair(sheet, centre, first, second)
        _numbers(sheet, centre, first, second)
    _legend(sheet, 446)
    return sheet.finish()


def _expected_iou(first: list[int], second: list[int]) -> float:
    pairs: list[dict[str, Any]] = read_expected()["bbox_iou"]
    return next(float(pair["iou"]) for pair in pairs if pair["a"] == first and pair["b"] == second)


def _pair(sheet: Sheet, middle: float, first: list[int], second: list[int]) -> None:
    across = max(first[0] + first[2], second[0] + second[2])
    origin = (middle - across * _CELL / 2, 98 + (10 - across) * _CELL / 2)
    boxes = [_place(box, origin) for box in (first, second)]
    for box in boxes:
        _halo(sheet, box)
    for box, tint in zip(boxes, ("#D6E6F2", "#F8E2D2"), strict=True):
        sheet.rectangle(box, tint)
    width, height = _shared_sides(first, second)
    if width and height:
        left, top = (max(boxes[0][axis], boxes[1][axis]) for axis in (0, 1))
        _hatch(sheet, (left, top, left + width * _CELL, top + height * _CELL))
    for box in boxes:
        _grid(sheet, box)
    _outlines(sheet, boxes)


def _numbers(sheet: Sheet, middle: float, first: list[int], second: list[int]) -> None:
    areas = [box[2] * box[3] for box in (first, second)]
    width, height = _shared_sides(first, second)
    common = width * height
    union = f"{areas[0]} + {areas[1]} - {common}"
    sheet.text((middle, 346), f"intersection {common}, union {union}", 16, anchor="mm")
    iou = _expected_iou(first, second)
    decimals = 4 if 0 < iou < 1 else 0
    result = f"{common} / {sum(areas) - common} = {iou:.{decimals}f}"
    sheet.text((middle, 376), f"IoU = {result}", 20, anchor="mm")


def _shared_sides(first: list[int], second: list[int]) -> tuple[int, int]:
    across, down = (
        min(first[axis] + first[axis + 2], second[axis] + second[axis + 2])
        - max(first[axis], second[axis])
        for axis in (0, 1)
    )
    return max(across, 0), max(down, 0)


def _place(box: list[int], origin: tuple[float, float]) -> Rectangle:
    x, y, width, height = (edge * _CELL for edge in box)
    return origin[0] + x, origin[1] + y, origin[0] + x + width, origin[1] + y + height


def _halo(sheet: Sheet, box: Rectangle) -> None:
    # Both halos lie below both boxes, so that what stays visible is the outline of the union.
    sheet.rectangle((box[0] - 7, box[1] - 7, box[2] + 7, box[3] + 7), PALETTE["yellow"], radius=3)


def _grid(sheet: Sheet, box: Rectangle) -> None:
    for number in range(1, round((box[2] - box[0]) / _CELL)):
        x, y = box[0] + number * _CELL, box[1] + number * _CELL
        sheet.stroke([(x, box[1]), (x, box[3])], "#FFFFFF", 0.7)
        sheet.stroke([(box[0], y), (box[2], y)], "#FFFFFF", 0.7)


def _hatch(sheet: Sheet, box: Rectangle) -> None:
    left, top, right, bottom = box
    sheet.rectangle(box, "#BFE3D8")
    step, reach = 8, round(right - left + bottom - top)
    for offset in range(step, reach, step):
        start = (min(left + offset, right), max(top, top + offset - (right - left)))
        end = (max(left, left + offset - (bottom - top)), min(top + offset, bottom))
        sheet.stroke([start, end], PALETTE["green"], 1.6)


def _outlines(sheet: Sheet, boxes: list[Rectangle]) -> None:
    for (left, top, right, bottom), colour, pattern in zip(
        boxes, (_BLUE, _VERMILLION), ("solid", "dashed"), strict=True
    ):
        corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
        sheet.stroke(corners, colour, 3, "dashed" if pattern == "dashed" else "solid")


def _legend(sheet: Sheet, middle: float) -> None:
    sheet.stroke([(20, middle - 28), (sheet.width - 20, middle - 28)], PALE, 1)
    sheet.stroke([(112, middle), (162, middle)], _BLUE, 3)
    sheet.text((174, middle), "box A", 16, anchor="lm")
    sheet.stroke([(262, middle), (312, middle)], _VERMILLION, 3, "dashed")
    sheet.text((324, middle), "box B", 16, anchor="lm")
    _hatch(sheet, (412, middle - 10, 452, middle + 10))
    sheet.text((462, middle), "intersection", 16, anchor="lm")
    sheet.rectangle((592, middle - 11, 632, middle + 11), PALETTE["yellow"], radius=3)
    sheet.rectangle((598, middle - 5, 626, middle + 5), "#FFFFFF")
    sheet.text((642, middle), "outline of the union", 16, anchor="lm")
    sheet.text((842, middle), "one square is one pixel", 16, GREY, "lm")
