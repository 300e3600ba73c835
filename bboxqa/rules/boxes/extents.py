"""B: boxes without area, and boxes that are too small, too elongated or too large."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.blocks import rows_where
from bboxqa.core.json_values import pointer_to
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, with_span
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import (
    figure,
    figure_unlike,
    rounded_values,
    row_max,
    row_min,
    size_text,
)
from bboxqa.rules.facts.layouts.box_layout import diagnose, in_other_layout
from bboxqa.rules.facts.layouts.doubtful_boxes import doubtful_boxes

_ROUNDING = 1e-6


def _sound_boxes(document: Document) -> BoolArray:
    """Return which boxes have an area and are in COCO's layout, (N,) bool."""
    return document.has_box & ~document.once(in_other_layout)


def _no_area(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    bbox = document.annotations.bbox
    with np.errstate(invalid="ignore"):
        wrong = np.any(bbox[:, 2:] <= 0, axis=1)
    diagnosis = document.once(diagnose)
    if diagnosis is not None:
        wrong[diagnosis.rows] = False

    def describe(row: int) -> Defect:
        side = "width" if bbox[row, 2] <= 0 else "height"
        value = bbox[row, 2 if side == "width" else 3]
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"bbox {side} is {value:g}; expected more than 0",
            found=bbox[row].tolist(),
            expected="a width and a height above 0 px",
            edits=() if document.once(doubtful_boxes)[row] else (_with_area(document, row),),
        )

    summary = with_span(
        "width or height of bbox is {span} in {share}; expected more than 0",
        lambda rows: row_min(bbox[rows, 2:]),
    )
    yield from hits(wrong, describe, summary=summary)
    yield from _turned_without_area(document)


def _turned_without_area(document: Document) -> Iterator[Hits]:
    """Yield boxes of five numbers without area."""
    rotations = document.annotations.rotations
    with np.errstate(invalid="ignore"):
        flat = np.any(rotations.values[:, 2:4] <= 0, axis=1) & (rotations.n_numbers == 5)
    of_row = dict(zip(rotations.row[flat].tolist(), rotations.values[flat, :5], strict=True))

    def describe(row: int) -> Defect:
        box = of_row[row]
        side, value = ("width", box[2]) if box[2] <= 0 else ("height", box[3])
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"{side} of the rotated box is {value:g}; expected more than 0",
            found=box.tolist(),
            expected="a width and a height above 0 px",
        )

    summary = with_span(
        "width or height of rotated boxes is {span} in {share}; expected more than 0",
        lambda rows: np.array([of_row[row][2:4].min() for row in rows.tolist()]),
    )
    yield from hits(rotations.row[flat], describe, key="bbox", summary=summary)


def _with_area(document: Document, row: int) -> Edit:
    """Return the edit for a box without area: the bounds of its outline, a flip, or removal."""
    bbox = document.annotations.bbox[row]
    left, top, right, bottom = document.outline_bounds[row].tolist()
    if right > left and bottom > top:
        box = [left, top, right - left, bottom - top]
    elif (bbox[2:] != 0).all():
        corners = np.stack([bbox[:2], bbox[:2] + bbox[2:]])
        box = [*corners.min(axis=0).tolist(), *np.abs(bbox[2:]).tolist()]
    else:
        return Edit(pointer_to("annotations", row), "remove")
    return Edit(pointer_to("annotations", row, "bbox"), "replace", rounded_values(box))


