"""Areas and similarities of boxes, rotated boxes and key points."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.model.keypoints import Keypoints


def corners(bbox: FloatArray) -> FloatArray:
    """Return N boxes given as x, y, width, height, (N, 4) float64, as corners."""
    result = bbox.copy()
    result[:, 2:] += bbox[:, :2]
    return result


def from_corners(box: FloatArray) -> FloatArray:
    """Return N boxes given as corners, (N, 4) float64, as x, y, width, height."""
    result = box.copy()
    result[:, 2:] -= box[:, :2]
    return result


def _area(box: FloatArray) -> FloatArray:
    return (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])


def overlap(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the area of the intersection of each pair of boxes; 0 if they only touch."""
    width = np.minimum(left[:, 2], right[:, 2]) - np.maximum(left[:, 0], right[:, 0])
    height = np.minimum(left[:, 3], right[:, 3]) - np.maximum(left[:, 1], right[:, 1])
    return np.asarray(np.maximum(width, 0) * np.maximum(height, 0))


def iou_of(left: FloatArray, right: FloatArray, shared: FloatArray) -> FloatArray:
    """Return the IoU of P pairs from their areas and the area that they share; 0 without area."""
    union, result = left + right - shared, np.zeros(len(shared))
    np.divide(shared, union, out=result, where=union > 0)
    return result


def iou_limit(
    area: FloatArray, bounds: FloatArray, left: IndexArray, right: IndexArray
) -> FloatArray:
    """Return an upper bound of the IoU of pairs of shapes from areas, (N,), and bounds, (N, 4)."""
    a, b = area[left], area[right]
    shared = overlap(bounds.take(left, axis=0), bounds.take(right, axis=0))
    return iou_of(a, b, np.minimum(shared, np.minimum(a, b)))


def bbox_iou(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the intersection over union of each pair of boxes, in [0, 1]."""
    return iou_of(_area(left), _area(right), overlap(left, right))


def bbox_giou(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the generalised IoU of each pair of boxes, in [-1, 1] (Rezatofighi et al. 2019).

    It is the IoU minus the share of the smallest enclosing box that the union does not cover. It
    approaches -1 for distant boxes. doi:10.1109/CVPR.2019.00075
    """
    areas, shared = (_area(left), _area(right)), overlap(left, right)
    hull = np.concatenate(
        [np.minimum(left[:, :2], right[:, :2]), np.maximum(left[:, 2:], right[:, 2:])], axis=1
    )
    enclosing, uncovered = _area(hull), np.zeros(len(left))
    union = areas[0] + areas[1] - shared
    np.divide(enclosing - union, enclosing, out=uncovered, where=enclosing > 0)
    return iou_of(*areas, shared) - uncovered


def bbox_centroid(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the closeness of the centres of each pair of boxes, in [0, 1].

    It is one minus the distance of the centres divided by the longer diagonal, but at least 0; and
    0 for a box without area. KαLOS (Tschirschwitz and Rodehorst, CVPR 2026) uses coordinates
    relative to the image, whereas this function uses pixels, so that a square stays a square.
    """
    offset = (left[:, :2] + left[:, 2:] - right[:, :2] - right[:, 2:]) / 2
    distance = np.hypot(offset[:, 0], offset[:, 1])
    diagonal = np.maximum(diagonals(left), diagonals(right))
    solid = (_area(left) > 0) & (_area(right) > 0)
    closeness = np.zeros(len(left))
    np.divide(diagonal - distance, diagonal, out=closeness, where=solid)
    return np.maximum(closeness, 0)


def diagonals(box: FloatArray) -> FloatArray:
    """Return the diagonal of each box in pixels."""
    return np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1])


def rotated_iou(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the intersection over union of each pair of rotated boxes, in [0, 1].

    Boxes are (P, 5) float64: centre x and y, width, height and angle in degrees from 0 up to 90, as
    returned by `bboxqa.model.rotated_boxes.smallest_angle`. A box without area has an IoU of
    0, even with itself; other identical boxes have exactly 1. The result is exactly symmetric.
    """
    frame, other = _ordered(left, right)
    areas = left[:, 2] * left[:, 3], right[:, 2] * right[:, 3]
    x, y = _corners_in(frame, other)
    shared = np.zeros(len(frame))
    for begin, end in ((0, 1), (1, 2), (2, 3), (3, 0)):
        shared += _under_edge(x[begin], y[begin], x[end], y[end], frame[:, 2] / 2, frame[:, 3] / 2)
    result = iou_of(*areas, np.clip(shared, 0, np.minimum(*areas)))
    result[(left == right).all(1) & (areas[0] > 0)] = 1
    return result


def _ordered(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the pairs with both boxes in an order that depends only on their numbers."""
    # By the first number that differs.
    first = (left != right).argmax(1)[:, None]
    swap = np.take_along_axis(left, first, axis=1) > np.take_along_axis(right, first, axis=1)
    return np.where(swap, right, left), np.where(swap, left, right)


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
    top, bottom = (np.clip(y, -half_height, half_height) for y in (y1, y2))
    rise = bottom - top
    slope = np.zeros(len(x1))
    np.divide(x2 - x1, y2 - y1, out=slope, where=y1 != y2)
    begin, end = x1 + (top - y1) * slope, x1 + (bottom - y1) * slope
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    inner_low, inner_high = (np.clip(x, -half_width, half_width) for x in (low, high))
    # The mean of clipped x, from the parts of the edge left of the box, right of it, and inside.
    beyond = np.maximum(high - np.maximum(low, half_width), 0)
    before = np.maximum(np.minimum(high, -half_width) - low, 0)
    length = high - low
    sums = (beyond - before) * half_width
    sums += (inner_high - inner_low) * (inner_high + inner_low) / 2
    mean = inner_low.copy()
    np.divide(sums, length, out=mean, where=length > 0)
    return mean * rise


_EPS = np.spacing(1.0)
"""The constant that COCO adds to the squared scale, which may be 0."""


def key_point_similarity(
    keypoints: Keypoints,
    area: FloatArray,
    variance: FloatArray,
    left: IndexArray,
    right: IndexArray,
) -> FloatArray:
    """Return the mean of exp(-d² / (2 s² k²)) over the joints of each pair, (P,) float64.

    The mean is over joints that at least one annotation labelled; joints labelled in only one of
    them count as 0. Pairs without labelled joints, or with different numbers of joints, get 0. s²
    is the mean `area` of both, (N,), and k² the mean `variance` of both joints, (V,).
    """
    first, second, _, offsets = keypoints.joints_of_pairs(left, right)
    n_joints = np.diff(offsets)
    seen, also = keypoints.visibility[first] > 0, keypoints.visibility[second] > 0
    difference = keypoints.xy.take(first, axis=0)
    difference -= keypoints.xy.take(second, axis=0)
    difference *= difference
    scale = (area[left] + area[right]) / 2 + _EPS
    exponent = difference[:, 0]
    exponent += difference[:, 1]
    exponent /= (variance[first] + variance[second]) / 2
    exponent /= np.repeat(-2 * scale, n_joints)
    similar = np.exp(exponent, out=exponent)
    similar *= seen & also
    result, some = np.zeros(len(left)), np.flatnonzero(n_joints)
    total, n_seen = (
        np.add.reduceat(each, offsets[some]) for each in (similar, (seen | also).astype(np.int64))
    )
    result[some] = np.divide(total, n_seen, out=np.zeros(len(some)), where=n_seen > 0)
    return result
