"""B: boxes."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.blocks import SparseRows, blocks, rows_where
from bboxqa.core.json_values import pointer_to
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.box_layout import diagnose, swapped_images
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import (
    becomes_degenerate,
    clipped,
    overshoot,
    rounded_values,
    row_max,
    row_min,
)

__all__ = ["RULES"]

# Less than this is what the arithmetic of a program leaves behind.
_DUST = 1e-3
_EDGES = ("left", "top", "right", "bottom")


def _no_area(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    bbox = document.annotations.bbox
    with np.errstate(invalid="ignore"):
        wrong = np.any(bbox[:, 2:] <= 0, axis=1)

    def edit(row: int) -> Edit:
        left, top, right, bottom = document.outline_bounds[row].tolist()
        if right > left and bottom > top:
            box = [left, top, right - left, bottom - top]
        elif (bbox[row, 2:] != 0).all():
            corners = np.stack([bbox[row, :2], bbox[row, :2] + bbox[row, 2:]])
            box = [*corners.min(axis=0).tolist(), *np.abs(bbox[row, 2:]).tolist()]
        else:
            return Edit(pointer_to("annotations", row), "remove")
        return Edit(pointer_to("annotations", row, "bbox"), "replace", rounded_values(box))

    def describe(row: int) -> Defect:
        side = "width" if bbox[row, 2] <= 0 else "height"
        value = bbox[row, 2 if side == "width" else 3]
        return Defect(
            f"bbox {side} is {value:g}; expected more than 0",
            pointer=pointer_to("annotations", row, "bbox"),
            found=bbox[row].tolist(),
            expected="a width and a height above 0 px",
            ids=document.ids(row),
            edits=(edit(row),),
        )

    yield from hits(wrong, describe)


def _beyond(document: Document) -> SparseRows:
    """Return how far boxes reach beyond their images, of those that do; NaN for unknown edges.

    Boxes that another defect of the whole file explains do not.
    """
    bbox, size, sound = document.annotations.bbox, document.size, document.has_box
    parts, some = [], False
    for rows in blocks(len(bbox)):
        beyond = overshoot(bbox[rows], size[rows])
        some |= bool(np.any(beyond > _DUST))
        found = np.flatnonzero(np.any(beyond > 0, axis=1) & sound[rows])
        parts.append(SparseRows(rows.start + found, beyond[found]))
    result = SparseRows.joined(parts, 4)
    if not some or document.once(diagnose) is not None:
        return result.where(np.zeros(len(result.rows), np.bool_))
    swapped = np.append(swapped_images(document), False)
    return result.where(~swapped[document.image[result.rows]])


def _off(document: Document, beyond: SparseRows) -> BoolArray:
    """Return which of the boxes lie wholly outside of their images."""
    less = beyond.values - np.tile(document.annotations.bbox[beyond.rows, 2:], 2)
    return row_max(np.nan_to_num(less, nan=-1)) >= 0


def _found(document: Document, row: int, message: str, expected: str) -> Defect:
    return Defect(
        message,
        pointer=pointer_to("annotations", row, "bbox"),
        found=document.annotations.bbox[row].tolist(),
        expected=expected,
        ids=document.ids(row),
    )


def _outside(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    beyond, bbox = _beyond(document), document.annotations.bbox
    off = beyond.where(_off(document, beyond))

    def describe(row: int) -> Defect:
        edge = _EDGES[int(np.argmax(off[row] >= np.tile(bbox[row, 2:], 2)))]
        where = {"left": "left of", "top": "above", "right": "right of", "bottom": "below"}[edge]
        return _found(
            document,
            row,
            f"bbox lies {where} its image{_size(document, row)}; expected it inside",
            "a box inside of the image",
        )

    yield from hits(off.rows, describe)


def _size(document: Document, row: int) -> str:
    width, height = document.size[row]
    return "" if np.isnan(width) or np.isnan(height) else f" ({width:g} x {height:g})"


def _far(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    beyond = _beyond(document)
    far = np.any(beyond.values > settings.overshoot_px, axis=1)
    yield from _crossing(document, settings, beyond.where(far & ~_off(document, beyond)))


def _near(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    beyond = _beyond(document)
    near = np.any(beyond.values > _DUST, axis=1)
    near &= ~np.any(beyond.values > settings.overshoot_px, axis=1)
    yield from _crossing(document, settings, beyond.where(near & ~_off(document, beyond)))


def _crossing(document: Document, settings: ValidateSettings, beyond: SparseRows) -> Iterator[Hits]:
    bbox = document.annotations.bbox

    def describe(row: int) -> Defect:
        edge = int(np.nanargmax(beyond[row]))
        box = _clipped(document, settings, row)
        pointer = pointer_to("annotations", row, "bbox")
        return Defect(
            f"bbox reaches {beyond[row][edge]:.4g} px beyond the {_EDGES[edge]} edge of its "
            f"image{_size(document, row)}; expected it inside",
            pointer=pointer,
            found=bbox[row].tolist(),
            expected="a box inside of the image",
            ids=document.ids(row),
            edits=() if box is None else (Edit(pointer, "replace", box),),
        )

    yield from hits(beyond.rows, describe)


def _clipped(document: Document, settings: ValidateSettings, row: int) -> list[float] | None:
    """Return the part of a box in its image; None where that would be a defect of its own."""
    bbox, size = document.annotations.bbox[row].tolist(), document.size[row]
    if np.isnan(size).any():
        return None
    box = rounded_values(clipped(bbox, size.tolist()))
    if becomes_degenerate(bbox, box, settings):
        return None
    bounds = document.outline_bounds[row]
    if np.isfinite(bounds).all():
        # A box that is cut while its outline is not would no longer be its bounds.
        before, after = (_distance(each, bounds) for each in (bbox, box))
        if after > max(before, settings.bounds_px):
            return None
    return box


def _distance(bbox: list[float], bounds: FloatArray) -> float:
    corners = np.array([*bbox[:2], bbox[0] + bbox[2], bbox[1] + bbox[3]])
    return float(np.abs(corners - bounds).max())


def _small(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    if document.once(diagnose) is not None:
        return
    bbox = document.annotations.bbox
    small = document.has_box & rows_where(
        len(bbox), lambda rows: row_min(bbox[rows, 2:]) < settings.min_side_px
    )

    def describe(row: int) -> Defect:
        side = "width" if bbox[row, 2] <= bbox[row, 3] else "height"
        expected = f"at least {settings.min_side_px:g} px"
        message = f"bbox {side} is {bbox[row, 2:].min():.4g} px; expected {expected}"
        return _found(document, row, message, expected)

    yield from hits(small, describe)


def _long(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    if document.once(diagnose) is not None:
        return
    sides = document.annotations.bbox[:, 2:]
    long = document.has_box & rows_where(
        len(sides),
        lambda rows: row_max(sides[rows]) > settings.max_aspect_ratio * row_min(sides[rows]),
    )

    def describe(row: int) -> Defect:
        width, height = sides[row].tolist()
        ratio = max(width, height) / min(width, height)
        expected = f"at most {settings.max_aspect_ratio:g} : 1"
        message = f"bbox of {width:.4g} x {height:.4g} px is {ratio:.3g} : 1; expected {expected}"
        return _found(document, row, message, expected)

    yield from hits(long, describe)


def _whole_image(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    if document.once(diagnose) is not None:
        return
    sides, size = document.annotations.bbox[:, 2:], document.size
    with np.errstate(over="ignore", invalid="ignore"):
        whole = document.has_box & rows_where(
            len(sides),
            lambda rows: sides[rows].prod(1) >= settings.max_image_share * size[rows].prod(1),
        )

    def describe(row: int) -> Defect:
        share = float(sides[row].prod()) / float(size[row].prod())
        expected = f"less than {settings.max_image_share:.4g} of it"
        message = (
            f"bbox takes {share:.1%} of its image{_size(document, row)}; "
            f"expected less than {settings.max_image_share:.1%}"
        )
        return _found(document, row, message, expected)

    yield from hits(whole, describe)


RULES = (
    Rule(
        code="B001",
        title="box without area",
        severity=Severity.ERROR,
        scope="record",
        breaks="""Losses become NaN (log of 0), torchvision refuses to train, and pycocotools gives
            the object an IoU of 0 with everything.""",
        explanation="""The width or the height of a box is 0 or negative. Negative ones come from
            boxes that were drawn from right to left, or from corners in the wrong order. The unsafe
            fix writes the bounds of the outline, or turns a negative side around; where neither is
            there, it removes the annotation.""",
        bad={"annotations": [{"bbox": [10, 10, 0, 20]}]},
        good={"annotations": [{"bbox": [10, 10, 2, 2], "area": 4}]},
        check=_no_area,
        fix="unsafe",
    ),
    Rule(
        code="B002",
        title="box outside of its image",
        severity=Severity.ERROR,
        scope="record",
        breaks="""Nothing can be seen in it: training learns from an object that is not there, tools
            that clip boxes make it empty, and evaluation counts it as missed.""",
        explanation="""No part of the box lies in its image. The box may belong to another image:
            tracks that were exported over images of different sizes do so. Or the width and height
            of the image are those of a smaller copy. Look at the image, then move the box or delete
            it.""",
        bad={"annotations": [{"bbox": [120, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80, 10, 20, 30]}]},
        check=_outside,
    ),
    Rule(
        code="B003",
        title="box reaches beyond its image",
        severity=Severity.WARNING,
        scope="record",
        breaks="""Albumentations stops with ValueError at such a box; other tools clip it without a
            word, so that the same box has another IoU there.""",
        explanation="""A part of the box lies outside of its image, by more than `overshoot_px`.
            Boxes are drawn past the border, or the image has another size than the file says. The
            unsafe fix clips the box to the image, where enough of it is left. Where its outline
            reaches beyond as well, P006 comes first.""",
        bad={"annotations": [{"bbox": [85, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80, 10, 20, 30]}]},
        check=_far,
        fix="unsafe",
    ),
    Rule(
        code="B004",
        title="box reaches beyond its image by a pixel or less",
        severity=Severity.INFO,
        scope="record",
        breaks="""Checks that allow nothing (Albumentations raises ValueError) stop at a fraction of
            a pixel.""",
        explanation="""The box ends a little outside of its image, by no more than `overshoot_px`:
            rounding, resizing or counting from 1 leaves such boxes. The fix clips the box to the
            image.""",
        bad={"annotations": [{"bbox": [80.5, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80.00001, 10, 20, 30]}]},
        check=_near,
        fix="safe",
    ),
    Rule(
        code="B008",
        title="box of less than two pixels",
        severity=Severity.WARNING,
        scope="record",
        breaks="""After an image is scaled down the box has no pixel left; detectors drop or miss
            it, and one pixel of difference halves its IoU.""",
        explanation="""A side of the box is shorter than `min_side_px`. It is mostly a slip of the
            mouse: a click in place of a drag. Look at it and delete or redraw it; where objects are
            that small, set `min_side_px` lower.""",
        bad={"annotations": [{"bbox": [10, 10, 1, 15]}]},
        good={"annotations": [{"bbox": [10, 10, 2, 15]}]},
        check=_small,
    ),
    Rule(
        code="B009",
        title="box is very long and thin",
        severity=Severity.WARNING,
        scope="record",
        breaks="""No anchor has such a shape, so anchor-based detectors hardly learn it, and one
            pixel across changes the IoU much.""",
        explanation="""The longer side is more than `max_aspect_ratio` times the shorter one. Often
            a corner was set wrongly; poles and lines are really so. Look at it.""",
        bad={"annotations": [{"bbox": [10, 10, 63, 3]}]},
        good={"annotations": [{"bbox": [10, 10, 60, 3]}]},
        check=_long,
    ),
    Rule(
        code="B010",
        title="box takes the whole image",
        severity=Severity.INFO,
        scope="record",
        breaks="""If it marks the image and not an object, the detector learns to answer with the
            whole image.""",
        explanation="""The box takes at least `max_image_share` of its image. Close-ups are so; so
            are labels of the whole image that were turned into boxes, and clicks on `select
            all`.""",
        bad={"annotations": [{"bbox": [0, 0, 100, 80]}]},
        good={"annotations": [{"bbox": [0, 0, 98, 80]}]},
        check=_whole_image,
    ),
)
