"""The 17 joints of people in COCO, and pairs of left and right joints."""

import re
from collections.abc import Sequence

COCO_JOINTS = (
    "nose", "left_eye", "right_eye", "left_ear", "right_ear", "left_shoulder", "right_shoulder",
    "left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_hip", "right_hip", "left_knee",
    "right_knee", "left_ankle", "right_ankle",
)  # fmt: skip
_LIMBS = (
    (0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 6), (5, 7), (7, 9), (6, 8), (8, 10),
    (5, 11), (6, 12), (11, 12), (11, 13), (13, 15), (12, 14), (14, 16),
)  # fmt: skip
_LEFT = re.compile(r"left|(?<![a-z])l(?![a-z])", re.IGNORECASE)
_RIGHT = re.compile(r"right|(?<![a-z])r(?![a-z])", re.IGNORECASE)


def coco_places(joints: Sequence[str]) -> tuple[int, ...]:
    """Return the index of each joint among COCO's 17 joints; empty if they are not COCO's.

    They are COCO's if they have the same names, in any order, or if there are 17 without names.

    Examples
    --------
    >>> coco_places(COCO_JOINTS[::-1])[:3], coco_places([str(place) for place in range(1, 18)])[:3]
    ((16, 15, 14), (0, 1, 2))
    >>> coco_places(["nose"])
    ()
    """
    if len(joints) != len(COCO_JOINTS):
        return ()
    plain = [joint.strip().lower().replace(" ", "_").replace("-", "_") for joint in joints]
    if plain == [str(place) for place in range(1, len(joints) + 1)]:
        return tuple(range(len(joints)))
    are_all = sorted(plain) == sorted(COCO_JOINTS)
    return tuple(map(COCO_JOINTS.index, plain)) if are_all else ()


def sides_of(joints: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of each pair of a left and a right joint.

    Examples
    --------
    >>> sides_of(["nose", "left_eye", "right_eye", "R.Ear", "L.Ear", "tail"])
    [(1, 2), (4, 3)]
    """
    names = [COCO_JOINTS[place] for place in coco_places(joints)] or joints
    rights = {
        _RIGHT.sub("|", name).lower(): place
        for place, name in enumerate(names)
        if _RIGHT.search(name)
    }
    lefts = (
        (place, rights.get(_LEFT.sub("|", name).lower()))
        for place, name in enumerate(names)
        if _LEFT.search(name)
    )
    return [(left, right) for left, right in lefts if right is not None]


def limbs_of(joints: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of joints that a drawing joins by lines; empty for joints other than COCO's.

    Examples
    --------
    >>> len(limbs_of(COCO_JOINTS)), limbs_of(["head", "tail"])
    (19, ())
    """
    of = {place: number for number, place in enumerate(coco_places(joints))}
    return tuple((of[begin], of[end]) for begin, end in _LIMBS) if of else ()
