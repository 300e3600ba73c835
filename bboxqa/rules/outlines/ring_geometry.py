"""P: polygons that extend beyond their image or do not fit their box."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.blocks import SparseRows, blocks
from bboxqa.core.json_values import pointer_to
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.model.annotations import EDGES
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, span_of, with_span
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import (
    becomes_degenerate,
    figure,
    overshoot,
    rounded_values,
    row_max,
    size_text,
)
from bboxqa.rules.facts.layout import doubtful_boxes, in_other_layout, lie_elsewhere, swapped_images
from bboxqa.rules.facts.misread_masks import row_major_masks
from bboxqa.rules.facts.oriented_boxes import rows_with_corners
from bboxqa.rules.facts.ring_shapes import (
    flat,
    polygons_of,
    ring_rows,
    ring_states,
    shapes,
    usable,
)
from bboxqa.rules.facts.visible_areas import visible_bounds


def _beyond(document: Document, least: float) -> SparseRows:
    """Return how far outlines extend beyond their images, if by more than `least` pixels."""
    bounds, size, parts = document.outline_bounds, document.size, []
    with np.errstate(all="ignore"):
        for rows in blocks(len(bounds)):
            low, high = bounds[rows, :2], bounds[rows, 2:]
            beyond = overshoot(np.hstack([low, high - low]), size[rows])
            found = np.flatnonzero(np.any(beyond > least, axis=1) & document.has_rings[rows])
            parts.append(SparseRows(rows.start + found, beyond[found]))
    result = SparseRows.joined(parts, 4)
    swapped = np.append(document.once(swapped_images), False)
    return result.where(~swapped[document.image[result.rows]])


def _outside(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    if len(document.annotations.rings.row) == 0:
        return
    beyond = _beyond(document, settings.overshoot_px)
    beyond = beyond.where(~np.isin(beyond.rows, document.once(rows_with_corners)))

    def describe(row: int) -> Defect:
        edge = int(np.nanargmax(beyond[row]))
        return record_defect(
            document,
            ("annotations", row, "segmentation"),
            f"outline extends {figure(beyond[row][edge])} px beyond the {EDGES[edge]} edge of its "
            f"image{size_text(document.size[row])}; expected an outline inside the image",
            found=document.outline_bounds[row].tolist(),
            expected="an outline inside the image",
            edits=() if document.once(doubtful_boxes)[row] else _clipped(document, settings, row),
        )

    summary = with_span(
        "outline extends {span} px beyond its image in {share}; expected it inside",
        lambda rows: np.nanmax(beyond[rows], axis=1),
    )
    yield from hits(beyond.rows, describe, summary=summary)


def _clipped(document: Document, settings: ValidateSettings, row: int) -> tuple[Edit, ...]:
    """Return the edit that clips an outline to its image; none if too little would be left."""
    import shapely

    rings, of_row = document.annotations.rings, ring_rows(document, row)
    width, height = document.size[row].tolist()
    unsound = len(usable(rings, of_row)) < len(of_row) or document.once(ring_states)[of_row].any()
    if unsound or np.isnan(width + height):
        return ()
    image, result = shapely.box(0, 0, width, height), []
    for shape in shapes(rings, of_row):
        parts = polygons_of(shapely.intersection(shape, image))
        if parts is None:
            return ()
        result += parts
    if not result:
        return ()
    left, top, right, bottom = shapely.total_bounds(result).tolist()
    before = document.outline_bounds[row]
    box = [*before[:2].tolist(), *(before[2:] - before[:2]).tolist()]
    if becomes_degenerate(box, [left, top, right - left, bottom - top], settings):
        return ()
    return (
        Edit(pointer_to("annotations", row, "segmentation"), "replace", list(map(flat, result))),
    )


def _off_bounds(document: Document, settings: ValidateSettings) -> tuple[IndexArray, int]:
    """Return annotations whose box is not the bounds of the outline, and how many have both."""
    bbox, bounds = document.annotations.bbox, document.outline_bounds
    other = document.once(in_other_layout)
    n_compared, parts = 0, [np.zeros(0, np.int64)]
    with np.errstate(all="ignore"):
        for rows in blocks(len(bbox)):
            apart = row_max(np.abs(corners(bbox[rows]) - bounds[rows]))
            compared = document.has_box[rows] & np.isfinite(apart) & ~other[rows]
            n_compared += int(compared.sum())
            parts.append(rows.start + np.flatnonzero(compared & (apart > settings.bounds_px)))
    misread = document.once(row_major_masks, settings.bounds_px).row
    return np.setdiff1d(np.concatenate(parts), misread), n_compared


def _bounds_inside(document: Document, wrong: IndexArray, settings: ValidateSettings) -> IndexArray:
    """Return the annotations whose box is the bounds of the visible part of the outline.

    Tools that clip the mask, as pycocotools does, write such boxes.
    """
    rows = wrong[np.isin(wrong, _beyond(document, 0).rows)]
    apart = row_max(
        np.abs(corners(document.annotations.bbox[rows]) - visible_bounds(document, rows))
    )
    return rows[apart <= settings.bounds_px]


def _lost_places(bbox: FloatArray) -> str:
    """Return a phrase on the number of boxes that lost their position; "" if they are few."""
    halves = (np.abs(bbox[:, :2] - bbox[:, 2:] / 2) <= _HALF_PX).all(axis=1)
    if halves.mean() < _MANY:
        return ""
    n_halves = int(halves.sum())
    return f" ({n_halves:,} have an x and y of half their width and height: position lost)"


def _not_bounds(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    if len(document.annotations.rings.row) + len(document.annotations.rles.row) == 0:
        return
    bbox, bounds = document.annotations.bbox, document.outline_bounds
    wrong, n_compared = _off_bounds(document, settings)
    wrong = np.setdiff1d(wrong, _bounds_inside(document, wrong, settings))
    outside = np.isin(wrong, _beyond(document, settings.overshoot_px).rows)
    outside |= document.once(doubtful_boxes)[wrong]
    free = dict(zip(wrong.tolist(), np.logical_not(outside).tolist(), strict=True))

    def edits(row: int) -> tuple[Edit, ...]:
        left, top, right, bottom = bounds[row].tolist()
        box = rounded_values([left, top, right - left, bottom - top])
        # An outline beyond the image has to be clipped first, as its bounds are no better.
        sound = free[row] and not becomes_degenerate(bbox[row].tolist(), box, settings)
        return (Edit(pointer_to("annotations", row, "bbox"), "replace", box),) if sound else ()

    def describe(row: int) -> Defect:
        edges = corners(bbox[[row]])[0]
        edge = int(np.argmax(np.abs(edges - bounds[row])))
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"{EDGES[edge]} edge of bbox is at {edges[edge]:.6g}; expected "
            f"{bounds[row, edge]:.6g}, the {EDGES[edge]} edge of its outline",
            found=bbox[row].tolist(),
            expected="the bounds of the outline",
            edits=edits(row),
        )

    def summary(some: IndexArray, _share: str) -> str:
        apart = span_of(np.abs(corners(bbox[some]) - bounds[some]).max(axis=1))
        return (
            f"{len(some):,} of {n_compared:,} boxes differ from the bounds of their outlines by "
            f"{apart} px{_lost_places(bbox[some])}; expected at most {settings.bounds_px:g} px"
        )

    severity = Severity.ERROR if document.once(lie_elsewhere) else None
    yield from hits(wrong, describe, severity, summary=summary, total=n_compared, few=_FEW)


# Up to this many outlines are reported one by one.
_FEW = 4
# The least share of boxes whose x and y are half of their sides, and the tolerance in pixels.
_MANY, _HALF_PX = 0.8, 2

RULES = (
    Rule(
        code="P006",
        title="outline extends beyond its image",
        severity=Severity.WARNING,
        breaks="""pycocotools silently clips the mask at the border, so `area` and bbox do not fit
            it; other tools write past the end of an array.""",
        explanation="""The outline extends beyond its image by more than `overshoot_px`. It was
            drawn past the border, or comes from a track over images of different sizes. The unsafe
            fix clips the outline to the image if enough of it is left and it does not cross itself.
            There is no fix if a fifth of all outlines or boxes, or of those in some images, extend
            beyond their images, as all these numbers, or the image sizes, are then in doubt.""",
        bad={"annotations": [
            {"bbox": [85, 10, 15, 30], "area": 450,
             "segmentation": [[85, 10, 110, 10, 110, 40, 85, 40]]},
        ]},
        good={"annotations": [
            {"bbox": [85, 10, 15, 30], "area": 450,
             "segmentation": [[85, 10, 100, 10, 100, 40, 85, 40]]},
        ]},
        check=_outside,
        requires=("F004", "S015", "B002", "B014", "T003"),
        fix="unsafe",
        consequences=("B003", "B004"),
    ),
    Rule(
        code="P007",
        title="box is not the bounds of its outline",
        severity=Severity.WARNING,
        breaks="""One of the two is wrong: a detector learns another object than a segmenter does,
            and Mask R-CNN crops the mask by the box.""",
        explanation="""An edge of the box is more than `bounds_px` away from the same edge of the
            outline, and of the part of the outline inside the image. One of the two was changed
            without the other, or was exported wrongly. Check which is right. It is an error if most
            boxes lie elsewhere, with an IoU below 0.5. The unsafe fix writes the bounds of the
            outline.""",
        bad={"annotations": [
            {"bbox": [10, 10, 20, 40], "segmentation": [[10, 10, 30, 10, 30, 40, 10, 40]],
             "area": 600},
        ]},
        good={"annotations": [
            {"bbox": [10, 10, 21, 31], "segmentation": [[10, 10, 30, 10, 30, 40, 10, 40]],
             "area": 600},
        ]},
        check=_not_bounds,
        requires=("F004", "S015", "B014"),
        fix="unsafe",
    ),
)  # fmt: skip
