"""B: boxes without area, outside or beyond their images, too small, too long or too large."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, SparseRows, blocks, rows_where
from bboxqa.geometry.kernels.boxes import corners, from_corners
from bboxqa.model.annotations import EDGES
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_edit, record_hits, with_span
from bboxqa.rules.base.rule import Hits, Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import (
    becomes_degenerate,
    clipped,
    figure,
    figure_unlike,
    overshoot,
    rounded_number,
    rounded_values,
    row_max,
    row_min,
    size_text,
)
from bboxqa.rules.facts.layout import (
    diagnose,
    doubtful_boxes,
    in_other_layout,
    lie_elsewhere,
    swapped_images,
)
from bboxqa.rules.facts.oriented_boxes import rows_with_corners

# In pixels. Less than this is rounding by the exporter; sides of YOLO are rounded to six decimals.
_ROUNDING, _OF_SIDE = 1e-3, 1e-6
_SIDES = ("left of", "above", "right of", "below")
_INSIDE = "a box inside the image"


def _written(document: Document) -> Callable[[int], list[float]]:
    return lambda row: list(document.annotations.bbox[row].tolist())


def _no_area(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """B001: boxes, also those of five numbers, with a side of 0 or less."""
    bbox, rotations = document.annotations.bbox, document.annotations.rotations
    turned = dict(zip(rotations.row.tolist(), rotations.values[:, :5], strict=True))
    with np.errstate(invalid="ignore"):
        wrong = np.any(bbox[:, 2:] <= 0, axis=1)
        flat = np.any(rotations.values[:, 2:4] <= 0, axis=1) & (rotations.n_numbers == 5)
    diagnosis = document.once(diagnose)
    if diagnosis is not None:
        wrong[diagnosis.rows] = False

    def says(box: FloatArray, what: str) -> str:
        side = 0 if box[2] <= 0 else 1
        return f"{what} {('width', 'height')[side]} is {box[2 + side]:g}"

    yield from record_hits(
        document,
        wrong,
        lambda row: says(bbox[row], "bbox"),
        "bbox",
        expected="more than 0",
        found=_written(document),
        edits=lambda row: () if document.once(doubtful_boxes)[row] else _with_area(document, row),
        summary=with_span(
            "width or height of bbox is {span} in {share}; expected more than 0",
            lambda rows: row_min(bbox[rows, 2:]),
        ),
    )
    yield from record_hits(
        document,
        rotations.row[flat],
        lambda row: says(turned[row], "rotated box"),
        "bbox",
        expected="more than 0",
        found=lambda row: turned[row].tolist(),
        summary="width or height of rotated boxes is 0 or less in {share}",
        key="bbox",
    )


def _with_area(document: Document, row: int) -> tuple[Edit, ...]:
    """Return the edit for a box without area: the bounds of its outline, a flip, or removal."""
    bbox = document.annotations.bbox[row]
    left, top, right, bottom = document.outline_bounds[row].tolist()
    if right > left and bottom > top:
        box = [left, top, right - left, bottom - top]
    elif (bbox[2:] != 0).all():
        start = np.minimum(bbox[:2], bbox[:2] + bbox[2:])
        box = [*start.tolist(), *np.abs(bbox[2:]).tolist()]
    else:
        return record_edit("annotations", row)
    return record_edit("annotations", row, "bbox", value=rounded_values(box))


def _beyond(document: Document) -> SparseRows:
    """Return how far boxes extend beyond their images, (S, 4) px; NaN for unknown edges."""
    bbox, size, sound = document.annotations.bbox, document.size, document.has_box
    parts = []
    for rows in blocks(len(bbox)):
        beyond = overshoot(bbox[rows], size[rows])
        found = np.flatnonzero(np.any(beyond > _ROUNDING, axis=1) & sound[rows])
        parts.append(SparseRows(rows.start + found, beyond[found]))
    result = SparseRows.joined(parts, 4)
    if not len(result.rows):
        return result
    result = result.where(~document.once(in_other_layout)[result.rows])
    if document.once(lie_elsewhere):
        # P007 reports these boxes, whose outlines lie inside of their images.
        bounds = from_corners(document.outline_bounds[result.rows])
        is_in = np.all(overshoot(bounds, size[result.rows]) <= _ROUNDING, axis=1)
        result = result.where(~is_in)
    swapped = np.append(document.once(swapped_images), False)
    return result.where(~swapped[document.image[result.rows]])


def _is_off(document: Document, beyond: SparseRows) -> BoolArray:
    """Return which of the boxes lie entirely outside their images."""
    less = beyond.values - np.tile(document.annotations.bbox[beyond.rows, 2:], 2)
    return row_max(np.nan_to_num(less, nan=-1)) >= 0


def _outside(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """B002: boxes of which no part lies inside their image."""
    beyond, bbox = document.once(_beyond), document.annotations.bbox
    off = beyond.where(_is_off(document, beyond))

    def says(row: int) -> str:
        where = _SIDES[int(np.argmax(off[row] >= np.tile(bbox[row, 2:], 2)))]
        return f"bbox lies {where} its image{size_text(document.size[row])}"

    yield from record_hits(
        document,
        off.rows,
        says,
        "bbox",
        expected=_INSIDE,
        found=_written(document),
        summary="bbox lies outside its image in {share}",
    )


def _crossing(document: Document, settings: ValidateSettings, *, is_far: bool) -> Iterator[Hits]:
    """B003 and B004: boxes that extend beyond an edge, by more or less than `overshoot_px`."""
    beyond = document.once(_beyond)
    # O006 checks the corners of rotated boxes.
    rest = ~_is_off(document, beyond) & ~np.isin(beyond.rows, document.once(rows_with_corners))
    far = np.any(beyond.values > settings.overshoot_px, axis=1)
    beyond = beyond.where(rest & (far == is_far))

    def says(row: int) -> str:
        edge = int(np.nanargmax(beyond[row]))
        return (
            f"bbox extends {figure(beyond[row][edge])} px beyond the {EDGES[edge]} edge of its "
            f"image{size_text(document.size[row])}"
        )

    yield from record_hits(
        document,
        beyond.rows,
        says,
        "bbox",
        expected=_INSIDE,
        found=_written(document),
        edits=lambda row: _clipped(document, settings, row),
        summary=with_span(
            f"bbox extends {{span}} px beyond its image in {{share}}; expected {_INSIDE}",
            lambda rows: np.nanmax(beyond[rows], axis=1),
        ),
    )


def _clipped(document: Document, settings: ValidateSettings, row: int) -> tuple[Edit, ...]:
    """Return the edits that clip a box, and its area where that is the area of the box."""
    bbox, size = document.annotations.bbox[row].tolist(), document.size[row]
    if np.isnan(size).any() or document.once(doubtful_boxes)[row]:
        return ()
    box = rounded_values(clipped(bbox, size.tolist()))
    if becomes_degenerate(bbox, box, settings):
        return ()
    bounds = document.outline_bounds[row]
    if np.isfinite(bounds).all():
        # If the outline is not clipped, a clipped box would no longer be its bounds.
        before, after = (
            float(np.abs(corners(np.array([each])) - bounds).max()) for each in (bbox, box)
        )
        if after > max(before, settings.bounds_px):
            return ()
    edits = record_edit("annotations", row, "bbox", value=box)
    area = document.annotations.area[row]
    if np.isnan(bounds[0]) and abs(area - bbox[2] * bbox[3]) <= 1e-3 * area + _ROUNDING:
        return (
            *edits,
            *record_edit("annotations", row, "area", value=rounded_number(box[2] * box[3])),
        )
    return edits


def _shape(
    document: Document,
    is_wrong: Callable[[slice], BoolArray],
    says: Callable[[int], str],
    expected: str,
    summary: tuple[str, Callable[[IndexArray], FloatArray]],
) -> Iterator[Hits]:
    """Yield boxes in COCO's layout of a wrong shape."""
    sound = document.has_box & ~document.once(in_other_layout)
    text, values = summary
    yield from record_hits(
        document,
        sound & rows_where(len(sound), is_wrong),
        says,
        "bbox",
        expected=expected,
        found=_written(document),
        summary=with_span(f"{text} in {{share}}; expected {expected}", values),
    )


