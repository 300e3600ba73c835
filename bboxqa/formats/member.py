"""A file of a source, and the files of zip and tar archives, within limits."""

import gzip
import io
import mmap
import os
import re
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

from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.core.file_names import IMAGE_SUFFIXES, own_name
from bboxqa.core.json_values import TOO_DEEP, nests_deep
from bboxqa.core.text import count, one_line
from bboxqa.formats.heads import HEAD, TABLES, as_utf8

if TYPE_CHECKING:
    from tarfile import TarInfo

ZIP, GZIP = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b"
"""The first bytes of archives, also of a zip archive without files."""
ARCHIVES = (".zip", ".tar", ".gz", ".tgz")
"""Suffixes of archives."""


def is_picture(name: str) -> bool:
    """Return whether a file is an image, by its name.

    Examples
    --------
    >>> is_picture("images/a.JPG"), is_picture("labels/a.txt")
    (True, False)
    """
    return f".{name.rpartition('.')[2]}".lower() in IMAGE_SUFFIXES


def is_archive(head: bytes) -> bool:
    """Return whether a file begins like a zip, gzip or tar archive."""
    return head.startswith((*ZIP, GZIP)) or is_tar(head)


def is_tar(head: bytes) -> bool:
    """Return whether a file begins like a tar archive."""
    return head[257:262] == b"ustar"


MAX_MEMBERS = 1_000_000
MAX_SIZE = 8 << 30
"""Most bytes of all files of an archive together, except for images."""
MAX_RATIO = 200
"""The largest compression ratio of a file of more than `SMALL` bytes."""
SMALL = 16 << 20
AGAIN = "Export or download it again."
READABLE = "Allow reading it, or move it elsewhere."
LIMIT = f"expected at most {MAX_RATIO} times its packed size, or {SMALL:,} bytes"
UNPACK = "If that is right, unpack the archive, and name what is inside."
"""Advice where a limit is reached."""
ZIP_ERRORS = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, OSError)
"""Errors of reading archives."""

