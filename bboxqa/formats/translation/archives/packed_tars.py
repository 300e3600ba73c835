"""Unpacking tar archives inside of gzip into a temporary file without a name."""

import gzip
import mmap
import tempfile
from pathlib import Path
from typing import IO

from bboxqa.core.errors import OutputError

_CHUNK = 1 << 20


def unpacked(path: Path, most: int) -> mmap.mmap | None:
    """Return the content of a gzip file; None if it has more than `most` bytes.

    It is in a temporary file that is removed once the content is no longer used. Raises OSError,
    EOFError or zlib.error if the file cannot be read, and OutputError if there is no room for the
    temporary file.
    """
    with gzip.open(path) as packed, _temporary_file() as file:
        left = most + 1
        while left > 0 and (chunk := packed.read(min(left, _CHUNK))):
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
