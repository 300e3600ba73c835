"""Diagnosing boxes of a file, or of part of its images, that are not in COCO's layout."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.rules.facts.boxes import Boxes, boxes_of, inside
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import row_min
from bboxqa.rules.facts.layouts.area_evidence import of_areas
from bboxqa.rules.facts.layouts.box_habits import of_habits
from bboxqa.rules.facts.layouts.box_readings import COCO, Layout, Numbers
from bboxqa.rules.facts.layouts.cut_objects import of_cut_objects
from bboxqa.rules.facts.layouts.image_evidence import of_images
from bboxqa.rules.facts.layouts.layout_evidence import (
    ENOUGH,
    Evidence,
    distances,
    of_outlines,
    outlines_agree,
    outlines_contradict,
)
from bboxqa.rules.facts.layouts.layout_parts import (
    ENOUGH_IMAGES,
    groupings,
    improbable_run,
    parts_of,
)

# The least share of boxes that must support a layout.
_NEARLY_ALL = 0.95
# By unit, the least side of an image in pixels: numbers up to 1, 100 or 1000 may be pixels of
# smaller images.
_LARGER_THAN = {1.0: 4.0, 100.0: 250.0, 1000.0: 1250.0}
# How far numbers may leave the range from 0 to the unit, as a share of it.
_SLACK = 0.01
# Numbers up to 100 or 1000 may be pixels, unless they fill this share of the range in many images.
_FILLED = 0.9
# Read as pixels, such boxes lie in this upper left part of larger images.
_ABOVE_LEFT = 0.42
# So many boxes show whether the range is filled.
_MANY_BOXES = 30
# The standard deviation of positions in percent or thousandths, as a share of the unit, at least.
_SPREAD = 0.1
# If at least this share of boxes is in the upper left quarter, they may be halved.
_QUARTER = 0.98
# Boxes of which x and y are exchanged; so are the bounds of outlines with y before x.
_TURNED = Layout(Numbers.SIDES, (1, 0, 3, 2))

EXPECTED_LAYOUT = "x, y, width, height in pixels"


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """The probable layout of boxes that are not in COCO's layout.

    Attributes
    ----------
    layout : Layout
    rows : (H,) int64
        The annotations whose boxes are valid in this layout.
    bbox : (H, 4) float64
        These boxes in COCO's layout: x, y, width, height in pixels.
    evidence : str
        A phrase with the numbers of boxes that support the diagnosis.
    concerned : (N,) bool
        The annotations of images whose boxes are in this layout.
    where : str
        A phrase for these images; "" for all images.
    doubt : str
        Another possible cause, as an addition to the message; "" if the diagnosis is certain.
    """

    layout: Layout
    rows: IndexArray
    bbox: FloatArray
    evidence: str
    concerned: BoolArray
    where: str = ""
    doubt: str = ""

    @property
    def code(self) -> str:
        """The code of the rule that reports the layout."""
        layout = self.layout
        if layout.unit:
            return "B007"
        if layout.scale != (1, 1):
            return "B013"
        return "B006" if layout.numbers is Numbers.CENTRE else "B005"

    @property
    def message(self) -> str:
        """The message of the finding."""
        where = f" {self.where}" if self.where else ""
        return (
            f"boxes{where} look like {self.layout}{self.doubt}: {self.evidence}; "
            f"expected {EXPECTED_LAYOUT}"
        )


def diagnose(document: Document) -> Diagnosis | None:
    """Return the diagnosis of a document's boxes; see `layout_of`."""
    return layout_of(document.once(boxes_of))


def layout_of(boxes: Boxes) -> Diagnosis | None:
    """Return the layout of boxes that are not in COCO's layout; None if all are, or if unclear.

    Outlines decide if there are any, then areas, the range of the numbers, and the images that
    boxes extend beyond.
    """
    with np.errstate(all="ignore"):
        return next(_diagnoses(boxes), None)


def _diagnoses(boxes: Boxes) -> Iterator[Diagnosis]:
    """Yield the diagnoses from outlines, areas, ranges and images, in this order."""
    yield from _of_range(boxes, 1.0)
    apart = distances(boxes)
    if apart is not None:
        yield from _judged(boxes, of_outlines(boxes, apart))
        if outlines_agree(apart):
            return
    for found in chain(
        _judged(boxes, of_areas(boxes)),
        _of_range(boxes, 100.0),
        _of_range(boxes, 1000.0),
        _judged(boxes, of_images(boxes)),
        _judged(boxes, of_cut_objects(boxes)),
        _judged(boxes, of_habits(boxes)),
    ):
        if not outlines_contradict(boxes, found.layout, found.concerned):
            yield found


def lie_elsewhere(document: Document) -> bool:
    """Return whether most boxes lie elsewhere than their outlines in every known layout."""
    return outlines_contradict(document.once(boxes_of), COCO, ~document.once(in_other_layout))


def in_other_layout(document: Document) -> BoolArray:
    """Return the annotations of images whose boxes are not in COCO's layout, (N,) bool."""
    diagnosis, n = document.once(diagnose), len(document.annotations)
    return np.zeros(n, np.bool_) if diagnosis is None else diagnosis.concerned


def _judged(boxes: Boxes, found: Iterable[Evidence]) -> Iterator[Diagnosis]:
    """Yield the diagnosis of all boxes, or of the boxes of some annotators or images."""
    for evidence in found:
        if evidence.is_enough:
            yield _diagnosis(boxes, evidence, np.ones(len(boxes), np.bool_))
        for grouping, part in parts_of(boxes, evidence):
            yield _diagnosis(boxes, evidence, grouping.rows(part), grouping.where(part))


