"""A source: a file, a folder or an archive that is read in place, and what it holds, within limits.

An archive is like a folder: paths lead into it, as ``a.zip/ann/labels``.
"""

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, TypeVarTuple

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import is_file, is_folder
from bboxqa.core.files import digest_of
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.heads import HEAD, begins
from bboxqa.formats.member import (
    MAX_MEMBERS,
    MAX_SIZE,
    READABLE,
    Member,
    archive_members,
    is_archive,
    is_picture,
    opened_file,
)

if TYPE_CHECKING:
    _Path = Path
else:
    _Path = type(Path())
_Value = TypeVar("_Value")
_Key = TypeVarTuple("_Key")
# Of small files, which a folder has many of, most heads are short.
_KEPT_HEADS = 256
_SHOWN = 3
_MOST_STREAMED = 256_000_000
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


class Names(NamedTuple):
    """The sorted names of what is directly in a folder, without hidden files and folders."""

    folders: Sequence[str] = ()
    files: Sequence[str] = ()
    links: frozenset[str] = frozenset()
    """Those of `folders` that are links to folders."""
    problem: str = ""


class SourcePath(_Path):
    """A path with what it holds, which is listed once, when it is asked for.

    Paths made with ``/`` know of each other, so that each is looked at once.
    """

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> "SourcePath":
        """Return a path as a source; itself if it is one."""
        return path if isinstance(path, cls) else cls(path)

    @cached_property
    def _shared(self) -> "tuple[dict[str, SourcePath], dict[str, bytes]]":
        """The paths that were made of one another, and the heads of files, by name."""
        return {str(self): self}, {}

    def once(self, make: "Callable[[SourcePath, *_Key], _Value]", *key: *_Key) -> _Value:
        """Return ``make(source, *key)``, computed once per combination of keys."""
        made: dict[Any, _Value] = vars(self).setdefault("_made", {})
        if (make, *key) not in made:
            made[make, *key] = make(self, *key)
        return made[make, *key]

    def beside(self, path: Path) -> "SourcePath":
        """Return another path, which is looked at together with this one."""
        paths, _ = self._shared
        if (name := str(path)) not in paths:
            paths[name] = found = SourcePath(path)
            vars(found)["_shared"] = self._shared
        return paths[name]

    def __truediv__(self, name: str | os.PathLike[str]) -> "SourcePath":
        return self.beside(super().__truediv__(name))

    @cached_property
    def archive(self) -> "SourcePath | None":
        """The archive that the path leads into; None if it leads into none."""
        # Raises OSError for a path that no file can have.
        if self.exists():
            return None
        around = next((self.beside(each) for each in self.parents if each.exists()), None)
        return around if around is not None and is_archive(around.head) else None

    @property
    def _place(self) -> str:
        return "" if self.archive is None else self.relative_to(self.archive).as_posix()

    @cached_property
    def _packed(self) -> dict[str, Member] | DatasetError | None:
        """The files of the archive that the path leads to or into, or why it cannot be read."""
        if self.archive is not None:
            return self.archive._packed  # noqa: SLF001 - of this class
        try:
            if self.is_file() and is_archive(self.head):
                return {each.name: each for each in archive_members(self)}
        except DatasetError as error:
            return error.with_traceback(None)
        return None

    @cached_property
    def _packed_folders(self) -> dict[str, Names]:
        """The folders of the archive that the path leads to or into; none of a packed file."""
        if self.archive is not None:
            return self.archive._packed_folders  # noqa: SLF001 - of this class
        packed = self._packed
        if not isinstance(packed, dict) or "" in packed:
            return {}
        folders: dict[str, tuple[set[str], list[str]]] = defaultdict(
            lambda: (set(), []), {"": (set(), [])}
        )
        for name in packed:
            place, _, last = name.rpartition("/")
            folders[place][1].append(last)
            while place:
                place, _, last = place.rpartition("/")
                folders[place][0].add(last)
        return {place: Names(sorted(inside), files) for place, (inside, files) in folders.items()}

    @cached_property
    def is_folder(self) -> bool:
        """Whether it is a folder, an archive of files, or a folder inside an archive."""
        if self.is_dir() or (self.is_file() and not is_archive(self.head)):
            return self.is_dir()
        with suppress(OSError):
            return self._place in self._packed_folders
        return False

    @property
    def is_packed(self) -> bool:
        """Whether the path leads to an archive, or into one."""
        return self.archive is not None or is_archive(self.head)

    @cached_property
    def names(self) -> Names:
        """The names in a folder; none in what is no folder, or cannot be read."""
        if not self.is_folder:
            return Names()
        if not self.is_dir():
            return self._packed_folders[self._place]
        try:
            with os.scandir(self) as found:
                entries = [each for each in found if each.name[0] != "."]
        except OSError as error:
            return Names(problem=error.strerror or str(error))
        folders = [each for each in entries if is_folder(each)]
        links = frozenset(each.name for each in folders if each.is_symlink())
        # Pipes and devices may have no end.
        files = sorted(each.name for each in entries if is_file(each))
        return Names(sorted(each.name for each in folders), files, links)

    @property
    def folders(self) -> list["SourcePath"]:
        """The folders directly inside."""
        return [self / each for each in self.names.folders]

    @property
    def head(self) -> bytes:
        """The first 64 KiB of a file, maybe inside an archive; b"" if it cannot be read."""
        name, (_, heads) = str(self), self._shared
        if name not in heads:
            if len(heads) == _KEPT_HEADS:
                del heads[next(iter(heads))]
            found = b""
            with suppress(DatasetError, OSError, LookupError):
                # Reading a pipe would consume its data, and may block.
                if self.is_file():
                    with self.open("rb") as file:
                        found = file.read(HEAD)
                elif isinstance(packed := self._packed, dict):
                    found = packed[self._place].head()
            heads[name] = found
        return heads[name]

    @property
    def text_head(self) -> tuple[str, bytes]:
        """The name and the beginning of a file, or of the only file that is packed in it."""
        packed = self._packed if is_archive(self.head) else None
        only = [*packed.values()] if isinstance(packed, dict) else []
        return (self.stem, only[0].head()) if len(only) == 1 else (self.name, self.head)

    @cached_property
    def members(self) -> list[Member]:
        """The files of the source, sorted by name, without hidden files.

        Archives inside an archive are ordinary files. Raises DatasetError if an archive is broken,
        encrypted or too large, or has names that lead out of it; or if a folder cannot be read.
        """
        packed, place = self._packed, self._place
        if isinstance(packed, DatasetError):
            raise DatasetError(packed.problems, packed.advice)
        if packed is None and not self.is_folder:
            size = self.stat().st_size
            return [Member("", str(self), size, partial(opened_file, self), is_file=True)]
        if packed is not None and not place:
            return [*packed.values()]
        if packed is not None and not self.is_folder:
            if place in packed:
                return [packed[place]._replace(name="", top="")]
            shown = first_few([*packed], _SHOWN, one_line) or "no files"
            raise DatasetError([f"{self}: no such file in the archive; it has {shown}"])
        found, waiting = list[Member](), [(self, "")]
        while waiting:
            here, start = waiting.pop()
            if problem := here.names.problem:
                # Passing over it would lose annotations.
                raise DatasetError([f"{here}: cannot be read: {problem}"], READABLE)
            for name in here.names.files:
                inner = start + name
                found.append(
                    _on_disk(f"{here}{os.sep}{name}", escaped(inner))
                    if packed is None
                    else packed[f"{place}/{inner}"]._replace(name=inner, top="")
                )
            own = (each for each in here.names.folders if each not in here.names.links)
            waiting += [(here / each, f"{start}{each}/") for each in own]
            if len(found) > MAX_MEMBERS:
                raise DatasetError([f"{self}: has more than {count(MAX_MEMBERS, 'file')}"])
        return sorted(found, key=attrgetter("name"))

    @property
    def readable_members(self) -> list[Member]:
        """The `members`; none if they cannot be read."""
        with suppress(DatasetError):
            return self.members
        return []

    @property
    def direct_members(self) -> list[Member]:
        """The files directly in a folder, sorted by name; none if it cannot be read."""
        if not self.is_dir():
            return [each for each in self.readable_members if "/" not in each.name]
        return [_on_disk(f"{self}{os.sep}{each}", each) for each in self.names.files]


