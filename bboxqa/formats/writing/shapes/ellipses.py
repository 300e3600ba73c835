"""Recognising the outlines that replace ellipses, to write them as ellipses again."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.translation.boxes.shapes import SIDES, bounds, ellipse, rotated
from bboxqa.formats.writing.content import Record
from bboxqa.formats.writing.shapes.outline_kinds import said_angle
from bboxqa.formats.writing.shapes.outlines import rings_of

# Points of a rotated ellipse at its bounds come to the others.
_MOST = SIDES + 4
_SAME = 1e-3
"""In pixels; some tools round coordinates."""


@dataclass(frozen=True, slots=True)
class Ellipse:
    """An ellipse in pixels, turned clockwise about its centre."""

    x: float
    y: float
    radius_x: float
    radius_y: float
    degrees: float

    @property
    def is_circle(self) -> bool:
        """Whether both radii are equal, up to the rounding of coordinates."""
        return abs(self.radius_x - self.radius_y) <= _SAME


def ellipse_of(annotation: Record) -> Ellipse | None:
    """Return the ellipse that an outline of one ring replaces; None if it is another polygon.

    Examples
    --------
    >>> points = ellipse((40, 30), (20, 10), 30)
    >>> turned = {"segmentation": [points.ravel().tolist()]}
    >>> ellipse_of(turned)
    Ellipse(x=40.0, y=30.0, radius_x=20.0, radius_y=10.0, degrees=30.0)
    >>> ellipse_of({"segmentation": [[0, 0, 9, 0, 9, 9]]}) is None
    True
    """
    (points,) = rings_of(annotation)
    if not SIDES <= len(points) <= _MOST:
        return None
    left, top, width, height = bounds(points)
    centre = left + width / 2, top + height / 2
    across, down = points[0] - centre
    found, said = float(np.degrees(np.arctan2(down, across))), said_angle(annotation)
    # Points are rounded in files, so that their angle is near the one that was written.
    for angle in (round(found, 3) if np.isnan(said) else said, found):
        local = np.abs(rotated(points, centre, -angle) - centre)
        radius_x, radius_y = local.max(0).tolist()
        if _are_same(points, ellipse(centre, (radius_x, radius_y), angle)):
            values = (round(each, 6) for each in (*centre, radius_x, radius_y, angle % 360))
            return Ellipse(*values)
    return None


def _are_same(points: FloatArray, others: FloatArray) -> bool:
    return len(points) == len(others) and bool(np.abs(points - others).max() <= _SAME)
