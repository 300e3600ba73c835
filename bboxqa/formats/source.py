"""The files of a source: a file, a folder, or an archive that is read in place, within limits.

An archive is like a folder: paths lead into it, as ``a.zip/ann/labels``.
"""

import hashlib
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import is_file, is_folder
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
_KEPT, _KEPT_HEADS = 2, 4
_SHOWN = 3
_SMALL = 1 << 16
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_Names = tuple[list[str], list[str]]


def members_of(path: Path) -> list[Member]:
    """Return the files of a source, sorted by name, without hidden files.

    A source may be a file or a folder inside an archive, as ``a.zip/b.json`` is. Archives inside an
    archive are ordinary files. Raises DatasetError if an archive is broken, encrypted or too large,
    or has names that lead out of it.
    """
    if path.is_dir():
        return _of_folder(path)
    archive = archive_around(path)
    if archive is None:
        return [*_content_of(path).files.values()]
    (files, names, _), name = _content_of(archive), _place_in(archive, path)
    if name in files:
        return [files[name]._replace(name="", top="")]
    # "0" is the character behind "/".
    start, stop = bisect_left(names, f"{name}/"), bisect_left(names, f"{name}0")
    below = [files[each] for each in names[start:stop]]
    if not below:
        held = [each for each in files.values() if not is_picture(each.name)]
        shown = first_few(held, _SHOWN, lambda each: one_line(each.name or archive.stem))
        problem = f"{path}: no such file in the archive; it has {shown or 'no files'}"
        raise DatasetError([problem], "Name one of these, or the archive for all of them.")
    return [each._replace(name=each.name.removeprefix(f"{name}/"), top="") for each in below]


def readable_members(path: Path) -> list[Member]:
    """Return the files of a source as `members_of` does; none if they cannot be read."""
    try:
        return members_of(path)
    except DatasetError:
        return []


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
    if path.exists():
        return None
    found = next((each for each in path.parents if each.exists()), None)
    is_inside = found is not None and found.is_file() and is_archive(head_of(found))
    return found if is_inside else None


def is_there(path: Path) -> bool:
    """Return whether a path leads to a file or a folder, maybe inside an archive."""
    with suppress(DatasetError, OSError):
        return path.exists() or (archive_around(path) is not None and bool(members_of(path)))
    return False


def is_like_folder(path: Path) -> bool:
    """Return whether a path leads to a folder, an archive, or a folder inside an archive."""
    if path.is_dir():
        return True
    with suppress(DatasetError, OSError):
        if path.is_file():
            return is_archive(head_of(path)) and "" not in _content_of(path).files
        archive = archive_around(path)
        return archive is not None and _place_in(archive, path) in _content_of(archive).folders
    return False


def folders_and_files(folder: Path, most: int = MAX_MEMBERS) -> _Names:
    """Return names in a folder or archive up to the first `most` files: of folders, and of files.

    Folders are sorted. Empty if the folder cannot be read.
    """
    folders: list[str] = []
    files: list[str] = []
    with suppress(OSError, DatasetError, LookupError):
        if not folder.is_dir():
            archive = archive_around(folder) or folder
            folders, files = _content_of(archive).folders[_place_in(archive, folder)]
            return sorted(folders), files[:most]
        with os.scandir(folder) as found:
            for each in found:
                if not is_folder(each):
                    files.append(each.name)
                    if len(files) == most:
                        break
                elif each.name[0] != ".":
                    folders.append(each.name)
    return sorted(folders), files


def _place_in(archive: Path, folder: Path) -> str:
    return folder.relative_to(archive).as_posix().removeprefix(".")


def head_of(path: Path) -> bytes:
    """Return the first 64 KiB of a file, maybe inside an archive; b"" if it cannot be read.

    As each format asks for it, the result is cached until the file changes.
    """
    with suppress(DatasetError, OSError, LookupError):
        # Reading a pipe would consume its data, and may block.
        if path.is_file():
            return _head(path, None, identity_of(path))
        if archive := archive_around(path):
            return _head(path, archive, identity_of(archive))
    return b""


