"""Images whose boxes all lie in the upper left quarter, as if they were halved."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.text import count
from bboxqa.rules.facts.boxes import boxes_of, sized_boxes
from bboxqa.rules.facts.document import Document

# All boxes are judged if there are so many images and boxes; either pair is enough.
_ENOUGH = ((30, 100), (10, 200))
# The least share of boxes in the quarter.
_NEARLY_ALL = 0.98
# Part of the images is judged by images with at least so many boxes, all of them in the quarter.
_OF_IMAGE = 3
# There must be so many of these images, and so many times as many as with all boxes in the upper
# right quarter, which is chance.
_OF_PART, _MORE = 5, 5
# Halved boxes reach this far to the right and down, as a share of the side of the image.
_REACH = 0.47
# Doubled, they must be spread like the boxes of other images, up to this factor,
_APART = 1.4
# and lie about the same place, up to this share of the side of an image.
_ELSEWHERE = 0.12
# As they are, their sides must be at most this share of those of other images.
_SMALLER = 0.75
# Rounding, as a share of the side of an image.
_SLACK = 0.005


@dataclass(frozen=True, slots=True, eq=False)
class Quarter:
    """The images whose boxes all lie in the upper left quarter.

    Attributes
    ----------
    concerned : (N,) bool
        The annotations of these images.
    boxes : str
        A phrase for the boxes that lie there.
    images : str
        A phrase for these images.
    right : str
        The number of images with all boxes in the upper right quarter; "" if all images are
        affected.
    """

    concerned: BoolArray
    boxes: str
    images: str
    right: str = ""


def in_quarter(document: Document) -> Quarter | None:
    """Return the images whose boxes all lie in the upper left quarter; None if by chance."""
    sized = sized_boxes(document.once(boxes_of))
    rows = np.flatnonzero(sized)
    image = document.image[rows]
    drawn = np.bincount(image, minlength=len(document.images))
    sides = np.hstack([document.size[rows]] * 2)
    parts = document.annotations.bbox[rows] / sides
    parts[:, 2:] += parts[:, :2]
    left, right = _in_upper(parts)
    n_images = int((drawn > 0).sum())
    are_many = any(n_images >= images and len(rows) >= boxes for images, boxes in _ENOUGH)
    if are_many and left.mean() >= _NEARLY_ALL:
        n_left, total = int(left.sum()), len(rows)
        boxes = f"all {total:,}" if n_left == total else f"{n_left:,} of {total:,}"
        return Quarter(sized, boxes, f"{n_images:,} images")
    on_left, on_right = (
        (np.bincount(image[inside], minlength=len(drawn)) == drawn) & (drawn >= _OF_IMAGE)
        for inside in (left, right)
    )
    if on_left.sum() < max(_OF_PART, _MORE * (on_right.sum() + 1)):
        return None
    if not _is_halved(parts[on_left[image]], parts[~on_left[image]]):
        return None
    sized[rows] = on_left[image]
    images = f"{int(on_left.sum()):,} of {count(n_images, 'image')}"
    return Quarter(sized, f"all {int(sized.sum()):,}", images, f"{int(on_right.sum()):,}")


def _in_upper(parts: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return which boxes are in the upper left, and which in the upper right quarter."""
    upper = parts[:, 3] <= 0.5 + _SLACK
    return upper & (parts[:, 2] <= 0.5 + _SLACK), upper & (parts[:, 0] >= 0.5 - _SLACK)


def _is_halved(some: FloatArray, others: FloatArray) -> bool:
    """Return whether boxes, doubled, resemble the others; both relative to their images."""
    if len(others) < _OF_PART or (some[:, 2:].max(axis=0) < _REACH).any():
        return False
    centre, of_others = (some[:, :2] + some[:, 2:]) / 2, (others[:, :2] + others[:, 2:]) / 2
    apart = 2 * centre.std(axis=0) / of_others.std(axis=0)
    shift = np.abs(2 * centre.mean(axis=0) - of_others.mean(axis=0))
    sides, other_sides = (np.median(x[:, 2:] - x[:, :2], axis=0) for x in (some, others))
    like = (apart <= _APART) & (apart >= 1 / _APART) & (shift <= _ELSEWHERE)
    return bool((like & (sides <= _SMALLER * other_sides)).all())
