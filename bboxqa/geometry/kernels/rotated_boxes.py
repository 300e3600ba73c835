"""Intersection over union of rotated boxes, pair by pair."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray


def rotated_iou(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the intersection over union of each pair of rotated boxes, in [0, 1].

    Boxes are (P, 5) float64: centre x and y, width, height and angle in degrees from 0 up to 90, as
    returned by `bboxqa.model.shapes.rotated_boxes.smallest_angle`. A box without area has an IoU of
    0, even with itself; other identical boxes have exactly 1. The result is exactly symmetric.

    Examples
    --------
    >>> square, diamond = np.array([[0.0, 0, 2, 2, 0]]), np.array([[0.0, 0, 2, 2, 45]])
    >>> rotated_iou(square, diamond).round(4)
    array([0.7071])
    """
    frame, other = _ordered(left, right)
    areas = left[:, 2] * left[:, 3], right[:, 2] * right[:, 3]
    intersection = np.clip(_intersection(frame, other), 0, np.minimum(*areas))
    union = areas[0] + areas[1] - intersection
    result = np.zeros(len(left))
    np.divide(intersection, union, out=result, where=np.minimum(*areas) > 0)
    result[(left == right).all(1) & (areas[0] > 0)] = 1
    return result


def _ordered(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the pairs with both boxes in an order that depends only on their numbers."""
    is_swapped = np.zeros(len(left), np.bool_)
    is_equal: BoolArray = np.ones(len(left), np.bool_)
    for column in range(5):
        one, two = left[:, column], right[:, column]
        is_swapped |= is_equal & (one > two)
        is_equal &= one == two
    swap = is_swapped[:, None]
    return np.where(swap, right, left), np.where(swap, left, right)


def _intersection(frame: FloatArray, other: FloatArray) -> FloatArray:
    """Return the areas of intersections.

    By Green's theorem, the area of a polygon inside an upright box is the integral over y of x,
    clipped to the sides of the box, along the part of the polygon's outline between the top and
    bottom of the box. Touching or coinciding edges need no special cases, as the integral is
    continuous.
    """
    half_width, half_height = frame[:, 2] / 2, frame[:, 3] / 2
    x, y = _corners_in(frame, other)
    area = np.zeros(len(frame))
    for begin in range(4):
        end = (begin + 1) % 4
        area += _under_edge(x[begin], y[begin], x[end], y[end], half_width, half_height)
    return area


def _corners_in(frame: FloatArray, other: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return x and y of the four corners of boxes, relative to the centres of their frames."""
    angle = np.deg2rad(frame[:, 4])
    cosine, sine = np.cos(angle), np.sin(angle)
    right, down = other[:, 0] - frame[:, 0], other[:, 1] - frame[:, 1]
    middle_x, middle_y = right * cosine + down * sine, down * cosine - right * sine
    angle = np.deg2rad(other[:, 4] - frame[:, 4])
    cosine, sine = np.cos(angle), np.sin(angle)
    half_width, half_height = other[:, 2] / 2, other[:, 3] / 2
    along_x, along_y = half_width * cosine, half_width * sine
    across_x, across_y = -half_height * sine, half_height * cosine
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    xs = [middle_x + i * along_x + j * across_x for i, j in signs]
    ys = [middle_y + i * along_y + j * across_y for i, j in signs]
    return xs, ys


def _under_edge(
    x1: FloatArray,
    y1: FloatArray,
    x2: FloatArray,
    y2: FloatArray,
    half_width: FloatArray,
    half_height: FloatArray,
) -> FloatArray:
    """Return the integral of x, clipped to a box, along the part of an edge within its y range."""
    top, bottom = _limited(y1, half_height), _limited(y2, half_height)
    rise = bottom - top
    slope = np.zeros(len(x1))
    np.divide(x2 - x1, y2 - y1, out=slope, where=y1 != y2)
    begin, end = x1 + (top - y1) * slope, x1 + (bottom - y1) * slope
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    inner_low, inner_high = _limited(low, half_width), _limited(high, half_width)
    # The mean of clipped x, from the parts of the edge left of the box, right of it, and inside.
    beyond = np.maximum(high - np.maximum(low, half_width), 0)
    before = np.maximum(np.minimum(high, -half_width) - low, 0)
    length = high - low
    sums = (beyond - before) * half_width
    sums += (inner_high - inner_low) * (inner_high + inner_low) / 2
    mean = inner_low.copy()
    np.divide(sums, length, out=mean, where=length > 0)
    return mean * rise


def _limited(values: FloatArray, half: FloatArray) -> FloatArray:
    return np.minimum(np.maximum(values, -half), half)
