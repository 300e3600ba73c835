"""Where the files of images are below the folders that are searched."""

from collections.abc import Sequence
from enum import IntEnum
from errno import EINVAL, ELOOP, ENAMETOOLONG
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bboxqa.core.file_names import is_foreign
from bboxqa.core.text import quoted
from bboxqa.rules.facts.picture_folders import PictureFolders, Spot, folders_of_labels, split_of

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
    """Where the file of a name is, before it is opened.

    Attributes
    ----------
    state : ImageState
    root : Path or None
        The folder where it was found.
    path : str
        The path from there, with slashes.
    problem : str
        Why it cannot be opened.
    """

    state: ImageState
    root: Path | None = None
    path: str = ""
    problem: str = ""

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
        """Return where a name is below folders of pictures; None for nowhere.

        The state is MISSING for a name without a split that several splits have.
        """
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