def _on_disk(file: str, name: str) -> Member:
    return Member(name, file, MAX_SIZE, partial(opened_file, file), is_file=True)


def members_of(path: Path) -> list[Member]:
    """Return the files of a source; see `SourcePath.members`."""
    return SourcePath.at(path).members


def read_whole(path: Path, expected: str = "a file", advice: str = "") -> bytes:
    """Return the content of a file, or of a pipe or device of at most 256 MB."""
    try:
        if path.is_dir():
            raise DatasetError([f"{path}: is a folder; expected {expected}"], advice)
        if path.is_file():
            return path.read_bytes()
        with path.open("rb") as stream:
            data = stream.read(_MOST_STREAMED + 1)
    except FileNotFoundError:
        raise no_such_file([path]) from None
    except OSError as error:
        raise DatasetError([f"{path}: cannot be read: {error.strerror}"]) from None
    if len(data) > _MOST_STREAMED:
        problem = f"{path}: is a pipe or a device of more than {_MOST_STREAMED // 10**6} MB"
        raise DatasetError([problem], "Write it to a file first.")
    return data


def no_such_file(paths: Sequence[Path]) -> DatasetError:
    """Return the error for files that do not exist."""
    relative = any(not path.is_absolute() for path in paths)
    advice = f"Paths are relative to {Path.cwd()}." if relative else ""
    # As a path, an address has lost a slash.
    if any(re.match(r"\w{2,}:/", str(path)) for path in paths):
        advice = "An address is not read: download it, and name the file."
    return DatasetError([f"{path}: no such file" for path in paths], advice)


def only_file(path: Path, found: Sequence[Member], what: str) -> Member:
    """Return the only file of a source with content of a kind, such as "COCO JSON"."""
    if len(found) == 1:
        return found[0]
    names = first_few(found, _SHOWN, lambda each: one_line(each.name)) or "none"
    problem = f"{path}: has {count(len(found), 'file')} of {what} ({names}); expected one"
    raise DatasetError([problem], "Unpack the archive, and name the file that is meant.")


def members_with(members: Iterable[Member], suffixes: str | tuple[str, ...]) -> Iterator[Member]:
    """Yield the files with a suffix, in upper or lower case, or the only file of a source."""
    return (each for each in members if each.name.lower().endswith(suffixes) or not each.name)


def members_like(path: Path, kind: str, suffix: str | tuple[str, ...]) -> list[Member]:
    """Return the files of a source that have a suffix and begin like a kind of text."""
    # In an archive with images, only named files are opened.
    named = members_with(SourcePath.at(path).readable_members, suffix)
    return [each for each in named if begins(kind, each.head())]


def escaped(name: str) -> str:
    """Return a name with escapes for bytes that are not UTF-8."""
    return _NOT_UTF8.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", name)


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
            if member.is_file and not digest:
                size += os.stat(member.shown).st_size  # noqa: PTH116 - of many
                continue
            for part in member.chunks():
                size += len(part)
                found.update(part)
    return size, found.hexdigest() if digest else None
