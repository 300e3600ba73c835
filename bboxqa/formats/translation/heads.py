"""Reading the beginning of files, by which formats are recognised."""

import codecs
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG

from bboxqa.formats.content_kinds import HEAD

ZIP, GZIP = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b"
"""The first bytes of archives, also of a zip archive without files."""
NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
"""The pattern of a number in a text."""
ARCHIVES = (".zip", ".tar", ".gz", ".tgz")
"""Suffixes of archives."""


def head_of_file(path: Path) -> bytes:
    """Return the first 64 KiB of a file; b"" for a folder or a pipe.

    As each format asks for it, the result is cached until the file changes. Raises OSError if the
    file cannot be read.
    """
    status = path.stat()
    # Reading a pipe would consume its data, and may block.
    if not S_ISREG(status.st_mode):
        return b""
    return _head(str(path), status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(4)
def _head(path: str, _inode: int, _size: int, _time: int) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(HEAD)


def is_archive(head: bytes) -> bool:
    """Return whether a file begins like a zip, gzip or tar archive."""
    return head.startswith((*ZIP, GZIP)) or is_tar(head)


def is_tar(head: bytes) -> bool:
    """Return whether a file begins like a tar archive."""
    return head[257:262] == b"ustar"


def plain_head(head: bytes) -> bytes:
    """Return the beginning of a text without a byte order mark, zero bytes and leading blanks."""
    return head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe").lstrip()


def as_utf8(data: bytes) -> bytes:
    """Return text in UTF-8, with blanks in place of a byte order mark."""
    if data.startswith(codecs.BOM_UTF8):
        return b"   " + data[3:]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode()
    return data
