"""The files of tar archives, also inside of gzip."""

import gzip
import io
import mmap
import tarfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, cast

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.content_kinds import TABLES
from bboxqa.formats.translation.archives.entries import is_hidden, safe_name, sorted_once
from bboxqa.formats.translation.heads import is_tar
from bboxqa.formats.translation.member import (
    AGAIN,
    MAX_MEMBERS,
    MAX_SIZE,
    ZIP_ERRORS,
    Member,
    most_of,
    too_large,
)

TAR_HEAD = 262
"""The number of bytes up to the end of the magic number of a tar archive."""
_READ = (".json", ".xml", ".txt", *TABLES)
_LINKS = "Unpack it, and name the folder, or pack the files themselves."


def tar_members(path: Path) -> list[Member]:
    """Return the files of a tar archive, sorted; see `members_of`."""
    try:
        with tarfile.open(path, "r:") as archive:
            return _listed(path, archive, partial(_part, path))
    except (tarfile.TarError, OSError) as error:
        raise _broken_tar(path, error) from None


def is_packed_tar(path: Path) -> bool:
    """Return whether the content of a gzip file is a tar archive."""
    with suppress(*ZIP_ERRORS), unzipped(path) as stream:
        # A longer head would fail where a short archive is cut off.
        return is_tar(stream.read(TAR_HEAD))
    return False


def packed_tar_members(path: Path) -> list[Member]:
    """Return the files of a tar archive inside of gzip, sorted; see `members_of`."""
    from bboxqa.formats.translation.archives.packed_tars import unpacked

    most = most_of(path.stat().st_size)
    try:
        content = unpacked(path, most)
        if content is None:
            raise too_large(str(path), most)
        with tarfile.open(fileobj=content, mode="r:") as archive:
            return _listed(path, archive, partial(_part_of, content))
    except (tarfile.TarError, *ZIP_ERRORS) as error:
        raise _broken_tar(path, error) from None


def _listed(
    path: Path, infos: Iterable[tarfile.TarInfo], part: Callable[[int, int], IO[bytes]]
) -> list[Member]:
    """Return the files of a tar archive, without devices and links.

    `part` opens a part of its content, of which it gets the first byte and the length. Raises
    DatasetError if a file of annotations is a link, as its annotator would be missing.
    """
    found: list[Member] = []
    for number, info in enumerate(infos):
        # Folders and links take memory as well.
        if number > MAX_MEMBERS:
            raise DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"])
        name = safe_name(path, info.name)
        if (info.issym() or info.islnk()) and not is_hidden(name) and name.lower().endswith(_READ):
            problem = f"{path}/{name}: is a link, and links in an archive are not followed"
            raise DatasetError([problem], _LINKS)
        if info.isreg() and not info.issparse() and not is_hidden(name):
            opened = partial(part, info.offset_data, info.size)
            found.append(Member(name, f"{path}/{name}", min(info.size, MAX_SIZE), opened))
    return sorted_once(path, found)


def _broken_tar(path: Path, error: Exception) -> DatasetError:
    problem = f"{path}: is a tar archive that cannot be read: {one_line(str(error))}"
    return DatasetError([problem], AGAIN)


def _part(path: Path, start: int, size: int) -> IO[bytes]:
    """Open a part of a file for reading."""
    with path.open("rb") as file:
        file.seek(start)
        return io.BytesIO(file.read(size))


def _part_of(content: mmap.mmap, start: int, size: int) -> IO[bytes]:
    return io.BytesIO(content[start : start + size])


def unzipped(path: Path) -> IO[bytes]:
    """Open the content of a gzip file."""
    return cast("IO[bytes]", gzip.GzipFile(path))
