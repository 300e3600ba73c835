"""Image files that are missing, broken, of another size, or not asked for."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_folder import ImageFolder, ImageState
from bboxqa.rules.images.image_names import ids_of, names_of, shared_by_most

__all__ = ["RULES"]


def _missing(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M001: records whose file is not below the folder."""
    disk = document.disk
    if disk is None:
        return
    names, targets = names_of(document), _targets(document, disk)
    lost = np.isin(disk.state, [ImageState.MISSING, ImageState.OUTSIDE])
    has_target = np.array([bool(target) for target in targets], np.bool_)

    def describe(row: int) -> Defect:
        what = "is not below" if disk.state[row] == ImageState.MISSING else "leads out of"
        near = disk.suggestions[row]
        hint = f"; did you mean {' or '.join(map(shortened, near))}?" if near else ""
        return Defect(
            f"file {shortened(names[row])} {what} the folder of the images{hint}",
            pointer=pointer_to("images", row, "file_name"),
            found=names[row],
            expected="a file below the folder of the images",
            ids=ids_of(document, row),
            edits=_rename(row, targets[row]),
        )

    for rows in (np.flatnonzero(lost & has_target), np.flatnonzero(lost & ~has_target)):
        if not shared_by_most(rows, document):
            yield from hits(rows, describe)
            continue
        target = targets[rows[0]]
        hint = f"; {shortened(names[rows[0]])} may be {shortened(target)}" if target else ""
        message = f"{len(rows):,} of {len(names):,} files are not below the folder of the images"
        yield from described_hits([
            Defect(
                f"{message}, such as {shortened(names[rows[0]])}{hint}",
                pointer=pointer_to("images", int(rows[0]), "file_name"),
                found=names[rows[0]],
                expected="files below the folder of the images",
                edits=tuple(edit for row in rows.tolist() for edit in _rename(row, targets[row])),
                count=len(rows),
                examples=tuple(pointer_to("images", row, "file_name") for row in rows[:3].tolist()),
            )
        ])  # fmt: skip


def _rename(row: int, target: str) -> tuple[Edit, ...]:
    return (Edit(pointer_to("images", row, "file_name"), "replace", target),) if target else ()


def _targets(document: Document, disk: ImageFolder) -> list[str]:
    """Return the one file that a missing one must be; "" where that is not sure."""
    names = names_of(document)
    owners: dict[str, set[str]] = {}
    for name, path, near in zip(names, disk.path, disk.suggestions, strict=True):
        for each in {path, *near} - {""}:
            owners.setdefault(each, set()).add(name)
    # What another name has or may have too is nobody's.
    return [near[0] if len(near) == 1 == len(owners[near[0]]) else "" for near in disk.suggestions]


