"""The joints of each two annotators who drew the same object."""

from collections.abc import Iterator
from math import log

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    IndexArray,
    IntArray,
    frozen_arrays,
    pairs_within,
    rows,
    run_starts,
)
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.object_cells import object_cells
from bboxqa.model.shapes.coco_joints import sides_of
from bboxqa.model.shapes.keypoints import Keypoints
from bboxqa.model.units import MatchedUnits

# Left and right count as exchanged if that is 100 times as likely: log of the likelihood ratio.
_SURELY = log(100)
# The median of a sum of four normal squares with a variance of 1.
_MEDIAN = 3.3567


@frozen_arrays
class JointPairs:
    """E joints of P pairs of annotations of one object, by two annotators."""

    first: IntArray
    second: IntArray
    """(P,) int32. The annotators, in their order."""
    image: IntArray
    """(P,) int32."""
    weight: FloatArray
    """(P,) float64. The weight of each pair in an alpha: 1 / (annotators of the object − 1)."""
    pair: IndexArray
    """(E,) int64. The pair of each joint."""
    joint: IndexArray
    """(E,) int64. The joint, numbered across all categories."""
    difference: FloatArray
    """(E, 2) float64. The position of the second minus that of the first, in px."""
    scale: FloatArray
    """(E,) float64. The root of the mean area of both, in px."""
    visibility: ByteArray
    """(E, 2) uint8. The visibility by the first and by the second."""
    has_side: BoolArray
    is_swapped: BoolArray
    """(E,) bool. Whether both labelled left and right, and whether these are clearly exchanged."""

    @property
    def both(self) -> BoolArray:
        """Which joints both labelled, (E,)."""
        found: BoolArray = np.asarray((self.visibility > 0).all(1))
        return found

    @property
    def placed(self) -> BoolArray:
        """Which joints both labelled, without exchanged ones, (E,)."""
        return self.both & ~self.is_swapped


def joint_offsets(matched: MatchedUnits) -> IndexArray:
    """Return the number of the first joint of each category, and of all joints, (C + 1,)."""
    sizes = [len(joints) for joints in matched.data.joint_names]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@remembered
def joint_pairs(matched: MatchedUnits) -> JointPairs:
    """Return the joints of annotations of one object and one category."""
    of = matched.data.annotations
    left, right, weight = _pairs(matched)
    same = of.category[left] == of.category[right]
    left, right, weight = left[same], right[same], weight[same]
    keypoints = of.keypoints
    if keypoints is None:
        raise ValueError("the key points were not read")
    n_joints = np.diff(joint_offsets(matched))[of.category[left]]
    held = keypoints.stop - keypoints.start
    whole = np.flatnonzero((held[left] == n_joints) & (held[right] == n_joints) & (n_joints > 0))
    left, right, weight = left[whole], right[whole], weight[whole]
    area, _ = keypoints.packed().scales(of.bbox)
    first, offsets = rows(keypoints.start[left], keypoints.stop[left])
    pair = np.repeat(np.arange(len(left)), np.diff(offsets))
    second = first + (keypoints.start[right] - keypoints.start[left])[pair]
    joint = joint_offsets(matched)[of.category[left]][pair] + np.arange(len(pair))
    joint -= offsets[:-1][pair]
    of_joint = ((area[left] + area[right]) / 2)[pair]
    people = of.annotator[left].astype(np.int64) * len(matched.data.annotator_names)
    people = (people + of.annotator[right])[pair]
    has_side, is_swapped = _sides(matched, keypoints, joint, first, second, of_joint, people)
    return JointPairs(
        first=of.annotator[left],
        second=of.annotator[right],
        image=of.image[left],
        weight=weight,
        pair=pair,
        joint=joint,
        difference=keypoints.xy[second] - keypoints.xy[first],
        scale=np.sqrt(of_joint),
        visibility=np.column_stack([keypoints.visibility[first], keypoints.visibility[second]]),
        has_side=has_side,
        is_swapped=is_swapped,
    )


def _pairs(matched: MatchedUnits) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the pairs of annotations of one object, and their weights."""
    cells = object_cells(matched)
    drawn = np.flatnonzero(cells.drawn)
    left, right = (drawn[side] for side in pairs_within(cells.object[drawn]))
    n_drew = cells.n_others_drew[left]
    return cells.annotation[left], cells.annotation[right], 1 / np.maximum(n_drew, 1)


def _sides(
    matched: MatchedUnits,
    keypoints: Keypoints,
    joint: IndexArray,
    first: IndexArray,
    second: IndexArray,
    area: FloatArray,
    people: IndexArray,
) -> tuple[BoolArray, BoolArray]:
    """Return which joints have a left and a right that both labelled, and which are exchanged.

    Joints are exchanged if the likelihood of normal scatter is 100 times as high with left and
    right exchanged. The scatter is that of the sigmas or, if larger, that of the two annotators.
    `people` is the index of this pair of annotators for each joint.
    """
    has_side, is_swapped = np.zeros(len(joint), np.bool_), np.zeros(len(joint), np.bool_)
    nothing = (np.zeros(0, np.int64), np.zeros(0, np.int64), *[np.zeros(0)] * 3)
    found = [nothing, *_side_distances(matched, keypoints, joint, first, second, area)]
    places, others, as_drawn, exchanged, variance = map(np.concatenate, zip(*found, strict=True))
    variance *= _scatter(np.minimum(as_drawn, exchanged), variance, people[places])
    is_sure = as_drawn - exchanged > 2 * variance * _SURELY
    for each in (places, others):
        has_side[each] = True
        is_swapped[each] = is_sure
    return has_side, is_swapped


def _side_distances(
    matched: MatchedUnits,
    keypoints: Keypoints,
    joint: IndexArray,
    first: IndexArray,
    second: IndexArray,
    area: FloatArray,
) -> Iterator[tuple[IndexArray, IndexArray, FloatArray, FloatArray, FloatArray]]:
    """Yield the indices of left and right joints that both labelled, and their distances.

    There are two sums of squared distances: as drawn, and with left and right of one exchanged. The
    last array is the variance of each difference according to the sigmas.
    """
    starts = joint_offsets(matched)
    xy, seen = keypoints.xy, keypoints.visibility > 0
    for category, joints in enumerate(matched.data.joint_names):
        for left, right in sides_of(joints):
            places = np.flatnonzero(joint == starts[category] + left)
            others = places + (right - left)
            both = seen[first[places]] & seen[second[places]]
            both &= seen[first[others]] & seen[second[others]]
            places, others = places[both], others[both]
            as_drawn, exchanged = (
                ((xy[first[places]] - xy[second[a]]) ** 2).sum(1)
                + ((xy[first[others]] - xy[second[b]]) ** 2).sum(1)
                for a, b in ((places, others), (others, places))
            )
            spread = matched.data.joint_sigmas[category]
            variance = (spread[left] ** 2 + spread[right] ** 2) / 2 * area[places]
            yield places, others, as_drawn, exchanged, variance


def _scatter(squares: FloatArray, variance: FloatArray, people: IndexArray) -> FloatArray:
    """Return the ratio of the two annotators' scatter to the variance, by the median; at least 1.

    The squares are sums over both directions of two joints, the smaller one of as drawn and
    exchanged.
    """
    ratios = np.divide(squares, variance, out=np.zeros(len(squares)), where=variance > 0)
    order = np.argsort(people, kind="stable")
    result = np.ones(len(people))
    for rows_of in np.split(order, run_starts(people[order])[1:]):
        if len(rows_of):
            result[rows_of] = max(1.0, float(np.median(ratios[rows_of])) / _MEDIAN)
    return result
