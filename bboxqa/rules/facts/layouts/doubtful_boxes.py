"""Annotations whose numbers cannot be trusted, and images whose sides look swapped."""

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.blocks import rows_where
from bboxqa.geometry.kernels.boxes import from_corners
from bboxqa.rules.facts.boxes import has_size, inside, sized_boxes
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layouts.box_layout import diagnose, in_other_layout
from bboxqa.rules.facts.layouts.layout_evidence import ENOUGH
from bboxqa.rules.facts.layouts.layout_parts import ENOUGH_IMAGES

# If at least this share of boxes or images is wrong, all are in doubt.
_MANY = 0.2


def swapped_images(document: Document) -> BoolArray:
    """Return the images whose width and height look swapped, (I,) bool.

    All are False unless swapping brings the boxes inside in nearly all of these images.
    """
    n_images = len(document.images)
    none = np.zeros(n_images, np.bool_)
    bbox, size = document.annotations.bbox, document.size
    sized = sized_boxes(document) & ~document.once(in_other_layout)
    with np.errstate(all="ignore"):
        outside = sized & ~rows_where(len(bbox), lambda rows: inside(bbox[rows], size[rows]))
        if outside.sum() < ENOUGH:
            return none
        still = sized & ~rows_where(len(bbox), lambda rows: inside(bbox[rows], size[rows][:, ::-1]))
    image = document.image[outside]
    leaves = np.bincount(image, minlength=n_images) > 0
    cured = leaves & (np.bincount(document.image[still], minlength=n_images) == 0)
    enough = cured[image].sum() >= ENOUGH
    return cured if enough and cured.sum() >= (1 - _MANY) * leaves.sum() else none


def doubtful_boxes(document: Document) -> BoolArray:
    """Return the annotations whose boxes may all be wrong, (N,) bool.

    Fixes do not compute numbers from such boxes, or adapt numbers to them.
    """
    return document.once(in_other_layout) | document.once(in_doubtful_pixels)


def in_doubtful_pixels(document: Document) -> BoolArray:
    """Return the annotations whose numbers may not be pixels of their image, (N,) bool.

    Boxes are in another unit or scale, image sizes look swapped, or so many boxes or outlines
    extend beyond some or all images that either is likely. Outlines are in doubt as well.
    """
    image, n_images = document.image, len(document.images)
    bbox, size, bounds = document.annotations.bbox, document.size, document.outline_bounds
    diagnosis, other = document.once(diagnose), document.once(in_other_layout)
    doubtful: BoolArray = np.append(document.once(swapped_images), False)[image]
    if diagnosis is not None and diagnosis.layout.is_scaled:
        doubtful |= other
    sized = document.once(sized_boxes) & ~other
    outside = sized & ~rows_where(len(bbox), lambda rows: inside(bbox[rows], size[rows]))
    outlined = document.once(has_size) & ~np.isnan(bounds[:, 0])
    if outlined.any():
        outside |= outlined & ~rows_where(
            len(bbox), lambda rows: inside(from_corners(bounds[rows]), size[rows])
        )
        sized |= outlined
    if outside.sum() < ENOUGH:
        return doubtful
    if outside.sum() >= _MANY * sized.sum():
        return np.ones(len(bbox), np.bool_)
    n_outside = np.bincount(image[outside], minlength=n_images)
    images = (n_outside > 0) & (n_outside >= _MANY * np.bincount(image[sized], minlength=n_images))
    if images.sum() >= ENOUGH_IMAGES and n_outside[images].sum() >= ENOUGH:
        doubtful |= np.append(images, False)[image]
    return doubtful
