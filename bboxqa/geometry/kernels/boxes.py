"""Similarities of axis-parallel boxes, pair by pair."""

import numpy as np

from bboxqa.core.arrays import FloatArray

__all__ = ["bbox_centroid", "bbox_giou", "bbox_iou", "corners", "diagonals", "overlap"]


def corners(bbox: FloatArray) -> FloatArray:
    """Return boxes as left, top, right, bottom.

    Parameters
    ----------
    bbox : (N, 4) float64
        x, y, width, height in pixels; N may be 0.

    Returns
    -------
    (N, 4) float64

    Examples
    --------
    >>> import numpy as np
    >>> corners(np.array([[10.0, 20.0, 5.0, 4.0]]))
    array([[10., 20., 15., 24.]])
    """
    result = bbox.copy()
    result[:, 2:] += bbox[:, :2]
    return result


def _area(box: FloatArray) -> FloatArray:
    area: FloatArray = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    return area


def overlap(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the area of the intersection of each pair of boxes.

    Parameters
    ----------
    left, right : (P, 4) float64
        left, top, right, bottom in pixels; P may be 0.

    Returns
    -------
    (P,) float64
        Square pixels; 0 where the boxes only touch.

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
    """Divide; a box without area is similar to nothing."""
    result = np.zeros(len(numerator))
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


def bbox_iou(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the intersection over union of each pair of boxes.

    A box without area overlaps nothing: its IoU is 0, with itself too.

    Parameters
    ----------
    left, right : (P, 4) float64
        left, top, right, bottom in pixels; P may be 0.

    Returns
    -------
    (P,) float64
        In [0, 1]; exactly 1 for identical boxes.

    Examples
    --------
    >>> import numpy as np
    >>> bbox_iou(np.array([[0.0, 0, 5, 5]]), np.array([[1.0, 0, 6, 5]])).round(4)
    array([0.6667])
    """
    intersection = overlap(left, right)
    return _ratio(intersection, _area(left) + _area(right) - intersection)


def bbox_giou(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the generalised IoU of each pair of boxes.

    The IoU less the share of the smallest enclosing box that the union leaves empty
    (Rezatofighi et al., CVPR 2019, algorithm 1). Boxes far apart come near to -1.

    Parameters
    ----------
    left, right : (P, 4) float64
        left, top, right, bottom in pixels; P may be 0.

    Returns
    -------
    (P,) float64
        In [-1, 1]; never above the IoU.

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
    """Return how near the centres of each pair of boxes are, relative to the boxes.

    One minus the distance of the two centres divided by the longer diagonal, and 0 from there on;
    a box without area is near to nothing. (KαLOS, Tschirschwitz and Rodehorst, CVPR 2026, measures
    so in coordinates relative to the image; here they are pixels, so that a square stays one.)

    Parameters
    ----------
    left, right : (P, 4) float64
        left, top, right, bottom in pixels; P may be 0.

    Returns
    -------
    (P,) float64
        In [0, 1]; 1 where the centres coincide.

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
    """Return the diagonal of each box, (N, 4) float64 as corners, in pixels."""
    diagonal: FloatArray = np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1])
    return diagonal
