"""A file of a source, which is read within limits."""

import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES
from bboxqa.core.json_values import TOO_DEEP, nests_deep
from bboxqa.core.text import one_line
from bboxqa.formats.heads import HEAD, as_utf8

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
    """Return the content of a file, of a small one twice as fast as with `open`.

    Raises DatasetError if it is too large.
    """
    number = os.open(path, _READ_ONLY)
    try:
        data = os.read(number, _FIRST)
        if len(data) < _FIRST and not (data and os.read(number, 1)):
            return data
        if (size := os.fstat(number).st_size) > most:
            raise _outgrown(path, size, most)
    finally:
        os.close(number)
    # A buffer would be copied once more.
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        data = file.readall()
    if len(data) > most:
        raise _outgrown(path, len(data), most)
    return data


def _outgrown(path: str, size: int, most: int) -> DatasetError:
    """Return the error for a file that is larger than any may be, or than when it was listed."""
    advice = "Wait until nothing writes to it." if most < MAX_SIZE else "Split it."
    return DatasetError([f"{path}: has {size:,} bytes; expected at most {most:,}"], advice)


def opened_file(path: str | Path) -> IO[bytes]:
    """Open a file for reading."""
    return open(path, "rb")  # noqa: PTH123 - the caller closes it


def most_of(packed: int) -> int:
    """Return the largest accepted content in bytes of an archive of `packed` bytes."""
    return min(max(MAX_RATIO * packed, SMALL), MAX_SIZE)
