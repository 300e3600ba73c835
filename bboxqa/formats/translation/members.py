"""The files of a source, which is a file, a folder, or an archive that is read in place."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.files import Identity, identity_of
from bboxqa.core.text import count
from bboxqa.formats.translation.archives.tars import (
    TAR_HEAD,
    is_packed_tar,
    packed_tar_members,
    tar_members,
    unzipped,
)
from bboxqa.formats.translation.archives.zips import zip_members
from bboxqa.formats.translation.heads import GZIP, ZIP, is_tar
from bboxqa.formats.translation.member import (
    MAX_MEMBERS,
    MAX_SIZE,
    Member,
    most_of,
    opened_file,
)

# Archives of several people are asked about in turn. A list has up to a million files.
_KEPT = 2


def members_of(path: Path) -> list[Member]:
    """Return the files of a source, sorted by name, without hidden files.

    Archives inside an archive are ordinary files. Raises DatasetError if an archive is broken,
    encrypted or too large, or has names that lead out of it.
    """
    if path.is_dir():
        return _of_folder(path)
    found = _of_file(path, identity_of(path), os.getpid())
    if isinstance(found, DatasetError):
        raise DatasetError(found.problems, found.advice)
    return [*found]


# Each format that looks at an archive lists it. The identity changes with the file, and processes
# that share an open file would move the place at which the others read.
@lru_cache(_KEPT)
def _of_file(path: Path, identity: Identity, process: int) -> tuple[Member, ...] | DatasetError:
    del identity, process
    try:
        return tuple(_listed(path))
    except DatasetError as error:
        return error.with_traceback(None)


def _listed(path: Path) -> list[Member]:
    """Return the files of an archive, or a single file."""
    with path.open("rb") as file:
        head = file.read(TAR_HEAD)
    if head.startswith(ZIP):
        return zip_members(path)
    if is_tar(head):
        return tar_members(path)
    size = path.stat().st_size
    if head.startswith(GZIP):
        if is_packed_tar(path):
            return packed_tar_members(path)
        return [Member("", str(path), most_of(size), partial(unzipped, path))]
    return [Member("", str(path), size, partial(opened_file, path), is_file=True)]


def members_with(members: Iterable[Member], suffixes: str | tuple[str, ...]) -> Iterator[Member]:
    """Yield the files with a suffix, in upper or lower case, or the only file of a source."""
    return (each for each in members if each.name.lower().endswith(suffixes) or not each.name)


def files_in(folder: Path) -> list[Member]:
    """Return the files directly in a folder, sorted by name; empty if it cannot be read."""
    try:
        files = sorted(each for each in folder.iterdir() if each.is_file() and each.name[0] != ".")
    except OSError:
        return []
    return [Member(each.name, str(each), MAX_SIZE, partial(opened_file, each)) for each in files]


def _of_folder(path: Path) -> list[Member]:
    """Return the files below a folder, without pipes and devices, which may have no end."""
    found = []
    waiting = [(str(path), "")]
    while waiting:
        folder, start = waiting.pop()
        # As with `os.walk`, folders that cannot be read are passed over.
        with suppress(OSError), os.scandir(folder) as entries:
            # Texts created in the order in which they are used are near each other in memory.
            for each in sorted(entries, key=attrgetter("name")):
                if each.name[0] == ".":
                    continue
                if each.is_dir(follow_symlinks=False):
                    waiting.append((each.path, f"{start}{each.name}/"))
                elif each.is_file():
                    whole = f"{folder}{os.sep}{each.name}"
                    opened = partial(opened_file, whole)
                    name = start + each.name
                    found.append(Member(name, whole, MAX_SIZE, opened, is_file=True))
        if len(found) > MAX_MEMBERS:
            raise DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"])
    return sorted(found, key=attrgetter("name"))