def _diagnosis(
    boxes: Boxes, evidence: Evidence, concerned: BoolArray, where: str = ""
) -> Diagnosis:
    """Return the diagnosis of the boxes that are valid in a layout but not in COCO's."""
    layout = evidence.layout
    read = layout.sound(boxes.bbox, boxes.size)
    valid = (row_min(read[:, 2:]) > 0) & np.isfinite(read.sum(axis=1))
    rows = np.flatnonzero(valid & concerned & ~evidence.sound)
    doubt = "" if evidence.is_certain else ", or with y before x"
    is_possible = not _leave(boxes.bbox[rows], boxes.size[rows])
    if is_possible and _leave(read[rows], boxes.size[rows]):
        doubt = ", unless their outlines are wrong"
    elif is_possible and layout == _TURNED and evidence.beside == "outlines":
        # Images that are as wide as high do not tell which of the two is turned.
        doubt = ", unless their outlines have y before x"
    elif is_possible and max(layout.scale) > 1:
        doubt = f", unless their {evidence.beside} are wrong, as boxes lie inside their images"
    if evidence.other_cause:
        doubt = f", unless {evidence.other_cause}"
    text = evidence.text(concerned)
    return Diagnosis(layout, rows, read[rows], text, concerned, where, doubt)


def _leave(bbox: FloatArray, size: FloatArray) -> bool:
    """Return whether more than a few boxes exceed their images, or are smaller than a pixel."""
    wrong = ~inside(bbox, size) | (row_min(bbox[:, 2:]) < 1)
    return bool(wrong.sum() > (1 - _NEARLY_ALL) * len(bbox))


def _of_range(boxes: Boxes, unit: float) -> Iterator[Diagnosis]:
    """Yield the diagnosis of boxes whose numbers lie between 0 and `unit` in larger images."""
    sized = boxes.has_box & (boxes.shorter_side >= _LARGER_THAN[unit])
    within = sized & (boxes.largest <= unit * (1 + _SLACK))
    rows = np.flatnonzero(within)
    rows = rows[row_min(boxes.bbox[rows]) >= -_SLACK * unit]
    total = int(sized.sum())
    if len(rows) == 0:
        return
    if len(rows) >= _NEARLY_ALL * total:
        if _is_unit(boxes, rows, unit):
            text = f"{len(rows):,} of {total:,} lie between 0 and {unit:g}, "
            text += "and their images are larger"
            yield _in_units(boxes, rows, unit, text, np.ones(len(boxes), np.bool_))
    else:
        within[:] = False
        within[rows] = True
        yield from _unit_parts(boxes, unit, sized, within)


def _is_unit(boxes: Boxes, rows: IndexArray, unit: float) -> bool:
    """Return whether numbers in the range of a unit are probably not pixels."""
    bbox = boxes.bbox[rows]
    is_fraction = (bbox % 1 != 0).any(axis=1)
    if unit == 1.0:
        # Boxes that consist only of zeros and ones may be in pixels.
        return bool(is_fraction.any())
    if len(rows) < _MANY_BOXES or len(np.unique(boxes.image[rows])) < _MANY_BOXES // 3:
        return False
    # Tools write percentages with decimals, whereas models write thousandths without.
    if unit == 100.0 and 2 * is_fraction.sum() <= len(rows):
        return False
    stop = bbox[:, :2] + bbox[:, 2:]
    filled = (stop.max(axis=0) >= _FILLED * unit).all()
    centre = (bbox[:, :2] + stop) / 2 / boxes.size[rows]
    filled &= (centre.mean(axis=0) <= _ABOVE_LEFT).all()
    return bool(filled and (stop <= unit * (1 + _SLACK)).mean() >= _NEARLY_ALL)


def _unit_parts(
    boxes: Boxes, unit: float, sized: BoolArray, within: BoolArray
) -> Iterator[Diagnosis]:
    """Yield the diagnosis of annotators or images whose boxes all lie between 0 and `unit`."""
    for grouping in groupings(boxes):
        drawn = grouping.number(sized) > 0
        groups = drawn & (grouping.number(sized & ~within) == 0)
        if grouping.names is None and unit > 1:
            groups = improbable_run(groups, drawn)
        if grouping.names is None and unit > 1 and groups.sum() < ENOUGH_IMAGES:
            continue
        concerned = grouping.rows(groups)
        rows = np.flatnonzero(concerned & within)
        if len(rows) < ENOUGH:
            continue
        fractions = (boxes.bbox[rows] % 1 != 0).any(axis=1)
        if unit == 1:
            is_unit = 2 * int(fractions.sum()) > len(rows)
        else:
            # A still object in a video is at the same place in all images.
            spread = boxes.bbox[rows, :2].std(axis=0) >= _SPREAD * unit
            is_unit = bool(spread.all()) and _is_unit(boxes, rows, unit)
        if is_unit:
            text = f"{len(rows):,} of them lie between 0 and {unit:g}, and their images are larger"
            yield _in_units(boxes, rows, unit, text, concerned, grouping.where(groups))


def _in_units(
    boxes: Boxes, rows: IndexArray, unit: float, text: str, concerned: BoolArray, where: str = ""
) -> Diagnosis:
    layout = Layout(Numbers.SIDES, unit=unit)
    bbox, size = boxes.bbox[rows], boxes.size[rows]
    # In images of 2,000 or more pixels, halved boxes also have numbers up to 1,000 or more.
    is_in_quarter = (
        unit == 1000 and (corners(bbox)[:, 2:] <= size / 2).all(axis=1).mean() >= _QUARTER
    )
    doubt = ", or scaled by 0.5" if is_in_quarter else ""
    return Diagnosis(layout, rows, layout.read(bbox, size), text, concerned, where, doubt)
