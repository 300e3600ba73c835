"""Object key point similarity (OKS) of pairs."""

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, rows
from bboxqa.model.shapes.keypoints import Keypoints

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
    them count as 0. Pairs without labelled joints, or with different numbers of joints, get 0.

    Parameters
    ----------
    keypoints : Keypoints
        The packed key points of N annotations.
    area : (N,) float64
        The squared scale of each annotation; s² is the mean of both.
    variance : (V,) float64
        k² of each joint; the mean is used if both annotations differ.
    left, right : (P,) int64
    """
    result = np.zeros(len(left))
    held = keypoints.stop - keypoints.start
    n_joints = held[left]
    usable = np.flatnonzero((n_joints > 0) & (n_joints == held[right]))
    if not len(usable):
        return result
    left, right, n_joints = left[usable], right[usable], n_joints[usable]
    first, offsets = rows(keypoints.start[left], keypoints.stop[left])
    shift = np.repeat(keypoints.start[right] - keypoints.start[left], n_joints)
    second = first + shift
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
    starts = offsets[:-1]
    n_seen = np.add.reduceat((seen | also).astype(np.int64), starts)
    total = np.add.reduceat(similar, starts)
    result[usable] = np.divide(total, n_seen, out=np.zeros(len(total)), where=n_seen > 0)
    return result
