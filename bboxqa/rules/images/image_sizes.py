"""M: image records whose width and height differ from the image file."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_folder import ImageFolder


def _differing(document: Document, disk: ImageFolder) -> tuple[BoolArray, BoolArray]:
    """Return which records differ in size from their file, and which of these are swapped."""
    size = document.image_size
    is_known = (disk.shown[:, 0] > 0) & ~np.isnan(size).any(1)
    differs = is_known & (size != disk.shown).any(1)
    return differs, differs & (size == disk.shown[:, ::-1]).all(1)


def _other_size(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M003: sizes that differ from the image files."""
    if document.disk is not None:
        differs, is_swapped = _differing(document, document.disk)
        yield from _sizes(document, document.disk, np.flatnonzero(differs & ~is_swapped))


def _swapped(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M004: sizes that match the image files with width and height swapped."""
    if document.disk is not None:
        _, is_swapped = _differing(document, document.disk)
        yield from _sizes(document, document.disk, np.flatnonzero(is_swapped))


def _sizes(document: Document, disk: ImageFolder, rows: IndexArray) -> Iterator[Hits]:
    size, names = document.image_size, document.images.texts("file_name")
    fits = _fits(document, disk)

    def edits(row: int) -> tuple[Edit, ...]:
        if not fits[row]:
            return ()
        new, old = disk.shown[row].tolist(), size[row].tolist()
        return tuple(
            Edit(pointer_to("images", row, key), "replace", value)
            for key, value, before in zip(("width", "height"), new, old, strict=True)
            if value != before
        )

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("images", row),
            _text(size[row], disk, row, names[row]),
            found=size[row].tolist(),
            expected=f"{disk.shown[row].tolist()}",
            edits=edits(row),
        )

    def summary(some: IndexArray, share: str) -> str:
        return f"sizes of {share} differ from the files; {describe(int(some[0])).message}"

    yield from hits(rows, describe, name="images", summary=summary)


def _text(size: FloatArray, disk: ImageFolder, row: int, name: str) -> str:
    """Return the message on an image record whose size differs from its file."""
    given, shown = (f"{width:g} x {height:g}" for width, height in (size, disk.shown[row]))
    if not (size == disk.shown[row, ::-1]).all():
        why = ""
    elif (size == disk.stored[row]).all():
        why = ", the size before the EXIF orientation is applied"
    else:
        why = ", with width and height swapped"
    return f"size is {given}{why}; expected {shown}, the size of {shortened(name)}"


def _fits(document: Document, disk: ImageFolder) -> BoolArray:
    """Return the images whose annotations all fit into the size of the file, (I,) bool."""
    columns, extent = document.annotations, _extent(document)
    fits = np.asarray((extent <= disk.shown).all(axis=1), np.bool_)
    owner = document.image[columns.rles.row]
    image, size = owner[owner >= 0], columns.rles.size[owner >= 0]
    fits[image[(size[:, ::-1] != disk.shown[image]).any(axis=1)]] = False
    return fits


def _extent(document: Document) -> FloatArray:
    """Return the extent of boxes and outlines on each image in pixels, (I, 2) float64."""
    extent = np.zeros((len(document.images), 2))
    bbox = document.annotations.bbox
    with np.errstate(over="ignore"):
        far_corner = bbox[:, :2] + bbox[:, 2:]
    for corner in (far_corner, document.outline_bounds[:, 2:]):
        sound = (document.image >= 0) & ~np.isnan(corner).any(1)
        np.maximum.at(extent, document.image[sound], corner[sound])
    return extent


RULES = (
    Rule(
        code="M003",
        title="size differs from the size of the image file",
        severity=Severity.ERROR,
        scope="images",
        breaks="""Boxes are misplaced, and masks that pycocotools makes from polygons differ in size
            from the image.""",
        explanation="""Width and height of the record differ from the file with its EXIF orientation
            applied. Often images were resized after annotation. The unsafe fix writes the size of
            the file if all annotations of the image fit into it; first make sure that they were
            drawn on an image of this size.""",
        bad={"images": [{"file_name": "of-640-x-480.jpg", "width": 1280, "height": 960}]},
        good={"images": [{"file_name": "of-640-x-480.jpg", "width": 640, "height": 480}]},
        check=_other_size,
        fix="unsafe",
    ),
    Rule(
        code="M004",
        title="width and height swapped compared with the image file",
        severity=Severity.ERROR,
        scope="images",
        breaks="""OpenCV applies the EXIF orientation of images, Pillow does not: with one of them
            all boxes of the image are misplaced.""",
        explanation="""Width and height of the record are swapped compared with the file, often
            because a tool took the size before applying the EXIF orientation. The unsafe fix swaps
            them if all annotations then fit; make sure that they were drawn on the upright image.
            To avoid the problem, rotate the pixels and remove the EXIF orientation.""",
        bad={"images": [{"file_name": "upright.jpg", "width": 4032, "height": 3024}]},
        good={"images": [{"file_name": "upright.jpg", "width": 3024, "height": 4032}]},
        check=_swapped,
        fix="unsafe",
    ),
)
