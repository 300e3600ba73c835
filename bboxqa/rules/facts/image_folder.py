"""The image files of a data set, read once for all rules."""

import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from errno import EINVAL, ELOOP, ENAMETOOLONG
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, ByteArray, IndexArray, frozen_arrays
from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, folder_problem, is_foreign, normalised_name
from bboxqa.core.parallel import threads
from bboxqa.core.types import Steps
from bboxqa.rules.facts.image_content import ImageContent, read_picture

_MAX_WORKERS = 8
_MAX_SUGGESTIONS = 3
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
_LOST = (ImageState.MISSING, ImageState.OUTSIDE)
# What counts where a name is looked for in several folders.
_PREFERRED = (ImageState.FOUND, ImageState.UNREADABLE, *_LOST, ImageState.NOT_ASKED)


@frozen_arrays
class ImageFolder:
    """The image files of one document; I image records.

    Attributes
    ----------
    roots : tuple of Path
        The folders where files are looked for, resolved, in the order of the search.
    state : (I,) uint8
        The `ImageState` of each.
    stored : (I, 2) int64
        Width and height in the file, in pixels; -1 for unknown.
    shown : (I, 2) int64
        The same after the EXIF orientation.
    truncated : (I,) bool
    problem : tuple of str
        Why a file is unreadable; "" for others.
    digest : tuple of bytes
        Hash of each file; empty for unknown.
    look : (I,) uint64
        Perceptual hash of each image, see `ImageContent`.
    has_look : (I,) bool
    format : tuple of str
        The format of each by its first bytes, see `ImageContent`; "" for unknown.
    file : tuple of str
        Absolute path of each file that was read, without links; "" for others.
    path : tuple of str
        The same relative to the folder where it was found, with slashes.
    suggestions : tuple of tuple of str
        For missing files and files outside: files of that name elsewhere below the folders.
    unnamed : tuple of str
        Image files below the folders that no record names.
    """

    roots: tuple[Path, ...]
    state: ByteArray
    stored: IndexArray
    shown: IndexArray
    truncated: BoolArray
    problem: tuple[str, ...]
    digest: tuple[bytes, ...]
    look: NDArray[np.uint64]
    has_look: BoolArray
    format: tuple[str, ...]
    file: tuple[str, ...]
    path: tuple[str, ...]
    suggestions: tuple[tuple[str, ...], ...]
    unnamed: tuple[str, ...]


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


def scan_images(
    records: Sequence[Any],
    *folders: Path,
    beside: Path | None = None,
    others: Iterable[tuple[Path | None, Sequence[Any]]] = (),
    progress: Steps | None = None,
    workers: int | None = None,
) -> ImageFolder:
    """Search for the files of image records, and read each that is found.

    Parameters
    ----------
    records : sequence
        The image records of a document, of any type.
    *folders : Path
        File names are relative to one of them, nothing outside them is opened. Of several files
        of a name, that in the folder with more of the files counts.
    beside : Path, optional
        The folder of the document. If it is below one of the folders, images are looked for there
        first.
    others : iterable of (Path or None, sequence)
        The folder and image records of other documents; files that they name are not unnamed.
    progress : callable, optional
        Called as progress(done, total) after each file.
    workers : int, optional
        Number of threads; by default one per processor, at most 8. Each holds one image at a time.
    """
    roots = [folder.resolve() for folder in folders]
    names = [_name(record) for record in records]
    order = search_order(roots, beside)
    places = find_files(names, order)
    wanted = sorted({place.file for place in places if place.state == ImageState.FOUND})
    pictures = _read_all(list(map(Path, wanted)), progress, workers)
    by_file = dict(zip(wanted, pictures, strict=True))
    seen = [by_file.get(place.file, ImageContent(place.problem)) for place in places]
    listed = {root / path: path for root in roots for path in _image_files(root)}
    index = _index(listed.values())
    suggestions = tuple(
        _suggest(index, name or "") if place.state in _LOST else ()
        for name, place in zip(names, places, strict=True)
    )
    likely = [found[0] for found in suggestions if len(found) == 1]
    known = {*wanted, *(str(root / path) for root in roots for path in likely)}
    for folder, records_there in ((beside, records), *others):
        there = [name for record in records_there if (name := _name(record))]
        bases = roots if folder is None else [*roots, folder.resolve()]
        known |= {os.path.normpath(base / name) for base in bases for name in there}
    state = np.array([place.state for place in places], np.uint8)
    state[np.array([bool(each.problem) for each in seen], np.bool_)] = ImageState.UNREADABLE
    return ImageFolder(
        roots=tuple(order),
        state=state,
        stored=np.array([each.stored for each in seen], np.int64).reshape(-1, 2),
        shown=np.array([each.shown for each in seen], np.int64).reshape(-1, 2),
        truncated=np.array([each.truncated for each in seen], np.bool_),
        problem=tuple(each.problem for each in seen),
        digest=tuple(each.digest for each in seen),
        look=np.array([each.look or 0 for each in seen], np.uint64),
        has_look=np.array([each.look is not None for each in seen], np.bool_),
        format=tuple(each.format for each in seen),
        file=tuple(place.file for place in places),
        path=tuple(place.path for place in places),
        suggestions=suggestions,
        unnamed=tuple(path for file, path in listed.items() if str(file) not in known),
    )


def check_folders(folders: Iterable[Path]) -> None:
    """Raise DatasetError unless all of these are folders that can be read."""
    problems = [folder_problem(folder, "a folder of images") for folder in folders]
    if any(problems):
        raise DatasetError([problem for problem in problems if problem])


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


def _name(image: object) -> str | None:
    name = image.get("file_name") if isinstance(image, dict) else None
    return name if isinstance(name, str) and name.strip() else None


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


def _read_all(
    paths: Sequence[Path], progress: Steps | None, workers: int | None
) -> list[ImageContent]:
    """Read image files, several at a time."""
    pictures = []
    # Warnings of decoders are either part of the result, or not defects of the data set.
    with (
        warnings.catch_warnings(),
        ThreadPoolExecutor(workers or min(threads(), _MAX_WORKERS)) as pool,
    ):
        warnings.simplefilter("ignore")
        for picture in pool.map(read_picture, paths):
            pictures.append(picture)
            if progress is not None:
                progress(len(pictures), len(paths))
    return pictures


def _image_files(root: Path) -> list[str]:
    """Return the paths of image files below a folder, sorted; links are not followed."""
    found = []
    for here, folders, files in os.walk(root):
        folders.sort()
        paths = (Path(here, name) for name in sorted(files))
        found += [
            path.relative_to(root).as_posix()
            for path in paths
            if path.suffix.lower() in IMAGE_SUFFIXES and not path.is_symlink()
        ]
    return found


def _index(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the paths by normalised path, and by normalised last part."""
    index: dict[str, list[str]] = {}
    for path in paths:
        for key in {normalised_name(path), "/" + PurePosixPath(normalised_name(path)).name}:
            index.setdefault(key, []).append(path)
    return index


def _suggest(index: dict[str, list[str]], name: str) -> tuple[str, ...]:
    """Return the files a name may mean: of the same path, else last part, else its normal form."""
    # Names that were part of a URL have escapes, such as %20 for a blank.
    if normalised_name(unquote(name)) in index:
        name = unquote(name)
    key = normalised_name(name)
    base = name.replace("\\", "/").rpartition("/")[2]
    alike = index.get("/" + PurePosixPath(key).name, [])
    exact = [path for path in alike if path.rpartition("/")[2] == base]
    return tuple((index.get(key) or exact or alike)[:_MAX_SUGGESTIONS])