def _small(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """B008: boxes of less than `min_side_px`."""
    bbox, least = document.annotations.bbox, settings.min_side_px
    is_translated = document.reading.origin is not None

    def are_small(rows: slice) -> BoolArray:
        rounding = _OF_SIDE * np.nan_to_num(document.size[rows]) if is_translated else 0.0
        return np.asarray(row_min(bbox[rows, 2:] + rounding) < least)

    def says(row: int) -> str:
        side = "width" if bbox[row, 2] <= bbox[row, 3] else "height"
        return f"bbox {side} is {figure_unlike(bbox[row, 2:].min(), least)} px"

    summary = "side of bbox is {span} px", lambda rows: row_min(bbox[rows, 2:])
    yield from _shape(document, are_small, says, f"at least {least:g} px", summary)


def _long(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """B009: boxes that are more than `max_aspect_ratio` times as long as wide."""
    sides, most = document.annotations.bbox[:, 2:], settings.max_aspect_ratio

    def says(row: int) -> str:
        width, height = sides[row].tolist()
        ratio = figure_unlike(max(width, height) / min(width, height), most, 3)
        return f"bbox of {figure(width)} x {figure(height)} px is {ratio} : 1"

    summary = "bbox is {span} : 1", lambda rows: row_max(sides[rows]) / row_min(sides[rows])
    yield from _shape(
        document,
        lambda rows: row_max(sides[rows]) > most * row_min(sides[rows]),
        says,
        f"at most {most:g} : 1",
        summary,
    )


def _whole_image(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """B010: boxes that cover at least `max_image_share` of their image."""
    sides, size = document.annotations.bbox[:, 2:], document.size

    def share(rows: slice | IndexArray) -> FloatArray:
        with np.errstate(all="ignore"):
            covered: FloatArray = sides[rows].prod(1) / size[rows].prod(1)
        return covered

    def says(row: int) -> str:
        covered = share(np.array([row]))[0]
        return f"bbox covers {covered:.1%} of its image{size_text(size[row])}"

    most = settings.max_image_share
    summary = "bbox covers {span} % of its image", lambda rows: 100 * share(rows)
    yield from _shape(
        document, lambda rows: share(rows) >= most, says, f"less than {most:.1%}", summary
    )


RULES = (
    Rule(
        code="B001",
        title="box without area",
        severity=Severity.ERROR,
        breaks="Losses become NaN, and the IoU of the object with everything is 0.",
        explanation="""The width or the height of a box is 0 or negative. The unsafe fix writes the
            bounds of the outline, or makes negative sides positive; an annotation with a side of 0
            and no outline is removed.""",
        bad={"annotations": [{"bbox": [10, 10, 0, 20]}]},
        good={"annotations": [{"bbox": [10, 10, 2, 2], "area": 4}]},
        check=_no_area,
        fix="unsafe",
        requires=("R008",),
    ),
    Rule(
        code="B002",
        title="box outside its image",
        severity=Severity.ERROR,
        breaks="Training learns an object that does not exist, and evaluation counts it as missed.",
        explanation="""No part of the box lies inside its image: it belongs to another image, or the
            size of the image is wrong. Look at the image, then move the box or delete it.""",
        bad={"annotations": [{"bbox": [120, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80, 10, 20, 30]}]},
        check=_outside,
        requires=("F004", "S015", "B014", "T003"),
    ),
    Rule(
        code="B003",
        title="box extends beyond its image",
        severity=Severity.WARNING,
        breaks="Albumentations stops with ValueError; other tools silently clip the box.",
        explanation="""The box extends beyond its image by more than `overshoot_px`. The unsafe fix
            clips it if enough of it is left, but not if a fifth of the boxes of the file or of some
            images extend beyond, as all these numbers are then in doubt. Fix P006 first if the
            outline does so as well.""",
        bad={"annotations": [{"bbox": [85, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80, 10, 20, 30]}]},
        check=partial(_crossing, is_far=True),
        fix="unsafe",
        requires=("F004", "S015", "B002", "B014", "P006", "T003"),
    ),
    Rule(
        code="B004",
        title="box extends beyond its image by a pixel or less",
        severity=Severity.INFO,
        breaks="Strict checks stop at a fraction of a pixel (Albumentations raises ValueError).",
        explanation="""The box extends beyond its image by at most `overshoot_px`, by rounding,
            resizing or counting pixels from 1. The unsafe fix clips the box and its area, but not
            where a fifth of the boxes extend further.""",
        bad={"annotations": [{"bbox": [80.5, 10, 20, 30]}]},
        good={"annotations": [{"bbox": [80.00001, 10, 20, 30]}]},
        check=partial(_crossing, is_far=False),
        fix="unsafe",
        requires=("F004", "S015", "B002", "B014", "P006", "T003"),
    ),
    Rule(
        code="B008",
        title="box of less than two pixels",
        severity=Severity.WARNING,
        breaks="The box vanishes when the image is scaled down, and detectors miss it.",
        explanation="""A side of the box is shorter than `min_side_px`, usually by a click instead
            of a drag. Delete or redraw it; if objects are that small, lower `min_side_px`.""",
        bad={"annotations": [{"bbox": [10, 10, 1, 15]}]},
        good={"annotations": [{"bbox": [10, 10, 2, 15]}]},
        check=_small,
        requires=("B014",),
    ),
    Rule(
        code="B009",
        title="box is very long and thin",
        severity=Severity.WARNING,
        breaks="No anchor has such a shape, and one pixel changes the IoU considerably.",
        explanation="""The longer side is more than `max_aspect_ratio` times the shorter side. Often
            a corner was misplaced, but poles and lines do have this shape.""",
        bad={"annotations": [{"bbox": [10, 10, 63, 3]}]},
        good={"annotations": [{"bbox": [10, 10, 60, 3]}]},
        check=_long,
        requires=("F004", "S015", "B008", "B014"),
    ),
    Rule(
        code="B010",
        title="box covers the whole image",
        severity=Severity.INFO,
        breaks="The detector learns to predict whole images.",
        explanation="""The box covers at least `max_image_share` of its image, as in close-ups, and
            in image labels that were converted to boxes.""",
        bad={"annotations": [{"bbox": [0, 0, 100, 80]}]},
        good={"annotations": [{"bbox": [0, 0, 98, 80]}]},
        check=_whole_image,
        requires=("F004", "S015", "B014"),
    ),
)