def _undecodable(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M002: files that cannot be decoded."""
    disk = document.disk
    if disk is None:
        return
    names = names_of(document)

    def describe(row: int) -> Defect:
        what = "is truncated" if disk.truncated[row] else "cannot be decoded"
        return Defect(
            f"file {shortened(names[row])} {what}: {disk.problem[row]}",
            pointer=pointer_to("images", row, "file_name"),
            found=names[row],
            expected="an image that can be decoded to its end",
            ids=ids_of(document, row),
        )

    yield from hits(disk.state == ImageState.UNREADABLE, describe)


def _differing(document: Document, disk: ImageFolder) -> tuple[BoolArray, BoolArray]:
    """Return which images have another size in the file, and which of these are only turned."""
    size = document.image_size
    known = (disk.shown[:, 0] > 0) & ~np.isnan(size).any(1)
    differs = known & (size != disk.shown).any(1)
    return differs, differs & (size == disk.shown[:, ::-1]).all(1)


def _other_size(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M003: sizes that are not those of the files."""
    if document.disk is not None:
        differs, is_turned = _differing(document, document.disk)
        yield from _sizes(document, document.disk, np.flatnonzero(differs & ~is_turned))


def _turned(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M004: sizes whose width and height are those of the files the other way round."""
    if document.disk is not None:
        _, is_turned = _differing(document, document.disk)
        yield from _sizes(document, document.disk, np.flatnonzero(is_turned))


def _sizes(document: Document, disk: ImageFolder, rows: IndexArray) -> Iterator[Hits]:
    size, names, fits = document.image_size, names_of(document), _fits(document, disk)

    def text(row: int) -> str:
        json_size, shown = (f"{w:g} x {h:g}" for w, h in (size[row], disk.shown[row]))
        if not (size[row] == disk.shown[row, ::-1]).all():
            why = ""
        elif (size[row] == disk.stored[row]).all():
            why = ", as it is before its EXIF orientation"
        else:
            why = ", with width and height swapped"
        return f"size is {json_size}{why}; expected {shown}, that of {shortened(names[row])}"

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
        return Defect(
            text(row),
            pointer=pointer_to("images", row),
            found=size[row].tolist(),
            expected=f"{disk.shown[row].tolist()}",
            ids=ids_of(document, row),
            edits=edits(row),
        )

    if not shared_by_most(rows, document):
        yield from hits(rows, describe)
        return
    first = int(rows[0])
    yield from described_hits([
        Defect(
            f"{len(rows):,} of {len(names):,} sizes are not those of the files, such as: "
            f"{text(first)}",
            pointer=pointer_to("images", first),
            found=size[first].tolist(),
            expected="the sizes of the files",
            edits=tuple(edit for row in rows.tolist() for edit in edits(row)),
            count=len(rows),
            examples=tuple(pointer_to("images", row) for row in rows[:3].tolist()),
        )
    ])  # fmt: skip


def _fits(document: Document, disk: ImageFolder) -> BoolArray:
    """Return (I,) bool: whether all that is drawn on an image fits the size of its file."""
    columns, extent = document.annotations, _extent(document)
    fits = np.asarray((extent <= disk.shown).all(axis=1), np.bool_)
    owner = document.image[columns.rles.row]
    image, size = owner[owner >= 0], columns.rles.size[owner >= 0]
    fits[image[(size[:, ::-1] != disk.shown[image]).any(axis=1)]] = False
    return fits


def _extent(document: Document) -> FloatArray:
    """Return (I, 2) float64: how far boxes and outlines reach on each image, in pixels."""
    extent = np.zeros((len(document.images), 2))
    bbox = document.annotations.bbox
    with np.errstate(over="ignore"):
        far_corner = bbox[:, :2] + bbox[:, 2:]
    for corner in (far_corner, document.outline_bounds[:, 2:]):
        sound = (document.image >= 0) & ~np.isnan(corner).any(1)
        np.maximum.at(extent, document.image[sound], corner[sound])
    return extent


def _unnamed(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M007: image files that no record names."""
    disk = document.disk
    if disk is None or not disk.unnamed or not document.complete("images"):
        return
    n_files = len(disk.unnamed)
    examples = ", ".join(shortened(path) for path in disk.unnamed[:3])
    yield from described_hits([
        Defect(
            f"{count(n_files, 'image file')} of the folder {'is' if n_files == 1 else 'are'} in "
            f"no image record, such as {examples}",
            pointer=pointer_to("images"),
            found=list(disk.unnamed[:20]),
            expected="a record for each image file",
            count=n_files,
        )
    ])  # fmt: skip


RULES = (
    Rule(
        code="M001",
        title="image file missing",
        severity=Severity.ERROR,
        scope="images",
        breaks="""Pillow stops training with a FileNotFoundError; OpenCV returns None in place of
            the image.""",
        explanation="""There is no file of that name below the folder of the images, or the name, or
            a link, leads out of that folder; such a file is never opened. Files whose name is the
            same but for folder, case, slashes or Unicode form are suggested. The unsafe fix writes
            the suggested name where exactly one file can be meant, and no other record can mean
            it.""",
        bad={"images": [{"file_name": "C:\\photos\\A.JPG"}]},
        good={"images": [{"file_name": "photos/a.jpg"}]},
        check=_missing,
        fix="unsafe",
    ),
    Rule(
        code="M002",
        title="image file that cannot be decoded",
        severity=Severity.ERROR,
        scope="images",
        breaks="""Pillow stops training with an OSError in the middle of an epoch; OpenCV returns
            None, or an image whose lower part is grey.""",
        explanation="""The file is empty, truncated, no image, or larger than what Pillow takes for
            a decompression bomb; that is not decoded. Copy or download it again. For large images
            that are meant so, ignore this rule.""",
        bad={"images": [{"file_name": "half-downloaded.jpg"}]},
        good={"images": [{"file_name": "whole.jpg"}]},
        check=_undecodable,
    ),
    Rule(
        code="M003",
        title="size differs from that of the image file",
        severity=Severity.ERROR,
        scope="images",
        breaks="""Boxes lie beside the objects, and masks that pycocotools draws from polygons do
            not have the size of the image.""",
        explanation="""Width and height of the record are not those of the file, after its EXIF
            orientation. Mostly images were resized after they were annotated. The unsafe fix writes
            the size of the file where all that is drawn fits into it; first make sure that it was
            drawn on an image of this size.""",
        bad={"images": [{"file_name": "of-640-x-480.jpg", "width": 1280, "height": 960}]},
        good={"images": [{"file_name": "of-640-x-480.jpg", "width": 640, "height": 480}]},
        check=_other_size,
        fix="unsafe",
    ),
    Rule(
        code="M004",
        title="width and height swapped against the image file",
        severity=Severity.ERROR,
        scope="images",
        breaks="""OpenCV turns images as their EXIF orientation says, Pillow does not: with one of
            them all boxes of the image lie in the wrong places.""",
        explanation="""Width and height of the record are those of the file the other way round,
            often because a tool took the size before the EXIF orientation. The unsafe fix swaps
            them where all that is drawn then fits; make sure that it was drawn on the upright
            image. To be free of this, turn the pixels and drop the EXIF orientation.""",
        bad={"images": [{"file_name": "upright.jpg", "width": 4032, "height": 3024}]},
        good={"images": [{"file_name": "upright.jpg", "width": 3024, "height": 4032}]},
        check=_turned,
        fix="unsafe",
    ),
    Rule(
        code="M007",
        title="image file without a record",
        severity=Severity.INFO,
        scope="images",
        breaks="""Nothing fails, so nobody sees that the export left images out, or that they are
            not annotated yet (HumanSignal/label-studio 5544).""",
        explanation="""Image files below the folder are named by no image record. That is right for
            other splits in the same folder; otherwise look whether the export is complete. All of
            them are one finding.""",
        bad={"images": [{"file_name": "a.jpg"}]},
        good={
            "images": [{"file_name": "a.jpg"}, {"file_name": "b.jpg"}],
            "annotations": [{}, {"image_id": 2}],
        },
        check=_unnamed,
    ),
)
