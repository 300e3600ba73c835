"""Rotated boxes, their corners and bounds, and differences that rounding explains."""

from typing import Literal

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray

FiveNumbers = Literal[
    "cxcywh-ccw-degrees", "cxcywh-cw-degrees", "cxcywh-cw-radians", "cxcywh-ccw-radians",
    "xywh-cw-degrees", "xywh-ccw-degrees", "xywh-cw-radians", "xywh-ccw-radians",
]  # fmt: skip
"""Layouts of five numbers, the preferred first; all boxes are rotated about their centre."""

# How far the corners of a rectangle may be off, in pixels and as a share of its longer side.
_ROUNDED, _SHARE = 1.0, 0.01
# In degrees. The angle of an upright box computed from its corners may not be exactly 0.
_UPRIGHT = 1e-9
# Length of a width mark, as a share of the shorter side.
_MARK = 0.25
_SIGNS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def upright(bbox: FloatArray) -> FloatArray:
    """Return N boxes given as x, y, width, height as rotated boxes of angle 0, (N, 5)."""
    centre = bbox[:, :2] + bbox[:, 2:] / 2
    return np.column_stack([centre, bbox[:, 2:], np.zeros(len(bbox))])


def corners(boxes: FloatArray) -> FloatArray:
    """Return the corners of N rotated boxes, (N, 4, 2)."""
    cosine, sine = _directions(boxes[:, 4])
    along = _SIGNS[:, 0] * boxes[:, 2, None]
    across = _SIGNS[:, 1] * boxes[:, 3, None]
    x = boxes[:, 0, None] + along * cosine[:, None] - across * sine[:, None]
    y = boxes[:, 1, None] + along * sine[:, None] + across * cosine[:, None]
    return np.stack([x, y], axis=-1)


# The four corners from each of them on, in both directions.
_ORDERS = [[(first + step * k) % 4 for k in range(4)] for step in (1, -1) for first in range(4)]


