"""The files of a source: a file, a folder, or an archive that is read in place, within limits."""

import hashlib
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path, PurePosixPath
from stat import S_ISREG

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import is_file, is_split
from bboxqa.core.files import Identity, digest_of, identity_of
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.heads import HEAD, begins
from bboxqa.formats.member import (
    MAX_MEMBERS,
    MAX_SIZE,
    READABLE,
    ZIP,
    Member,
    is_archive,
    is_picture,
    is_tar,
    most_of,
    opened_file,
)

# Archives of several people are asked about in turn. A list has up to a million files.
_KEPT = 2
_KEPT_FOLDERS = 64
_SHOWN = 3
_SMALL = 1 << 16
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def members_of(path: Path) -> list[Member]:
    """Return the files of a source, sorted by name, without hidden files.

    A source may be a file inside an archive, as ``a.zip/b.json`` is, which is a single file.
    Archives inside an archive are ordinary files. Raises DatasetError if an archive is broken,
    encrypted or too large, or has names that lead out of it.
    """
    if path.is_dir():
        return _of_folder(path)
    if archive := archive_around(path):
        return [_inside(archive, path)]
    return [*_kept(path)]


def readable_members(path: Path) -> list[Member]:
    """Return the files of a source as `members_of` does; none if they cannot be read."""
    try:
        return members_of(path)
    except DatasetError:
        return []


def _kept(path: Path) -> Sequence[Member]:
    found = _of_file(path, identity_of(path), os.getpid())
    if isinstance(found, DatasetError):
        raise DatasetError(found.problems, found.advice)
    return found


def only_file(path: Path, found: Sequence[Member], what: str) -> Member:
    """Return the only file of a source with content of a kind, such as "COCO JSON".

    Raises DatasetError if it has none or several. The files that a command lists are single ones.
    """
    if len(found) == 1:
        return found[0]
    names = first_few(found, _SHOWN, lambda each: one_line(each.name)) or "none"
    problem = f"{path}: has {count(len(found), 'file')} of {what} ({names}); expected one"
    raise DatasetError([problem], "Unpack the archive, and name the file that is meant.")


def archive_around(path: Path) -> Path | None:
    """Return the archive that a path leads into; None if it leads into none."""
    # Raises OSError for a path that no file can have.
    found = None if path.exists() else _archive_and_identity(path)
    return None if found is None else found[0]


def _archive_and_identity(path: Path) -> tuple[Path, Identity] | None:
    with suppress(LookupError, OSError):
        archive, identity = _archive_of_folder(path.parent)
        if identity_of(archive) == identity:
            return archive, identity
        _archive_of_folder.cache_clear()
        return _archive_of_folder(path.parent)
    return None


# All files of a folder are asked about in turn. Errors are not kept.
@lru_cache(_KEPT_FOLDERS)
def _archive_of_folder(folder: Path) -> tuple[Path, Identity]:
    """Return the archive that a folder is in, or is itself; raises LookupError if there is none."""
    found = next((each for each in (folder, *folder.parents) if each.exists()), None)
    if found is None or not found.is_file() or not is_archive(head_of(found)):
        raise LookupError(folder)
    return found, identity_of(found)


@lru_cache(4)
def _head(path: str, _inode: int, _size: int, _time: int) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(HEAD)


def is_there(path: Path) -> bool:
    """Return whether a path leads to a file or a folder, or to a file inside an archive."""
    with suppress(DatasetError, OSError):
        archive = archive_around(path)
        return path.exists() if archive is None else bool(_inside(archive, path))
    return False


def head_of(path: Path) -> bytes:
    """Return the first 64 KiB of a file, maybe inside an archive; b"" if it cannot be read.

    As each format asks for it, the result is cached until the file changes.
    """
    with suppress(OSError):
        status = path.stat()
        # Reading a pipe would consume its data, and may block.
        if not S_ISREG(status.st_mode):
            return b""
        return _head(str(path), status.st_ino, status.st_size, status.st_mtime_ns)
    with suppress(DatasetError, OSError):
        if found := _archive_and_identity(path):
            return _head_inside(found[0], path, found[1])
    return b""


@lru_cache(4)
def _head_inside(archive: Path, path: Path, _identity: Identity) -> bytes:
    return _inside(archive, path).head()


