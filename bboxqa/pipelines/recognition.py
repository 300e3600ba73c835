"""The annotations of files that come back from a tool, and which of them were sent."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import normalised_name
from bboxqa.formats.registry import format_of
from bboxqa.formats.writing.content import Content, image_name, shown_id
from bboxqa.formats.writing.names import without_ending
from bboxqa.formats.writing.outlines import Record, said_angle
from bboxqa.geometry.kernels.boxes import bbox_iou, corners
from bboxqa.model.choices import Choices
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.convert import gather

GEOMETRY = ("bbox", "segmentation", "keypoints")
"""The keys of records that say where an annotation is."""
# The least IoU of an annotation that was moved with what it was.
_LEAST_IOU, _SAME_CATEGORY = 0.5, 0.2
# Tools round coordinates to two decimals, and compute sides and corners from rounded ones.
_ROUNDED, _ROUNDED_OUTLINE = 0.011, 0.05
# The formats whose annotations have ids; others number them as they are read.
_WITH_IDS = ("coco", "coco-archive", "label-studio", "table")


@dataclass(frozen=True, slots=True)
class Work:
    """What one annotator drew in one image of a file, maybe nothing."""

    annotator: str
    """Empty if the file names nobody."""
    image: str
    annotations: list[Record]
    """Each has its category and geometry, and its id if the format has ids."""


def works_in(file: Path, choices: Choices) -> Iterator[Work]:
    """Yield the work of each annotator in each image of a file."""
    try:
        content, _ = gather(file, AgreeSettings(), choices)
    except DatasetError:
        # Tools do not name who drew what is new.
        content, _ = gather(file, AgreeSettings(attribution="files"), choices)
    has_ids = format_of(file, choices).name in _WITH_IDS
    for place, image in enumerate(content.images):
        for name, drawn in content.works(place):
            found = [_said(content, each, has_ids=has_ids) for each in drawn]
            yield Work(name, image_name(image), found)


def _said(content: Content, annotation: Record, *, has_ids: bool) -> Record:
    """Return what a file says of an annotation, as far as it is compared."""
    own = {"id": shown_id(annotation)} if has_ids else {}
    given = {key: annotation[key] for key in GEOMETRY if annotation.get(key)}
    if not np.isnan(degrees := said_angle(annotation)):
        given["rotation"] = degrees
    return {**own, "category": content.category_names[annotation["category_id"]], **given}


def image_names(names: Iterable[str]) -> Callable[[str], str]:
    """Return a function that finds an image by a name that a tool may have cut; else "".

    Examples
    --------
    >>> find = image_names(["day/a.jpg", "b/c.jpg", "d/c.jpg"])
    >>> find("day/a.jpg"), find("upload/A.jpg"), find("a"), find("c.jpg")
    ('day/a.jpg', 'day/a.jpg', 'day/a.jpg', '')
    """
    known = {*names}
    ends: dict[str, set[str]] = {}
    for name in known:
        ends.setdefault(_end(name), set()).add(name)

    def find(name: str) -> str:
        found = ends.get(_end(name), set())
        return name if name in known else next(iter(found)) if len(found) == 1 else ""

    return find


def _end(name: str) -> str:
    """Return a name without folders and suffix."""
    return normalised_name(without_ending(name)).rpartition("/")[2]


def is_same_number(one: float, other: float) -> bool:
    """Return whether two coordinates of boxes are equal but for rounding.

    Examples
    --------
    >>> is_same_number(10, 10.0049), is_same_number(10, 10.02)
    (True, False)
    """
    return abs(one - other) <= _ROUNDED


def _is_same_box(one: Record, other: Record) -> bool:
    return all(map(is_same_number, one["bbox"], other["bbox"]))


def is_same_shape(one: Record, other: Record) -> bool:
    """Return whether two annotations have equal boxes, outlines and key points."""
    if not _is_same_box(one, other):
        return False
    return all(is_same_outline(one.get(key), other.get(key)) for key in GEOMETRY[1:])


def is_same_outline(one: Any, other: Any) -> bool:
    """Return whether two outlines are equal but for rounding; masks are if all pixels are.

    Examples
    --------
    >>> is_same_outline([[0, 0, 9, 0, 9, 9]], [[0, 0, 9.01, 0, 9, 9]]), is_same_outline(None, [])
    (True, True)
    """
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return all(map(is_same_outline, one, other))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= _ROUNDED_OUTLINE
    return bool(one == other or not (one or other))


def recognised(sent: Sequence[Record], found: Sequence[Record], *, by_id: bool) -> list[int]:
    """Return which of the sent annotations of an image each found one is; -1 for none.

    An annotation is recognised by its id, else by its box if that is as it was, else by the largest
    IoU of at least 0.5 with one that is not yet recognised. The same category counts as much as an
    IoU that is larger by 0.2: two boxes that nearly coincide were moved rather than renamed.
    """
    result, left = [-1] * len(found), {*range(len(sent))}
    if by_id:
        at = {each["id"]: place for place, each in enumerate(sent) if "id" in each}
        for place, each in enumerate(found):
            own = at.get(each.get("id"), -1)
            if own in left:
                result[place] = own
                left.discard(own)
    iou = _overlaps(sent, found)
    pairs = []
    for a, one in enumerate(sent):
        for b, each in enumerate(found):
            is_same = _is_same_box(one, each)
            is_renamed = one["category"] != each["category"]
            if is_same or iou[a, b] >= _LEAST_IOU:
                score = 2.0 if is_same else iou[a, b] + _SAME_CATEGORY * (not is_renamed)
                pairs.append((-score, is_renamed, a, b))
    for *_, a, b in sorted(pairs):
        if a in left and result[b] < 0:
            result[b] = a
            left.discard(a)
    return result


def _overlaps(sent: Sequence[Record], found: Sequence[Record]) -> FloatArray:
    """Return the IoU of each sent box with each found one, (S, F) float64."""
    left, right = (
        corners(np.array([each["bbox"] for each in of], np.float64).reshape(-1, 4))
        for of in (sent, found)
    )
    pairs = np.repeat(left, len(right), 0), np.tile(right, (len(left), 1))
    return bbox_iou(*pairs).reshape(len(left), len(right))


def keeps_ids(sent: Sequence[Record], found: Sequence[Record]) -> bool:
    """Return whether the ids of an image can be those that were sent.

    A tool that numbers annotations anew gives the ids of some to others, which lie elsewhere.
    """
    iou = _overlaps(sent, found)
    at = {each["id"]: place for place, each in enumerate(sent) if "id" in each}
    for place, each in enumerate(found):
        own = at.get(each.get("id"))
        if own is not None and iou[own, place] < _LEAST_IOU and (iou[:, place] >= _LEAST_IOU).any():
            return False
    return True
