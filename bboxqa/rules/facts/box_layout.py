"""The layout of the boxes of a file, or of part of its images, where it is not COCO's."""

from dataclasses import dataclass, replace

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.blocks import rows_where
from bboxqa.core.text import count
from bboxqa.rules.facts.box_readings import Layout, Numbers
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import row_max, row_min
from bboxqa.rules.facts.image_evidence import of_images
from bboxqa.rules.facts.image_extents import inside, sized_boxes
from bboxqa.rules.facts.layout_evidence import (
    ENOUGH,
    Evidence,
    of_areas,
    of_outlines,
    outlines_agree,
)

# Shares of boxes or images that may contradict a layout, or must support it.
_MANY = 0.2
_NEARLY_ALL = 0.95
# A layout in part of the images is not judged from fewer of them.
_ENOUGH_IMAGES = 3
# Images with shorter sides, in pixels, may have boxes that small.
_LARGER_THAN = {1.0: 4.0, 100.0: 250.0, 1000.0: 1250.0}
_SLACK = 0.01
# Numbers from 0 to 100 or 1000 may be pixels, unless they fill that range in many images.
_FILLED = 0.9
_MANY_BOXES = 30


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """The probable layout of boxes that are not in COCO's.

    Attributes
    ----------
    layout : Layout
    rows : (H,) int64
        The annotations whose boxes are valid in this layout.
    bbox : (H, 4) float64
        These boxes in COCO's layout: x, y, width, height in pixels.
    evidence : str
        The numbers of boxes that support the diagnosis, in words.
    concerned : (N,) bool
        The annotations of the images whose boxes are in this layout.
    where : str
        These images in words; "" for all.
    is_certain : bool
        False where x and y may be swapped.
    """

    layout: Layout
    rows: IndexArray
    bbox: FloatArray
    evidence: str
    concerned: BoolArray
    where: str = ""
    is_certain: bool = True


def diagnose(document: Document) -> Diagnosis | None:
    """Return the layout of boxes that are not in COCO's; None where all are, or none is certain.

    The outlines decide where there are any; then areas, the range of the numbers, and the images
    that boxes extend beyond.
    """
    with np.errstate(all="ignore"):
        parts = _of_range(document, 1.0)
        if parts is not None:
            return parts
        evidence = of_outlines(document)
        found = None if evidence is None else _judged(document, evidence)
        if found is not None or outlines_agree(document):
            return found
        for evidence in of_areas(document):
            found = _judged(document, evidence)
            if found is not None:
                return found
        for unit in (100.0, 1000.0):
            found = _of_range(document, unit)
            if found is not None:
                return found
        for evidence in of_images(document):
            found = _judged(document, evidence)
            if found is not None:
                return found
    return None


def in_other_layout(document: Document) -> BoolArray:
    """Return (N,) bool: the annotations of images whose boxes are in another layout than COCO's."""
    diagnosis = document.once(diagnose)
    if diagnosis is None:
        return np.zeros(len(document.annotations), np.bool_)
    return diagnosis.concerned


def _judged(document: Document, evidence: Evidence) -> Diagnosis | None:
    """Return the diagnosis of all boxes, or of those of some images; None without either."""
    if evidence.is_enough:
        return _diagnosis(document, evidence, np.ones(len(document.annotations), np.bool_))
    if not evidence.may_be_part:
        return None
    images = _images_of(document, evidence)
    if images is None:
        return None
    where = f"in {int(images.sum()):,} of {count(len(images), 'image')}"
    concerned = np.append(images, False)[document.image]
    return replace(_diagnosis(document, evidence, concerned), where=where)


def _images_of(document: Document, evidence: Evidence) -> BoolArray | None:
    """Return (I,) bool: the images whose boxes all support the layout; None if these are few.

    Images that most boxes support and none contradicts. Where images are the evidence, the ones
    between them in the file are included unless they contradict it.
    """
    n_images = len(document.images)
    linked = document.image >= 0

    def number(rows: BoolArray) -> IndexArray:
        return np.bincount(document.image[rows & linked], minlength=n_images)

    speaks, against = number(evidence.speaks), number(evidence.against)
    images: BoolArray = (speaks > 0) & (against == 0)
    n_speaks = int(speaks[images].sum())
    known = int(number(evidence.known)[images].sum())
    if images.sum() < _ENOUGH_IMAGES or n_speaks < evidence.least:
        return None
    if 2 * n_speaks <= known or n_speaks < (1 - _MANY) * speaks.sum():
        return None
    if evidence.fills_gaps:
        first, last = np.flatnonzero(images)[[0, -1]]
        between = slice(first, last + 1)
        if images[between].mean() > 1 - _MANY and not against[between].any():
            images[between] = True
    return images