def _small(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    bbox, is_translated = document.annotations.bbox, document.reading.origin is not None

    def are_small(rows: slice) -> BoolArray:
        sides = bbox[rows, 2:]
        # A side of YOLO is rounded to six decimals of that of its image.
        rounding = _ROUNDING * np.nan_to_num(document.size[rows]) if is_translated else 0.0
        return np.asarray(row_min(sides + rounding) < settings.min_side_px)

    small = _sound_boxes(document) & rows_where(len(bbox), are_small)

    def describe(row: int) -> Defect:
        side = "width" if bbox[row, 2] <= bbox[row, 3] else "height"
        expected = f"at least {settings.min_side_px:g} px"
        length = figure_unlike(bbox[row, 2:].min(), settings.min_side_px)
        message = f"bbox {side} is {length} px; expected {expected}"
        return _box_defect(document, row, message, expected)

    summary = with_span(
        f"side of bbox is {{span}} px in {{share}}; expected at least {settings.min_side_px:g} px",
        lambda rows: row_min(bbox[rows, 2:]),
    )
    yield from hits(small, describe, summary=summary)


def _long(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    sides = document.annotations.bbox[:, 2:]
    long = _sound_boxes(document) & rows_where(
        len(sides),
        lambda rows: row_max(sides[rows]) > settings.max_aspect_ratio * row_min(sides[rows]),
    )

    def describe(row: int) -> Defect:
        width, height = sides[row].tolist()
        ratio = max(width, height) / min(width, height)
        expected = f"at most {settings.max_aspect_ratio:g} : 1"
        size = f"{figure(width)} x {figure(height)} px"
        shape = f"{figure_unlike(ratio, settings.max_aspect_ratio, 3)} : 1"
        message = f"bbox of {size} is {shape}; expected {expected}"
        return _box_defect(document, row, message, expected)

    summary = with_span(
        f"bbox is {{span}} : 1 in {{share}}; expected at most {settings.max_aspect_ratio:g} : 1",
        lambda rows: row_max(sides[rows]) / row_min(sides[rows]),
    )
    yield from hits(long, describe, summary=summary)


def _whole_image(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    sides, size = document.annotations.bbox[:, 2:], document.size
    with np.errstate(over="ignore", invalid="ignore"):
        whole = _sound_boxes(document) & rows_where(
            len(sides),
            lambda rows: sides[rows].prod(1) >= settings.max_image_share * size[rows].prod(1),
        )

    def describe(row: int) -> Defect:
        share = float(sides[row].prod()) / float(size[row].prod())
        message = (
            f"bbox covers {share:.1%} of its image{size_text(size[row])}; "
            f"expected less than {settings.max_image_share:.1%}"
        )
        return _box_defect(
            document, row, message, f"less than {settings.max_image_share:.4g} of it"
        )

    summary = with_span(
        f"bbox covers {{span}} % of its image in {{share}}; expected less than "
        f"{settings.max_image_share:.1%}",
        lambda rows: 100 * sides[rows].prod(1) / size[rows].prod(1),
    )
    yield from hits(whole, describe, summary=summary)


def _box_defect(document: Document, row: int, message: str, expected: str) -> Defect:
    found = document.annotations.bbox[row].tolist()
    place = ("annotations", row, "bbox")
    return record_defect(document, place, message, found=found, expected=expected)


RULES = (
    Rule(
        code="B001",
        title="box without area",
        severity=Severity.ERROR,
        breaks="""Losses become NaN (log of 0), torchvision refuses to train, and pycocotools gives
            the object an IoU of 0 with everything.""",
        explanation="""The width or the height of a box is 0 or negative. Negative sides come from
            boxes drawn from right to left, or from corners in the wrong order. The unsafe fix
            writes the bounds of the outline, or makes negative sides positive; a side of 0 without
            an outline means that the annotation is removed.""",
        bad={"annotations": [{"bbox": [10, 10, 0, 20]}]},
        good={"annotations": [{"bbox": [10, 10, 2, 2], "area": 4}]},
        check=_no_area,
        fix="unsafe",
        consequences=("B011",),
    ),
    Rule(
        code="B008",
        title="box of less than two pixels",
        severity=Severity.WARNING,
        breaks="""The box vanishes when the image is scaled down; detectors drop or miss it, and a
            difference of one pixel halves its IoU.""",
        explanation="""A side of the box is shorter than `min_side_px`. It is usually a click
            instead of a drag. Delete or redraw it; if objects are that small, lower
            `min_side_px`.""",
        bad={"annotations": [{"bbox": [10, 10, 1, 15]}]},
        good={"annotations": [{"bbox": [10, 10, 2, 15]}]},
        check=_small,
        consequences=("B009", "Q002"),
    ),
    Rule(
        code="B009",
        title="box is very long and thin",
        severity=Severity.WARNING,
        breaks="""No anchor has such a shape, so anchor-based detectors hardly learn it, and one
            pixel of the short side changes the IoU considerably.""",
        explanation="""The longer side is more than `max_aspect_ratio` times the shorter side. Often
            a corner was misplaced, but poles and lines do have this shape. Check the image.""",
        bad={"annotations": [{"bbox": [10, 10, 63, 3]}]},
        good={"annotations": [{"bbox": [10, 10, 60, 3]}]},
        check=_long,
        consequences=("Q002",),
    ),
    Rule(
        code="B010",
        title="box covers the whole image",
        severity=Severity.INFO,
        breaks="""If the box marks the image rather than an object, the detector learns to predict
            whole images.""",
        explanation="""The box covers at least `max_image_share` of its image. Close-ups have such
            boxes; so have image labels that were converted to boxes, and accidental clicks on
            `select all`.""",
        bad={"annotations": [{"bbox": [0, 0, 100, 80]}]},
        good={"annotations": [{"bbox": [0, 0, 98, 80]}]},
        check=_whole_image,
        consequences=("Q002",),
    ),
)