def corner_moves(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return the largest distance, in x or y, of paired (P, 4, 2) corners in their best order."""
    ways = [np.abs(before - after[:, order]).max((1, 2), initial=0) for order in _ORDERS]
    return np.asarray(np.min(ways, axis=0))


def width_marks(boxes: FloatArray) -> FloatArray:
    """Return a line that shows the angle, from the middle of the first side inwards, (N, 2, 2)."""
    points = corners(boxes)
    middle = points[:, :2].mean(1)
    inwards = boxes[:, :2] - middle
    length = np.hypot(*inwards.T)
    most = boxes[:, 2:4].min(1) * _MARK
    share = np.divide(most, length, out=np.zeros(len(boxes)), where=length > 0)
    return np.stack([middle, middle + inwards * share[:, None]], 1)


def bounds(boxes: FloatArray) -> FloatArray:
    """Return the axis-aligned bounds of N rotated boxes as left, top, right, bottom, (N, 4)."""
    cosine, sine = np.abs(_directions(boxes[:, 4]))
    width, height = boxes[:, 2], boxes[:, 3]
    half = np.stack([width * cosine + height * sine, width * sine + height * cosine], 1) / 2
    return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)


def _directions(degrees: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return cosines and sines, exact for multiples of 90 degrees."""
    turns = np.floor(degrees / 90)
    rest = np.deg2rad(degrees - turns * 90)
    cosine, sine = np.cos(rest), np.sin(rest)
    quarter = np.mod(turns, 4).astype(np.int8)
    is_odd = quarter % 2 == 1
    x, y = np.where(is_odd, -sine, cosine), np.where(is_odd, cosine, sine)
    is_opposite = quarter >= 2
    return np.where(is_opposite, -x, x), np.where(is_opposite, -y, y)


def smallest_angle(boxes: FloatArray) -> FloatArray:
    """Return the same N rectangles with angles from 0 up to 90; sides are swapped as needed."""
    result = boxes.copy()
    angle = np.mod(boxes[:, 4], 180)
    # Just below 0, the remainder is rounded to 180.
    angle[angle >= 180] = 0
    is_swapped = angle >= 90
    result[:, 4] = np.where(is_swapped, angle - 90, angle)
    result[is_swapped, 2:4] = boxes[is_swapped][:, [3, 2]]
    return result


def turned_to(boxes: FloatArray, degrees: FloatArray) -> FloatArray:
    """Return the same N rectangles described by the angles nearest to `degrees`, from 0 to 360."""
    turns = np.rint((degrees - boxes[:, 4]) / 90)
    result = boxes.copy()
    is_swapped = np.mod(turns, 2) == 1
    result[is_swapped, 2:4] = boxes[is_swapped][:, [3, 2]]
    result[:, 4] = np.mod(boxes[:, 4] + 90 * turns, 360)
    result[result[:, 4] >= 360, 4] = 0
    return result


def from_corners(points: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return rotated boxes of N quadrilaterals, (N, 4, 2), and which of these are rectangles.

    A rectangle may begin with any corner and go in either direction. A quadrilateral counts as a
    rectangle if its corners lie within 1 px, or 1 % of the longer side, of the corners of one.
    Other quadrilaterals get the smallest rectangle around them. Angles are from 0 up to 90.
    """
    if not len(points):
        return np.zeros((0, 5)), np.zeros(0, np.bool_)
    first, second, third, last = points.transpose(1, 0, 2)
    along, across = (second - first + third - last) / 2, (third - second + last - first) / 2
    turn = np.sign(along[:, 0] * across[:, 1] - along[:, 1] * across[:, 0])
    # The second side, turned by 90 degrees, estimates the direction as well.
    x = along[:, 0] + turn * across[:, 1]
    y = along[:, 1] - turn * across[:, 0]
    is_flat = (x == 0) & (y == 0)
    x, y = np.where(is_flat, across[:, 0], x), np.where(is_flat, across[:, 1], y)
    length = np.hypot(x, y)
    length[length == 0] = 1
    direction = np.stack([x, y], 1) / length[:, None]
    normal = np.stack([-direction[:, 1], direction[:, 0]], 1)
    width, height = np.abs((along * direction).sum(1)), np.abs((across * normal).sum(1))
    width = np.where(is_flat, np.hypot(*across.T), width)
    centre = points.mean(1)
    side = np.where(turn < 0, -1.0, 1.0)
    half = _SIGNS[None, :, :1] * (width[:, None] * direction)[:, None]
    half = half + _SIGNS[None, :, 1:] * ((side * height)[:, None] * normal)[:, None]
    off = np.abs(centre[:, None] + half - points).max((1, 2))
    is_rectangle = is_flat | (off <= np.maximum(_ROUNDED, _SHARE * np.maximum(width, height)))
    boxes = np.column_stack([centre, width, height, _angle(direction)])
    others = np.flatnonzero(~is_rectangle)
    boxes[others] = _smallest_around(points[others])
    return smallest_angle(boxes), is_rectangle


def _angle(direction: FloatArray) -> FloatArray:
    """Return the angles of (N, 2) directions, from 0 up to 360, exact for multiples of 90."""
    angle = np.rad2deg(np.arctan2(direction[:, 1], direction[:, 0]))
    quarter = np.rint(angle / 90) * 90
    exact = np.where(np.abs(angle - quarter) < _UPRIGHT, quarter, angle)
    return np.mod(exact, 360)


_ENDS = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]])


def _smallest_around(points: FloatArray) -> FloatArray:
    sides = points[:, _ENDS[:, 1]] - points[:, _ENDS[:, 0]]
    length = np.hypot(sides[..., 0], sides[..., 1])
    is_point = length == 0
    directions = np.where(
        is_point[..., None], [1.0, 0.0], sides / np.where(is_point, 1, length)[..., None]
    )
    normals = np.stack([-directions[..., 1], directions[..., 0]], -1)
    along = directions @ points.transpose(0, 2, 1)
    across = normals @ points.transpose(0, 2, 1)
    width, height = np.ptp(along, axis=2), np.ptp(across, axis=2)
    best = np.argmin(width * height, axis=1)
    rows = np.arange(len(points))
    middle = [(each.max(2) + each.min(2))[rows, best] / 2 for each in (along, across)]
    chosen, normal = directions[rows, best], normals[rows, best]
    centre = middle[0][:, None] * chosen + middle[1][:, None] * normal
    return np.column_stack([centre, width[rows, best], height[rows, best], _angle(chosen)])


def scaled(boxes: FloatArray, factors: FloatArray) -> FloatArray:
    """Return N rotated boxes after their images are stretched by (N, 2) factors."""
    cosine, sine = _directions(boxes[:, 4])
    direction = np.stack([cosine, sine], 1) * factors
    stretch = np.hypot(*direction.T)
    result = boxes.copy()
    result[:, :2] *= factors
    result[:, 2] *= stretch
    result[:, 3] *= factors.prod(1) / stretch
    result[:, 4] = _angle(direction)
    return result


ROUNDED_PX = 0.01 + 1e-9
"""Coordinates that differ by no more pixels are the same: formats round to two decimals."""

# Boxes in other units than pixels may be small: the tolerance is no more of their shorter side.
_OF_SIDE = 1e-3


def equal_edges(left: FloatArray, right: FloatArray) -> BoolArray:
    """Return which edges (left, top, …) of paired boxes are the same, but for rounding, (P, 4)."""
    side = np.minimum(right[:, 2] - right[:, 0], right[:, 3] - right[:, 1])
    tolerance = np.minimum(_OF_SIDE * side, ROUNDED_PX)[:, None]
    return np.abs(left - right) <= tolerance


def beyond_rounding(offset: FloatArray, percent: FloatArray) -> BoolArray:
    """Return which mean offsets rounding does not explain, (N,), (N,) → (N,)."""
    return (np.abs(offset) > ROUNDED_PX) | (np.abs(percent) > 100 * _OF_SIDE)
