"""The files of a source, which are listed once and opened once."""

import hashlib
from bisect import bisect_left
from contextlib import suppress
from functools import partial
from operator import attrgetter
from pathlib import Path

from bboxqa.core.files import digest_of
from bboxqa.formats.translation.heads import as_utf8
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.members import archive_around, members_of
from bboxqa.formats.translation.picture_sizes import is_picture

_CHUNK = 1 << 20
_TOGETHER = 1 << 16
"""Bytes of small files that are joined for one step of the digest."""


def size_and_digest(path: Path, *, digest: bool) -> tuple[int, str | None]:
    """Return the size in bytes and the digest of a file, which may be inside an archive."""
    if archive_around(path) is None:
        return path.stat().st_size, digest_of(path) if digest else None
    (member,) = members_of(path)
    size, found = 0, hashlib.blake2b()
    for chunk in member.chunks():
        size += len(chunk)
        found.update(chunk)
    return size, found.hexdigest() if digest else None


class SourceFiles:
    """The files of a source."""

    def __init__(self, path: Path) -> None:
        self.members = members_of(path)

    def text(self, member: Member) -> bytes:
        """Return the content of a file, as `Member.text` does."""
        return member.text()


class MeasuredFiles(SourceFiles):
    """The files of a folder, with size and digest computed from the bytes that were read.

    Parameters
    ----------
    path : Path
    digest : bool
        Whether to compute the digest.
    """

    def __init__(self, path: Path, *, digest: bool) -> None:
        super().__init__(path)
        self._size = 0
        self._digest = _Digest() if digest else None
        self._n_done = 0

    def text(self, member: Member) -> bytes:
        """Return the content of a file, as `Member.text` does.

        Files read in the order of `members` are not read again for the digest.
        """
        data = member.read()
        if self._is_next(member):
            self._size += len(data)
            if self._digest is not None:
                self._digest.add(_head(member, len(data)), data)
            self._n_done += 1
        return as_utf8(data)

    def size_and_digest(self) -> tuple[int, str | None]:
        """Return the size in bytes without images, and the digest of names and contents."""
        self._pass_over(len(self.members))
        return self._size, None if self._digest is None else self._digest.hexdigest()

    def _is_next(self, member: Member) -> bool:
        """Return whether a file was not read before; those before it are passed over."""
        if self._n_done < len(self.members) and member is self.members[self._n_done]:
            return True
        place = bisect_left(self.members, member.name, key=attrgetter("name"))
        self._pass_over(max(place, self._n_done))
        return place == self._n_done

    def _pass_over(self, stop: int) -> None:
        """Add the files before index `stop` that were not read."""
        for member in self.members[self._n_done : stop]:
            if not is_picture(member.name):
                # What cannot be opened holds no labels, or reading it was an error.
                with suppress(OSError), member.open() as stream:
                    length = stream.seek(0, 2)
                    stream.seek(0)
                    self._size += length
                    if self._digest is not None:
                        self._digest.add(_head(member, length))
                        for chunk in iter(partial(stream.read, _CHUNK), b""):
                            self._digest.add(chunk)
            elif self._digest is not None:
                # Images are large and not annotations, so only their names count.
                self._digest.add(_encoded(f"{member.name}\0"))
        self._n_done = stop


class _Digest:
    """A digest of many parts, most of which are small."""

    def __init__(self) -> None:
        self._of = hashlib.blake2b()
        self._parts: list[bytes] = []
        self._n_bytes = 0

    def add(self, *parts: bytes) -> None:
        self._parts += parts
        self._n_bytes += len(parts[-1])
        if self._n_bytes > _TOGETHER:
            self._join()

    def _join(self) -> None:
        self._of.update(b"".join(self._parts))
        self._parts, self._n_bytes = [], 0

    def hexdigest(self) -> str:
        self._join()
        return self._of.hexdigest()


def _head(member: Member, length: int) -> bytes:
    return _encoded(f"{member.name}\0{length}\0")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
