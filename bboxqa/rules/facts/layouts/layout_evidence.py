"""Evidence of outlines and areas for the layout of boxes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.blocks import blocks
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, from_corners
from bboxqa.rules.facts.boxes import Boxes
from bboxqa.rules.facts.image_bounds import row_max
from bboxqa.rules.facts.layouts.box_readings import (
    PIXEL_LAYOUTS,
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
SAMPLE = 2000
UNITS = (0.0, 1.0, 100.0, 1000.0)


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
    rows = rows[:: max(1, len(rows) // SAMPLE)]
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
    some = off[:: max(1, len(off) // SAMPLE)]
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
        for unit in UNITS
        for layout in (*PIXEL_LAYOUTS[:7], *(() if unit else PIXEL_LAYOUTS[7:]))
    ]
    candidates += [Layout(Numbers.SIDES, unit=unit) for unit in UNITS[1:]]
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
