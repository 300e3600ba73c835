"""The files of a source, which is a file, a folder, or an archive that is read in place."""

import codecs
import gzip
import io
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import IO, cast

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES
from bboxqa.core.files import identity_of
from bboxqa.core.text import count, one_line
from bboxqa.formats.translation.heads import GZIP, HEAD, ZIP, is_tar

MAX_MEMBERS = 1_000_000
MAX_SIZE = 8 << 30
"""Most bytes of all files of an archive together, except for images."""
MAX_RATIO = 200
"""The largest compression ratio of a file of more than `_SMALL` bytes."""

_SMALL = 16 << 20
_FIRST = 1 << 16
_CHUNK = 1 << 20
_READ_ONLY = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
# The magic number of a tar archive ends here.
_TAR_HEAD = 262
_ZIP_END = struct.Struct("<4s4H2LH")
_ZIP_ERRORS = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, OSError)


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One file of a source."""

    name: str
    """Its path inside the source, with ``/``; "" if the source is a single file."""
    shown: str
    """Its name in messages."""
    most: int
    """The largest accepted size in bytes."""
    open: Callable[[], IO[bytes]]
    is_file: bool = False
    """Whether `shown` is the path of a file with this content."""

    def head(self) -> bytes:
        """Return the beginning of the content; b"" if it cannot be read."""
        try:
            with self.open() as stream:
                return stream.read(HEAD)
        except _ZIP_ERRORS:
            return b""

    def text(self) -> bytes:
        """Return the content in UTF-8, with blanks in place of a byte order mark.

        Raises DatasetError as `read` does.
        """
        return as_utf8(self.read())

    def chunks(self, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Yield the content, from a byte and up to one, in parts.

        Raises DatasetError as `read` does.
        """
        done = begin
        try:
            with self.open() as stream:
                stream.seek(begin)
                while chunk := stream.read(_CHUNK if end is None else min(_CHUNK, end - done)):
                    done += len(chunk)
                    if done > self.most:
                        raise _too_large(self.shown, self.most)
                    yield chunk
        except _ZIP_ERRORS as error:
            raise self._unreadable(error) from None

    def read(self) -> bytes:
        """Return the content. Raises DatasetError if it cannot be read or is too large."""
        try:
            if self.is_file:
                data = _content_of(self.shown)
            else:
                with self.open() as stream:
                    # Small reads first, since `read` allocates memory for the whole requested size.
                    data = stream.read(_FIRST)
                    if len(data) == _FIRST:
                        data += stream.read(max(0, self.most + 1 - _FIRST))
        except _ZIP_ERRORS as error:
            raise self._unreadable(error) from None
        if len(data) > self.most:
            raise _too_large(self.shown, self.most)
        return data

    def _unreadable(self, error: Exception) -> DatasetError:
        reason = one_line(str(error) or type(error).__name__)
        return DatasetError([f"{self.shown}: cannot be read: {reason}"], _AGAIN)


def _too_large(shown: str, most: int) -> DatasetError:
    """Return the error for content that is larger than its archive lets expect."""
    problem = f"{shown}: has more than {most:,} bytes of content, and is taken for a zip bomb"
    return DatasetError([f"{problem}: {_LIMIT}"], _UNPACK)


_AGAIN = "Export or download it again."
_LIMIT = f"expected at most {MAX_RATIO} times its packed size, or {_SMALL:,} bytes"
_UNPACK = "If that is right, unpack the archive, and name what is inside."


def as_utf8(data: bytes) -> bytes:
    """Return text in UTF-8, with blanks in place of a byte order mark."""
    if data.startswith(codecs.BOM_UTF8):
        return b"   " + data[3:]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode()
    return data


def members_of(path: Path) -> list[Member]:
    """Return the files of a source, sorted by name, without hidden files.

    Archives inside an archive are ordinary files. Raises DatasetError if an archive is broken,
    encrypted or too large, or has names that lead out of it.
    """
    if path.is_dir():
        return _of_folder(path)
    with path.open("rb") as file:
        head = file.read(_TAR_HEAD)
    if head.startswith(ZIP):
        return _of_zip(path)
    if is_tar(head):
        return _of_tar(path)
    size = path.stat().st_size
    if head.startswith(GZIP):
        if _is_packed_tar(path):
            return _of_packed_tar(path)
        return [Member("", str(path), _most(size), partial(_unzipped, path))]
    return [Member("", str(path), size, partial(opened_file, path), is_file=True)]


def _content_of(path: str) -> bytes:
    """Return the content of a file, of a small one twice as fast as with `open`."""
    number = os.open(path, _READ_ONLY)
    try:
        data = os.read(number, _FIRST)
        if len(data) < _FIRST and not (data and os.read(number, 1)):
            return data
    finally:
        os.close(number)
    # A buffer would be copied once more.
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.readall()


def opened_file(path: str | Path) -> IO[bytes]:
    """Open a file for reading."""
    return open(path, "rb")  # noqa: PTH123 - the caller closes it


def files_in(folder: Path) -> list[Member]:
    """Return the files directly in a folder, sorted by name; empty if it cannot be read."""
    try:
        files = sorted(each for each in folder.iterdir() if each.is_file() and each.name[0] != ".")
    except OSError:
        return []
    return [Member(each.name, str(each), MAX_SIZE, partial(opened_file, each)) for each in files]


def _unzipped(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(path))


def _most(packed: int) -> int:
    """Return the largest accepted content in bytes of an archive of `packed` bytes."""
    return min(max(MAX_RATIO * packed, _SMALL), MAX_SIZE)


