"""The possible layouts of the four numbers of a box, and converting boxes from each."""

from dataclasses import dataclass
from enum import Enum
from itertools import permutations

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.rules.facts.image_bounds import row_min

UNITS = {
    1.0: "parts of the image (0 to 1)",
    100.0: "percent of the image (0 to 100)",
    1000.0: "thousandths of the image (0 to 1000)",
}


class Numbers(Enum):
    """The meaning of the four numbers of a box, in the order to which `Layout.order` refers."""

    SIDES = ("x", "y", "width", "height")
    CORNERS = ("x1", "y1", "x2", "y2")
    CENTRE = ("centre-x", "centre-y", "width", "height")


@dataclass(frozen=True, slots=True)
class Layout:
    """The meaning, order and unit of the four numbers of a box.

    Attributes
    ----------
    numbers : Numbers
    order : tuple of int
        The index of each of the `numbers` in the box.
    unit : float
        The number that stands for the whole side of the image; 0 for pixels.
    scale : tuple of float
        The factors by which x and y are multiplied in the file.

    Examples
    --------
    >>> str(Layout(Numbers.CORNERS, (2, 3, 0, 1)))
    'x2, y2, x1, y1'
    >>> Layout(Numbers.CENTRE).read(np.array([[30.0, 20, 8, 4]]), np.array([[100.0, 80]]))
    array([[26., 18.,  8.,  4.]])
    """

    numbers: Numbers
    order: tuple[int, ...] = (0, 1, 2, 3)
    unit: float = 0
    scale: tuple[float, float] = (1, 1)

    def __str__(self) -> str:
        names = ", ".join(self.numbers.value[self.order.index(place)] for place in range(4))
        across, down = self.scale
        if across != down:
            return f"{names}, scaled by {across:.4g} across and by {down:.4g} down"
        if across != 1:
            return f"{names}, scaled by {across:.4g}"
        if not self.unit:
            return names
        unit = UNITS[self.unit]
        return unit if self.numbers is Numbers.SIDES else f"{names} in {unit}"

    @property
    def is_scaled(self) -> bool:
        """Whether the numbers are not pixels of the image."""
        return bool(self.unit) or self.scale != (1, 1)

    @property
    def is_of_corners(self) -> bool:
        """Whether the numbers are two corners in pixels."""
        return self.numbers is Numbers.CORNERS and not self.is_scaled

    def read(self, bbox: FloatArray, size: FloatArray) -> FloatArray:
        """Return boxes of this layout as x, y, width, height in pixels.

        Corners in the wrong order give negative sides.

        Parameters
        ----------
        bbox : (N, 4) float64
            The boxes as in the file.
        size : (N, 2) float64
            Width and height of the image of each box.
        """
        first, second = bbox[:, self.order[:2]], bbox[:, self.order[2:]]
        if self.numbers is Numbers.CORNERS:
            second = second - first
        elif self.numbers is Numbers.CENTRE:
            first = first - second / 2
        factor = size / self.unit if self.unit else 1 / np.array([self.scale])
        return np.hstack([first * factor, second * factor])

    def sound(self, bbox: FloatArray, size: FloatArray) -> FloatArray:
        """Return boxes as `read` does, with swapped corners of single boxes put in order."""
        read = self.read(bbox, size)
        if self.numbers is not Numbers.CORNERS:
            return read
        return np.hstack([np.minimum(read[:, :2], read[:, :2] + read[:, 2:]), np.abs(read[:, 2:])])

    def is_ordered(self, bbox: FloatArray, size: FloatArray) -> float:
        """Return the share of boxes whose sides are above 0."""
        return float((row_min(self.read(bbox, size)[:, 2:]) > 0).mean())


COCO = Layout(Numbers.SIDES)
SIZE_FIRST = Layout(Numbers.SIDES, (2, 3, 0, 1))
"""Width, height, x, y."""


def _by_plausibility() -> tuple[Layout, ...]:
    orders = tuple(permutations(range(4)))
    pairs = ((0, 1, 2, 3), (2, 3, 0, 1), (1, 0, 3, 2), (3, 2, 1, 0), (0, 2, 1, 3))
    usual = [
        *(Layout(Numbers.CORNERS, order) for order in pairs),
        Layout(Numbers.CENTRE),
        Layout(Numbers.SIDES, (1, 0, 3, 2)),
    ]
    every = [Layout(numbers, order) for numbers in Numbers for order in orders]
    return tuple(dict.fromkeys([*usual, *every]))


PIXEL_LAYOUTS = _by_plausibility()
"""All orders of sides, corners and centres in pixels, the most plausible first."""


def scaled_layout(bbox: FloatArray, truth: FloatArray) -> Layout | None:
    """Return the layout of boxes that are COCO's times a constant; None if there is none.

    Parameters
    ----------
    bbox, truth : (N, 4) float64
        The boxes in the file, and the correct boxes.
    """
    ratio = bbox[:, 2:] / truth[:, 2:]
    ratio = ratio[np.isfinite(ratio).all(axis=1) & (ratio > 0).all(axis=1)]
    if len(ratio) == 0:
        return None
    across, down = (_rounded(float(value)) for value in np.median(ratio, axis=0))
    if abs(across - down) <= 0.01 * across:
        down = across
    near = abs(across - 1) <= 0.05 and abs(down - 1) <= 0.05
    return None if near else Layout(Numbers.SIDES, scale=(across, down))


def _rounded(factor: float) -> float:
    """Return a factor, or a simple number close to it."""
    for simple in (round(factor), 1 / max(round(1 / factor), 1)):
        if simple and abs(factor - simple) <= 0.01 * simple:
            return float(simple)
    return factor
