"""The key points of annotations that are written."""

from typing import NamedTuple

import numpy as np

from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.outlines import Record

KEY_POINT = "key point"
"""The shape of an annotation that is a single point."""


class Joint(NamedTuple):
    """A key point."""

    name: str
    x: float
    y: float
    visibility: int
    """0 if not labelled, 1 if hidden, 2 if visible."""


def is_point(annotation: Record) -> bool:
    """Return whether an annotation is a single point, as CVAT writes it a set of one."""
    is_set = annotation.get("shape") == "point set" and len(annotation["keypoints"]) == 3
    return is_set or annotation.get("shape") == KEY_POINT


def completed(keypoints: list[float], n_joints: int) -> list[float]:
    """Return key points with omitted joints at the end added as not labelled.

    Examples
    --------
    >>> completed([5, 5, 2], 2)
    [5, 5, 2, 0, 0, 0]
    """
    return [*keypoints, *[0] * (3 * n_joints - len(keypoints))]


def joints_of(content: Content, annotation: Record) -> list[Joint]:
    """Return the joints of an annotation; joints without a name are numbered."""
    given = annotation.get("keypoints") or ()
    names = content.joint_names[annotation["category_id"]]
    names = [*names, *(str(place) for place in range(len(names) + 1, len(given) // 3 + 1))]
    triples = zip(names, given[::3], given[1::3], given[2::3], strict=False)
    # Models write scores in place of visibility.
    return [Joint(name, x, y, min(int(np.ceil(seen)), 2)) for name, x, y, seen in triples]


def has_joints(annotation: Record) -> bool:
    """Return whether an annotation has a labelled key point."""
    return any(seen > 0 for seen in (annotation.get("keypoints") or ())[2::3])
