"""Where the files of images are below the folders that are searched."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import IntEnum
from errno import EINVAL, ELOOP, ENAMETOOLONG
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bboxqa.core.file_names import SPLIT, folders_in, is_foreign, split_in
from bboxqa.core.text import quoted
from bboxqa.formats.images import folders_around, picture_folders
from bboxqa.formats.label_folders import OF_CONTENT, OF_PICTURES

_OF_CONTENT = re.compile(rf"{OF_CONTENT}|{OF_PICTURES.pattern}", re.IGNORECASE)
_OF_SPLIT = re.compile(SPLIT, re.IGNORECASE)
# As in data/images/train/.
_DEPTH = 3
_OF_PICTURES = ("images", "jpegimages")


class PictureFolder(NamedTuple):
    """A folder of pictures, whose name is no part of the names of images."""

    root: Path
    """The folder that is searched; this one is below it, or is the same."""
    path: str
    """The path from there."""
    split: str
    """The split that its path or that of the root names; "" for none."""
    is_of_part: bool
    """Whether the path from the root names the split, so that other folders have other splits."""


class Spot(NamedTuple):
    """Where the file of an image may be."""

    folder: PictureFolder
    name: str
    """The path from the root."""

    @property
    def file(self) -> str:
        """The absolute path."""
        return str(self.folder.root / self.name)


class PictureFolders:
    """The folders of pictures, by the names of the files and folders in them.

    Parameters
    ----------
    roots : sequence of Path
        Folders with pictures below them.
    around : sequence of Path
        Folders that may hold pictures themselves as well; they come first.
    """

    def __init__(self, roots: Sequence[Path], around: Sequence[Path] = ()) -> None:
        self._inside: dict[str, list[PictureFolder]] = {}
        self._splits: set[str] = set()
        for root in dict.fromkeys([*around, *roots]):
            for folder in _folders(root, is_one=root in around):
                if folder.is_of_part:
                    self._splits.add(folder.split)
                with suppress(OSError):
                    for name in os.listdir(root / folder.path):  # noqa: PTH208 - 3 times as fast
                        self._inside.setdefault(name, []).append(folder)

    def spots(self, name: str) -> list[Spot]:
        """Return all places where the file of a name may be."""
        return [*self.of_split(name), *self.of_all(name), *self.of_any_split(name)]

    def of_split(self, name: str) -> list[Spot]:
        """Return where the file of train/street.jpg may be, in folders of the split train.

        Folders of the same name come before others, such as those of val before those of valid.
        """
        first, split, rest = _parted(name)
        found = [each for each in self._at(rest) if each.folder.split == split] if split else []
        return sorted(found, key=lambda each: first not in PurePosixPath(each.folder.path).parts)

    def of_all(self, name: str) -> list[Spot]:
        """Return where a file may be in folders of pictures of all splits."""
        return [each for each in self._at(name) if not each.folder.is_of_part]

    def of_any_split(self, name: str, split: str = "") -> list[Spot]:
        """Return where a file may be in folders of splits, if its name says no split.

        If there are folders of the given split, the file is in one of these.
        """
        spots = [] if _parted(name)[1] else self._at(name)
        wanted = {split} & self._splits or self._splits
        return [each for each in spots if each.folder.is_of_part and each.folder.split in wanted]

    def _at(self, name: str) -> list[Spot]:
        """Return the folders in which there is the first part of a path."""
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts:
            return []
        path = "/".join(parts)
        known = self._inside.get(parts[0], ())
        return [Spot(each, f"{each.path}/{path}" if each.path else path) for each in known]


def folders_of_labels(source: Path) -> list[Path]:
    """Return the folders in which readers look for the pictures of a folder of labels.

    Those of labels/ann may be in images/ann, which no other labels have.
    """
    if not source.is_dir():
        return []
    around, above, split = folders_around(source)
    shared = [inside for each in around for inside in picture_folders(each)]
    shared += [inside / split for each in above for inside in picture_folders(each)]
    own = (each / source.name for each in shared)
    return [source, *(each for each in own if each.is_dir()), *around, *above]


def split_of(source: Path) -> str:
    """Return the split of a file or folder of annotations, or of the folder around it.

    Examples
    --------
    >>> split_of(Path("set/valid/labels/ann")), split_of(Path("ann_train.json"))
    ('val', 'train')
    >>> split_of(Path("test/set/ann"))
    ''
    """
    parts = [part for part in source.parts if not _OF_CONTENT.fullmatch(part)]
    named = (split_in(PurePosixPath(part).stem) for part in reversed(parts[-2:]))
    return next((each[1] for each in named if each is not None), "")


def _parted(name: str) -> tuple[str, str, str]:
    """Return the first folder of a path, the split that it names, and the path behind it."""
    first, *rest = PurePosixPath(name).parts or ("",)
    split = _split_named(first) if rest else ""
    return first, split, "/".join(rest)


def _split_named(name: str) -> str:
    """Return the split that a folder has the name of; "" for none."""
    found = split_in(name) if _OF_SPLIT.fullmatch(name) else None
    return "" if found is None else found[1]


def _folders(root: Path, *, is_one: bool) -> Iterator[PictureFolder]:
    """Yield a root if it `is_one` or is of a split, and the folders of pictures below it."""
    of_root = root.parent if _OF_CONTENT.fullmatch(root.name) else root
    own = PictureFolder(
        root, "", _split_named(root.name) or _split_named(of_root.name), is_of_part=False
    )
    if is_one or own.split:
        yield own
    yield from _below(own, _DEPTH, set())


def _below(
    folder: PictureFolder, depth: int, seen: set[tuple[Path, str]]
) -> Iterator[PictureFolder]:
    """Yield the folders of pictures in a folder, images/ first."""
    inside: list[Path] = []
    with suppress(OSError):
        inside = [each for each in folders_in(folder.root / folder.path) if _is_known(each.name)]
    for each in sorted(inside, key=lambda each: each.name.lower() not in _OF_PICTURES):
        split = _split_named(each.name)
        found = PictureFolder(
            folder.root,
            each.relative_to(folder.root).as_posix(),
            split or folder.split,
            folder.is_of_part or bool(split),
        )
        place = (each.resolve(), found.split)
        # Nothing is looked for where a link leads out of the root.
        if place in seen or not place[0].is_relative_to(folder.root):
            continue
        seen.add(place)
        yield found
        if depth > 1:
            yield from _below(found, depth - 1, seen)


def _is_known(name: str) -> bool:
    return bool(_OF_CONTENT.fullmatch(name) or _OF_SPLIT.fullmatch(name))


# Names that no file can have: too long, in a circle of links, or with signs that are not allowed.
_IMPOSSIBLE = (ENAMETOOLONG, ELOOP, EINVAL)


class ImageState(IntEnum):
    """Result of the search for the file of an image record."""

    NOT_ASKED = 0
    """The record names no file."""
    FOUND = 1
    MISSING = 2
    OUTSIDE = 3
    """The name leads out of the folder; nothing was opened."""
    UNREADABLE = 4


_SETTLED = (ImageState.FOUND, ImageState.NOT_ASKED)
LOST = (ImageState.MISSING, ImageState.OUTSIDE)
"""States of names that no file has."""
# What counts where a name is looked for in several folders.
_PREFERRED = (ImageState.FOUND, ImageState.UNREADABLE, *LOST, ImageState.NOT_ASKED)


class Place(NamedTuple):
    """Where the file of a name is, before it is opened."""

    state: ImageState
    root: Path | None = None
    """The folder where it was found."""
    path: str = ""
    """The path from there, with slashes."""
    problem: str = ""
    """Why it cannot be opened."""

    @property
    def file(self) -> str:
        """The absolute path; "" for none."""
        return "" if self.root is None else str(self.root / self.path)


def find_files(names: Sequence[str | None], roots: Sequence[Path]) -> list[Place]:
    """Return where each name is below one of the folders, all of which are resolved."""
    found: list[list[Place]] = []
    for root in roots:
        found.append([_place(root, name) for name in names])
        if all(place.state in _SETTLED for place in found[-1]):
            break
    # The folder that has most of the files is the one that is meant; of equal ones the first.
    found.sort(key=lambda places: -sum(place.state == ImageState.FOUND for place in places))
    of_names = zip(*found, strict=True)
    return [min(each, key=lambda place: _PREFERRED.index(place.state)) for each in of_names]


def folder_of(source: Path) -> Path:
    """Return the folder of a file of annotations; a folder of labels is its own."""
    return source if source.is_dir() else source.parent


class ImageSearch:
    """Looks for files below folders, and then in the folders by which readers know pictures.

    Parameters
    ----------
    folders : sequence of Path
        Nothing outside of these resolved folders is found.
    sources : sequence of Path
        Files and folders of annotations. The folders of files come first if they are below one of
        the folders, as in exports of Roboflow. If all sources are of one split, names without a
        split are of it.
    by_folders : bool
        Whether names may lack the folders of pictures: train/street.jpg is also looked for as
        train/images/street.jpg and images/train/street.jpg.
    """

    def __init__(
        self, folders: Sequence[Path], sources: Sequence[Path] = (), *, by_folders: bool = True
    ) -> None:
        homes = [each.parent.resolve() for each in sources if each.is_file()]
        splits = {split_of(each) for each in sources}
        self._split = splits.pop() if len(splits) == 1 else ""
        self._folders = folders
        self._sources = sources
        self._by_folders = by_folders
        self.roots = [*dict.fromkeys([*filter(self._is_inside, homes), *folders])]
        """The folders in the order of the search."""

    @cached_property
    def folders(self) -> PictureFolders:
        """The folders of pictures; none unless names may lack them."""
        if not self._by_folders:
            return PictureFolders(())
        around = [folder.resolve() for each in self._sources for folder in folders_of_labels(each)]
        return PictureFolders(self.roots, [*filter(self._is_inside, around)])

    def _is_inside(self, folder: Path) -> bool:
        return any(folder.is_relative_to(each) for each in self._folders)

    def find(self, names: Sequence[str | None]) -> list[Place]:
        """Return where each name is."""
        places = find_files(names, self.roots)
        for number, (name, place) in enumerate(zip(names, places, strict=True)):
            if place.state == ImageState.MISSING and name is not None:
                places[number] = self._in_folders(name) or place
        return places

    def _in_folders(self, name: str) -> Place | None:
        """Return where a name is below folders of pictures; None for nowhere."""
        for spots in (self.folders.of_split(name), self.folders.of_all(name)):
            if found := _found_at(spots):
                return found[0]
        apart = _found_at(self.folders.of_any_split(name, self._split))
        distinct = {place.file: place for place in apart}
        if len(distinct) > 1:
            listed = " and ".join(quoted(each.path) for each in [*distinct.values()][:2])
            problem = f"is in several splits, such as {listed}; name the folder of one"
            return Place(ImageState.MISSING, problem=problem)
        return next(iter(distinct.values()), None)


def _found_at(spots: Sequence[Spot]) -> list[Place]:
    """Return the places of the spots that have a file."""
    places = (_place(each.folder.root, each.name) for each in spots)
    return [each for each in places if each.state == ImageState.FOUND]


def _place(root: Path, name: str | None) -> Place:
    """Return where the file of a name is below a folder."""
    if name is None or is_foreign(name):
        return Place(ImageState.NOT_ASKED if name is None else ImageState.OUTSIDE)
    try:
        return _found(root, (root / name).resolve())
    except OSError as error:
        if error.errno in _IMPOSSIBLE:
            return Place(ImageState.MISSING)
        return Place(ImageState.UNREADABLE, problem=f"{error.strerror}")
    except (ValueError, RuntimeError):
        # A null character in a name, or a circle of links: there is no such file.
        return Place(ImageState.MISSING)


def _found(root: Path, path: Path) -> Place:
    """Return what is at a path that has no links in it."""
    if not path.is_relative_to(root):
        return Place(ImageState.OUTSIDE)
    if path.is_file():
        return Place(ImageState.FOUND, root, path.relative_to(root).as_posix())
    if path.exists():
        return Place(ImageState.UNREADABLE, problem="it is not a regular file")
    return Place(ImageState.MISSING)
