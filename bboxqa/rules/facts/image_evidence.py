"""What images say about the layout of boxes: in which one boxes lie inside."""

from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.blocks import rows_where
from bboxqa.rules.facts.box_readings import PIXEL_LAYOUTS, Layout, Numbers
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import row_min
from bboxqa.rules.facts.image_extents import has_size, inside
from bboxqa.rules.facts.layout_evidence import (
    ENOUGH,
    FEW,
    MOST,
    NEARLY_ALL,
    Evidence,
    tells_x_from_y,
)

# Share of boxes that leave their images where they start in their centre.
_MANY = 0.2
# A layout that shrinks boxes cures every overshoot; the images have to be filled, too.
_FILLED = 0.95

_WITHIN_IMAGES = (
    *(layout for layout in PIXEL_LAYOUTS[:5]),
    Layout(Numbers.CENTRE),
    *(Layout(layout.numbers, layout.order, 1000.0) for layout in PIXEL_LAYOUTS[:3]),
    Layout(Numbers.SIDES, unit=1000.0),
    Layout(Numbers.SIDES, scale=(2.0, 2.0)),
)


def of_images(document: Document) -> Sequence[Evidence]:
    """Return the evidence of images that boxes extend beyond unless read in a layout, best first.

    Only where it is known of enough boxes.
    """
    bbox, size = document.annotations.bbox, document.size
    sized = has_size(document) & ~np.isnan(bbox[:, 0])
    total = int(sized.sum())
    if total < ENOUGH:
        return ()

    def sound(rows: slice) -> BoolArray:
        return (row_min(bbox[rows, 2:]) > 0) & inside(bbox[rows], size[rows])

    wrong = sized & ~rows_where(len(bbox), sound)
    if not wrong.any():
        return ()
    found = [_of_image(document, layout, sized, wrong) for layout in _WITHIN_IMAGES]
    # Of layouts that explain the same boxes, the first is the most plausible.
    return sorted(found, key=lambda each: int(each.against.sum()) - int(each.speaks.sum()))


def _of_image(document: Document, layout: Layout, sized: BoolArray, wrong: BoolArray) -> Evidence:
    bbox, size = document.annotations.bbox, document.size

    def fits(rows: slice) -> BoolArray:
        read = layout.read(bbox[rows], size[rows])
        return (row_min(read[:, 2:]) > 0) & inside(read, size[rows])

    good = rows_where(len(bbox), fits)
    # A box that is empty in each layout says nothing of them.
    empty = rows_where(len(bbox), lambda rows: row_min(bbox[rows, 2:]) == 0) & ~good
    sized, wrong = sized & ~empty, wrong & ~empty
    speaks, against = wrong & good, sized & ~good
    total, n_wrong, n_speaks = int(sized.sum()), int(wrong.sum()), int(speaks.sum())
    shrinks = bool(layout.unit) or layout.scale != (1, 1)
    least = _MANY if layout.unit or layout.numbers is Numbers.CENTRE else MOST
    proof = (
        n_wrong > least * total
        and n_speaks >= NEARLY_ALL * n_wrong
        and int(against.sum()) <= min((1 - NEARLY_ALL) * total, FEW * n_wrong)
    )
    proof = proof and (not shrinks or _fill(layout.read(bbox[good], size[good]), size[good]))

    def text(concerned: BoolArray) -> str:
        n_cured = int((speaks & concerned).sum())
        return (
            f"as x, y, width, height, {int((wrong & concerned).sum()):,} of "
            f"{int((sized & concerned).sum()):,} extend beyond their image or have no area; read "
            f"this way, {n_cured:,} of these lie inside"
        )

    none = np.zeros(len(bbox), np.bool_)
    return Evidence(
        layout, speaks, against, sized, none, proof, text,
        least=2 * ENOUGH, may_be_part=layout.numbers is Numbers.CORNERS and not shrinks,
        fills_gaps=True,
        is_certain=tells_x_from_y(layout),
    )  # fmt: skip


def _fill(bbox: FloatArray, size: FloatArray) -> bool:
    """Return whether boxes extend to the right and the lower edge of images."""
    reach = (bbox[:, :2] + bbox[:, 2:]) / size
    return len(reach) > 0 and bool((reach.max(axis=0) > _FILLED).all())
