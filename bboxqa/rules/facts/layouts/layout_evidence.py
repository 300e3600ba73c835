"""Evidence of outlines and areas for the layout of boxes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.blocks import blocks
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, from_corners
from bboxqa.rules.facts.boxes import Boxes, inside
from bboxqa.rules.facts.image_bounds import row_max, row_min
from bboxqa.rules.facts.layouts.box_readings import (
    COCO,
    PIXEL_LAYOUTS,
    SIZE_FIRST,
    Layout,
    Numbers,
    scaled_layout,
)

ENOUGH = 5
"""Number of boxes needed for a diagnosis, unless the file has fewer."""

MOST, NEARLY_ALL, FEW = 0.5, 0.95, 0.1
"""The least share of boxes that must support a layout, and the largest that may contradict it."""

# How far hand-drawn boxes may differ from their outline.
_PIXELS = 2.0
# The least IoU of a box that was drawn separately from its outline with the outline's bounds.
_SAME_PLACE = 0.5
# Number of boxes among which the best layout is searched.
_SAMPLE = 2000
# The relative tolerance of areas compared with the product of the sides.
_AREA = 1e-3
_AREA_OF_UNITS = 0.01
_UNITS = (0.0, 1.0, 100.0, 1000.0)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The boxes that support a layout, and the boxes that contradict it.

    Attributes
    ----------
    layout : Layout
    speaks, against, known : (N,) bool
        The boxes that are right only in this layout, the boxes that are wrong in it, and all boxes
        that can be judged. For outlines and areas, without those that are right in both layouts.
    sound : (N,) bool
        The boxes that are right as x, y, width, height but not in this layout.
    is_enough : bool
        Whether the evidence proves the layout of all boxes.
    text : callable
        Called with the annotations of the affected images; returns a phrase with the numbers.
    n_unexplained : int
        Number of boxes that are wrong both as x, y, width, height and in this layout.
    least : int
        Number of boxes that have to support the layout in part of the images.
    may_be_part : bool
        Whether the evidence is strong enough for part of the images.
    may_be_of_authors : bool
        Whether it is strong enough for some annotators, if boxes of others in the same images
        contradict it.
    fills_gaps : bool
        Whether boxes that may be right in both layouts are common.
    is_certain : bool
        Whether the evidence distinguishes x from y.
    beside : str
        The reference for the boxes: "outlines", "areas" or "images".
    other_cause : str
        Another explanation; "" if the layout is proved.
    images : (I,) bool or None
        The images whose boxes are in the layout, if only some are.
    """

    layout: Layout
    speaks: BoolArray
    against: BoolArray
    known: BoolArray
    sound: BoolArray
    is_enough: bool
    text: Callable[[BoolArray], str]
    n_unexplained: int = 0
    least: int = ENOUGH
    may_be_part: bool = True
    may_be_of_authors: bool = False
    fills_gaps: bool = False
    is_certain: bool = True
    beside: str = "images"
    other_cause: str = ""
    images: BoolArray | None = None


def _distance(bbox: FloatArray, bounds: FloatArray) -> FloatArray:
    return row_max(np.abs(corners(bbox) - bounds))


def distances(boxes: Boxes) -> FloatArray | None:
    """Return the distance of boxes from the bounds of their outlines, (N,); NaN for unknown.

    None if no outline is known.
    """
    if boxes.bounds is None:
        return None
    apart = np.full(len(boxes), np.nan)
    for rows in blocks(len(boxes)):
        apart[rows] = _distance(boxes.bbox[rows], boxes.bounds[rows])
    apart[~np.isfinite(apart)] = np.nan
    return apart


def outlines_agree(apart: FloatArray) -> bool:
    """Return whether most boxes, as x, y, width, height, are the bounds of their outlines."""
    return 2 * int((apart <= _PIXELS).sum()) > max(int(np.isfinite(apart).sum()), 1)


