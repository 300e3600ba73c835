"""The layout of all boxes of a file: COCO's, corners, centres, or parts of the image."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.blocks import blocks, rows_where
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import overshoot, row_max, row_min

# Boxes needed for a diagnosis, unless the file has fewer.
_ENOUGH = 5
# How far boxes drawn by hand may extend beyond their image or differ from their outline.
_PART_OF_SIDE = 0.02
_PIXELS = 2.0
# Shares of boxes that must support a layout, or may contradict it.
_MOST = 0.5
_MANY = 0.2
_NEARLY_ALL = 0.95
_FEW = 0.1
# Images with shorter sides, in pixels, may have boxes smaller than 1 pixel.
_LARGER_THAN_ONE = 4.0
_UNIT = (-0.01, 1.01)


class Layout(StrEnum):
    """What the four numbers of a box are."""

    CORNERS = "x1, y1, x2, y2"
    CENTRE = "centre-x, centre-y, width, height"
    NORMALISED = "parts of the image (0 to 1)"


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """The probable layout of the boxes of a file, where it is not COCO's.

    Attributes
    ----------
    layout : Layout
    rows : (H,) int64
        The annotations whose boxes are valid in this layout.
    bbox : (H, 4) float64
        These boxes in COCO's layout: x, y, width, height in pixels.
    evidence : str
        The numbers of boxes that support the diagnosis, in words.
    """

    layout: Layout
    rows: IndexArray
    bbox: FloatArray
    evidence: str


def _read(bbox: FloatArray, layout: Layout | None) -> FloatArray:
    """Return boxes of a layout as x, y, width, height; None is COCO's layout."""
    if layout is None:
        return bbox
    first, second = bbox[:, :2], bbox[:, 2:]
    if layout is Layout.CORNERS:
        return np.hstack([first, second - first])
    return np.hstack([first - second / 2, second])


def diagnose(document: Document) -> Diagnosis | None:
    """Return the layout of the boxes of a file; None where it is COCO's, or not certain.

    The outlines decide where there are any, otherwise the images that boxes extend beyond.
    """
    with np.errstate(all="ignore"):
        normalised = _normalised(document)
        if normalised is not None:
            return normalised
        plain, known = _fits(document, None)
        by_outlines = _by_outlines(document, plain, known)
        if by_outlines is not None or 2 * plain.sum() > max(known.sum(), 1):
            return by_outlines
        return _by_images(document, plain)


def _normalised(document: Document) -> Diagnosis | None:
    bbox, size = document.annotations.bbox, document.size
    sized = document.has_box & rows_where(
        len(bbox), lambda rows: row_min(size[rows]) >= _LARGER_THAN_ONE
    )
    unit = sized & rows_where(
        len(bbox),
        lambda rows: (row_min(bbox[rows]) >= _UNIT[0]) & (row_max(bbox[rows]) <= _UNIT[1]),
    )
    rows, total = np.flatnonzero(unit), int(sized.sum())
    if len(rows) == 0 or len(rows) < _NEARLY_ALL * total:
        return None
    # Boxes of zeros and ones only may be in pixels.
    if not (bbox[rows] % 1 != 0).any():
        return None
    evidence = f"{len(rows):,} of {total:,} lie between 0 and 1, and their images are larger"
    return Diagnosis(
        Layout.NORMALISED, rows, bbox[rows] * np.tile(document.size[rows], 2), evidence
    )


def _fits(document: Document, layout: Layout | None) -> tuple[BoolArray, BoolArray]:
    """Return where boxes of a layout are the bounds of outlines, and where both exist."""
    bounds, written = document.outline_bounds, document.annotations.bbox
    fits, known = np.zeros((2, len(written)), np.bool_)
    if len(document.annotations.rings.row) == 0:
        return fits, known
    for rows in blocks(len(written)):
        apart = row_max(np.abs(corners(_read(written[rows], layout)) - bounds[rows]))
        known[rows] = document.has_box[rows] & np.isfinite(apart)
        fits[rows] = known[rows] & (apart <= _PIXELS)
    return fits, known


