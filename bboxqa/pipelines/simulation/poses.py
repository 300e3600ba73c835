"""Poses: the places of joints of true objects relative to their boxes."""

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.shapes.coco_joints import COCO_JOINTS

# COCO's joints of a standing person who faces the camera, as shares of width and height.
_PEOPLE = np.array(
    [
        (0.5, 0.1), (0.55, 0.08), (0.45, 0.08), (0.6, 0.1), (0.4, 0.1), (0.75, 0.22), (0.25, 0.22),
        (0.88, 0.38), (0.12, 0.38), (0.95, 0.52), (0.05, 0.52), (0.66, 0.53), (0.34, 0.53),
        (0.66, 0.74), (0.34, 0.74), (0.66, 0.95), (0.34, 0.95),
    ]
)  # fmt: skip


def poses_of_people(n: int) -> FloatArray:
    """Return the joints of people who fill their boxes, (N, 17, 3).

    They are shares of width and height from the left top corner, and the visibility, 2.
    """
    poses = np.full((n, len(COCO_JOINTS), 3), 2.0)
    poses[..., :2] = _PEOPLE
    return poses


def joints_of_all(data: Dataset, where: str) -> tuple[str, ...]:
    """Return the names of the joints of all categories.

    Raises DatasetError if categories have different joints, or none has any.
    """
    named = list(dict.fromkeys(names for names in data.joint_names if names))
    if len(named) == 1:
        return named[0]
    found = "categories have different key points" if named else "annotations have no key points"
    raise DatasetError([f"{where}: {found}; expected the same joints of all objects"])


def poses_of(objects: Annotations, edges: FloatArray, n_joints: int) -> FloatArray:
    """Return the joints of objects as shares of their boxes, and the visibility, (N, J, 3).

    Joints that are not labelled have zeros.
    """
    poses = np.zeros((len(objects), n_joints, 3))
    if objects.keypoints is None:
        return poses
    points = objects.keypoints.packed()
    held = points.stop - points.start
    owner = np.repeat(np.arange(len(held)), held)
    joint = np.arange(len(owner)) - points.start[owner]
    shares = (points.xy - edges[owner, :2]) / (edges[:, 2:] - edges[:, :2])[owner]
    is_labelled = (points.visibility > 0) & (joint < n_joints)
    place = owner[is_labelled], joint[is_labelled]
    poses[(*place, slice(2))] = shares[is_labelled]
    poses[(*place, 2)] = points.visibility[is_labelled]
    return poses
