"""Evidence of images for the layout of boxes: the layout in which boxes lie inside."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.blocks import rows_where
from bboxqa.rules.facts.boxes import Boxes, has_size, inside
from bboxqa.rules.facts.image_bounds import row_max, row_min
from bboxqa.rules.facts.layouts.area_evidence import tells_x_from_y
from bboxqa.rules.facts.layouts.box_readings import COCO, PIXEL_LAYOUTS, Layout, Numbers
from bboxqa.rules.facts.layouts.layout_evidence import (
    ENOUGH,
    FEW,
    MOST,
    NEARLY_ALL,
    Evidence,
)
from bboxqa.rules.facts.layouts.layout_parts import ENOUGH_IMAGES

# The least share of boxes that extend beyond their images if boxes start at their centre.
_MANY = 0.2
# Number of boxes that have to support a layout in part of the images.
_OF_PART = 2 * ENOUGH
# In part of the images, boxes are enlarged if more than this share extends beyond its image,
_MANY_OF_PART = 0.4
# and at least this share lies inside when it is reduced: people draw a few boxes beyond an image.
_ALL_BUT_FEW = 0.99
# Boxes of another layout extend beyond their image by this share of its side, in the median.
_FAR = 0.2
# So many boxes beyond the right edge, and beyond the lower one, prove that boxes start at their
# centre, though they are few: at least this share of all boxes.
_AT_EACH_EDGE, _FEW_OF_ALL = 2 * ENOUGH, 0.005
# With fewer of them, at least so many beyond each edge and beyond both, it is likely.
_AT_LEAST, _AT_BOTH = ENOUGH, 4 * ENOUGH
# People draw boxes beyond edges: at most so many lie outside at their centre, as a share of those
# that no longer do. Standard errors by which the numbers beyond opposite edges may differ.
_FEW_AGAINST, _SIGN_TEST = 0.5, 3.0
# Boxes leave an edge if they are further beyond it, in pixels.
_SLACK = 1.0
# Any box lies inside if it is reduced enough. So reduced boxes must reach this share of the width
# and the height of an image.
_FILLED = 0.95

# Number of boxes of which the order of the numbers is examined, and the largest share of boxes that
# may extend beyond their images as two corners if nearly all are in order.
_SAMPLE, _FEW_OF_CORNERS = 2000, 0.15

_WRONG_SIZES = "the sizes of the images are wrong"

_CENTRE = Layout(Numbers.CENTRE)
_CORNERS = Layout(Numbers.CORNERS)
_TURNED = Layout(Numbers.SIDES, (0, 1, 3, 2))
_WITHIN_IMAGES = (
    *(layout for layout in PIXEL_LAYOUTS[:5]),
    _CENTRE,
    _TURNED,
    *(Layout(layout.numbers, layout.order, 1000.0) for layout in PIXEL_LAYOUTS[:3]),
    Layout(Numbers.SIDES, unit=1000.0),
    Layout(Numbers.SIDES, scale=(2.0, 2.0)),
)
_ENLARGED = (Layout(Numbers.SIDES, unit=1000.0), Layout(Numbers.SIDES, scale=(2.0, 2.0)))


def of_images(boxes: Boxes) -> Sequence[Evidence]:
    """Return the layouts in which boxes no longer extend beyond their images, best first.

    Evidence is only returned if enough boxes can be judged.
    """
    bbox, size = boxes.bbox, boxes.size
    sized = has_size(boxes) & ~np.isnan(bbox[:, 0])
    wrong = sized & ~rows_where(len(bbox), lambda rows: _is_sound(COCO, bbox[rows], size[rows]))
    if sized.sum() < ENOUGH or not wrong.any():
        return ()
    found = [
        _of_image(boxes, layout, sized, wrong)
        for layout in _WITHIN_IMAGES
        if _is_possible(boxes, layout, sized, wrong)
    ]
    # The sort is stable: of layouts that explain the same boxes, the first is the most plausible.
    found.sort(key=lambda each: int(each.against.sum()) - int(each.speaks.sum()))
    return [*found, *_of_enlarged_part(boxes, sized, wrong)]


def _of_enlarged_part(boxes: Boxes, sized: BoolArray, wrong: BoolArray) -> Iterator[Evidence]:
    """Yield layouts that shrink boxes far beyond their images so that nearly all lie inside.

    Many boxes of these images are wrong as they are, and fill the images when read in the layout.
    """
    # Boxes without area have none in any layout.
    sized, wrong = sized & boxes.has_box, wrong & boxes.has_box
    images = np.bincount(boxes.image[wrong], minlength=boxes.n_images) > 0
    concerned = sized & np.append(images, False)[boxes.image]
    n_wrong, n_boxes = int(wrong.sum()), int(concerned.sum())
    is_part = images.sum() >= ENOUGH_IMAGES and n_boxes < sized.sum()
    if not is_part or n_wrong < _OF_PART or n_wrong <= _MANY_OF_PART * n_boxes:
        return
    bbox, size = boxes.bbox[wrong], boxes.size[wrong]
    others = [_is_sound(layout, bbox, size) for layout in PIXEL_LAYOUTS]
    others.append(_is_sound(COCO, bbox, size[:, ::-1]))
    beyond = (bbox[:, :2] + bbox[:, 2:] > size).sum(axis=0)
    if max(each.mean() for each in others) > 1 - _MANY or beyond.min() < _OF_PART:
        return
    if not _leave_far(bbox, size):
        return

    none = np.zeros(len(boxes), np.bool_)
    bbox, size = boxes.bbox[concerned], boxes.size[concerned]
    for layout in _ENLARGED:
        n_sound = int(_is_sound(layout, bbox, size).sum())
        if n_sound >= _ALL_BUT_FEW * n_boxes and _fill(layout.read(bbox, size), size):
            yield Evidence(
                layout, wrong, none, concerned, none, False, _of_numbers(n_wrong, n_sound, n_boxes),
                other_cause=_WRONG_SIZES, images=images,
            )  # fmt: skip


def _of_numbers(n_wrong: int, n_sound: int, n_boxes: int) -> Callable[[BoolArray], str]:
    """Return a function that returns a phrase with the numbers of boxes of images."""
    sound = f"all {n_boxes:,}" if n_sound == n_boxes else f"{n_sound:,} of them"
    text = (
        f"as x, y, width, height, {n_wrong:,} of {n_boxes:,} extend beyond their image; read "
        f"this way, {sound} lie inside"
    )
    return lambda _concerned: text


def _is_sound(layout: Layout, bbox: FloatArray, size: FloatArray) -> BoolArray:
    read = bbox if layout == COCO else layout.read(bbox, size)
    result: BoolArray = (row_min(read[:, 2:]) > 0) & inside(read, size)
    return result


def _is_possible(boxes: Boxes, layout: Layout, sized: BoolArray, wrong: BoolArray) -> bool:
    """Return whether a layout explains enough of the boxes that are wrong as they are.

    If not, the other boxes need not be read in it.
    """
    bbox, size = boxes.bbox[wrong], boxes.size[wrong]
    good = _is_sound(layout, bbox, size)
    n_empty = int((~good & (row_min(bbox[:, 2:]) == 0)).sum())
    n_wrong, total = len(good) - n_empty, int(sized.sum()) - n_empty
    explains_all = n_wrong > _least(layout) * total and good.sum() >= NEARLY_ALL * n_wrong
    # Boxes of corners also lie inside if halved.
    if layout.scale != (1, 1) and _are_corners(boxes, sized):
        return False
    is_open = layout == _CENTRE or layout.is_of_corners
    return bool(explains_all or (is_open and good.sum() >= _OF_PART))


def _are_corners(boxes: Boxes, sized: BoolArray) -> bool:
    """Return whether nearly all boxes are two corners in order, as few boxes with sides are."""
    rows = np.flatnonzero(sized)
    rows = rows[:: max(1, len(rows) // _SAMPLE)]
    bbox = boxes.bbox[rows]
    return bool((bbox[:, 2:] > bbox[:, :2]).all(axis=1).mean() >= _ALL_BUT_FEW)


def _least(layout: Layout) -> float:
    """Return the least share of boxes that have to be wrong as they are."""
    # Few boxes extend beyond their images if they start at their centre, or have height before
    # width.
    return _MANY if layout.unit or layout in (_CENTRE, _TURNED) else MOST


def _of_image(boxes: Boxes, layout: Layout, sized: BoolArray, wrong: BoolArray) -> Evidence:
    bbox, size = boxes.bbox, boxes.size
    good = rows_where(len(bbox), lambda rows: _is_sound(layout, bbox[rows], size[rows]))
    # A box that is empty in every layout is no evidence.
    empty = rows_where(len(bbox), lambda rows: row_min(bbox[rows, 2:]) == 0) & ~good
    sized, wrong = sized & ~empty, wrong & ~empty
    speaks, against = wrong & good, sized & ~good
    total, n_wrong, n_speaks = int(sized.sum()), int(wrong.sum()), int(speaks.sum())
    few, nearly_all = min((1 - NEARLY_ALL) * total, FEW * n_wrong), NEARLY_ALL
    if layout == _CORNERS and _are_corners(boxes, sized):
        few, nearly_all = _FEW_OF_CORNERS * total, 1 - _FEW_OF_CORNERS
    proof = (
        n_wrong > _least(layout) * total
        and n_speaks >= nearly_all * n_wrong
        and int(against.sum()) <= few
        and (layout != _TURNED or not against.any())
    )
    is_likely = False
    if layout == _CENTRE and not against.any():
        proof = proof or _leave_two_edges(bbox[wrong], size[wrong], total)
        is_likely = not proof and _leave_two_edges(
            bbox[wrong], size[wrong], total, _AT_LEAST, _AT_BOTH
        )
    elif layout == _CENTRE and int(against.sum()) <= n_speaks * _FEW_AGAINST:
        is_likely = _leave_two_edges(
            bbox[wrong], size[wrong], total, at_both=_AT_BOTH
        ) and _are_balanced(bbox[sized], layout.read(bbox[sized], size[sized]), size[sized])
    proof = proof and (
        not layout.is_scaled or _fill(layout.read(bbox[good], size[good]), size[good])
    )
    text = partial(_words, sized, wrong, speaks)
    none = np.zeros(len(bbox), np.bool_)
    may_be_part = layout.is_of_corners and _leave_far(bbox[speaks], size[speaks])
    return Evidence(
        layout, speaks, against, sized, none, proof or is_likely, text, n_wrong - n_speaks,
        least=_OF_PART, may_be_part=may_be_part, fills_gaps=True,
        may_be_of_authors=layout == _CENTRE,
        is_certain=tells_x_from_y(layout, layout.read(bbox[good], size[good]), size[good]),
        other_cause=_WRONG_SIZES if is_likely else "",
    )  # fmt: skip


def _words(sized: BoolArray, wrong: BoolArray, speaks: BoolArray, concerned: BoolArray) -> str:
    n_sized, n_wrong, n_cured = (int((each & concerned).sum()) for each in (sized, wrong, speaks))
    return (
        f"as x, y, width, height, {n_wrong:,} of {n_sized:,} extend beyond their image or have no "
        f"area; read this way, {n_cured:,} of these lie inside"
    )


def _leave_far(bbox: FloatArray, size: FloatArray) -> bool:
    """Return whether boxes extend further beyond their images than hand-drawn boxes do."""
    beyond = (bbox[:, :2] + bbox[:, 2:]) / size - 1
    return len(beyond) > 0 and bool(np.median(row_max(beyond)) >= _FAR)


def _leave_two_edges(
    bbox: FloatArray, size: FloatArray, total: int, at_each: int = _AT_EACH_EDGE, at_both: int = 0
) -> bool:
    """Return whether boxes extend beyond the right and the lower edge, and not by chance."""
    beyond = (bbox[:, :2] + bbox[:, 2:] > size).sum(axis=0)
    return bool(beyond.min() >= max(at_each, _FEW_OF_ALL * total) and beyond.sum() >= at_both)


def _are_balanced(bbox: FloatArray, centred: FloatArray, size: FloatArray) -> bool:
    """Return whether boxes leave opposite edges equally often only if they start at their centre.

    People draw boxes beyond all edges of images.
    """
    if (bbox[:, :2] < -_SLACK).any():
        return False
    before = (centred[:, :2] < -_SLACK).sum(axis=0)
    after = (centred[:, :2] + centred[:, 2:] > size + _SLACK).sum(axis=0)
    return bool((np.abs(before - after) <= _SIGN_TEST * np.sqrt(before + after)).all())


def _fill(bbox: FloatArray, size: FloatArray) -> bool:
    """Return whether boxes extend to the right and the lower edge of images."""
    reach = (bbox[:, :2] + bbox[:, 2:]) / size
    return len(reach) > 0 and bool((reach.max(axis=0) > _FILLED).all())
