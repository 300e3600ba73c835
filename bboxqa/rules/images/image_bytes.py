"""M: image files with the content of another image, or in a format that contradicts the name."""

from collections.abc import Iterator
from pathlib import PurePosixPath

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.json_values import shortened
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_folder import ImageFolder
from bboxqa.rules.facts.image_places import ImageState
from bboxqa.rules.images.image_origins import video_of_each
from bboxqa.rules.images.image_splits import looking_alike

# The largest difference between the logarithms of the aspect ratios of an image and its copy.
_RATIO = 0.03
_FORMATS = {
    ".jpg": "JPEG", ".jpeg": "JPEG", ".jpe": "JPEG", ".jfif": "JPEG", ".png": "PNG",
    ".gif": "GIF", ".webp": "WebP", ".bmp": "BMP", ".tif": "TIFF", ".tiff": "TIFF",
}  # fmt: skip


def _twice(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M009: images with the same bytes as an earlier image with another name."""
    disk = document.disk
    if disk is None:
        return
    names = document.images.texts("file_name")
    first: dict[bytes, int] = {}
    rows = [
        row for row, digest in enumerate(disk.digest)
        if disk.state[row] == ImageState.FOUND
        and names[first.setdefault(digest, row)] != names[row]
    ]  # fmt: skip

    def describe(row: int) -> Defect:
        other = first[disk.digest[row]]
        how = "is the same file as" if disk.file[row] == disk.file[other] else "has the bytes of"
        return record_defect(
            document,
            ("images", row),
            f"image {shortened(names[row])} {how} {shortened(names[other])}; expected each image "
            "once",
            found=names[row],
            expected="an image that is not in the file yet",
            key=" ".join(sorted((names[row], names[other]))),
        )

    yield from hits(np.array(rows, np.int64), describe, name="images")


def _alike(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M013: images that look like an earlier image but have different bytes."""
    if document.disk is None:
        return
    names = document.images.texts("file_name")
    other, video = _like_earlier(document.disk), video_of_each(document)
    rows = [
        row for row in np.flatnonzero(other >= 0).tolist()
        if not _same_original(names[row], names[other[row]])
        and (row not in video or video[row] != video.get(int(other[row])))
    ]  # fmt: skip

    def describe(row: int) -> Defect:
        earlier = names[other[row]]
        return record_defect(
            document,
            ("images", row),
            f"image {shortened(names[row])} looks like {shortened(earlier)}, though their bytes "
            "differ; expected each picture once",
            found=names[row],
            expected="an image that is not in the file yet",
            key=" ".join(sorted((names[row], earlier))),
        )

    def summary(_some: IndexArray, share: str) -> str:
        return f"{share} look like an earlier one, though their bytes differ; expected them once"

    yield from hits(np.array(rows, np.int64), describe, name="images", summary=summary)


def _like_earlier(disk: ImageFolder) -> IndexArray:
    """Return the earlier image that each image looks like, (I,) int64; -1 for none.

    An image that was saved again, or resized, keeps its aspect ratio.
    """
    result: IndexArray = np.full(len(disk.look), -1, np.int64)
    first: dict[bytes, int] = {}
    whole = [first.setdefault(each, row) == row for row, each in enumerate(disk.digest)]
    rows = np.flatnonzero(disk.has_look & np.array(whole, np.bool_))
    _, place, group = np.unique(disk.look[rows], return_index=True, return_inverse=True)
    earlier = place[group]
    kinds = np.sort(place)
    near = looking_alike(disk.look[rows[kinds]], disk.look[rows[kinds]], only_earlier=True)
    earlier[kinds[near >= 0]] = kinds[near[near >= 0]]
    ratio = np.log(disk.shown[rows, 0] / disk.shown[rows, 1])
    alike = (earlier < np.arange(len(rows))) & (np.abs(ratio - ratio[earlier]) < _RATIO)
    result[rows[alike]] = rows[earlier[alike]]
    return result


def _same_original(name: str, other: str) -> bool:
    """Return whether two images are copies of one original that Roboflow augmented on purpose."""
    return ".rf." in name and name.partition(".rf.")[:2] == other.partition(".rf.")[:2]


def _other_format(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M011: files whose first bytes show a different format than their name."""
    disk = document.disk
    if disk is None:
        return
    suffixes = [PurePosixPath(path).suffix.lower() for path in disk.path]
    rows = [
        row for row, (suffix, found) in enumerate(zip(suffixes, disk.format, strict=True))
        if found and _FORMATS.get(suffix, found) != found
    ]  # fmt: skip

    def describe(row: int) -> Defect:
        names = document.images.texts("file_name")
        return record_defect(
            document,
            ("images", row, "file_name"),
            f"image file {shortened(names[row])} is a {disk.format[row]} file; expected "
            f"{_FORMATS[suffixes[row]]}, as its name says",
            found=disk.format[row],
            expected=_FORMATS[suffixes[row]],
        )

    yield from hits(np.array(rows, np.int64), describe, name="images", key="file_name")


RULES = (
    Rule(
        code="M009",
        title="image twice in one file",
        severity=Severity.WARNING,
        scope="images",
        breaks="""The image weighs twice in training and in scores, its two records may be annotated
            differently, and a random split puts one into each part.""",
        explanation="""Two records with different names have image files with equal bytes, or refer
            to the same file. Images are usually imported twice. Remove one record and move its
            annotations, if only one was annotated. Copies that were saved again have other bytes:
            see M013. In the example, both files hold the same image.""",
        bad={"images": [{"file_name": "a.jpg"}, {"file_name": "copy of a.jpg"}]},
        good={"images": [{"file_name": "a.jpg"}]},
        check=_twice,
        consequences=("M006",),
    ),
    Rule(
        code="M013",
        title="images of one file look alike",
        severity=Severity.INFO,
        scope="images",
        breaks="""If they are copies, the picture weighs twice in training and in scores, and a
            random split puts one into each part.""",
        explanation="""An image has different bytes than an earlier image of about the same aspect
            ratio, but small grey copies of both are alike (62 of 64 bits of a difference hash). It
            may be the same picture, saved again or resized, or a similar picture: look at both.
            Copies of one image that Roboflow augmented, and frames of one video, are left out. In
            the example, both files hold one picture.""",
        bad={"images": [{"file_name": "a.jpg"}, {"file_name": "saved again.jpg"}]},
        good={"images": [{"file_name": "a.jpg"}]},
        check=_alike,
    ),
    Rule(
        code="M011",
        title="image file has another format than its name says",
        severity=Severity.WARNING,
        scope="images",
        breaks="""Decoders that are chosen by the name stop at the file: torchvision's decode_jpeg
            and libjpeg-turbo fail with 'Not a JPEG file: starts with 0x89 0x50'.""",
        explanation="""The first bytes of an image file belong to another format than its name says,
            such as a PNG file called a.jpg. It was renamed instead of converted, or downloaded
            under the wrong name. Convert it, or rename the file and its record. In the example,
            a.jpg is a PNG file.""",
        bad={"images": [{"file_name": "a.jpg"}]},
        good={"images": [{"file_name": "a.png"}]},
        check=_other_format,
    ),
)
