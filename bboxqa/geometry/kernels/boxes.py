"""Similarities of axis-parallel boxes, pair by pair.

Boxes are (P, 4) float64 corners: left, top, right, bottom in pixels; P may be 0.
"""

import numpy as np

from bboxqa.core.arrays import FloatArray


def corners(bbox: FloatArray) -> FloatArray:
    """Return N boxes given as x, y, width, height, (N, 4) float64, as corners.

    Examples
    --------
    >>> import numpy as np
    >>> corners(np.array([[10.0, 20.0, 5.0, 4.0]]))
    array([[10., 20., 15., 24.]])
    """
    result = bbox.copy()
    result[:, 2:] += bbox[:, :2]
    return result


def from_corners(box: FloatArray) -> FloatArray:
    """Return N boxes given as corners, (N, 4) float64, as x, y, width, height."""
    result = box.copy()
    result[:, 2:] -= box[:, :2]
    return result


def _area(box: FloatArray) -> FloatArray:
    area: FloatArray = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    return area


def overlap(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the area of the intersection of each pair of boxes; 0 if they only touch.

    Examples
    --------
    >>> import numpy as np
    >>> overlap(np.array([[0.0, 0, 5, 5]]), np.array([[4.0, 4, 9, 9]]))
    array([1.])
    """
    width = np.minimum(left[:, 2], right[:, 2]) - np.maximum(left[:, 0], right[:, 0])
    height = np.minimum(left[:, 3], right[:, 3]) - np.maximum(left[:, 1], right[:, 1])
    area: FloatArray = np.maximum(width, 0) * np.maximum(height, 0)
    return area


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return the ratio of each pair of numbers; 0 where the denominator is 0."""
    result = np.zeros(len(numerator))
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


def bbox_iou(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the intersection over union of each pair of boxes, in [0, 1].

    A box without area has an IoU of 0, even with itself; other identical boxes have exactly 1.

    Examples
    --------
    >>> import numpy as np
    >>> bbox_iou(np.array([[0.0, 0, 5, 5]]), np.array([[1.0, 0, 6, 5]])).round(4)
    array([0.6667])
    """
    intersection = overlap(left, right)
    return _ratio(intersection, _area(left) + _area(right) - intersection)


def bbox_giou(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the generalised IoU of each pair of boxes, in [-1, 1] [1]_.

    It is the IoU minus the share of the smallest enclosing box that the union does not cover. It
    approaches -1 for distant boxes.

    References
    ----------
    .. [1] Rezatofighi, H., Tsoi, N., Gwak, J., Sadeghian, A., Reid, I. and Savarese, S. (2019).
       Generalized Intersection over Union: A Metric and a Loss for Bounding Box Regression. CVPR
       2019, algorithm 1. doi:10.1109/CVPR.2019.00075

    Examples
    --------
    >>> import numpy as np
    >>> bbox_giou(np.array([[0.0, 0, 1, 1]]), np.array([[2.0, 0, 3, 1]])).round(4)
    array([-0.3333])
    """
    intersection = overlap(left, right)
    union = _area(left) + _area(right) - intersection
    hull = np.concatenate(
        [np.minimum(left[:, :2], right[:, :2]), np.maximum(left[:, 2:], right[:, 2:])], axis=1
    )
    enclosing = _area(hull)
    return _ratio(intersection, union) - _ratio(enclosing - union, enclosing)


def bbox_centroid(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the closeness of the centres of each pair of boxes, in [0, 1].

    It is one minus the distance of the centres divided by the longer diagonal, but at least 0; and
    0 for a box without area. KαLOS (Tschirschwitz and Rodehorst, CVPR 2026) uses coordinates
    relative to the image, whereas this function uses pixels, so that a square stays a square.

    Examples
    --------
    >>> import numpy as np
    >>> bbox_centroid(np.array([[0.0, 0, 6, 8]]), np.array([[1.0, 0, 7, 8]]))
    array([0.9])
    """
    offset = (left[:, :2] + left[:, 2:] - right[:, :2] - right[:, 2:]) / 2
    distance = np.hypot(offset[:, 0], offset[:, 1])
    diagonal = np.maximum(diagonals(left), diagonals(right))
    solid = (_area(left) > 0) & (_area(right) > 0)
    return np.where(solid, np.maximum(_ratio(diagonal - distance, diagonal), 0), 0)


def diagonals(box: FloatArray) -> FloatArray:
    """Return the diagonal of each box in pixels."""
    diagonal: FloatArray = np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1])
    return diagonal