def is_packed(path: Path) -> bool:
    """Return whether a path leads to an archive, or into one."""
    return archive_around(path) is not None or is_archive(head_of(path))


def text_head(path: Path) -> tuple[str, bytes]:
    """Return the name and the beginning of a file, or of the only file that is packed in it."""
    head = head_of(path)
    packed = readable_members(path) if is_archive(head) else []
    return (path.stem, packed[0].head()) if len(packed) == 1 else (path.name, head)


@lru_cache(_KEPT_HEADS)
def _head(path: Path, archive: Path | None, _identity: Identity) -> bytes:
    if archive is not None:
        return _content_of(archive).files[_place_in(archive, path)].head()
    with path.open("rb") as file:
        return file.read(HEAD)


class _Archive(NamedTuple):
    """The content of an archive, or of a single file, which has the name ""."""

    files: dict[str, Member]
    names: list[str]
    """Sorted."""
    folders: dict[str, _Names]
    """The names of the folders and files in each folder."""


def _content_of(path: Path) -> _Archive:
    found = _listed(path, identity_of(path), os.getpid())
    if isinstance(found, DatasetError):
        raise DatasetError(found.problems, found.advice)
    return found


# Each format that looks at an archive lists it. The identity changes with the file, and processes
# that share an open file would move the place at which the others read.
@lru_cache(_KEPT)
def _listed(path: Path, identity: Identity, process: int) -> _Archive | DatasetError:
    del identity, process
    try:
        files = {each.name: each for each in _of_file(path)}
    except DatasetError as error:
        return error.with_traceback(None)
    folders: dict[str, _Names] = {"": ([], [])}
    for name in files:
        *parts, last = name.split("/")
        for depth, part in enumerate(parts):
            around, inside = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
            if inside not in folders:
                folders[inside] = [], []
                folders[around][0].append(part)
        folders["/".join(parts)][1].append(last)
    return _Archive(files, sorted(files), folders)


def _of_file(path: Path) -> list[Member]:
    """Return the files of an archive, or a single file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not is_archive(head):
        return [Member("", str(path), size, partial(opened_file, path), is_file=True)]
    from bboxqa.formats.member import is_packed_tar, tar_members, unzipped, zip_members

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


def files_in(folder: Path) -> list[Member]:
    """Return the files directly in a folder, sorted by name; empty if it cannot be read."""
    if not folder.is_dir():
        return [each for each in readable_members(folder) if "/" not in each.name]
    named = sorted(each for each in folders_and_files(folder)[1] if each[0] != ".")
    files = {each: folder / each for each in named}
    return [
        Member(name, str(file), MAX_SIZE, partial(opened_file, file))
        for name, file in files.items()
        if file.is_file()
    ]


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
        try:
            with os.scandir(folder) as entries:
                # Texts created in the order in which they are used are near each other in memory.
                inside = sorted(entries, key=attrgetter("name"))
        except OSError as error:
            # Passing over it would lose annotations.
            problem = f"{folder}: cannot be read: {error.strerror}"
            raise DatasetError([problem], READABLE) from None
        for each in inside:
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
        found.update(f"{member.name}\0".encode("utf-8", "surrogateescape"))
        if is_picture(member.name) and not pictures:
            continue
        # What cannot be opened holds no labels, or reading it was an error.
        with suppress(OSError, DatasetError):
            length = os.stat(member.shown).st_size if member.is_file else 0  # noqa: PTH116 - of many
            size += length
            if digest or not member.is_file:
                # Small files are read faster as a whole.
                for part in [member.read()] if 0 < length < _SMALL else member.chunks():
                    size += 0 if member.is_file else len(part)
                    found.update(part)
    return size, found.hexdigest() if digest else None