def _by_outlines(document: Document, plain: BoolArray, known: BoolArray) -> Diagnosis | None:
    """Return the layout in which most boxes are the bounds of their outlines."""
    n_boxes, n_outlined = document.has_box.sum(), int(known.sum())
    for layout in (Layout.CORNERS, Layout.CENTRE):
        fits = _fits(document, layout)[0]
        speaks, against = int((fits & ~plain).sum()), int((plain & ~fits).sum())
        enough = speaks >= _ENOUGH or (speaks > 0 and speaks == n_boxes)
        if enough and speaks > _MOST * n_outlined and against <= _FEW * speaks:
            evidence = (
                f"read this way, {speaks:,} of {n_outlined:,} are the bounds of their outlines, "
                "but not as x, y, width, height"
            )
            return _diagnosis(document, layout, plain & ~fits, evidence)
    return None


def _by_images(document: Document, plain: BoolArray) -> Diagnosis | None:
    """Return the layout in which boxes lie inside the images that they otherwise extend beyond."""
    bbox, size = document.annotations.bbox, document.size
    sized = _sized(document)
    total = int(sized.sum())
    if total < _ENOUGH:
        return None
    outside = sized & ~rows_where(len(bbox), lambda rows: _inside(bbox[rows], size[rows]))
    n_outside = int(outside.sum())
    for layout, share in ((Layout.CORNERS, _MOST), (Layout.CENTRE, _MANY)):
        if n_outside <= share * total:
            continue
        good = rows_where(len(bbox), partial(_good, document, layout))
        against = int((sized & ~good).sum())
        cured = int((outside & good).sum())
        if cured >= _NEARLY_ALL * n_outside and against <= min(
            (1 - _NEARLY_ALL) * total, _FEW * n_outside
        ):
            evidence = (
                f"as x, y, width, height, {n_outside:,} of {total:,} extend beyond their image; "
                f"read this way, {cured:,} of these lie inside"
            )
            return _diagnosis(document, layout, plain, evidence)
    return None


def _sized(document: Document) -> BoolArray:
    """Return which annotations have a box and an image of known size."""
    size = document.size
    return document.has_box & rows_where(
        len(size), lambda rows: ~np.isnan(size[rows, 0] + size[rows, 1])
    )


def _good(document: Document, layout: Layout, rows: slice) -> BoolArray:
    """Return which boxes of a layout have an area and lie inside their images."""
    read = _read(document.annotations.bbox[rows], layout)
    return (row_min(read[:, 2:]) > 0) & _inside(read, document.size[rows])


def _inside(bbox: FloatArray, size: FloatArray) -> BoolArray:
    """Return which boxes lie inside their images, up to the inaccuracy of drawing."""
    beyond = overshoot(bbox, size) - np.tile(_PART_OF_SIDE * size, 2)
    inside: BoolArray = row_max(beyond) <= _PIXELS
    return inside


def _diagnosis(document: Document, layout: Layout, sound: BoolArray, evidence: str) -> Diagnosis:
    """Return the diagnosis of all boxes that are valid in a layout and not sound in COCO's."""
    read = _read(document.annotations.bbox, layout)
    rows = np.flatnonzero((row_min(read[:, 2:]) > 0) & np.isfinite(read.sum(axis=1)) & ~sound)
    return Diagnosis(layout, rows, read[rows], evidence)


def swapped_images(document: Document) -> BoolArray:
    """Return (I,) bool: the images whose width and height look swapped.

    All False unless nearly all images that boxes extend beyond would hold them after a swap.
    """
    n_images = len(document.images)
    none = np.zeros(n_images, np.bool_)
    if document.once(diagnose) is not None:
        return none
    bbox, size, sized = document.annotations.bbox, document.size, _sized(document)
    with np.errstate(all="ignore"):
        outside = sized & ~rows_where(len(bbox), lambda rows: _inside(bbox[rows], size[rows]))
        if outside.sum() < _ENOUGH:
            return none
        still = sized & ~rows_where(
            len(bbox), lambda rows: _inside(bbox[rows], size[rows][:, ::-1])
        )
    image = document.image[outside]
    leaves = np.bincount(image, minlength=n_images) > 0
    cured = leaves & (np.bincount(document.image[still], minlength=n_images) == 0)
    enough = cured[image].sum() >= _ENOUGH
    return cured if enough and cured.sum() >= (1 - _MANY) * leaves.sum() else none
