"""Annotations whose numbers cannot be trusted, and images whose sides look swapped."""

from collections.abc import Callable

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.blocks import rows_where
from bboxqa.geometry.kernels.boxes import from_corners
from bboxqa.rules.facts.boxes import has_size, inside, sized_boxes
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import row_max, row_min
from bboxqa.rules.facts.layouts.box_layout import diagnose, in_other_layout
from bboxqa.rules.facts.layouts.layout_evidence import ENOUGH
from bboxqa.rules.facts.layouts.layout_parts import ENOUGH_IMAGES

# If at least this share of boxes or images is wrong, all are in doubt.
_MANY = 0.2


def swapped_images(document: Document) -> BoolArray:
    """Return the images whose width and height look swapped, (I,) bool.

    Swapping must bring all boxes inside in nearly all images that boxes leave. As people draw boxes
    beyond the edges of images, it is enough to bring inside nearly all boxes whose centres are
    outside.
    """
    image, n_images = document.image, len(document.images)
    leave, still = _leaving(document, inside)
    leaves, cured = np.zeros((2, n_images), np.bool_)
    leaves[image[leave]] = cured[image[leave]] = True
    cured[image[still]] = False
    enough = cured[image[leave]].sum() >= ENOUGH
    if not enough or cured.sum() < (1 - _MANY) * leaves.sum():
        cured[:] = False
    leave, still = _leaving(document, _is_centre_inside)
    n_leave, n_still = (np.bincount(image[each], minlength=n_images) for each in (leave, still))
    by_centre = n_leave > 2 * n_still
    n_cured = (n_leave - n_still)[by_centre].sum()
    is_proof = n_cured >= max(2 * ENOUGH, (1 - _MANY) * len(leave))
    return cured | by_centre if is_proof else cured


def _is_centre_inside(bbox: FloatArray, size: FloatArray) -> BoolArray:
    centre = bbox[:, :2] + bbox[:, 2:] / 2
    result: BoolArray = (row_min(centre) >= 0) & (row_max(centre - size) <= 0)
    return result


def _leaving(
    document: Document, is_inside: Callable[[FloatArray, FloatArray], BoolArray]
) -> tuple[IndexArray, IndexArray]:
    """Return the annotations that are not inside their images, as they are and after a swap."""
    bbox, size = document.annotations.bbox, document.size
    sized = sized_boxes(document) & ~document.once(in_other_layout)
    with np.errstate(all="ignore"):
        leave = sized & ~rows_where(len(bbox), lambda rows: is_inside(bbox[rows], size[rows]))
        if not leave.any():
            return np.flatnonzero(leave), np.flatnonzero(leave)
        still = sized & ~rows_where(
            len(bbox), lambda rows: is_inside(bbox[rows], size[rows][:, ::-1])
        )
    return np.flatnonzero(leave), np.flatnonzero(still)


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
