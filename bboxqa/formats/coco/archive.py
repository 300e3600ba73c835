"""COCO JSON in a zip or gzip archive, as tools export it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.errors import DatasetError
from bboxqa.core.types import Steps
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.coco.reader import COCO, begins_as_coco, read_text
from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.format import Format
from bboxqa.formats.translation.heads import is_archive
from bboxqa.formats.translation.members import (
    archive_around,
    head_of,
    members_of,
    members_with,
    only_file,
)
from bboxqa.formats.windows import begins_with_results
from bboxqa.model.annotations import Source

if TYPE_CHECKING:
    from bboxqa.formats.translation.member import Member

# COCO JSON may begin with any of its lists, or with `info` and the like.
_OTHER_LISTS = re.compile(
    rb'\s*\{.*?"annotations"\s*:\s*\[\s*\{[^{}\[\]]*"image_id"|\s*\{\s*"(?:info|licenses)"\s*:',
    re.DOTALL,
)


def _recognises(path: Path) -> bool:
    if not is_archive(head_of(path)) and archive_around(path) is None:
        return False
    try:
        return bool(_members(path))
    except DatasetError:
        return False


def _members(path: Path) -> "list[Member]":
    """Return the files of an archive that are COCO JSON, or the file of a path into one."""
    found = []
    for member in members_with(members_of(path), ".json"):
        head = member.head().removeprefix(b"\xef\xbb\xbf")
        if begins_as_coco(head) or _OTHER_LISTS.match(head) or begins_with_results(head):
            found.append(member)
    return found


def begins_as_results(path: Path) -> bool:
    """Return whether the COCO JSON of an archive, or of a path into one, is a list of results."""
    return begins_with_results(_member(path).head())


def _member(path: Path) -> "Member":
    return only_file(path, _members(path), "COCO JSON")


def text_of(path: Path) -> bytes:
    """Return the COCO JSON of an archive, or of a path into one; raises DatasetError if none."""
    return _member(path).read()


def _read(path: Path, options: ReadOptions) -> AnnotationFile:
    from bboxqa.formats.translation.source_files import size_and_digest

    source = Source(str(path), *size_and_digest(path, digest=options.digest))
    return read_text(text_of(path), path, options, source)


def _document(path: Path, progress: Steps | None = None) -> RawDocument:
    from bboxqa.formats.document.builder import WHOLE
    from bboxqa.formats.document.tolerant import read_bytes

    member = _member(path)
    reading = read_bytes(member.read(), member.shown, replace(WHOLE, progress=progress))
    reading.is_packed = True
    return reading


COCO_ARCHIVE = Format("coco-archive", (), _recognises, _read, _document)
"""COCO JSON in an archive."""
COCO_JSON = (COCO, COCO_ARCHIVE)
"""COCO JSON as a file, or in an archive."""