_FIRST = 1 << 16
_PART = 1 << 20
_READ_ONLY = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Member(NamedTuple):
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
        return self.decoded(self.read())

    def decoded(self, data: bytes) -> bytes:
        """Return content that was read as `text` does."""
        text = as_utf8(data)
        if text[:64].lstrip()[:1] in (b"[", b"{") and nests_deep(text):
            raise DatasetError([f"{self.shown}: cannot be read: {TOO_DEEP}"], AGAIN)
        return text

    def chunks(self, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Yield the content, from a byte and up to one, in parts.

        Raises DatasetError as `read` does.
        """
        done = begin
        try:
            with self.open() as stream:
                stream.seek(begin)
                while chunk := stream.read(_PART if end is None else min(_PART, end - done)):
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
                return _content_of(self.shown, self.most)
            with self.open() as stream:
                # Small reads first, since `read` allocates memory for the whole requested size.
                data = stream.read(_FIRST)
                if len(data) == _FIRST:
                    data += stream.read(max(0, self.most + 1 - _FIRST))
        except ZIP_ERRORS as error:
            raise self._unreadable(error) from None
        if len(data) > self.most:
            raise too_large(self.shown, self.most)
        return data

    def _unreadable(self, error: Exception) -> DatasetError:
        if self.is_file and Path(self.shown).is_symlink() and not Path(self.shown).exists():
            problem = f"{self.shown}: is a link that leads nowhere"
            return DatasetError([problem], "Restore the file that it leads to, or remove the link.")
        reason = one_line(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        todo = READABLE if isinstance(error, PermissionError) else AGAIN
        return DatasetError([f"{self.shown}: cannot be read: {reason}"], todo)


def too_large(shown: str, most: int) -> DatasetError:
    """Return the error for content that is larger than its archive lets expect."""
    problem = f"{shown}: has more than {most:,} bytes of content, and is taken for a zip bomb"
    return DatasetError([f"{problem}: {LIMIT}"], UNPACK)


def _content_of(path: str, most: int) -> bytes:
    """Return the content of a file; raises DatasetError if it is larger than when it was listed."""
    # Small files are read twice as fast as by `open`.
    number = os.open(path, _READ_ONLY)
    try:
        data = os.read(number, _FIRST)
        if len(data) < _FIRST and not (data and os.read(number, 1)):
            return data
        size = os.fstat(number).st_size
    finally:
        os.close(number)
    data = Path(path).read_bytes() if size <= most else b""
    if max(size, len(data)) > most:
        advice = "Wait until nothing writes to it." if most < MAX_SIZE else "Split it."
        raise DatasetError([f"{path}: has {size:,} bytes; expected at most {most:,}"], advice)
    return data


def opened_file(path: str | Path) -> IO[bytes]:
    """Open a file for reading."""
    return open(path, "rb")  # noqa: PTH123 - the caller closes it


def most_of(packed: int) -> int:
    """Return the largest accepted content in bytes of an archive of `packed` bytes."""
    return min(max(MAX_RATIO * packed, SMALL), MAX_SIZE)


# Words and what separates them share no character: else, names such as a_1_1_1… take hours.
_OF_COPIES = re.compile(r"(?:[\W_]+(?:copy|\d[^\W_]*))*[\W_]*", re.IGNORECASE)
"""What is behind the name of a copy, a download, or a folder packed on some day."""
_READ = (".json", ".xml", ".txt", *TABLES)
_LINKS = "Unpack it, and name the folder, or pack the files themselves."


_Entry = tuple[str, int, Callable[[], IO[bytes]], bool]
"""A file of an archive: its name and size, what opens it, and whether it is a link."""


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
            raise DatasetError([problem], "Export it again, or unpack it with care.")
        inside = "/".join(parts)
        total += 0 if is_picture(inside) else size
        if any(each.startswith((".", "__MACOSX")) for each in parts):
            continue
        if not is_link:
            found.append(Member(inside, f"{path}/{inside}", min(size, MAX_SIZE), opened))
        elif inside.lower().endswith(_READ):
            problem = f"{path}/{inside}: is a link, and links in an archive are not followed"
            raise DatasetError([problem], _LINKS)
    if total > MAX_SIZE:
        raise DatasetError([f"{path}: has {total:,} bytes of content besides images"], UNPACK)
    found.sort(key=attrgetter("name"))
    for one, other in pairwise(found):
        if one.name == other.name and not is_picture(one.name):
            problem = f"{path}: has two files named {one_line(one.name)!r}; expected one of a name"
            raise DatasetError([problem], "Pack it again, each annotator in a folder of its own.")
    top = _top(own_name(path), found)
    return [each._replace(top=top) for each in found] if top else found


def _top(archive: str, members: list[Member]) -> str:
    """Return the only folder at the top of an archive that is named after it, else ""."""
    # File managers name an archive after the folder they pack, and number copies and downloads.
    top = members[0].name.partition("/")[0] if members else ""
    is_named = archive.startswith(top) and _OF_COPIES.fullmatch(archive[len(top) :])
    is_only = all(each.name.startswith(f"{top}/") for each in members)
    return f"{top}/" if top and is_named and is_only else ""


def _too_many(path: Path) -> DatasetError:
    return DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"], UNPACK)


TAR_HEAD = 262
"""The number of bytes up to the end of the magic number of a tar archive."""


def tar_members(path: Path) -> list[Member]:
    """Return the files of a tar archive, maybe inside of gzip, sorted; see `members_of`."""
    import tarfile

    with path.open("rb") as file:
        is_plain = is_tar(file.read(TAR_HEAD))
    try:
        if is_plain:
            with tarfile.open(path, "r:") as archive:
                return _listing(path, _tar_entries(path, archive, partial(_part, path)))
        content = _unpacked(path, most_of(path.stat().st_size))
        with tarfile.open(fileobj=content, mode="r:") as archive:
            return _listing(path, _tar_entries(path, archive, partial(_part_of, content)))
    # Sizes in a header may be larger than any offset.
    except (tarfile.TarError, ValueError, OverflowError, *ZIP_ERRORS) as error:
        is_number = isinstance(error, (ValueError, OverflowError))
        reason = "a header has a size that no file can have" if is_number else str(error)
        problem = f"{path}: is a tar archive that cannot be read: {one_line(reason)}"
        raise DatasetError([problem], AGAIN) from None


def is_packed_tar(path: Path) -> bool:
    """Return whether the content of a gzip file is a tar archive."""
    with suppress(*ZIP_ERRORS), unzipped(path) as stream:
        # A longer head would fail where a short archive is cut off.
        return is_tar(stream.read(TAR_HEAD))
    return False


def _tar_entries(
    path: Path, infos: "Iterable[TarInfo]", part: Callable[[int, int], IO[bytes]]
) -> Iterator[_Entry]:
    """Yield the files and links of a tar archive; `part` opens bytes, by their start and length."""
    for number, info in enumerate(infos):
        # Folders and links take memory as well.
        if number > MAX_MEMBERS:
            raise _too_many(path)
        is_link = info.issym() or info.islnk()
        if is_link or (info.isreg() and not info.issparse()):
            opened = partial(part, info.offset_data, info.size)
            yield info.name, info.size, opened, is_link


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


def _unpacked(path: Path, most: int) -> mmap.mmap:
    """Return the content of a gzip file, which is in a temporary file as long as it is used."""
    import tempfile

    try:
        with tempfile.TemporaryFile(prefix="bboxqa-") as file, gzip.open(path) as packed:
            while file.tell() <= most and (chunk := packed.read(_PART)):
                file.write(chunk)
                file.flush()
            if file.tell() > most:
                raise too_large(str(path), most)
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise OutputError(
            f"no room to unpack the archive: {error.strerror}; set TMPDIR to a folder on a larger "
            "disk, or unpack the archive, and name its folder"
        ) from None


_UNIX = 3
_ZIP_END = struct.Struct("<4s4H2LH")


def zip_members(path: Path) -> list[Member]:
    """Return the files of a zip archive, sorted; see `members_of`."""
    if _n_entries(path) > MAX_MEMBERS:
        raise _too_many(path)
    try:
        archive = zipfile.ZipFile(path)
    except ZIP_ERRORS as error:
        is_whole = zipfile.is_zipfile(path)
        reason = str(error) if is_whole else "its list of files, at the end, is missing"
        problem = f"{path}: is a zip archive that cannot be read: {one_line(reason)}"
        raise DatasetError([problem], AGAIN) from None
    return _listing(path, _zip_entries(path, archive))


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


def _zip_entries(path: Path, archive: zipfile.ZipFile) -> Iterator[_Entry]:
    """Yield the files and links of a zip archive; refuse encrypted files, and zip bombs."""
    for each in archive.infolist():
        if each.filename and each.is_dir():
            continue
        shown = f"{path}/{one_line(each.filename)}"
        is_large = each.file_size > max(SMALL, MAX_RATIO * max(each.compress_size, 1))
        if is_large and not is_picture(each.filename):
            problem = f"{shown}: {each.compress_size:,} bytes would become {each.file_size:,}"
            problem += f", which is taken for a zip bomb: {LIMIT}"
            raise DatasetError([problem], UNPACK)
        if each.flag_bits & 1 and not is_picture(each.filename):
            raise DatasetError([f"{shown}: is encrypted"], "Unpack it with its password.")
        is_link = each.create_system == _UNIX and S_ISLNK(each.external_attr >> 16)
        yield each.filename, each.file_size, partial(archive.open, each), is_link
