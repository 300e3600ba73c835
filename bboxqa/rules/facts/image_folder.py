"""The image files of a data set, read once for all rules."""

import os
import re
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, ByteArray, IndexArray, frozen_arrays
from bboxqa.core.parallel import threads
from bboxqa.core.types import Steps
from bboxqa.rules.facts.image_content import ImageContent, read_picture

_SUFFIXES = {
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".jp2",
    ".avif", ".heic", ".heif", ".ppm", ".pgm", ".tga",
}  # fmt: skip
_DRIVE = re.compile(r"[a-z]:", re.IGNORECASE)
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:/|data:)", re.IGNORECASE)
_MAX_WORKERS = 8
_MAX_SUGGESTIONS = 3

"""Called as progress(done, total)."""


class ImageState(IntEnum):
    """Result of the search for the file of an image record."""

    NOT_ASKED = 0
    """The record names no file."""
    FOUND = 1
    MISSING = 2
    OUTSIDE = 3
    """The name leads out of the folder; nothing was opened."""
    UNREADABLE = 4


@frozen_arrays
class ImageFolder:
    """The image files of one document; I image records.

    Attributes
    ----------
    folder : Path
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
    path : tuple of str
        Path of each file that was read, relative to the folder, with slashes; "" for others.
    suggestions : tuple of tuple of str
        For missing files and files outside: files of that name elsewhere below the folder.
    unnamed : tuple of str
        Image files below the folder that no record names.
    """

    folder: Path
    state: ByteArray
    stored: IndexArray
    shown: IndexArray
    truncated: BoolArray
    problem: tuple[str, ...]
    digest: tuple[bytes, ...]
    look: NDArray[np.uint64]
    has_look: BoolArray
    path: tuple[str, ...]
    suggestions: tuple[tuple[str, ...], ...]
    unnamed: tuple[str, ...]


def normalised_name(name: str) -> str:
    r"""Return a file name without the differences that some systems ignore.

    Examples
    --------
    >>> normalised_name("Photos\\A.JPG")
    'photos/a.jpg'
    """
    return unicodedata.normalize("NFC", name.replace("\\", "/")).casefold()


def is_foreign(name: str) -> bool:
    r"""Return whether a name is absolute, of a drive, or a URL.

    Examples
    --------
    >>> [is_foreign(name) for name in ("/a.jpg", "C:\\a.jpg", "https://b.org/a.jpg", "a/b.jpg")]
    [True, True, True, False]
    """
    return name[:1] in ("/", "\\") or bool(_DRIVE.match(name) or _URL.match(name))


def scan_images(
    records: Sequence[Any],
    folder: Path,
    progress: Steps | None = None,
    workers: int | None = None,
    *,
    others: Iterable[Any] = (),
) -> ImageFolder:
    """Search for the files of image records, and read each that is found.

    Parameters
    ----------
    records : sequence
        The image records of a document, of any type.
    folder : Path
        File names are relative to it; nothing outside it is opened.
    progress : callable, optional
        Called as progress(done, total) after each file.
    workers : int, optional
        Number of threads; by default one per processor, at most 8. Each holds one image at a time.
    others : iterable, optional
        Image records of other documents of the same folder; files that they name are not unnamed.
    """
    root = folder.resolve()
    names = [_name(record) for record in records]
    places = [_place(root, name) for name in names]
    wanted = sorted({path for state, path, _ in places if state == ImageState.FOUND})
    pictures = _read_all([root / path for path in wanted], progress, workers)
    by_path = dict(zip(wanted, pictures, strict=True))
    seen = [by_path.get(path, ImageContent(problem)) for _, path, problem in places]
    listed = _image_files(root)
    index = _index(listed)
    suggestions = tuple(
        _suggest(index, name or "") if state in (ImageState.MISSING, ImageState.OUTSIDE) else ()
        for name, (state, _, _) in zip(names, places, strict=True)
    )
    named = {os.path.normpath(name) for name in names if name}
    named |= {os.path.normpath(name) for other in others if (name := _name(other))}
    named |= set(wanted) | {found[0] for found in suggestions if len(found) == 1}
    state = np.array([state for state, _, _ in places], np.uint8)
    state[np.array([bool(each.problem) for each in seen], np.bool_)] = ImageState.UNREADABLE
    return ImageFolder(
        folder=folder,
        state=state,
        stored=np.array([each.stored for each in seen], np.int64).reshape(-1, 2),
        shown=np.array([each.shown for each in seen], np.int64).reshape(-1, 2),
        truncated=np.array([each.truncated for each in seen], np.bool_),
        problem=tuple(each.problem for each in seen),
        digest=tuple(each.digest for each in seen),
        look=np.array([each.look or 0 for each in seen], np.uint64),
        has_look=np.array([each.look is not None for each in seen], np.bool_),
        path=tuple(path for _, path, _ in places),
        suggestions=suggestions,
        unnamed=tuple(path for path in listed if path not in named),
    )


def _name(image: object) -> str | None:
    name = image.get("file_name") if isinstance(image, dict) else None
    return name if isinstance(name, str) and name.strip() else None


def _place(root: Path, name: str | None) -> tuple[ImageState, str, str]:
    """Return the state of a file before it is opened, its path, and its problem."""
    if name is None:
        return ImageState.NOT_ASKED, "", ""
    if is_foreign(name):
        return ImageState.OUTSIDE, "", ""
    try:
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            return ImageState.OUTSIDE, "", ""
        if path.is_file():
            return ImageState.FOUND, path.relative_to(root).as_posix(), ""
        if path.exists():
            return ImageState.UNREADABLE, "", "it is not a regular file"
    # Names can be too long, have invalid characters, or be links in a circle.
    except (OSError, ValueError, RuntimeError):
        pass
    return ImageState.MISSING, "", ""


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
            if path.suffix.lower() in _SUFFIXES and not path.is_symlink()
        ]
    return found


def _index(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the paths by normalised path, and by normalised last part."""
    index: dict[str, list[str]] = {}
    for path in paths:
        for key in {normalised_name(path), "/" + PurePosixPath(normalised_name(path)).name}:
            index.setdefault(key, []).append(path)
    return index


def _suggest(index: dict[str, list[str]], name: str) -> tuple[str, ...]:
    """Return the files a name may mean: of the same path, else last part, else its normal form."""
    key = normalised_name(name)
    base = name.replace("\\", "/").rpartition("/")[2]
    alike = index.get("/" + PurePosixPath(key).name, [])
    exact = [path for path in alike if path.rpartition("/")[2] == base]
    return tuple((index.get(key) or exact or alike)[:_MAX_SUGGESTIONS])