def _of_folder(path: Path) -> list[Member]:
    """Return the files below a folder, without pipes and devices, which may have no end."""
    found = []
    waiting = [(str(path), "")]
    while waiting:
        folder, start = waiting.pop()
        # As with `os.walk`, folders that cannot be read are passed over.
        with suppress(OSError), os.scandir(folder) as entries:
            for each in entries:
                if each.name[0] == ".":
                    continue
                if each.is_dir(follow_symlinks=False):
                    waiting.append((each.path, f"{start}{each.name}/"))
                elif each.is_file():
                    opened = partial(opened_file, each.path)
                    name = start + each.name
                    found.append(Member(name, each.path, MAX_SIZE, opened, is_file=True))
        if len(found) > MAX_MEMBERS:
            raise DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"])
    return sorted(found, key=attrgetter("name"))


def _of_zip(path: Path) -> list[Member]:
    if _n_entries(path) > MAX_MEMBERS:
        raise DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"], _UNPACK)
    try:
        archive = zipfile.ZipFile(path)
    except _ZIP_ERRORS as error:
        problem = f"{path}: is a zip archive that cannot be read: {one_line(str(error))}"
        raise DatasetError([problem], _AGAIN) from None
    entries = [(_safe_name(path, info.filename), info) for info in _files_in(archive)]
    _check_sizes(path, [info for _, info in entries])
    shown = [
        Member(name, f"{path}/{name}", info.file_size, partial(archive.open, info))
        for name, info in entries
        if not _is_hidden(name)
    ]
    return _sorted_once(path, shown)


def _of_tar(path: Path) -> list[Member]:
    try:
        with tarfile.open(path, "r:") as archive:
            return _tar_members(path, archive, partial(_part, path))
    except (tarfile.TarError, OSError) as error:
        raise _broken_tar(path, error) from None


def _is_packed_tar(path: Path) -> bool:
    with suppress(*_ZIP_ERRORS), _unzipped(path) as stream:
        # A longer head would fail where a short archive is cut off.
        return is_tar(stream.read(_TAR_HEAD))
    return False


def _of_packed_tar(path: Path) -> list[Member]:
    from bboxqa.formats.translation.packed_tars import packed_tar

    most = _most(path.stat().st_size)
    try:
        found = packed_tar(path, identity_of(path), most)
    except (tarfile.TarError, *_ZIP_ERRORS) as error:
        raise _broken_tar(path, error) from None
    if found is None:
        raise _too_large(str(path), most)
    content, infos = found

    def part(start: int, size: int) -> IO[bytes]:
        return io.BytesIO(content[start : start + size])

    return _tar_members(path, infos, part)


def _tar_members(
    path: Path, infos: Iterable[tarfile.TarInfo], part: Callable[[int, int], IO[bytes]]
) -> list[Member]:
    """Return the files of a tar archive, without links and devices.

    `part` opens a part of its content, of which it gets the first byte and the length.
    """
    found: list[Member] = []
    for info in infos:
        if len(found) > MAX_MEMBERS:
            raise DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"])
        name = _safe_name(path, info.name)
        if info.isreg() and not info.issparse() and not _is_hidden(name):
            opened = partial(part, info.offset_data, info.size)
            found.append(Member(name, f"{path}/{name}", min(info.size, MAX_SIZE), opened))
    return _sorted_once(path, found)


def _broken_tar(path: Path, error: Exception) -> DatasetError:
    problem = f"{path}: is a tar archive that cannot be read: {one_line(str(error))}"
    return DatasetError([problem], _AGAIN)


def _part(path: Path, start: int, size: int) -> IO[bytes]:
    """Open a part of a file for reading."""
    with path.open("rb") as file:
        file.seek(start)
        return io.BytesIO(file.read(size))


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


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


def _safe_name(path: Path, name: str) -> str:
    """Return a name with ``/``; refuse a name that leads out of the archive."""
    plain = name.replace("\\", "/")
    # Without the `.` of `./annotations.xml`, as programs write it that pack a folder.
    parts = PurePosixPath(plain).parts
    if plain.startswith("/") or ".." in parts or ":" in plain.partition("/")[0]:
        problem = f"{path}: has a file named {one_line(name)!r}, which leads out of the archive"
        raise DatasetError([problem], "Export it again, or unpack it with care.")
    return "/".join(parts)


def _sorted_once(path: Path, members: list[Member]) -> list[Member]:
    """Return the files of an archive, sorted; refuse two of one name, as only one is meant."""
    found = sorted(members, key=attrgetter("name"))
    for one, other in pairwise(found):
        if one.name == other.name and PurePosixPath(one.name).suffix.lower() not in IMAGE_SUFFIXES:
            problem = f"{path}: has two files named {one_line(one.name)!r}; expected one of a name"
            raise DatasetError([problem], "Pack it again, each annotator in a folder of its own.")
    return found


def _check_sizes(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    """Refuse an archive with more content than annotations can have, such as a zip bomb."""
    texts = [
        each for each in infos if PurePosixPath(each.filename).suffix.lower() not in IMAGE_SUFFIXES
    ]
    total = sum(each.file_size for each in texts)
    if total > MAX_SIZE:
        raise DatasetError([f"{path}: has {total:,} bytes of content besides images"], _UNPACK)
    for each in texts:
        if each.file_size > _SMALL and each.file_size > MAX_RATIO * max(each.compress_size, 1):
            problem = f"{path}/{one_line(each.filename)}: {each.compress_size:,} bytes would become"
            problem += f" {each.file_size:,}, which is taken for a zip bomb: {_LIMIT}"
            raise DatasetError([problem], _UNPACK)
        if each.flag_bits & 1:
            problem = f"{path}/{one_line(each.filename)}: is encrypted"
            raise DatasetError([problem], "Unpack it with its password.")
