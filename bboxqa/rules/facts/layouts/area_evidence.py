"""Evidence of areas for the layout of boxes without outlines."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.rules.facts.boxes import Boxes, inside
from bboxqa.rules.facts.image_bounds import row_min
from bboxqa.rules.facts.layouts.box_readings import (
    COCO,
    PIXEL_LAYOUTS,
    SIZE_FIRST,
    Layout,
    Numbers,
)
from bboxqa.rules.facts.layouts.layout_evidence import (
    ENOUGH,
    FEW,
    MOST,
    NEARLY_ALL,
    SAMPLE,
    UNITS,
    Evidence,
)

# The relative tolerance of areas compared with the product of the sides.
_AREA = 1e-3
_AREA_OF_UNITS = 0.01
_WITH_OTHER_AREAS = (
    *(layout for layout in PIXEL_LAYOUTS if layout.numbers is Numbers.CORNERS),
    *(
        Layout(numbers, unit=unit)
        for unit in UNITS[1:]
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
    rows = off[:: max(1, len(off) // SAMPLE)]
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
