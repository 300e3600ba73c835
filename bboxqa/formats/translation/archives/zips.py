"""The files of zip archives."""

import struct
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES
from bboxqa.core.text import count, one_line
from bboxqa.formats.translation.archives.entries import is_hidden, safe_name, sorted_once
from bboxqa.formats.translation.member import (
    AGAIN,
    LIMIT,
    MAX_MEMBERS,
    MAX_RATIO,
    MAX_SIZE,
    SMALL,
    UNPACK,
    ZIP_ERRORS,
    Member,
)

_CUT_OFF = "its list of files, at the end, is missing"
_ZIP_END = struct.Struct("<4s4H2LH")


def zip_members(path: Path) -> list[Member]:
    """Return the files of a zip archive, sorted; see `members_of`."""
    if _n_entries(path) > MAX_MEMBERS:
        raise DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"], UNPACK)
    try:
        archive = zipfile.ZipFile(path)
    except ZIP_ERRORS as error:
        reason = str(error) if zipfile.is_zipfile(path) else _CUT_OFF
        problem = f"{path}: is a zip archive that cannot be read: {one_line(reason)}"
        raise DatasetError([problem], AGAIN) from None
    entries = [(safe_name(path, info.filename), info) for info in _files_in(archive)]
    _check_sizes(path, [info for _, info in entries])
    shown = [
        Member(name, f"{path}/{name}", info.file_size, partial(archive.open, info))
        for name, info in entries
        if not is_hidden(name)
    ]
    return sorted_once(path, shown)


def _n_entries(path: Path) -> int:
    """Return the number of entries a zip archive declares, before reading them into memory."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - (1 << 16) - _ZIP_END.size))
        tail = file.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _ZIP_END.size:
        return 0
    n_entries: int = _ZIP_END.unpack_from(tail, place)[4]
    wide = tail.rfind(b"PK\x06\x06")
    if n_entries == 0xFFFF and wide >= 0 and len(tail) - wide >= 40:
        n_entries = struct.unpack_from("<Q", tail, wide + 32)[0]
    return n_entries


def _files_in(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    return (info for info in archive.infolist() if not info.is_dir())


def _check_sizes(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    """Refuse an archive with more content than annotations can have, such as a zip bomb."""
    texts = [
        each for each in infos if PurePosixPath(each.filename).suffix.lower() not in IMAGE_SUFFIXES
    ]
    total = sum(each.file_size for each in texts)
    if total > MAX_SIZE:
        raise DatasetError([f"{path}: has {total:,} bytes of content besides images"], UNPACK)
    for each in texts:
        if each.file_size > SMALL and each.file_size > MAX_RATIO * max(each.compress_size, 1):
            problem = f"{path}/{one_line(each.filename)}: {each.compress_size:,} bytes would become"
            problem += f" {each.file_size:,}, which is taken for a zip bomb: {LIMIT}"
            raise DatasetError([problem], UNPACK)
        if each.flag_bits & 1:
            problem = f"{path}/{one_line(each.filename)}: is encrypted"
            raise DatasetError([problem], "Unpack it with its password.")
