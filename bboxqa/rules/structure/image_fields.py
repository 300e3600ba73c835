"""S: values of images (S007 and S008)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bboxqa.core.json_values import pointer_to
from bboxqa.formats.records import whole_number
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import summary_hits, value_hits
from bboxqa.rules.base.rule import Hits, Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure

_SIDE = "a whole number above 0"


def _edits(key: str, row: int, value: Callable[[], Any]) -> tuple[Edit, ...]:
    number = whole_number(value())
    if number is None or number < 1:
        return ()
    return (Edit(pointer_to("images", row, key), "replace", number),)


def _size(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    for key in ("width", "height"):
        odd = [
            row for row, value in enumerate(document.images.values)
            if isinstance(value, dict) and not (type(side := value.get(key)) is int and side > 0)
        ]  # fmt: skip
        edits = partial(_edits, key)
        yield from value_hits(document, "images", key, np.array(odd, np.int64), _SIDE, edits)
    yield from _too_small(document)


def _too_small(document: Document) -> Iterator[Hits]:
    """Yield the images that are far too small for their boxes."""
    too_small = document.is_too_small
    if document.disk is not None:
        # M003 compares the sizes of image files.
        too_small = too_small & ~(document.disk.shown[:, 0] > 0)
    rows = np.flatnonzero(too_small)
    if len(rows) == 0:
        return
    of_image = np.append(too_small, False)[document.image]
    (width, height), n_boxes = document.image_size[rows[0]], int(of_image.sum())
    ends = document.annotations.bbox[of_image]
    right, bottom = (ends[:, :2] + ends[:, 2:]).max(axis=0)
    yield from summary_hits(
        f"{len(rows):,} of {len(document.images):,} images are a few pixels large, such as "
        f"{width:g} x {height:g}, and all their boxes ({n_boxes:,}) end far outside, up "
        f"to x {figure(right)}, y {figure(bottom)}; expected the sizes of the image files",
        "images",
        rows,
        expected="the width and the height of the image file",
    )


def _nameless(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    name = record.get("file_name")
    return not isinstance(name, str) or not name.strip()


def _has_url(record: Any) -> bool:
    """Return whether a record has a coco_url instead of a file_name, as in LVIS."""
    if not isinstance(record, dict) or "file_name" in record:
        return False
    url = record.get("coco_url")
    return isinstance(url, str) and bool(url)


def _name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    values = document.images.values
    odd = np.array([_nameless(value) for value in values], np.bool_)
    has_url = np.array([_has_url(value) for value in values], np.bool_)
    for rows, expected, severity in (
        (np.flatnonzero(odd & ~has_url), "non-empty text", None),
        (np.flatnonzero(odd & has_url), "it besides coco_url", Severity.INFO),
    ):
        yield from value_hits(document, "images", "file_name", rows, expected, severity=severity)


RULES = (
    Rule(
        code="S007",
        title="width or height of an image is not a size",
        severity=Severity.ERROR,
        breaks="""pycocotools cannot make masks (KeyError, or 'an integer is required'), and loaders
            that scale boxes divide by it.""",
        explanation="""The width or the height of an image is missing, null, text, not a whole
            number, or not above 0; or a few pixels, far too small for all boxes of the image, as
            when the number of colours was taken for a side. The fix writes "640" and 640.0 as 640.
            Read other sizes from the image files: with `--images`, M003 does.""",
        bad={"images": [{"width": "100"}]},
        good={"images": [{"width": 100}]},
        check=_size,
        fix="safe",
    ),
    Rule(
        code="S008",
        title="image has no file_name",
        severity=Severity.ERROR,
        breaks="""Loaders such as torchvision's CocoDetection open the image by its file_name, and
            stop.""",
        explanation="""The file_name of an image is missing, empty, or not text. If there is a
            coco_url instead, as in LVIS, this is an info finding: LVIS loaders take the name from
            it, others do not.""",
        bad={"images": [{"file_name": ""}]},
        good={"images": [{"file_name": "0"}]},
        check=_name,
    ),
)