def _inside(archive: Path, path: Path) -> Member:
    """Return the file of an archive at a path; raises DatasetError if it is not there."""
    members = _kept(archive)
    name = path.relative_to(archive).as_posix()
    place = bisect_left(members, name, key=attrgetter("name"))
    if place == len(members) or members[place].name != name:
        held = [each for each in members if not is_picture(each.name)]
        names = first_few(held, _SHOWN, lambda each: one_line(each.name or archive.stem))
        problem = f"{path}: no such file in the archive; it has {names or 'no files'}"
        raise DatasetError([problem], "Name one of these, or the archive for all of them.")
    return members[place]._replace(name="", top="")


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
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not is_archive(head):
        return [Member("", str(path), size, partial(opened_file, path), is_file=True)]
    from bboxqa.formats.archives import is_packed_tar, tar_members, unzipped, zip_members

    if head.startswith(ZIP):
        return zip_members(path)
    if is_tar(head) or is_packed_tar(path):
        return tar_members(path)
    return [Member("", str(path), most_of(size), partial(unzipped, path))]


def members_with(members: Iterable[Member], suffixes: str | tuple[str, ...]) -> Iterator[Member]:
    """Yield the files with a suffix, in upper or lower case, or the only file of a source."""
    return (each for each in members if each.name.lower().endswith(suffixes) or not each.name)


def members_like(path: Path, kind: str, suffix: str | tuple[str, ...]) -> list[Member]:
    """Return the files of a source that have a suffix and begin like a kind of text."""
    # In an archive with images, only named files are opened.
    named = members_with(readable_members(path), suffix)
    return [each for each in named if begins(kind, each.head())]


def are_subsets(names: Sequence[str]) -> bool:
    """Return whether paths of files are those of the subsets of one Datumaro data set.

    Examples
    --------
    >>> are_subsets(["train.json", "val.json"]), are_subsets(["ann.json", "bob.json"])
    (True, False)
    >>> are_subsets(["x/annotations/day1.json"]), are_subsets(["ann/train.json", "bob/train.json"])
    (True, False)
    """
    paths = [PurePosixPath(each) for each in names]
    folders = {each.parent for each in paths}
    of_one = {each.name for each in folders} == {"annotations"} or all(
        each.stem == "default" or is_split(each.stem) for each in paths
    )
    return len(folders) == 1 and of_one


def files_in(folder: Path) -> list[Member]:
    """Return the files directly in a folder, sorted by name; empty if it cannot be read."""
    try:
        files = sorted(each for each in folder.iterdir() if each.is_file() and each.name[0] != ".")
    except OSError:
        return []
    return [Member(each.name, str(each), MAX_SIZE, partial(opened_file, each)) for each in files]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, sorted. Raises DatasetError if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=attrgetter("name"))
    except OSError as error:
        # Passing over it would lose annotations.
        raise DatasetError([f"{folder}: cannot be read: {error.strerror}"], READABLE) from None


def escaped(name: str) -> str:
    r"""Return a name with escapes for bytes that are not UTF-8.

    Examples
    --------
    >>> escaped("caf\udce9.txt")
    'caf%E9.txt'
    """
    return _NOT_UTF8.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", name)


def _of_folder(path: Path) -> list[Member]:
    """Return the files below a folder, without pipes and devices, which may have no end."""
    found = []
    waiting = [(str(path), "")]
    while waiting:
        folder, start = waiting.pop()
        # Texts created in the order in which they are used are near each other in memory.
        for each in _entries(folder):
            if each.name[0] == ".":
                continue
            if each.is_dir(follow_symlinks=False):
                waiting.append((each.path, f"{start}{each.name}/"))
            elif is_file(each):
                whole = f"{folder}{os.sep}{each.name}"
                opened = partial(opened_file, whole)
                name = escaped(start + each.name)
                found.append(Member(name, whole, MAX_SIZE, opened, is_file=True))
        if len(found) > MAX_MEMBERS:
            raise DatasetError([f"{path}: has more than {count(MAX_MEMBERS, 'file')}"])
    return sorted(found, key=attrgetter("name"))


def size_and_digest(path: Path, *, digest: bool, pictures: bool = False) -> tuple[int, str | None]:
    """Return the size in bytes and the digest of a file, a folder, or a file inside an archive.

    Of a folder, the names and contents of all files count; of images the names only, unless
    `pictures`, as they are large and not annotations.
    """
    if path.is_file():
        return path.stat().st_size, digest_of(path) if digest else None
    size, found = 0, hashlib.blake2b()
    for member in members_of(path):
        if is_picture(member.name) and not pictures:
            found.update(_encoded(f"{member.name}\0"))
            continue
        # What cannot be opened holds no labels, or reading it was an error.
        with suppress(OSError, DatasetError):
            if not member.is_file:
                for part in member.chunks():
                    size += len(part)
                    found.update(part)
                continue
            length = os.stat(member.shown).st_size  # noqa: PTH116 - of many files
            size += length
            if digest:
                found.update(_encoded(f"{member.name}\0{length}\0"))
                # Small files are read faster as a whole.
                for part in [member.read()] if 0 < length < _SMALL else member.chunks():
                    found.update(part)
    return size, found.hexdigest() if digest else None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
