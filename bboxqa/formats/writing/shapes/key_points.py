"""Preparing the key points of annotations for writing."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bboxqa.formats.annotations.records import Category, extent_of
from bboxqa.formats.writing.content import Content, Record, shown_id
from bboxqa.formats.writing.losses import Loss, Noun, losses_of
from bboxqa.model.shapes.keypoints import Keypoints

KEY_POINT = "key point"
"""The shape of an annotation that is a single point."""

# Tolerance for rounding, in pixels.
_ROUNDED = 1e-3
# Tolerance for areas of rounded boxes, as a share of the area.
_ROUNDED_AREA = 1e-3


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
    given: Sequence[float] = annotation.get("keypoints") or ()
    names = content.joint_names[annotation["category_id"]]
    names = [*names, *(str(place) for place in range(len(names) + 1, len(given) // 3 + 1))]
    triples = zip(names, given[::3], given[1::3], given[2::3], strict=False)
    # Models write scores in place of visibility.
    return [Joint(name, x, y, min(int(np.ceil(seen)), 2)) for name, x, y, seen in triples]


def has_joints(annotation: Record) -> bool:
    """Return whether an annotation has a labelled key point."""
    return any(seen > 0 for seen in (annotation.get("keypoints") or ())[2::3])


def boxes_beside_points(content: Content, title: str) -> Iterator[Loss]:
    """Yield the losses of boxes and outlines around key points, for formats with points only."""
    pointed = [each for each in content.annotations if has_joints(each)]
    outlined = [each for each in pointed if each.get("segmentation")]
    why = f"key points of {title} have neither box nor outline; they are written without"
    yield from losses_of(
        outlined, Noun("outline around key points", "outlines around key points"), why
    )
    boxed = [each for each in pointed if "shape" not in each and not _is_extent(each)]
    yield from losses_of(boxed, Noun("box around key points", "boxes around key points"), why)


def _is_extent(annotation: Record) -> bool:
    extent = extent_of(annotation["keypoints"])
    return extent is not None and bool(
        np.allclose(extent, annotation["bbox"], rtol=0, atol=_ROUNDED)
    )


def other_areas(content: Content, title: str) -> Iterator[Loss]:
    """Yield the loss of areas that are not those of boxes, by which key points are compared."""
    lost = [each for each in content.annotations if has_joints(each) and not _is_of_box(each)]
    why = f"{title} has no place for it: OKS takes the area of the box, or of the points, instead"
    noun = Noun("area of an object with key points", "areas of objects with key points")
    yield from losses_of(lost, noun, why)


def _is_of_box(annotation: Record) -> bool:
    area = annotation.get("area")
    if not isinstance(area, int | float) or not area > 0:
        return True
    width, height = annotation["bbox"][2:]
    return math.isclose(area, width * height, rel_tol=_ROUNDED_AREA, abs_tol=1)


def hidden_points(content: Content, title: str) -> Iterator[Loss]:
    """Yield the loss of hidden key points, for formats without visibility."""
    lost = [each for each in content.annotations if _n_hidden(each)]
    if lost:
        example = f"in annotation {shown_id(lost[0])}"
        why = f"{title} has no visibility: written as visible"
        noun = Noun("joint that is hidden", "joints that are hidden")
        yield Loss(sum(map(_n_hidden, lost)), noun, why, example, "changed")


def _n_hidden(annotation: Record) -> int:
    """Return the number of joints that are written with a visibility of 1; see `joints_of`."""
    return sum(0 < seen <= 1 for seen in (annotation.get("keypoints") or ())[2::3])
