"""The files of zip and tar archives, within limits on their content and names."""

import gzip
import io
import mmap
import re
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import IO, cast

from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.core.file_names import IMAGE_SUFFIXES, own_name
from bboxqa.core.text import count, one_line
from bboxqa.formats.heads import TABLES
from bboxqa.formats.member import (
    AGAIN,
    LIMIT,
    MAX_MEMBERS,
    MAX_RATIO,
    MAX_SIZE,
    SMALL,
    UNPACK,
    ZIP_ERRORS,
    Member,
    is_tar,
    most_of,
    too_large,
)

# Words and what separates them share no character: else, names such as a_1_1_1… take hours.
_OF_COPIES = re.compile(r"(?:[\W_]+(?:copy|\d[^\W_]*))*[\W_]*", re.IGNORECASE)
"""What is behind the name of a copy, a download, or a folder packed on some day."""


def is_hidden(name: str) -> bool:
    """Return whether a file is hidden, as those that systems add to archives."""
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def safe_name(path: Path, name: str) -> str:
    """Return a name with ``/``; refuse a name that leads out of the archive."""
    plain = name.replace("\\", "/")
    # Without the `.` of `./annotations.xml`, as programs write it that pack a folder.
    parts = PurePosixPath(plain).parts
    if plain.startswith("/") or ".." in parts or ":" in plain.partition("/")[0]:
        problem = f"{path}: has a file named {one_line(name)!r}, which leads out of the archive"
        raise DatasetError([problem], "Export it again, or unpack it with care.")
    return "/".join(parts)


def sorted_once(path: Path, members: list[Member]) -> list[Member]:
    """Return the files of an archive, sorted; refuse two of one name, as only one is meant."""
    found = sorted(members, key=attrgetter("name"))
    for one, other in pairwise(found):
        if one.name == other.name and PurePosixPath(one.name).suffix.lower() not in IMAGE_SUFFIXES:
            problem = f"{path}: has two files named {one_line(one.name)!r}; expected one of a name"
            raise DatasetError([problem], "Pack it again, each annotator in a folder of its own.")
    top = _top(own_name(path), found)
    return [each._replace(top=top) for each in found] if top else found


def _top(archive: str, members: list[Member]) -> str:
    """Return the only folder at the top of an archive if the archive has its name, else "".

    File managers name an archive after the folder they pack, which is that of an annotator. Copies
    and downloads have numbers behind the name, such as "ann (1).zip". Other words are of people:
    "ann_day1.zip" may hold day1/, which the archive of another annotator holds as well.
    """
    folder, slash, _ = members[0].name.partition("/") if members else ("", "", "")
    behind = archive.removeprefix(folder)
    if not slash or behind == archive or not _OF_COPIES.fullmatch(behind):
        return ""
    top = folder + slash
    return top if all(each.name.startswith(top) for each in members) else ""


_UNPACKED = 1 << 20


def unpacked(path: Path, most: int) -> mmap.mmap | None:
    """Return the content of a gzip file; None if it has more than `most` bytes.

    It is in a temporary file that is removed once the content is no longer used. Raises OSError,
    EOFError or zlib.error if the file cannot be read, and OutputError if there is no room for the
    temporary file.
    """
    with gzip.open(path) as packed, _temporary_file() as file:
        left = most + 1
        while left > 0 and (chunk := packed.read(min(left, _UNPACKED))):
            _write(file, chunk)
            left -= len(chunk)
        if left <= 0:
            return None
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _temporary_file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(prefix="bboxqa-")
    except OSError as error:
        raise _no_room(error) from None


def _write(file: IO[bytes], chunk: bytes) -> None:
    try:
        file.write(chunk)
        file.flush()
    except OSError as error:
        raise _no_room(error) from None


def _no_room(error: OSError) -> OutputError:
    return OutputError(
        f"no room to unpack the archive: {error.strerror}; set TMPDIR to a folder on a larger "
        "disk, or unpack the archive, and name its folder"
    )


TAR_HEAD = 262
"""The number of bytes up to the end of the magic number of a tar archive."""
_READ = (".json", ".xml", ".txt", *TABLES)
# Sizes in a header may be larger than any offset.
_TAR_ERRORS = (tarfile.TarError, OSError, ValueError, OverflowError)
_LINKS = "Unpack it, and name the folder, or pack the files themselves."


def tar_members(path: Path) -> list[Member]:
    """Return the files of a tar archive, sorted; see `members_of`."""
    try:
        with tarfile.open(path, "r:") as archive:
            return _files_of_tar(path, archive, partial(_part, path))
    except _TAR_ERRORS as error:
        raise _broken_tar(path, error) from None


def is_packed_tar(path: Path) -> bool:
    """Return whether the content of a gzip file is a tar archive."""
    with suppress(*ZIP_ERRORS), unzipped(path) as stream:
        # A longer head would fail where a short archive is cut off.
        return is_tar(stream.read(TAR_HEAD))
    return False


def packed_tar_members(path: Path) -> list[Member]:
    """Return the files of a tar archive inside of gzip, sorted; see `members_of`."""
    most = most_of(path.stat().st_size)
    try:
        content = unpacked(path, most)
        if content is None:
            raise too_large(str(path), most)
        with tarfile.open(fileobj=content, mode="r:") as archive:
            return _files_of_tar(path, archive, partial(_part_of, content))
    except (*_TAR_ERRORS, *ZIP_ERRORS) as error:
        raise _broken_tar(path, error) from None


def _files_of_tar(
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
    if not all(info.filename for info in archive.infolist()):
        raise DatasetError([f"{path}: has an entry without a name"], UNPACK)
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
