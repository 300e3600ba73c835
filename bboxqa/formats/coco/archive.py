"""COCO JSON in a zip or gzip archive, as tools export it."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.errors import DatasetError
from bboxqa.core.types import Steps
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.coco.strict import begins_as_coco, file_digest, read_text
from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.format import Format
from bboxqa.formats.translation.heads import head_of, is_archive
from bboxqa.model.annotations import Source

if TYPE_CHECKING:
    from bboxqa.formats.translation.members import Member

# COCO JSON may begin with any of its lists, or with `info` and the like.
_OTHER_LISTS = re.compile(
    rb'\s*\{.*?"annotations"\s*:\s*\[\s*\{[^{}\[\]]*"image_id"|\s*\{\s*"(?:info|licenses)"\s*:',
    re.DOTALL,
)


def _recognises(path: Path) -> bool:
    if not is_archive(head_of(path)):
        return False
    try:
        return bool(_members(path))
    except DatasetError:
        return False


def _members(path: Path) -> "list[Member]":
    """Return the files of an archive that are COCO JSON."""
    from bboxqa.formats.translation.members import members_of

    found = []
    for member in members_of(path):
        if member.name.endswith(".json") or not member.name:
            head = member.head().removeprefix(b"\xef\xbb\xbf")
            if begins_as_coco(head) or _OTHER_LISTS.match(head):
                found.append(member)
    return found


def _member(path: Path) -> "Member":
    """Return the COCO JSON of an archive; raises DatasetError unless it has exactly one."""
    found = _members(path)
    if len(found) != 1:
        names = ", ".join(member.name for member in found[:3])
        held = f"{len(found)} files of COCO json: {names}" if found else "no COCO json"
        raise DatasetError(
            [f"{path}: has {held}; expected one"],
            "Unpack it, and name the files that belong together.",
        )
    return found[0]


def _read(path: Path, options: ReadOptions) -> AnnotationFile:
    text = _member(path).read()
    records = read_text(text, path, options)
    content = file_digest(path) if options.digest else None
    return records(Source(str(path), path.stat().st_size, content))


def _document(path: Path, progress: Steps | None = None, memory: int | None = None) -> RawDocument:
    from bboxqa.formats.document.tolerant import read_bytes

    member = _member(path)
    return read_bytes(member.read(), member.shown, progress, memory)


COCO_ARCHIVE = Format("coco-archive", (), _recognises, _read, _document)
"""COCO JSON in an archive."""
