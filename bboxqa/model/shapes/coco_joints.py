"""The 17 joints of people in COCO, and pairs of a left and a right joint."""

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


def is_coco(joints: Sequence[str]) -> bool:
    """Return whether joints are COCO's 17, in its order, or as many without names.

    Examples
    --------
    >>> is_coco(COCO_JOINTS), is_coco([str(place) for place in range(1, 18)]), is_coco(["nose"])
    (True, True, False)
    """
    numbers = [str(place) for place in range(1, len(joints) + 1)]
    plain = [joint.strip().lower().replace(" ", "_").replace("-", "_") for joint in joints]
    return len(joints) == len(COCO_JOINTS) and plain in (numbers, [*COCO_JOINTS])


def sides_of(joints: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of joints that are the left and the right one of a pair.

    Examples
    --------
    >>> sides_of(["nose", "left_eye", "right_eye", "R.Ear", "L.Ear", "tail"])
    [(1, 2), (4, 3)]
    """
    names = COCO_JOINTS if is_coco(joints) else joints
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
    """Return the joints that lines of a drawing join: those of COCO's people, else none.

    Examples
    --------
    >>> len(limbs_of(COCO_JOINTS)), limbs_of(["head", "tail"])
    (19, ())
    """
    return _LIMBS if is_coco(joints) else ()