def _diagnosis(document: Document, evidence: Evidence, concerned: BoolArray) -> Diagnosis:
    """Return the diagnosis of the boxes that are valid in a layout and not sound in COCO's."""
    layout = evidence.layout
    read = layout.sound(document.annotations.bbox, document.size)
    valid = (row_min(read[:, 2:]) > 0) & np.isfinite(read.sum(axis=1))
    rows = np.flatnonzero(valid & concerned & ~evidence.sound)
    text, is_certain = evidence.text(concerned), evidence.is_certain
    return Diagnosis(layout, rows, read[rows], text, concerned, is_certain=is_certain)


def _of_range(document: Document, unit: float) -> Diagnosis | None:
    """Return the diagnosis of boxes whose numbers lie between 0 and `unit` in larger images."""
    bbox, size = document.annotations.bbox, document.size
    n_rows, stop = len(bbox), unit * (1 + _SLACK)
    sized = document.has_box & rows_where(
        n_rows, lambda rows: row_min(size[rows]) >= _LARGER_THAN[unit]
    )
    within = sized & rows_where(
        n_rows,
        lambda rows: (row_min(bbox[rows]) >= -_SLACK * unit) & (row_max(bbox[rows]) <= stop),
    )
    if not within.any():
        return None
    if unit == 1.0 and within.sum() < _NEARLY_ALL * sized.sum():
        return _of_unit_images(document, sized, within)
    rows, total = np.flatnonzero(within), int(sized.sum())
    if len(rows) < _NEARLY_ALL * total or not _is_unit(document, rows, unit):
        return None
    evidence = f"{len(rows):,} of {total:,} lie between 0 and {unit:g}, and their images are larger"
    return _in_units(document, rows, unit, evidence, np.ones(n_rows, np.bool_))


def _is_unit(document: Document, rows: IndexArray, unit: float) -> bool:
    """Return whether numbers in the range of a unit are hardly pixels."""
    bbox = document.annotations.bbox[rows]
    is_fraction = (bbox % 1 != 0).any(axis=1)
    if unit == 1.0:
        # Boxes of zeros and ones only may be in pixels.
        return bool(is_fraction.any())
    if len(rows) < _MANY_BOXES or len(np.unique(document.image[rows])) < _MANY_BOXES // 3:
        return False
    # Tools write percent with decimals; models write thousandths without.
    if unit == 100.0 and 2 * is_fraction.sum() <= len(rows):
        return False
    stop = bbox[:, :2] + bbox[:, 2:]
    filled = (stop.max(axis=0) >= _FILLED * unit).all()
    return bool(filled and (stop <= unit * (1 + _SLACK)).mean() >= _NEARLY_ALL)


def _of_unit_images(document: Document, sized: BoolArray, within: BoolArray) -> Diagnosis | None:
    """Return the diagnosis of images whose boxes all lie between 0 and 1; None for a few."""
    bbox, n_images = document.annotations.bbox, len(document.images)
    whole = np.bincount(document.image[sized & ~within], minlength=n_images)
    images = (np.bincount(document.image[within], minlength=n_images) > 0) & (whole == 0)
    concerned = np.append(images, False)[document.image]
    rows = np.flatnonzero(concerned & within)
    fractions = (bbox[rows] % 1 != 0).any(axis=1)
    if images.sum() < _ENOUGH_IMAGES or len(rows) < ENOUGH or 2 * fractions.sum() <= len(rows):
        return None
    text = f"{len(rows):,} of them lie between 0 and 1, and their images are larger"
    found = _in_units(document, rows, 1.0, text, concerned)
    where = f"in {int(images.sum()):,} of {count(n_images, 'image')}"
    return replace(found, where=where)


def _in_units(
    document: Document, rows: IndexArray, unit: float, evidence: str, concerned: BoolArray
) -> Diagnosis:
    layout = Layout(Numbers.SIDES, unit=unit)
    read = layout.read(document.annotations.bbox[rows], document.size[rows])
    return Diagnosis(layout, rows, read, evidence, concerned)


def swapped_images(document: Document) -> BoolArray:
    """Return (I,) bool: the images whose width and height look swapped.

    All False unless the swap would bring the boxes inside in nearly all of these images.
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
