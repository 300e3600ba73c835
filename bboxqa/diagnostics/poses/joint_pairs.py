"""The joints of each two annotators who drew the same object."""

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
)
from bboxqa.core.overlaps import overlapping_boxes
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.annotators.object_cells import edges_of, object_cells
from bboxqa.model.shapes.coco_joints import sides_of
from bboxqa.model.shapes.keypoints import Keypoints
from bboxqa.model.units import MatchedUnits

# Left and right are exchanged where that is so many times as likely as not.
_SURELY = log(100)
# Boxes of people whose key points do not match, as they do where left and right are exchanged.
_SAME_BOX = 0.5


@frozen_arrays
class JointPairs:
    """E joints of P pairs of annotations of one object, by two annotators."""

    first: IntArray
    second: IntArray
    """(P,) int32. The annotators, in their order."""
    image: IntArray
    """(P,) int32."""
    weight: FloatArray
    """(P,) float64. What each pair counts in an alpha: 1 / (annotators of the object − 1)."""
    pair: IndexArray
    """(E,) int64. The pair of each joint."""
    joint: IndexArray
    """(E,) int64. The joint, numbered through all categories."""
    difference: FloatArray
    """(E, 2) float64. The place of the second less that of the first, in px."""
    scale: FloatArray
    """(E,) float64. The root of the mean area of both, in px."""
    visibility: ByteArray
    """(E, 2) uint8. Of the first and of the second."""
    has_side: BoolArray
    is_swapped: BoolArray
    """(E,) bool. Where both labelled left and right, and where these are surely exchanged."""

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
    has_side, is_swapped = _sides(matched, keypoints, joint, first, second, of_joint)
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
    """Return the pairs of annotations of one object, and what each counts."""
    cells = object_cells(matched)
    drawn = np.flatnonzero(cells.drawn)
    left, right = (drawn[side] for side in pairs_within(cells.object[drawn]))
    n_drew = cells.n_others_drew[left]
    more_left, more_right = _of_equal_boxes(matched)
    return (
        np.concatenate([cells.annotation[left], more_left]),
        np.concatenate([cells.annotation[right], more_right]),
        np.concatenate([1 / np.maximum(n_drew, 1), np.ones(len(more_left))]),
    )


def _of_equal_boxes(matched: MatchedUnits) -> tuple[IndexArray, IndexArray]:
    """Return the pairs of annotations of different objects whose boxes overlap by half.

    Neither annotator drew anything of the other's object: their joints differ too much to match,
    as where left and right of all are exchanged.
    """
    of, objects = matched.data.annotations, matched.objects
    n_annotators = len(matched.data.annotator_names)
    drawn = np.unique(objects * n_annotators + of.annotator)
    n_asked = matched.data.assigned.sum(1)[of.image]
    open_ = np.flatnonzero(np.bincount(objects)[objects] < n_asked)
    left, right, overlap = _overlapping_by_half(matched, open_)
    keys = objects * n_annotators
    free = ~np.isin(keys[left] + of.annotator[right], drawn)
    free &= ~np.isin(keys[right] + of.annotator[left], drawn)
    left, right, overlap = left[free], right[free], overlap[free]
    taken: set[tuple[int, int]] = set()
    kept = []
    for place in np.argsort(-overlap, kind="stable").tolist():
        ends = int(left[place]), int(right[place])
        first, second = of.annotator[[*ends]].tolist()
        cells = (ends[0], second), (ends[1], first)
        if taken.isdisjoint(cells):
            taken.update(cells)
            kept.append(place)
    places = np.array(sorted(kept), np.int64)
    return left[places], right[places]


def _overlapping_by_half(
    matched: MatchedUnits, some: IndexArray
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the pairs of some annotations, of two annotators, and the IoU of their boxes."""
    of = matched.data.annotations
    image, edges = of.image[some].astype(np.int64), edges_of(of.bbox[some])
    area = of.bbox[:, 2] * of.bbox[:, 3]
    lefts, rights, overlaps = [some[:0]], [some[:0]], [np.zeros(0)]
    for ends in overlapping_boxes(image, edges, image, edges):
        once = ends[0] < ends[1]
        one, other = ends[0][once], ends[1][once]
        left, right = some[one], some[other]
        low = np.maximum(edges[one, :2], edges[other, :2])
        shared = np.maximum(np.minimum(edges[one, 2:], edges[other, 2:]) - low, 0).prod(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            overlap = shared / (area[left] + area[right] - shared)
        near = (of.annotator[left] != of.annotator[right]) & (overlap >= _SAME_BOX)
        lefts.append(left[near])
        rights.append(right[near])
        overlaps.append(overlap[near])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    order = np.lexsort((right, left))
    return left[order], right[order], np.concatenate(overlaps)[order]


def _sides(
    matched: MatchedUnits,
    keypoints: Keypoints,
    joint: IndexArray,
    first: IndexArray,
    second: IndexArray,
    area: FloatArray,
) -> tuple[BoolArray, BoolArray]:
    """Return which joints have a left and a right that both labelled, and which are exchanged.

    They are where the distances without exchange are too large for the scatter of annotators: the
    likelihood of normal scatter is 100 times as high with left and right exchanged.
    """
    has_side, is_swapped = np.zeros(len(joint), np.bool_), np.zeros(len(joint), np.bool_)
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
            is_sure = as_drawn - exchanged > 2 * variance * _SURELY
            for each in (places, others):
                has_side[each] = True
                is_swapped[each] = is_sure
    return has_side, is_swapped
