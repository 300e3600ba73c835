"""Unpacking tar archives inside of gzip into a temporary file without a name."""

import gzip
import mmap
import tempfile
from pathlib import Path

_CHUNK = 1 << 20


def unpacked(path: Path, most: int) -> mmap.mmap | None:
    """Return the content of a gzip file; None if it has more than `most` bytes.

    It is in a temporary file that is removed once the content is no longer used. Raises OSError,
    EOFError or zlib.error if the file cannot be read.
    """
    with gzip.open(path) as packed, tempfile.TemporaryFile() as file:
        left = most + 1
        while left > 0 and (chunk := packed.read(min(left, _CHUNK))):
            file.write(chunk)
            left -= len(chunk)
        if left <= 0:
            return None
        file.flush()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
