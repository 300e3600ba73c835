"""The key points of annotations that are written."""

from typing import NamedTuple

import numpy as np

from bboxqa.formats.records import Category
from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.outlines import Record
from bboxqa.model.shapes.keypoints import Keypoints

KEY_POINT = "key point"
"""The shape of an annotation that is a single point."""


class Joint(NamedTuple):
    """A key point."""

    name: str
    x: float
    y: float
    visibility: int
    """0 if not labelled, 1 if hidden, 2 if visible."""


def points_of(
    keypoints: Keypoints | None, row: int, record: Record, *, is_reordered: bool
) -> Record:
    """Return the key points of an annotation, in the order of its category.

    They are taken from its record, unless its category has them in another order.
    """
    if keypoints is None or not is_reordered:
        return {"keypoints": record["keypoints"]}
    part = slice(int(keypoints.start[row]), int(keypoints.stop[row]))
    triples = np.column_stack([keypoints.xy[part], keypoints.visibility[part]])
    return {"keypoints": triples.ravel().tolist()}


def completed(keypoints: list[float], n_joints: int) -> list[float]:
    """Return key points with omitted joints at the end added as not labelled.

    Examples
    --------
    >>> completed([5, 5, 2], 2)
    [5, 5, 2, 0, 0, 0]
    """
    return [*keypoints, *[0] * (3 * n_joints - len(keypoints))]


def more_joints(known: Record, category: Category) -> Record:
    """Return the joint names of a category if it has more than `known`, and its skeleton if new."""
    given, names = category.keypoints, known.get("keypoints")
    n_known = len(names) if isinstance(names, list) else 0
    more: Record = {"keypoints": given} if isinstance(given, list) and len(given) > n_known else {}
    if category.skeleton and not known.get("skeleton"):
        more["skeleton"] = category.skeleton
    return more


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
