"""COCO JSON in a zip or gzip archive, as tools export it."""

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.errors import DatasetError
from bboxqa.core.files import digest_of
from bboxqa.core.text import one_line
from bboxqa.core.types import Steps
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.coco.strict import begins_as_coco, read_text
from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.format import Format
from bboxqa.formats.translation.heads import head_of, is_archive
from bboxqa.model.annotations import Source

if TYPE_CHECKING:
    from bboxqa.formats.translation.member import Member

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
    from bboxqa.formats.translation.members import members_of, members_with

    found = []
    for member in members_with(members_of(path), ".json"):
        head = member.head().removeprefix(b"\xef\xbb\xbf")
        if begins_as_coco(head) or _OTHER_LISTS.match(head):
            found.append(member)
    return found


def parts_of(path: Path) -> list[Path]:
    """Return the paths of the files of an archive: itself if it has one, else a path below it.

    Raises DatasetError if another JSON file inside cannot be read, which may be one of them.
    """
    from bboxqa.formats.translation.members import members_of, members_with

    members = _members(path)
    names = {each.name for each in members}
    for other in members_with(members_of(path), ".json"):
        if other.name not in names:
            # Archives have a checksum of all the content of a file.
            for _ in other.chunks():
                pass
    return [path] if len(members) == 1 else [path / member.name for member in members]


def archive_around(path: Path) -> Path | None:
    """Return the archive that a path of `parts_of` leads into; None if it leads into none."""
    found = next((each for each in path.parents if each.exists()), None)
    is_file = found is not None and found.is_file() and is_archive(head_of(found))
    return found if is_file else None


def _member(path: Path) -> "Member":
    """Return the COCO JSON of a path of `parts_of`; raises DatasetError if it is not there."""
    archive = archive_around(path) or path
    name = "" if archive is path else path.relative_to(archive).as_posix()
    members = _members(archive)
    found = next((each for each in members if name in ("", each.name)), None)
    if found is None:
        names = ", ".join(one_line(each.name) for each in members[:3]) or "none"
        problem = f"{path}: no such file of COCO JSON in the archive; it has {names}"
        raise DatasetError([problem], "Name one of these, or the archive for all of them.")
    return found


def text_of(path: Path) -> bytes:
    """Return the COCO JSON of a path of `parts_of`; raises DatasetError if it is not there."""
    return _member(path).read()


def _read(path: Path, options: ReadOptions) -> AnnotationFile:
    text = text_of(path)
    records = read_text(text, path, options)
    if path.is_file():
        content = digest_of(path) if options.digest else None
        return records(Source(str(path), path.stat().st_size, content))
    content = hashlib.blake2b(text).hexdigest() if options.digest else None
    return records(Source(str(path), len(text), content))


def _document(path: Path, progress: Steps | None = None, memory: int | None = None) -> RawDocument:
    from bboxqa.formats.document.tolerant import read_bytes

    member = _member(path)
    return read_bytes(member.read(), member.shown, progress, memory)


COCO_ARCHIVE = Format("coco-archive", (), _recognises, _read, _document)
"""COCO JSON in an archive."""
