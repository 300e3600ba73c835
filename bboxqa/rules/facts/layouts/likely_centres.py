"""Images whose boxes probably start at their centre, although nothing proves it."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.rules.facts.boxes import boxes_of, sized_boxes
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layouts.box_layout import diagnose
from bboxqa.rules.facts.layouts.cut_objects import (
    images_of_centres,
    lie_inside,
    slightly_beyond,
)
from bboxqa.rules.facts.layouts.layout_evidence import ENOUGH
from bboxqa.rules.facts.layouts.layout_parts import ENOUGH_IMAGES

# The least share of boxes beyond their images that this has to explain.
_NEARLY_ALL = 0.8
# The least share of the side by which half of the boxes extend beyond their image.
_FAR = 0.1
# The largest mean distance of the first two numbers from other boxes' centres, relative to images.
_SHIFT = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class LikelyCentres:
    """The images whose boxes probably start at their centre.

    Attributes
    ----------
    rows : (H,) int64
        The annotations with a box in these images.
    n_beyond : int
        Number of them that extend beyond their image as x, y, width, height.
    n_images : int
    """

    rows: IndexArray
    n_beyond: int
    n_images: int


def likely_centres(document: Document) -> LikelyCentres | None:
    """Return the images whose boxes probably start at their centre; None if there are none.

    Several boxes extend far beyond the right or lower edge, and none beyond the other edges.
    """
    if document.once(diagnose) is not None:
        return None
    boxes = document.once(boxes_of)
    sized = sized_boxes(boxes)
    all_beyond = sized & ~lie_inside(boxes)
    images = images_of_centres(boxes, sized, all_beyond)
    concerned: BoolArray = sized & np.append(images, False)[boxes.image]
    beyond = concerned & all_beyond
    if images.sum() < ENOUGH_IMAGES or beyond.sum() < max(ENOUGH, _NEARLY_ALL * all_beyond.sum()):
        return None
    bbox, size = boxes.bbox, boxes.size
    over = ((bbox[:, :2] + bbox[:, 2:] - size) / bbox[:, 2:])[beyond]
    # Boxes beyond only one edge may have another reason, such as a conveyor belt or a screen.
    if np.median(over.max(axis=1)) < _FAR or (over <= 0).all(axis=0).any():
        return None
    if _shift(document, concerned, sized & ~concerned) > _SHIFT:
        return None
    slightly = sized & slightly_beyond(boxes)
    images |= images_of_centres(boxes, sized, slightly)
    concerned = sized & np.append(images, False)[boxes.image]
    n_beyond = int((concerned & slightly).sum())
    return LikelyCentres(np.flatnonzero(concerned), n_beyond, int(images.sum()))


def _shift(document: Document, concerned: BoolArray, others: BoolArray) -> float:
    """Return the mean distance of the first two numbers of boxes from other boxes' centres."""
    if not others.any():
        return 0.0
    bbox, size = document.annotations.bbox, document.size
    at = (bbox[concerned, :2] / size[concerned]).mean(axis=0)
    centre = bbox[others, :2] + bbox[others, 2:] / 2
    return float(np.abs(at - (centre / size[others]).mean(axis=0)).max())
