"""Where the files of images are below the folders that are searched."""

from collections.abc import Sequence
from enum import IntEnum
from errno import EINVAL, ELOOP, ENAMETOOLONG
from pathlib import Path
from typing import NamedTuple

from bboxqa.core.file_names import is_foreign

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


def search_order(roots: Sequence[Path], beside: Path | None) -> list[Path]:
    """Return resolved folders in the order of the search.

    The folder of a document comes first if it is below one of them, as in exports of Roboflow;
    else nothing is looked for there.
    """
    own = [beside.resolve()] if beside is not None else []
    inside = [folder for folder in own if any(folder.is_relative_to(root) for root in roots)]
    return list(dict.fromkeys([*inside, *roots]))


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
