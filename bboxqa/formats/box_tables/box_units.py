"""Whether the boxes of a table are in pixels or in shares of the image, by all of its numbers."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.translation.untrusted import LEAST_PIXELS, MOST_BEYOND, ValueProblemError

_ENOUGH = 1000


@dataclass(slots=True)
class UnitCounts:
    """Numbers of boxes that are shares or pixels if taken alone.

    Boxes of 0 and 1 only, which stand for an image without objects in some tables, are neither.
    """

    shares: int = 0
    larger: int = 0
    largest: float = 0.0
    first: dict[str, int] = field(default_factory=dict)
    """The line of the first box of shares, and of the first one with larger numbers."""

    def add(self, lines: IndexArray, boxes: FloatArray) -> None:
        """Count (N, 4) boxes in the (N,) lines of a table."""
        if len(boxes) == 0:
            return
        most = np.abs(boxes).max(axis=1)
        is_larger = most > 1 + MOST_BEYOND
        is_share = ~is_larger & (boxes != np.round(boxes)).any(axis=1)
        self.shares += int(is_share.sum())
        self.larger += int(is_larger.sum())
        self.largest = max(self.largest, float(most.max()))
        for name, which in (("shares", is_share), ("larger", is_larger)):
            if name not in self.first and which.any():
                self.first[name] = int(lines[which.argmax()])

    def are_surely_pixels(self) -> bool:
        """Return whether boxes are in pixels, whatever follows."""
        return self.shares == 0 and self.larger >= _ENOUGH

    @property
    def unit(self) -> Literal["shares", "pixels", "either"]:
        """The unit of all boxes; "either" if many are of each kind.

        Examples
        --------
        >>> units = UnitCounts()
        >>> units.add(np.array([2, 3]), np.array([[0.1, 0.2, 0.5, 0.9], [0.2, 0.2, 1.01, 0.8]]))
        >>> units.unit
        'shares'
        """
        n = self.shares + self.larger
        if 10 * self.shares <= n:
            return "pixels"
        # Images of two pixels are rarer than boxes beyond their image.
        least = n / 2 if self.largest <= LEAST_PIXELS else 0.9 * n
        return "shares" if self.shares >= least else "either"

    def are_shares(self, shown: str, form: str) -> bool:
        """Return whether boxes are in shares of the image.

        Raises DatasetError if many are of either kind; it names the table `shown`, and how to say
        of which kind boxes of the layout `form` are.
        """
        if self.unit != "either":
            return self.unit == "shares"
        first = f"{count(self.shares, 'box', 'boxes')} of numbers up to 1, such as in line"
        other = f"{self.larger:,} of larger ones, such as in line"
        lines = f"{first} {self.first['shares']}, and {other} {self.first['larger']}"
        raise DatasetError(
            [f"{shown}: has {lines}; expected either shares of the image or pixels"],
            f"Write all boxes in one unit, or say it: --box-format {form}-shares or {form}-pixels",
        )


def are_beyond(boxes: FloatArray) -> BoolArray:
    """Return whether (N, 4) boxes of shares extend beyond their images, (N,)."""
    return np.asarray(((boxes < -MOST_BEYOND) | (boxes > 1 + MOST_BEYOND)).any(axis=1))


def beyond(box: list[float], names: tuple[str, ...]) -> str:
    """Return what is wrong with a box of shares that extends beyond its image; "" if it does not.

    Raises ValueProblemError if the box is in pixels. `names` are those of its numbers.

    Examples
    --------
    >>> beyond([0.1, 0.2, 1.01, 0.9], ("x1", "y1", "x2", "y2"))
    'x2 is 1.01; expected 0 to 1, a share of the image'
    """
    share, name = max(zip(box, names, strict=True), key=lambda each: abs(each[0] - 0.5))
    if -MOST_BEYOND <= share <= 1 + MOST_BEYOND:
        return ""
    if abs(share) > LEAST_PIXELS:
        raise ValueProblemError(
            f"{name} is {share:g}, which is in pixels; expected 0 to 1, as in the other boxes"
        )
    return f"{name} is {share:g}; expected 0 to 1, a share of the image"
