"""A file of a source, and the files of zip and tar archives, within limits."""

import gzip
import io
import mmap
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from stat import S_ISLNK
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, own_name
from bboxqa.core.json_values import TOO_DEEP, nests_deep
from bboxqa.core.text import count, one_line
from bboxqa.formats.heads import HEAD, TABLES, as_utf8

if TYPE_CHECKING:
    from tarfile import TarInfo

ZIP, GZIP = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b"
_TAR, _OF_TAR = slice(257, 262), b"ustar"
ARCHIVES = (".zip", ".tar", ".gz", ".tgz")


def is_picture(name: str) -> bool:
    """Return whether a file is an image, by its name."""
    return f".{name.rpartition('.')[2]}".lower() in IMAGE_SUFFIXES


def is_archive(head: bytes) -> bool:
    """Return whether a file begins like a zip, gzip or tar archive."""
    return head.startswith((*ZIP, GZIP)) or head[_TAR] == _OF_TAR


MAX_MEMBERS = 1_000_000
MAX_SIZE = 8 << 30
"""Most bytes of all files of an archive together, except for images."""
MAX_RATIO, SMALL = 200, 16 << 20
AGAIN = "Export or download it again."
READABLE = "Allow reading it, or move it elsewhere."
UNPACK = "If that is right, unpack the archive, and name what is inside."
ZIP_ERRORS = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, OSError)

_PART = 1 << 20