def outlines_contradict(boxes: Boxes, layout: Layout, concerned: BoolArray) -> bool:
    """Return whether boxes, read in a layout, lie elsewhere than their outlines."""
    if boxes.bounds is None:
        return False
    rows = np.flatnonzero(concerned & ~np.isnan(boxes.bounds[:, 0]))
    rows = rows[:: max(1, len(rows) // _SAMPLE)]
    if len(rows) < ENOUGH:
        return False
    read = layout.sound(boxes.bbox[rows], boxes.size[rows])
    return bool(np.median(bbox_iou(corners(read), boxes.bounds[rows])) < _SAME_PLACE)


def _fits(apart: FloatArray, before: FloatArray, layout: Layout) -> BoolArray:
    """Return which boxes fit the bounds of their outlines in a layout, and not in COCO's."""
    limit = _PIXELS * max(1.0, *(1 / factor for factor in layout.scale))
    fits: BoolArray = (apart <= limit) & (2 * apart <= before)
    return fits


def of_outlines(boxes: Boxes, apart: FloatArray) -> Iterator[Evidence]:
    """Yield the evidence for the layout in which most boxes are the bounds of their outlines."""
    if boxes.bounds is None:
        return
    known = np.isfinite(apart)
    off = np.flatnonzero(known & ~(apart <= _PIXELS))
    n_boxes = int(boxes.has_box.sum())
    if len(off) == 0 or (len(off) < ENOUGH and len(off) < n_boxes):
        return
    some = off[:: max(1, len(off) // _SAMPLE)]
    layout = _best(boxes.bbox[some], boxes.size[some], boxes.bounds[some], apart[some])
    if layout is None:
        return
    bbox, size, bounds = boxes.bbox, boxes.size, boxes.bounds
    speaks = np.zeros(len(known), np.bool_)
    read = layout.sound(bbox[off], size[off])
    speaks[off] = _fits(_distance(read, bounds[off]), apart[off], layout)
    plain = known & (apart <= _PIXELS)
    at = np.flatnonzero(plain)
    both = np.zeros(len(known), np.bool_)
    both[at] = _distance(layout.sound(bbox[at], size[at]), bounds[at]) <= _PIXELS
    sound = plain & ~both
    n_speaks, n_known = int(speaks.sum()), int(known.sum())
    enough = n_speaks >= ENOUGH or (n_speaks > 0 and n_speaks == n_boxes)

    def text(concerned: BoolArray) -> str:
        return (
            f"read this way, {int((speaks & concerned).sum()):,} of "
            f"{int((known & concerned).sum()):,} are the bounds of their outlines, but not as "
            "x, y, width, height"
        )

    proof = enough and n_speaks > MOST * n_known and sound.sum() <= FEW * n_speaks
    yield Evidence(
        layout, speaks, sound, known & ~both, sound, proof, text, beside="outlines",
    )  # fmt: skip


def _best(
    bbox: FloatArray, size: FloatArray, bounds: FloatArray, apart: FloatArray
) -> Layout | None:
    """Return the layout in which most boxes are the bounds of their outlines."""
    truth = from_corners(bounds)
    scaled = scaled_layout(bbox, truth)
    candidates = [
        Layout(layout.numbers, layout.order, unit)
        for unit in _UNITS
        for layout in (*PIXEL_LAYOUTS[:7], *(() if unit else PIXEL_LAYOUTS[7:]))
    ]
    candidates += [Layout(Numbers.SIDES, unit=unit) for unit in _UNITS[1:]]
    # A few boxes may fit one of many layouts by chance.
    if len(bbox) < ENOUGH:
        candidates, scaled = [PIXEL_LAYOUTS[0], Layout(Numbers.CENTRE)], None
    best, most = None, (0, 0.0)
    for layout in (*candidates, *(() if scaled is None else (scaled,))):
        fits = _fits(_distance(layout.sound(bbox, size), bounds), apart, layout)
        score = int(fits.sum())
        if score and (score, found := layout.is_ordered(bbox[fits], size[fits])) > most:
            best, most = layout, (score, found)
    return best


_WITH_OTHER_AREAS = (
    *(layout for layout in PIXEL_LAYOUTS if layout.numbers is Numbers.CORNERS),
    *(
        Layout(numbers, unit=unit)
        for unit in _UNITS[1:]
        for numbers in (Numbers.SIDES, Numbers.CORNERS)
    ),
    SIZE_FIRST,
)


def of_areas(boxes: Boxes) -> Iterator[Evidence]:
    """Yield the evidence of areas for boxes given by corners, and for scaled boxes."""
    given, bbox, size = boxes.area, boxes.bbox, boxes.size
    if given is None or boxes.outlined is None:
        return
    bare = ~boxes.outlined & (given > 0) & ~np.isnan(bbox[:, 0])
    plain = bare & _is_area(bbox[:, 2:], given)
    off = np.flatnonzero(bare & ~plain)
    if len(off) < ENOUGH:
        return
    rows = off[:: max(1, len(off) // _SAMPLE)]
    best, most = None, (0, 0)
    for layout in _WITH_OTHER_AREAS:
        read = layout.read(bbox[rows], size[rows])
        fits = (row_min(read[:, 2:]) > 0) & _is_area(
            read[:, 2:], given[rows], layout, _rounding(layout, bbox[rows], size[rows])
        )
        score = int(fits.sum()), int((fits & inside(read, size[rows])).sum())
        if score > most:
            best, most = layout, score
    if best is not None:
        yield from _of_area(best, bbox, size, given, bare, plain)
    ratio = given[off] / bbox[off, 2:].prod(axis=1)
    for factor in (0.5, 2.0):
        near = np.abs(ratio * factor**2 - 1) <= _AREA
        layout = Layout(Numbers.SIDES, scale=(factor, factor))
        fit = inside(layout.read(bbox[off[near]], size[off[near]]), size[off[near]])
        if near.sum() >= 2 * ENOUGH and near.mean() > MOST and fit.mean() >= NEARLY_ALL:
            yield from _of_area(layout, bbox, size, given, bare, plain)


def _is_area(
    sides: FloatArray, area: FloatArray, layout: Layout = COCO, error: FloatArray | None = None
) -> BoolArray:
    """Return which areas are the product of the sides, up to the error of the sides, (N,) bool."""
    # Percentages are written with two decimals.
    share = _AREA_OF_UNITS if layout.unit else _AREA
    limit = share * area + 0.5
    if error is not None:
        limit = np.maximum(limit, (sides + error).prod(axis=1) - sides.prod(axis=1) + 0.5)
    result: BoolArray = np.abs(sides.prod(axis=1) - area) <= limit
    return result


def _rounding(layout: Layout, bbox: FloatArray, size: FloatArray) -> FloatArray | None:
    """Return the error of sides in pixels, (N, 2), if they are whole thousandths; else None."""
    if layout.unit < 1000 or (bbox % 1).any():
        return None
    n_numbers = 2 if layout.numbers is Numbers.CORNERS else 1
    error: FloatArray = n_numbers * size / (2 * layout.unit)
    return error


def _may_be_outlines(layout: Layout, bbox: FloatArray, size: FloatArray, speaks: BoolArray) -> bool:
    """Return whether areas may be those of omitted outlines instead of boxes in another unit.

    In images of less than the square of the unit, they are smaller than the boxes as written, like
    those of ellipses. But then boxes in this unit extend beyond their images.
    """
    if layout.numbers is not Numbers.SIDES or not layout.unit:
        return False
    smaller = speaks & (size.prod(axis=1) < layout.unit**2)
    n_smaller, n_inside = int(smaller.sum()), int(inside(bbox[smaller], size[smaller]).sum())
    return 2 * n_smaller > speaks.sum() and n_inside > (1 - FEW) * n_smaller


def _of_area(
    layout: Layout, bbox: FloatArray, size: FloatArray, given: FloatArray,
    bare: BoolArray, plain: BoolArray,
) -> Iterator[Evidence]:  # fmt: skip
    read = layout.read(bbox, size)
    error = _rounding(layout, bbox[bare & ~plain], size)
    fits = bare & (row_min(read[:, 2:]) > 0) & _is_area(read[:, 2:], given, layout, error)
    speaks, sound = fits & ~plain, plain & ~fits
    if _may_be_outlines(layout, bbox, size, speaks):
        return
    n_speaks, n_known = int(speaks.sum()), int(bare.sum())

    def text(concerned: BoolArray) -> str:
        return (
            f"read this way, {int((speaks & concerned).sum()):,} of "
            f"{int((bare & concerned).sum()):,} have the area that is written, but not as x, y, "
            "width, height"
        )

    proof = n_speaks > MOST * n_known and sound.sum() <= FEW * n_speaks
    yield Evidence(
        layout, speaks, sound, bare & ~(plain & fits), sound, bool(proof), text,
        is_certain=tells_x_from_y(layout, read[speaks], size[speaks]), beside="areas",
        # These boxes end at the same place in both layouts, so images cannot confirm the areas.
        other_cause="their areas are wrong" if layout == SIZE_FIRST else "",
    )  # fmt: skip


def tells_x_from_y(layout: Layout, read: FloatArray, size: FloatArray) -> bool:
    """Return whether areas and images distinguish a layout from the one with x and y swapped.

    They do not for relative coordinates, which have the same range for x and y. For corners, they
    do only if a box would extend beyond its image with x and y swapped.

    Parameters
    ----------
    layout : Layout
    read : (N, 4) float64
        Boxes of this layout as x, y, width, height in pixels.
    size : (N, 2) float64
    """
    if layout.numbers is not Numbers.CORNERS:
        return True
    swapped = read[:, [1, 0, 3, 2]]
    return not layout.unit and bool((inside(read, size) & ~inside(swapped, size)).any())
