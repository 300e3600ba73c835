"""M: image files that are missing, broken, or without a record."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.file_kinds import kind_of
from bboxqa.rules.facts.image_folder import ImageFolder
from bboxqa.rules.facts.image_places import ImageState

_LED_OUT = (
    ": the name or a link leads out of it; for links, add --images with the folder they lead to"
)

_OF_PANOPTIC = (
    "; its images are in another folder than its PNG files: add --images with that folder"
)


def _missing(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M001: records whose file is not in the image folder."""
    disk = document.disk
    if disk is None:
        return
    names = document.images.texts("file_name")
    targets = _targets(names, disk)
    lost = np.isin(disk.state, [ImageState.MISSING, ImageState.OUTSIDE])
    has_target = np.array([bool(target) for target in targets], np.bool_)
    elsewhere = _OF_PANOPTIC if "segments_info" in kind_of(document).required else ""

    def describe(row: int) -> Defect:
        outside = disk.state[row] == ImageState.OUTSIDE
        what = "outside" if outside else "not found in"
        near, pointer = disk.suggestions[row], pointer_to("images", row, "file_name")
        hint = f"; did you mean {' or '.join(map(shortened, near))}?" if near else ""
        hint = hint or (_LED_OUT if outside else elsewhere)
        return record_defect(
            document,
            ("images", row, "file_name"),
            f"image file {shortened(names[row])} is {what} the image folder{hint}",
            found=names[row],
            expected="a file below the folder of the images",
            edits=(Edit(pointer, "replace", targets[row]),) if targets[row] else (),
        )

    def summary(some: IndexArray, share: str) -> str:
        first, target = shortened(names[some[0]]), targets[some[0]]
        hint = f"; {first} may be {shortened(target)}" if target else ""
        are_outside = bool(np.all(disk.state[some] == ImageState.OUTSIDE))
        hint = hint or (_LED_OUT if are_outside else elsewhere)
        where = "outside" if are_outside else "not in"
        return f"files of {share} are {where} the image folder, such as {first}{hint}"

    for rows in (np.flatnonzero(lost & has_target), np.flatnonzero(lost & ~has_target)):
        yield from hits(rows, describe, name="images", summary=summary)


def _targets(names: list[str], disk: ImageFolder) -> list[str]:
    """Return the file that each missing name must mean; "" where that is uncertain."""
    owners: dict[str, set[str]] = {}
    for name, path, near in zip(names, disk.path, disk.suggestions, strict=True):
        for each in {path, *near} - {""}:
            owners.setdefault(each, set()).add(name)
    # A file that another record has, or may mean as well, is uncertain.
    return [near[0] if len(near) == 1 == len(owners[near[0]]) else "" for near in disk.suggestions]


def _undecodable(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M002: files that cannot be decoded."""
    disk = document.disk
    if disk is None:
        return
    names = document.images.texts("file_name")

    def describe(row: int) -> Defect:
        what, problem = "cannot be decoded", disk.problem[row]
        if disk.truncated[row]:
            # Pillow begins its reason with the same words.
            what, problem = "is truncated", problem.removeprefix("image file is truncated").strip()
            problem = problem.removeprefix("(").removesuffix(")")
        reason = f": {problem}" if problem else ""
        return record_defect(
            document,
            ("images", row, "file_name"),
            f"image file {shortened(names[row])} {what}{reason}",
            found=names[row],
            expected="an image that can be decoded to its end",
        )

    broken = disk.state == ImageState.UNREADABLE
    yield from hits(broken, describe, name="images", apart=True)


def _unnamed(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M007: image files that no record names."""
    disk = document.disk
    if disk is None or not disk.unnamed or not document.complete("images"):
        return
    n_files = len(disk.unnamed)
    examples = ", ".join(shortened(path) for path in disk.unnamed[:3])
    found = Defect(
        f"{count(n_files, 'image file')} in the image folder without an image record, such as "
        f"{examples}",
        pointer=pointer_to("images"),
        found=list(disk.unnamed),
        expected="a record for each image file",
        count=n_files,
    )
    yield from described_hits([found])


RULES = (
    Rule(
        code="M001",
        title="image file missing",
        severity=Severity.ERROR,
        scope="images",
        breaks="""Pillow stops training with a FileNotFoundError; OpenCV returns None instead of the
            image.""",
        explanation="""There is no file of that name in the image folders or, if the COCO file is in
            one of them, next to it. Or the name or a link leads out of the folders; such a file is
            never opened. Files whose names differ only in folder, case, slashes or Unicode form are
            suggested. Names in COCO JSON have to be paths below the folder, which programs for
            training open as they are. Images of other formats are also found in the folders of
            pictures: train/street.jpg may be train/images/street.jpg or images/train/street.jpg.
            The unsafe fix writes the suggested name if there is exactly one, and no other record
            may mean it.""",
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
        explanation="""The file is empty, truncated, not an image, or has more than a gigapixel and
            is not decoded. Copy or download it again. Images of more than 89 megapixels are decoded
            in part: JPEG at an eighth of its size, TIFF and JPEG 2000 at one end. For PNG,
            checksums are verified; for progressive JPEG and other formats, the header is read.""",
        bad={"images": [{"file_name": "half-downloaded.jpg"}]},
        good={"images": [{"file_name": "whole.jpg"}]},
        check=_undecodable,
    ),
    Rule(
        code="M007",
        title="image file without a record",
        severity=Severity.INFO,
        scope="images",
        breaks="""Nothing fails, so it goes unnoticed that the export left images out, or that they
            are not annotated yet (HumanSignal/label-studio 5544).""",
        explanation="""No image record names these files of the image folder. That is right for
            other splits in the same folder; otherwise check that the export is complete. All files
            are one finding.""",
        bad={"images": [{"file_name": "a.jpg"}]},
        good={
            "images": [{"file_name": "a.jpg"}, {"file_name": "b.jpg"}],
            "annotations": [{}, {"image_id": 2}],
        },
        check=_unnamed,
    ),
)
