"""The corners in Pascal VOC XML, and whether they count the first pixel as 0 or 1."""

import math
import re
from dataclasses import dataclass, field

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.translation.boxes import shapes
from bboxqa.formats.translation.boxes.turned_boxes import turned_box
from bboxqa.formats.translation.heads import NUMBER
from bboxqa.formats.translation.translated import Record
from bboxqa.formats.translation.untrusted import ValueProblemError
from bboxqa.formats.xml_elements import Element

_CORNER = re.compile(rb"<[xy]m(?:in|ax)>\s*(%b)\s*<" % NUMBER)
_PART = re.compile(rb"<part\b")
_STATED = re.compile(rb"<first_pixel>\s*([01])\s*</first_pixel>")
_FEW_FRACTIONS = 0.05
"""The least share of fractions that counts; fewer come from single files edited later."""
_SIDES = ("xmin", "ymin", "xmax", "ymax")
_LARGEST = 1e9


@dataclass(slots=True)
class CornerTally:
    """Counts of coordinates from which the coordinate of the first pixel is inferred."""

    n: int = 0
    n_fractions: int = 0
    n_zeros: int = 0
    n_ones: int = 0
    stated: set[int] = field(default_factory=set)
    """What files state, as those that bboxqa writes do."""

    def add(self, text: bytes) -> None:
        """Count the coordinates of a file; other values become defects of their boxes.

        Parts of objects are left out, so their fractions do not count.
        """
        for number in _CORNER.findall(_without_parts(text)):
            value = float(number)
            self.n += 1
            self.n_fractions += not value.is_integer()
            self.n_zeros += value == 0
            self.n_ones += value == 1

    def base(self) -> tuple[int, str]:
        """Return the coordinate of the first pixel, and the reason for it.

        Examples
        --------
        >>> tally = CornerTally()
        >>> tally.add(b"<xmin>0</xmin><xmax>7</xmax>")
        >>> tally.base()
        (0, 'since some are 0')
        """
        if self.stated:
            return max(self.stated), "as the files state"
        if self.n_fractions > _FEW_FRACTIONS * self.n:
            return 0, "since they have fractions"
        if self.n_zeros:
            return 0, "since some are 0"
        if self.n_ones:
            return 1, "since some are 1 and none is 0"
        return 1, "as Pascal VOC defines, since no value shows it"


def stated_bases(text: bytes) -> set[int]:
    """Return the coordinate of the first pixel that a file states; empty if it states none.

    Examples
    --------
    >>> stated_bases(b"<annotation><first_pixel>0</first_pixel></annotation>")
    {0}
    """
    return {int(each) for each in _STATED.findall(text)}


def _without_parts(text: bytes) -> bytes:
    first, *parts = _PART.split(text)
    return first + b"".join(part.partition(b"</part>")[2] for part in parts)


def base_note(base: int, reason: str, *, is_certain: bool) -> str:
    """Return the note on how corners are read."""
    how = "inclusive pixels counted from 1" if base else "edges counted from 0"
    other = "--voc-base 0" if base else "--voc-base 1"
    if is_certain:
        return f"corners are {how}, {reason}"
    return f"corners are taken as {how}, {reason}; if that is wrong: {other}"


def box_of(element: Element, base: int) -> tuple[Record, bool]:
    """Return the COCO geometry keys of a `bndbox`, and whether its corners were swapped.

    Corners are swapped if xmin is greater than xmax, or ymin than ymax.

    Raises ValueProblemError if a value is not a number.
    """
    left, top, right, bottom = (_number(element, side) for side in _SIDES)
    is_turned = left > right or top > bottom
    left, right = sorted((left, right))
    top, bottom = sorted((top, bottom))
    # With inclusive corners, each side is a pixel longer.
    width, height = right - left + base, bottom - top + base
    return {"bbox": [left - base, top - base, width, height]}, is_turned


def rotated_box(element: Element, base: int) -> Record:
    """Return the COCO geometry keys of a `robndbox` of roLabelImg."""
    x, y, width, height, angle = (
        _number(element, each) for each in ("cx", "cy", "w", "h", "angle")
    )
    box = (x - width / 2 - base, y - height / 2 - base, width, height)
    return turned_box(box, math.degrees(angle))


def outline_of(element: Element, base: int) -> Record | None:
    """Return the COCO geometry keys of a `polygon` with x1, y1, x2, …; None without these.

    Raises ValueProblemError if it has anything but numbers.
    """
    points = points_of(element) - base
    if len(points) < 3:
        return None
    return {"bbox": shapes.bounds(points), "segmentation": [shapes.ring(points)]}


def points_of(element: Element) -> FloatArray:
    """Return the (K, 2) points of a `polygon`; none where x and y are not as many.

    Raises ValueProblemError if it has anything but numbers.
    """
    numbers = []
    for each in element.inside:
        if re.fullmatch(r"[xy]\d*", each.name):
            numbers.append(_value(each))
        elif each.name in ("pt", "point"):
            numbers += [_number(each, "x"), _number(each, "y")]
    return np.array([] if len(numbers) % 2 else numbers, np.float64).reshape(-1, 2)


def _number(element: Element, name: str) -> float:
    found = element.find(name)
    if found is None:
        raise ValueProblemError(f"{element.name} has no {name}")
    return _value(found)


def _value(element: Element) -> float:
    text = element.text.strip()
    try:
        value = float(text)
    except ValueError:
        raise ValueProblemError(f"{element.name} is {text[:40]!r}; expected a number") from None
    if not abs(value) < _LARGEST:
        raise ValueProblemError(f"{element.name} is {text[:40]}; expected a coordinate")
    return value
