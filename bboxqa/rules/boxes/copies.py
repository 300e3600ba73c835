"""B: boxes with the same numbers on images of different sizes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import summary_defect
from bboxqa.rules.base.rule import Hits, Rule, described_hits
from bboxqa.rules.facts.boxes import boxes_of
from bboxqa.rules.facts.copied_boxes import ENOUGH_SIZES, Copies, copies_of
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import overshoot
from bboxqa.rules.facts.layouts.box_layout import in_other_layout

# If at least this share of boxes are copies, other findings about boxes are hidden.
_NEARLY_ALL = 0.9


def _copied(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    copies = document.once(_copies)
    if copies is None or len(copies.rows) == 0:
        return
    bbox, rows = document.annotations.bbox, copies.rows
    first = copies.rows[copies.group == np.argmax(copies.n_sizes)]
    example = ", ".join(f"{number:g}" for number in bbox[first[0]])
    found = summary_defect(
        f"{len(rows):,} boxes have the same four numbers as others on images of "
        f"{ENOUGH_SIZES} or more sizes, such as [{example}] on "
        f"{len(np.unique(document.image[first])):,} images of {copies.n_sizes.max():,} sizes; "
        "expected boxes drawn on each image",
        "annotations",
        [*first, *np.setdiff1d(rows, first)],
        "bbox",
        found=bbox[first[0]].tolist(),
        expected="boxes drawn on each image",
    )
    # If hardly any box was drawn on its image, all other findings about boxes follow from that.
    nearly_all = len(rows) >= _NEARLY_ALL * document.has_box.sum()
    beyond = overshoot(bbox[rows], document.size[rows])
    is_off = bool(np.any(beyond >= np.tile(bbox[rows, 2:], 2)))
    is_beyond = bool(np.any(beyond > settings.overshoot_px))
    for each in described_hits([found], Severity.ERROR if nearly_all or is_off else None):
        concerned = None if nearly_all else rows
        yield replace(each, hides=nearly_all or is_beyond, concerned=concerned)


def _copies(document: Document) -> Copies | None:
    return copies_of(document.once(boxes_of), ~document.once(in_other_layout))


def copied_boxes(document: Document) -> BoolArray:
    """Return which boxes are equal to boxes on images of other sizes, (N,) bool."""
    result, copies = np.zeros(len(document.annotations), np.bool_), document.once(_copies)
    if copies is not None:
        result[copies.rows] = True
    return result


_SIZES = ((100, 80), (120, 80), (100, 120))
_IMAGES = [{"width": width, "height": height} for width, height in _SIZES]

RULES = (
    Rule(
        code="B014",
        title="same box on images of several sizes",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""Boxes that nobody drew on an image do not fit its objects: training and evaluation
            take background for objects.""",
        explanation="""Boxes with the same four numbers are on images of at least 3 sizes. An
            annotation of one image was copied to the others, for example as a track that an
            annotation tool extends over all following images. Large files, where many boxes are
            equal on 2 or 3 sizes by chance, need more sizes. It is an error if nine tenths of the
            boxes are such copies, or one of them lies outside its image. Look at the images; ignore
            B014 if they are pages or screens with a constant layout.""",
        bad={
            "images": _IMAGES,
            "annotations": [{"image_id": number} for number in (1, 2, 3)],
        },
        good={
            "images": _IMAGES,
            "annotations": [
                {"image_id": number, "bbox": [10, 9 + number, 20, 30]} for number in (1, 2, 3)
            ],
        },
        check=_copied,
        consequences=(
            "A004",
            "B002",
            "O006",
            "B003",
            "B004",
            "B008",
            "B009",
            "B010",
            "B011",
            "B012",
            "D002",
            "D003",
            "P006",
            "P007",
            "Q002",
            "R001",
        ),
    ),
)