class Member(NamedTuple):
    """One file of a source."""

    name: str
    """Its path inside the source, with ``/``; "" if the source is a single file."""
    shown: str
    most: int
    """The largest accepted size in bytes."""
    open: Callable[[], IO[bytes]]
    is_file: bool = False
    """Whether `shown` is the path of a file with this content."""
    top: str = ""
    """The folder around all files of an archive that is named after it, with ``/``."""

    @property
    def inner(self) -> str:
        """The path below `top`, by which images are named."""
        return self.name.removeprefix(self.top)

    @property
    def folder(self) -> str:
        """Its folder inside the source; "" for none."""
        return self.name.rpartition("/")[0]

    def head(self) -> bytes:
        """Return the beginning of the content; b"" if it cannot be read."""
        try:
            with self.open() as stream:
                return stream.read(HEAD)
        except ZIP_ERRORS:
            return b""

    def text(self) -> bytes:
        """Return the content in UTF-8, with blanks in place of a byte order mark.

        Raises DatasetError as `read` does, and for JSON that is nested too deep.
        """
        text = as_utf8(self.read())
        if text[:64].lstrip()[:1] in (b"[", b"{") and nests_deep(text):
            raise DatasetError([f"{self.shown}: cannot be read: {TOO_DEEP}"], AGAIN)
        return text

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in parts. Raises DatasetError as `read` does."""
        done = 0
        try:
            with self.open() as stream:
                while chunk := stream.read(_PART):
                    done += len(chunk)
                    if done > self.most:
                        raise too_large(self.shown, self.most)
                    yield chunk
        except ZIP_ERRORS as error:
            raise self._unreadable(error) from None

    def read(self) -> bytes:
        """Return the content. Raises DatasetError if it cannot be read or is too large."""
        try:
            if self.is_file:
                with open(self.shown, "rb", buffering=0) as file:  # noqa: PTH123 - of many
                    if os.fstat(file.fileno()).st_size > self.most:
                        raise too_large(self.shown, self.most)
                    return file.read()
        except OSError as error:
            raise self._unreadable(error) from None
        return b"".join(self.chunks())

    def _unreadable(self, error: Exception) -> DatasetError:
        reason = one_line(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        todo = READABLE if isinstance(error, PermissionError) else AGAIN
        return DatasetError([f"{self.shown}: cannot be read: {reason}"], todo)


def too_large(shown: str, most: int) -> DatasetError:
    """Return the error for content that is larger than expected, as of a zip bomb."""
    limit = f"expected at most {MAX_RATIO} times its packed size, or {SMALL:,} bytes"
    problem = f"{shown}: has more than {most:,} bytes of content; in an archive, {limit}"
    return DatasetError([problem], UNPACK)


def opened_file(path: str | Path) -> IO[bytes]:
    """Open a file for reading."""
    return open(path, "rb")  # noqa: PTH123 - the caller closes it


_Entry = tuple[str, int, Callable[[], IO[bytes]], bool]


def _listing(path: Path, entries: Iterable[_Entry]) -> list[Member]:
    """Return the files of an archive, sorted, without hidden ones; refuse unsafe names."""
    found, total = [], 0
    for name, size, opened, is_link in entries:
        plain = name.replace("\\", "/")
        parts = [each for each in plain.split("/") if each not in ("", ".")]
        if not parts:
            raise DatasetError([f"{path}: has an entry without a name"], UNPACK)
        if plain.startswith("/") or ".." in parts or ":" in parts[0]:
            problem = f"{path}: has a file named {one_line(name)!r}, which leads out of the archive"
            raise DatasetError([problem], AGAIN)
        inside = "/".join(parts)
        total += 0 if is_picture(inside) else size
        if any(each.startswith((".", "__MACOSX")) for each in parts):
            continue
        if not is_link:
            found.append(Member(inside, f"{path}/{inside}", min(size, MAX_SIZE), opened))
        elif inside.lower().endswith((".json", ".xml", ".txt", *TABLES)):
            problem = f"{path}/{inside}: is a link, and links in an archive are not followed"
            raise DatasetError([problem], UNPACK)
    if total > MAX_SIZE:
        raise DatasetError([f"{path}: has {total:,} bytes of content besides images"], UNPACK)
    found.sort(key=attrgetter("name"))
    for one, other in pairwise(found):
        if one.name == other.name and not is_picture(one.name):
            problem = f"{path}: has two files named {one_line(one.name)!r}; expected one of a name"
            raise DatasetError([problem], "Pack it again, each annotator in a folder of its own.")
    # File managers name an archive after the folder they pack, and number copies and downloads.
    top = found[0].name.partition("/")[0] if found else ""
    is_only = bool(top) and all(each.name.startswith(f"{top}/") for each in found)
    is_named = is_only and own_name(path).startswith(top)
    return [each._replace(top=f"{top}/") for each in found] if is_named else found


def archive_members(path: Path) -> list[Member]:
    """Return the files of an archive, sorted, or the one in a gzip file; see `members_of`."""
    with path.open("rb") as file:
        head = file.read(_TAR.stop)
    if head.startswith(ZIP):
        return _zip_members(path)
    is_plain, inside = head[_TAR] == _OF_TAR, b""
    # A longer head would fail where a short archive is cut off.
    with suppress(*ZIP_ERRORS), _unzipped(path) as stream:
        inside = stream.read(_TAR.stop)
    most = min(max(MAX_RATIO * path.stat().st_size, SMALL), MAX_SIZE)
    if not is_plain and inside[_TAR] != _OF_TAR:
        return [Member("", str(path), most, partial(_unzipped, path))]
    import tarfile

    try:
        content = None if is_plain else _unpacked(path, most)
        with tarfile.open(path, "r:", fileobj=content) as archive:
            return _listing(path, _tar_entries(path, archive, content))
    except (tarfile.TarError, ValueError, OverflowError, *ZIP_ERRORS) as error:
        problem = f"{path}: is a tar archive that cannot be read: {one_line(str(error))}"
        raise DatasetError([problem], AGAIN) from None


def _tar_entries(
    path: Path, infos: "Iterable[TarInfo]", content: mmap.mmap | None
) -> Iterator[_Entry]:
    """Yield the files and links of a tar archive; refuse those that reach beyond its end."""
    whole = path.stat().st_size if content is None else len(content)
    for number, info in enumerate(infos):
        # Folders and links take memory as well.
        if number > MAX_MEMBERS:
            raise DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"], UNPACK)
        is_link = info.issym() or info.islnk()
        if is_link or (info.isreg() and not info.issparse()):
            if not 0 <= info.size <= whole - info.offset_data:
                problem = f"has {info.size:,} bytes by its header, but the archive {whole:,}"
                raise DatasetError([f"{path}/{one_line(info.name)}: {problem}"], AGAIN)
            opened = partial(_part, content or path, info.offset_data, info.size)
            yield info.name, info.size, opened, is_link


def _part(content: mmap.mmap | Path, start: int, size: int) -> IO[bytes]:
    """Open a part of a file for reading."""
    if not isinstance(content, Path):
        return io.BytesIO(content[start : start + size])
    with content.open("rb") as file:
        file.seek(start)
        return io.BytesIO(file.read(size))


def _unzipped(path: Path) -> IO[bytes]:
    """Open the content of a gzip file."""
    return cast("IO[bytes]", gzip.GzipFile(path))


def _unpacked(path: Path, most: int) -> mmap.mmap:
    """Return the content of a gzip file, which is in a temporary file as long as it is used."""
    import tempfile

    with tempfile.TemporaryFile(prefix="bboxqa-") as file, gzip.open(path) as packed:
        while file.tell() <= most and (chunk := packed.read(_PART)):
            file.write(chunk)
            file.flush()
        if file.tell() > most:
            raise too_large(str(path), most)
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


_UNIX = 3
_ZIP_END = struct.Struct("<4s4H2LH")


def _zip_members(path: Path) -> list[Member]:
    # The number of entries that the archive declares, before they are read into memory.
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - (1 << 16) - _ZIP_END.size))
        tail = file.read()
    place, wide, n_entries = tail.rfind(b"PK\x05\x06"), tail.rfind(b"PK\x06\x06"), 0
    if 0 <= place <= len(tail) - _ZIP_END.size:
        n_entries = _ZIP_END.unpack_from(tail, place)[4]
        if n_entries == 0xFFFF and 0 <= wide <= len(tail) - 40:
            n_entries = struct.unpack_from("<Q", tail, wide + 32)[0]
    if n_entries > MAX_MEMBERS:
        raise DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"], UNPACK)
    try:
        archive = zipfile.ZipFile(path)
    except ZIP_ERRORS as error:
        problem = f"{path}: is a zip archive that cannot be read: {one_line(str(error))}"
        raise DatasetError([problem], AGAIN) from None
    return _listing(path, _zip_entries(path, archive))


def _zip_entries(path: Path, archive: zipfile.ZipFile) -> Iterator[_Entry]:
    """Yield the files and links of a zip archive; refuse encrypted files, and zip bombs."""
    for each in archive.infolist():
        if each.filename and each.is_dir():
            continue
        shown = f"{path}/{one_line(each.filename)}"
        most = max(SMALL, MAX_RATIO * max(each.compress_size, 1))
        if each.file_size > most and not is_picture(each.filename):
            raise too_large(shown, most)
        if each.flag_bits & 1 and not is_picture(each.filename):
            raise DatasetError([f"{shown}: is encrypted"], "Unpack it with its password.")
        is_link = each.create_system == _UNIX and S_ISLNK(each.external_attr >> 16)
        yield each.filename, each.file_size, partial(archive.open, each), is_link
