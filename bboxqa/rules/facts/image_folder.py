"""Finding and reading the image files of a data set once for all rules."""

import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, ByteArray, IndexArray, frozen_arrays
from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, folder_problem, normalised_name
from bboxqa.core.parallel import threads
from bboxqa.core.types import Steps
from bboxqa.rules.facts.image_content import ImageContent, read_picture
from bboxqa.rules.facts.image_places import LOST, ImageSearch, ImageState, folder_of

_MAX_WORKERS = 8
_MAX_SUGGESTIONS = 3


@frozen_arrays
class ImageFolder:
    """The image files of a document with I image records."""

    roots: tuple[Path, ...]
    """The resolved folders in which files are searched, in order."""
    state: ByteArray
    """(I,) uint8. The `ImageState` of each record."""
    stored: IndexArray
    """(I, 2) int64. Width and height in the file, in pixels; -1 for unknown."""
    shown: IndexArray
    """(I, 2) int64. Width and height after the EXIF orientation is applied."""
    truncated: BoolArray
    """(I,) bool."""
    problem: tuple[str, ...]
    """Why a file is unreadable; "" for other files."""
    digest: tuple[bytes, ...]
    """Hash of each file; empty for unknown."""
    look: NDArray[np.uint64]
    """(I,) uint64. Perceptual hash of each image, see `ImageContent`."""
    has_look: BoolArray
    """(I,) bool."""
    format: tuple[str, ...]
    """The format of each file by its first bytes, see `ImageContent`; "" for unknown."""
    file: tuple[str, ...]
    """Absolute path of each file that was read, with links resolved; "" for others."""
    path: tuple[str, ...]
    """The path relative to the folder where it was found, with slashes."""
    suggestions: tuple[tuple[str, ...], ...]
    """For missing files and files outside the folders, files with that name elsewhere in the
    folders."""
    unnamed: tuple[str, ...]
    """Image files in the folders that no record names."""


def scan_images(
    records: Sequence[Any],
    *folders: Path,
    source: Path | None = None,
    others: Iterable[tuple[Path | None, Sequence[Any]]] = (),
    by_folders: bool = False,
    progress: Steps | None = None,
) -> ImageFolder:
    """Search the files of image records, and read those that are found.

    Parameters
    ----------
    records : sequence
        The image records of a document, of any type.
    *folders : Path
        File names are relative to one of the folders; nothing outside is opened. If a file is in
        several folders, the folder with more of the files counts.
    source : Path, optional
        The file or folder of the document. If its folder is inside one of the folders, it is
        searched first.
    others : iterable of (Path or None, sequence)
        The source and image records of other documents, whose files do not count as unnamed.
    by_folders : bool
        Whether names may lack the folders of pictures; see `ImageSearch`.
    progress : callable, optional
        Called as progress(done, total) after each file.
    """
    roots = [folder.resolve() for folder in folders]
    names = [_name(record) for record in records]
    search = ImageSearch(roots, [] if source is None else [source], by_folders=by_folders)
    places = search.find(names)
    wanted = sorted({place.file for place in places if place.state == ImageState.FOUND})
    pictures = _read_all(list(map(Path, wanted)), progress)
    by_file = dict(zip(wanted, pictures, strict=True))
    problems = ["" if place.state in LOST else place.problem for place in places]
    seen = [
        by_file.get(place.file, ImageContent(problem))
        for place, problem in zip(places, problems, strict=True)
    ]
    listed = {root / path: path for root in roots for path in _image_files(root)}
    index = _index(listed.values())
    suggestions = tuple(
        _meant(index, name or "") or _meant(index, unquote(name or ""))
        if place.state in LOST
        else ()
        for name, place in zip(names, places, strict=True)
    )
    likely = [found[0] for found in suggestions if len(found) == 1]
    known = {*wanted, *(str(root / path) for root in roots for path in likely)}
    documents = [(source, records), *others]
    known |= _named_files(documents, roots, {*map(str, listed)} - known, by_folders=by_folders)
    state = np.array([place.state for place in places], np.uint8)
    state[np.array([bool(each.problem) for each in seen], np.bool_)] = ImageState.UNREADABLE
    return ImageFolder(
        roots=tuple(search.roots),
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
        suggestions=tuple(
            tuple(_from_first(search.roots[0], roots, path) for path in near)
            for near in suggestions
        ),
        unnamed=tuple(path for file, path in listed.items() if str(file) not in known),
    )


def _named_files(
    documents: Sequence[tuple[Path | None, Sequence[Any]]],
    roots: Sequence[Path],
    files: set[str],
    *,
    by_folders: bool,
) -> set[str]:
    """Return which of some files the records of documents may mean; see `scan_images`."""
    named = [
        (source, [name for record in records if (name := _name(record))])
        for source, records in documents
    ]
    found: set[str] = set()
    for source, names in named:
        bases = roots if source is None else [*roots, folder_of(source).resolve()]
        found |= {os.path.normpath(base / name) for base in bases for name in names}
    for source, names in named:
        if by_folders and not files <= found:
            folders = ImageSearch(roots, [] if source is None else [source]).folders
            found |= {spot.file for name in names for spot in folders.spots(name)}
    return found & files


def check_folders(folders: Iterable[Path]) -> None:
    """Raise DatasetError unless all of these are folders that can be read."""
    problems = [folder_problem(folder, "a folder of images") for folder in folders]
    if any(problems):
        raise DatasetError([problem for problem in problems if problem])


def _name(image: object) -> str | None:
    name = image.get("file_name") if isinstance(image, dict) else None
    return name if isinstance(name, str) and name.strip() else None


def _read_all(paths: Sequence[Path], progress: Steps | None) -> list[ImageContent]:
    """Read image files, several at a time."""
    pictures = []
    # Decoder warnings are either part of the result, or not defects of the data set.
    with (
        warnings.catch_warnings(),
        ThreadPoolExecutor(min(threads(), _MAX_WORKERS)) as pool,
    ):
        warnings.simplefilter("ignore")
        for picture in pool.map(read_picture, paths):
            pictures.append(picture)
            if progress is not None:
                progress(len(pictures), len(paths))
    return pictures


def _image_files(root: Path) -> list[str]:
    """Return the sorted paths of image files in a folder, without following links."""
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


def _from_first(first: Path, roots: Sequence[Path], path: str) -> str:
    """Return the path of a file relative to the first folder of the search, if it is below it."""
    files = (root / path for root in roots)
    below = [file for file in files if file.is_relative_to(first) and file.exists()]
    return below[0].relative_to(first).as_posix() if below else path


def _index(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return paths by normalised path, and by normalised file name."""
    index: dict[str, list[str]] = {}
    for path in paths:
        for key in {normalised_name(path), "/" + PurePosixPath(normalised_name(path)).name}:
            index.setdefault(key, []).append(path)
    return index


def _meant(index: dict[str, list[str]], name: str) -> tuple[str, ...]:
    """Return the files that a name may mean: same path, else same file name, else normalised."""
    key = normalised_name(name)
    base = name.replace("\\", "/").rpartition("/")[2]
    alike = index.get("/" + PurePosixPath(key).name, [])
    exact = [path for path in alike if path.rpartition("/")[2] == base]
    return tuple((index.get(key) or exact or alike)[:_MAX_SUGGESTIONS])
