"""Tar archives inside of gzip, whose files are read from an unpacked copy without a name."""

import gzip
import mmap
import tarfile
import tempfile
from functools import lru_cache
from pathlib import Path

from bboxqa.core.files import Identity

_CHUNK = 1 << 20
PackedTar = tuple[mmap.mmap, tuple[tarfile.TarInfo, ...]]
"""The unpacked content, and its entries."""


# Each format that looks at an archive lists it, and reads of its files.
@lru_cache(1)
def packed_tar(path: Path, identity: Identity, most: int) -> PackedTar | None:
    """Return the content of a ``.tar.gz``; None if it has more than `most` bytes.

    It is in a temporary file that is removed with the process. `identity` is that of the file, so
    that a changed one is unpacked again. Raises OSError, EOFError, zlib.error or tarfile.TarError
    if the archive cannot be read.
    """
    del identity
    with gzip.open(path) as packed, tempfile.TemporaryFile() as file:
        left = most + 1
        while left > 0 and (chunk := packed.read(min(left, _CHUNK))):
            file.write(chunk)
            left -= len(chunk)
        if left <= 0:
            return None
        file.flush()
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with tarfile.open(fileobj=content, mode="r:") as archive:
        return content, tuple(archive)
