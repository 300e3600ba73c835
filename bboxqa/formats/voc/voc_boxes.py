"""The corners in Pascal VOC XML, and whether they count the first pixel as 0 or 1."""

import math
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.text import count
from bboxqa.formats.translation.boxes import shapes
from bboxqa.formats.translation.boxes.turned_boxes import turned_box
from bboxqa.formats.translation.heads import NUMBER
from bboxqa.formats.translation.translated import Record
from bboxqa.formats.translation.untrusted import ValueProblemError, number_in
from bboxqa.formats.xml_elements import Element

_CORNER = re.compile(rb"<[xy]m(?:in|ax)>\s*(%b)\s*<" % NUMBER)
_PART = re.compile(rb"<part\b")
_STATED = re.compile(rb"<first_pixel>\s*([01])\s*</first_pixel>")
_FEW_FRACTIONS = 0.05
"""The least share of fractions that counts; fewer come from single files edited later."""
_SIDES = ("xmin", "ymin", "xmax", "ymax")
_HOW = ("edges counted from 0", "inclusive pixels counted from 1")


@dataclass(slots=True)
class CornerTally:
    """Counts of coordinates from which the coordinate of the first pixel is inferred."""

    n: int = 0
    n_fractions: int = 0
    n_zeros: int = 0
    n_ones: int = 0

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
        if self.n_fractions > _FEW_FRACTIONS * self.n:
            return 0, "since they have fractions"
        if self.n_zeros:
            return 0, "since some are 0"
        have = "has" if self.n_fractions == 1 else "have"
        few = f"only {self.n_fractions:,} of {count(self.n, 'value')} {have} fractions"
        if self.n_ones:
            and_few = f", and {few}" * bool(self.n_fractions)
            return 1, f"since some are 1 and none is 0{and_few}"
        return 1, f"as Pascal VOC defines, since {few if self.n_fractions else 'no value shows it'}"


def _without_parts(text: bytes) -> bytes:
    first, *parts = _PART.split(text)
    return first + b"".join(part.partition(b"</part>")[2] for part in parts)


@dataclass(slots=True)
class FirstPixels:
    """The coordinate of the first pixel of each file: what it states, as files of bboxqa do.

    For files that do not state it, it is `chosen`, or else inferred from all of them.
    """

    chosen: int | None
    tally: CornerTally = field(default_factory=CornerTally)
    stated: dict[str, int] = field(default_factory=dict)
    """By the place of the file."""
    n_files: Counter[int | None] = field(default_factory=Counter)
    """The number of files with boxes, by what they state."""

    def add(self, place: str, text: bytes) -> None:
        """Note what a file states, or else count its coordinates."""
        found = _STATED.search(text)
        base = int(found[1]) if found else None
        if base is not None:
            self.stated[place] = base
        if b"<bndbox" in text:
            self.n_files[base] += 1
            if base is None:
                self.tally.add(text)

    def base_of(self, place: str) -> int:
        """Return the coordinate of the first pixel of a file."""
        return self.stated.get(place, self._base_of_others()[0])

    def told_base(self) -> int | None:
        """Return what is inferred from coordinates; None if nothing is."""
        return self._base_of_others()[0] if self.tally.n and self.chosen is None else None

    def notes(self) -> list[str]:
        """Return notes on how corners are read."""
        notes, n_all = [], self.n_files.total()
        for base in (0, 1):
            n = self.n_files[base]
            if not n:
                continue
            note = f"corners are {_HOW[base]}, as the files state"
            if n < n_all:
                states = "states" if n == 1 else "state"
                note = f"{n:,} of {count(n_all, 'file')} {states} that corners are {_HOW[base]}"
            if self.chosen not in (None, base):
                note += f": --voc-base {self.chosen} is only for files that do not state it"
            notes.append(note)
        if self.tally.n:
            base, reason = self._base_of_others()
            are = "corners of the others are" if notes else "corners are"
            if self.chosen is None:
                wrong = f"if that is wrong: --voc-base {1 - base}"
                notes.append(f"{are} taken as {_HOW[base]}, {reason}; {wrong}")
            else:
                notes.append(f"{are} {_HOW[base]}, {reason}")
        return notes

    def _base_of_others(self) -> tuple[int, str]:
        return self.tally.base() if self.chosen is None else (self.chosen, "as given")


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
    return shapes.outlined(points)


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
    return number_in(element.text.strip(), element.name)
