"""Key points of objects, and the joints of COCO."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, RowArrays, rows

# Boxes that differ by at most this many pixels are equal.
_SAME = 1e-6


class Keypoints(RowArrays, frozen=True, eq=False):
    """The key points of N annotations, each with any number of joints."""

    shared = frozenset({"xy", "visibility"})
    refers = {"start": "xy", "stop": "xy"}  # noqa: RUF012 - a field of the class
    xy: FloatArray
    """(V, 2) float64. The joints of all annotations, in pixels."""
    visibility: ByteArray
    """(V,) uint8. 0 for joints that are not labelled, 1 for hidden joints, 2 for visible joints."""
    start: IndexArray
    stop: IndexArray
    """(N,) int64. Annotation n has the joints ``xy[start[n]:stop[n]]``."""
    area: FloatArray
    """(N,) float64. The area given in the file, in square pixels; NaN where it is not given."""

    def packed(self) -> "Keypoints":
        """Return the same key points without unused joints, in the order of annotations."""
        places, offsets = rows(self.start, self.stop)
        return replace(
            self,
            xy=self.xy[places],
            visibility=self.visibility[places],
            start=offsets[:-1],
            stop=offsets[1:],
        )

    def scaled(self, factors: FloatArray) -> "Keypoints":
        """Return the key points with x and y multiplied by (N, 2) factors per annotation."""
        packed = self.packed()
        of_joints = np.repeat(factors, packed.stop - packed.start, axis=0)
        return replace(packed, xy=packed.xy * of_joints, area=packed.area * factors.prod(1))

    def labelled(self) -> tuple[BoolArray, IndexArray]:
        """Return which joints of packed arrays are labelled, (V,), and how many per annotation."""
        is_labelled = self.visibility > 0
        before = np.concatenate([[0], np.cumsum(is_labelled)])
        return is_labelled, before[self.stop] - before[self.start]

    def joints_of_pairs(
        self, left: IndexArray, right: IndexArray
    ) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray]:
        """Return the joints of both annotations of pairs, and the pair of each, (E,) each.

        Pairs with different numbers of joints have none. Also return where each pair begins.
        """
        held = self.stop - self.start
        n_joints = np.where(held[left] == held[right], held[left], 0)
        first, offsets = rows(self.start[left], self.start[left] + n_joints)
        pair = np.repeat(np.arange(len(left)), n_joints)
        return first, first + (self.start[right] - self.start[left])[pair], pair, offsets

    def extent(self) -> FloatArray:
        """Return the box around the labelled joints of each annotation, (N, 4); NaN without one."""
        packed = self.packed()
        is_labelled, n_labelled = packed.labelled()
        result = np.full((len(self), 4), np.nan)
        some, xy = np.flatnonzero(n_labelled), packed.xy[is_labelled]
        first = np.cumsum(n_labelled[some]) - n_labelled[some]
        low = np.minimum.reduceat(xy, first, axis=0)
        result[some] = np.column_stack([low, np.maximum.reduceat(xy, first, axis=0) - low])
        return result

    def are_extents(self, bbox: FloatArray) -> BoolArray:
        """Return which of (N, 4) boxes are no more than the extent of the key points, (N,)."""
        return np.asarray(np.all(np.abs(bbox - self.extent()) <= _SAME, axis=1))

    def scales(self, bbox: FloatArray) -> tuple[FloatArray, Counter[str]]:
        """Return the squared scale of each annotation, (N,), and the counts of its sources."""
        of_box, extent = bbox[:, 2] * bbox[:, 3], self.extent()
        is_extent = np.all(np.abs(bbox - extent) <= _SAME, axis=1)
        of_points = np.nan_to_num(extent[:, 2] * extent[:, 3])
        has_area = self.area > 0
        has_box = ~has_area & (of_box > 0) & ~is_extent
        _, n_labelled = self.labelled()
        has_points = n_labelled > 0
        counts = Counter(
            box_scale=int((has_box & has_points).sum()),
            point_scale=int((~has_area & ~has_box & (of_points > 0)).sum()),
            no_scale=int((~has_area & ~has_box & (of_points <= 0) & has_points).sum()),
            no_points=int((~has_points).sum()),
        )
        return np.where(has_area, self.area, np.where(has_box, of_box, of_points)), counts


def largest_moves(keypoints: Keypoints, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the largest difference of a joint between two annotations, in x or y, (P,) pixels."""
    first, second, pair, _ = keypoints.joints_of_pairs(left, right)
    both = (keypoints.visibility[first] > 0) & (keypoints.visibility[second] > 0)
    found = np.zeros(len(left))
    moved = np.abs(keypoints.xy[first] - keypoints.xy[second]).max(1, initial=0)
    np.maximum.at(found, pair[both], moved[both])
    return found


COCO_JOINTS = (
    "nose", "left_eye", "right_eye", "left_ear", "right_ear", "left_shoulder", "right_shoulder",
    "left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_hip", "right_hip", "left_knee",
    "right_knee", "left_ankle", "right_ankle",
)  # fmt: skip
_LIMBS = (
    (0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 6), (5, 7), (7, 9), (6, 8), (8, 10),
    (5, 11), (6, 12), (11, 12), (11, 13), (13, 15), (12, 14), (14, 16),
)  # fmt: skip
_LEFT = r"(?i)left|(?<![a-z])l(?![a-z])"
_RIGHT = r"(?i)right|(?<![a-z])r(?![a-z])"


def coco_places(joints: Sequence[str]) -> tuple[int, ...]:
    """Return the index of each joint among COCO's 17, by name if it has one; else empty."""
    if len(joints) != len(COCO_JOINTS):
        return ()
    plain = [joint.strip().lower().replace(" ", "_").replace("-", "_") for joint in joints]
    if plain == [str(place) for place in range(1, len(joints) + 1)]:
        return tuple(range(len(joints)))
    are_all = sorted(plain) == sorted(COCO_JOINTS)
    return tuple(map(COCO_JOINTS.index, plain)) if are_all else ()


def sides_of(joints: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of each pair of a left and a right joint."""
    names = [COCO_JOINTS[place] for place in coco_places(joints)] or joints
    rights = {
        re.sub(_RIGHT, "|", name).lower(): place
        for place, name in enumerate(names)
        if re.search(_RIGHT, name)
    }
    lefts = (
        (place, rights.get(re.sub(_LEFT, "|", name).lower()))
        for place, name in enumerate(names)
        if re.search(_LEFT, name)
    )
    return [(left, right) for left, right in lefts if right is not None]


def limbs_of(joints: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of joints to join by lines; empty for joints other than COCO's."""
    of = {place: number for number, place in enumerate(coco_places(joints))}
    return tuple((of[begin], of[end]) for begin, end in _LIMBS) if of else ()
