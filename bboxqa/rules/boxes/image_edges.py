"""B: boxes that lie outside their image or extend beyond its edges."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.blocks import SparseRows, blocks
from bboxqa.core.json_values import pointer_to
from bboxqa.geometry.kernels.boxes import corners, from_corners
from bboxqa.model.annotations import EDGES
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, with_span
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import (
    becomes_degenerate,
    clipped,
    figure,
    overshoot,
    rounded_values,
    row_max,
    size_text,
)
from bboxqa.rules.facts.layouts.box_layout import in_other_layout, lie_elsewhere
from bboxqa.rules.facts.layouts.doubtful_boxes import doubtful_boxes, swapped_images
from bboxqa.rules.facts.layouts.likely_centres import likely_centres
from bboxqa.rules.facts.oriented_boxes import rows_with_corners

# In pixels. Less than this is rounding by the exporter.
_ROUNDING = 1e-3
# Boxes that another layout may explain: at least so many, and this share of them.
_SEVERAL, _MOST = 3, 0.8
_SIDES = ("left of", "above", "right of", "below")
_EXPECTED = "a box inside the image"


def _beyond(document: Document) -> SparseRows:
    """Return how far boxes extend beyond their images, (S, 4) px; NaN for unknown edges.

    Only boxes that do are included. Images with swapped sizes, and images whose boxes are or may be
    in another layout, are left out.
    """
    bbox, size, sound = document.annotations.bbox, document.size, document.has_box
    parts, any_beyond = [], False
    for rows in blocks(len(bbox)):
        beyond = overshoot(bbox[rows], size[rows])
        any_beyond |= bool(np.any(beyond > _ROUNDING))
        found = np.flatnonzero(np.any(beyond > 0, axis=1) & sound[rows])
        parts.append(SparseRows(rows.start + found, beyond[found]))
    result = SparseRows.joined(parts, 4)
    if not any_beyond:
        return result.where(np.zeros(len(result.rows), np.bool_))
    result = result.where(~document.once(in_other_layout)[result.rows])
    likely = document.once(likely_centres)
    if likely is not None:
        result = result.where(~np.isin(result.rows, likely.rows))
    if document.once(lie_elsewhere):
        # P007 reports these boxes, whose outlines lie inside of their images.
        bounds = from_corners(document.outline_bounds[result.rows])
        inside = np.all(overshoot(bounds, size[result.rows]) <= _ROUNDING, axis=1)
        result = result.where(~inside)
    swapped = np.append(document.once(swapped_images), False)
    return result.where(~swapped[document.image[result.rows]])


def _off(document: Document, beyond: SparseRows) -> BoolArray:
    """Return which of the boxes lie entirely outside their images."""
    less = beyond.values - np.tile(document.annotations.bbox[beyond.rows, 2:], 2)
    return row_max(np.nan_to_num(less, nan=-1)) >= 0


def _are_rotated(document: Document, beyond: SparseRows) -> BoolArray:
    """Return which of the boxes are bounds of rotated boxes, whose corners O006 checks."""
    rotated: BoolArray = np.isin(beyond.rows, document.once(rows_with_corners))
    return rotated


def _outside(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    beyond, bbox = _beyond(document), document.annotations.bbox
    off = beyond.where(_off(document, beyond))

    def describe(row: int) -> Defect:
        where = _SIDES[int(np.argmax(off[row] >= np.tile(bbox[row, 2:], 2)))]
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"bbox lies {where} its image{size_text(document.size[row])}; expected {_EXPECTED}",
            found=bbox[row].tolist(),
            expected=_EXPECTED,
        )

    def summary(_rows: IndexArray, share: str) -> str:
        return f"bbox lies outside its image in {share}; expected {_EXPECTED}"

    yield from hits(off.rows, describe, summary=summary)


def _far(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    beyond = _beyond(document)
    far = np.any(beyond.values > settings.overshoot_px, axis=1) & ~_are_rotated(document, beyond)
    yield from _crossing(document, settings, beyond.where(far & ~_off(document, beyond)))


def _near(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    beyond = _beyond(document)
    near = np.any(beyond.values > _ROUNDING, axis=1)
    near &= ~np.any(beyond.values > settings.overshoot_px, axis=1)
    near &= ~_off(document, beyond) & ~_are_rotated(document, beyond)
    yield from _crossing(document, settings, beyond.where(near))


def _explained(document: Document, rows: IndexArray) -> tuple[BoolArray, str]:
    """Return which boxes lie inside in another layout, (K,) bool, and a phrase for the layout.

    None do unless most of them do.
    """
    bbox, size = document.annotations.bbox[rows], document.size[rows]
    first, second = bbox[:, :2], bbox[:, 2:]
    in_order = np.all((second > first) & (second <= size), axis=1)
    centred = np.all((first >= second / 2) & (first + second / 2 <= size), axis=1)
    # Most boxes just beyond an edge would also lie inside as centres, but few as two corners.
    for fit, words in ((in_order, "it is two corners"), (centred, "x, y are its centre")):
        if np.count_nonzero(fit) >= max(_SEVERAL, _MOST * len(rows)):
            return fit, f", and lies inside if {words}"
    return np.zeros(len(rows), np.bool_), ""


def _crossing(document: Document, settings: ValidateSettings, beyond: SparseRows) -> Iterator[Hits]:
    is_far = np.any(beyond.values > settings.overshoot_px, axis=1)
    fit, layout = _explained(document, beyond.rows[is_far])
    explained = beyond.rows[is_far][fit]

    def describe(row: int) -> Defect:
        edge = int(np.nanargmax(beyond[row]))
        otherwise = layout if row in explained else ""
        box = _clipped(document, settings, row)
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"bbox extends {figure(beyond[row][edge])} px beyond the {EDGES[edge]} edge of its "
            f"image{size_text(document.size[row])}{otherwise}; expected {_EXPECTED}",
            found=document.annotations.bbox[row].tolist(),
            expected=_EXPECTED,
            edits=()
            if box is None
            else (Edit(pointer_to("annotations", row, "bbox"), "replace", box),),
        )

    all_lie = layout if len(explained) == len(beyond.rows) else ""
    summary = with_span(
        f"bbox extends {{span}} px beyond its image in {{share}}{all_lie}; expected {_EXPECTED}",
        lambda rows: np.nanmax(beyond[rows], axis=1),
    )
    yield from hits(beyond.rows, describe, summary=summary)


def _clipped(document: Document, settings: ValidateSettings, row: int) -> list[float] | None:
    """Return the part of a box inside its image; None if clipping would cause another defect."""
    bbox, size = document.annotations.bbox[row].tolist(), document.size[row]
    if np.isnan(size).any() or document.once(doubtful_boxes)[row]:
        return None
    box = rounded_values(clipped(bbox, size.tolist()))
    if becomes_degenerate(bbox, box, settings):
        return None
    bounds = document.outline_bounds[row]
    if np.isfinite(bounds).all():
        # If the outline is not clipped, a clipped box would no longer be its bounds.
        before, after = (_distance(each, bounds) for each in (bbox, box))
        if after > max(before, settings.bounds_px):
            return None
    return box


def _distance(bbox: list[float], bounds: FloatArray) -> float:
    return float(np.abs(corners(np.array([bbox])) - bounds).max())


RULES = (
    Rule(
        code="B002",
        title="box outside its image",
        severity=Severity.ERROR,
        breaks="""The box shows nothing: training learns an object that does not exist, tools that
            clip boxes make it empty, and evaluation counts it as missed.""",
        explanation="""No part of the box lies inside its image. The box may belong to another
            image, as in tracks exported over images of different sizes, or the width and height may
            belong to a smaller copy. Look at the image, then move the box or delete it.""",
        bad={"annotations": [{"bbox": [120, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80, 10, 20, 30]}]},
        check=_outside,
        consequences=("P006", "O006", "Q002", "B003", "B004"),
    ),
    Rule(
        code="B003",
        title="box extends beyond its image",
        severity=Severity.WARNING,
        breaks="""Albumentations stops with ValueError at such a box; other tools silently clip it,
            so that the same box has another IoU there.""",
        explanation="""The box extends beyond its image by more than `overshoot_px`. It was drawn
            past the border, or the size of the image in the file is wrong. If most such boxes lie
            inside when read as two corners, or with x, y as their centre, the message says so: too
            few boxes prove another layout (B005, B006), so look at an image. The unsafe fix clips
            the box to the image if enough of it is left. There is no fix if a fifth of all boxes,
            or of the boxes of some images, extend beyond their images, as all these numbers are
            then in doubt. If the outline extends beyond the image as well, fix P006 first.""",
        bad={"annotations": [{"bbox": [85, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80, 10, 20, 30]}]},
        check=_far,
        fix="unsafe",
    ),
    Rule(
        code="B004",
        title="box extends beyond its image by a pixel or less",
        severity=Severity.INFO,
        breaks="Strict checks stop at a fraction of a pixel (Albumentations raises ValueError).",
        explanation="""The box extends beyond its image by at most `overshoot_px`, as a result of
            rounding, resizing or counting pixels from 1. The fix clips the box to the image. There
            is no fix if a fifth of all boxes, or of the boxes of some images, extend further, as
            all these numbers are then in doubt.""",
        bad={"annotations": [{"bbox": [80.5, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80.00001, 10, 20, 30]}]},
        check=_near,
        fix="safe",
    ),
)
