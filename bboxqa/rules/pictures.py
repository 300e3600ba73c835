"""The image files of a data set: where they are, and what they hold; each is opened once."""

import hashlib
import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core import file_names
from bboxqa.core import image_opening as opening
from bboxqa.core.arrays import ByteArray, IndexArray, Steps, listed_by
from bboxqa.core.errors import DatasetError
from bboxqa.core.machine import threads
from bboxqa.formats.heads import HEAD, absence_of
from bboxqa.formats.label_folders import place_of
from bboxqa.formats.source import escaped

_MAX_WORKERS = 8
_MAX_SUGGESTIONS = 3
# The tags of width and height in TIFF.
_WIDTH, _HEIGHT = 256, 257


class ImageState(IntEnum):
    """Result of the search for the file of an image record: of several folders, the lowest."""

    FOUND = 0
    UNREADABLE = 1
    MISSING = 2
    OUTSIDE = 3
    NOT_ASKED = 4


_LOST = (ImageState.MISSING, ImageState.OUTSIDE)


class Place(NamedTuple):
    """Where the file of a name is, before it is opened: a folder and the path from there."""

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
    found = [[_place(root, name) for name in names] for root in roots]
    return [min(each, key=lambda place: place.state) for each in zip(*found, strict=True)]


def _place(root: Path, name: str | None) -> Place:
    """Return where the file of a name is below a folder."""
    if name is None or file_names.is_foreign(name):
        return Place(ImageState.NOT_ASKED if name is None else ImageState.OUTSIDE)
    try:
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            return Place(ImageState.OUTSIDE)
        if path.is_file():
            return Place(ImageState.FOUND, root, path.relative_to(root).as_posix())
        if path.exists():
            return Place(ImageState.UNREADABLE, problem="it is not a regular file")
    except OSError as error:
        return Place(ImageState.UNREADABLE, problem=f"{error.strerror}")
    except (ValueError, RuntimeError):
        # A null character in a name, or a circle of links: there is no such file.
        pass
    return Place(ImageState.MISSING)


class ImageSearch:
    """Looks for files below resolved folders, first beside `sources`, files of annotations.

    With `by_folders`, train/a.jpg is also found as train/images/a.jpg and images/train/a.jpg.
    """

    def __init__(
        self, folders: Sequence[Path], sources: Sequence[Path] = (), *, by_folders: bool = True
    ) -> None:
        homes = [each.parent.resolve() for each in sources if each.is_file()]
        inside = [each for each in homes if any(each.is_relative_to(root) for root in folders)]
        self._sources = [each.resolve() for each in sources if each.is_dir()]
        self._by_folders = by_folders
        self.roots = [*dict.fromkeys([*inside, *folders])]
        """The folders in the order of the search."""

    @cached_property
    def files(self) -> dict[str, tuple[Path, str]]:
        """The image files by absolute path, each with a root and the path from there; no links."""
        found: dict[str, tuple[Path, str]] = {}
        for root in self.roots:
            for here, folders, names in os.walk(root):
                folders.sort()
                for name in sorted(names):
                    path = Path(here, name)
                    if path.suffix.lower() in file_names.IMAGE_SUFFIXES and not path.is_symlink():
                        found.setdefault(str(path), (root, path.relative_to(root).as_posix()))
        return found

    @cached_property
    def _by_place(self) -> dict[str, list[str]]:
        """The image files by the names that images of their places have."""
        return listed_by(
            (key, file)
            for file, (_, path) in self.files.items()
            for key in {
                _of_split(escaped(place_of(each) + suffix))
                for each in (path, file)
                # An image without a picture beside its label is named as the label.
                for suffix in (Path(file).suffix, "")
            }
        )

    def find(self, names: Sequence[str | None]) -> list[Place]:
        """Return where each name is."""
        places = find_files(names, self.roots)
        folders = [each for source in self._sources for each in (source.name, split_of(source))]
        for number, (name, place) in enumerate(zip(names, places, strict=True)):
            if not self._by_folders or name is None or place.state != ImageState.MISSING:
                continue
            keys = (*(f"{folder}/{name}" for folder in folders if folder), _of_split(name))
            found = next((self._by_place[key] for key in keys if key in self._by_place), None)
            if found is not None:
                # Several people may have copies of the pictures.
                near = [f for f in found if any(map(Path(f).is_relative_to, self._sources))]
                places[number] = Place(ImageState.FOUND, *self.files[(near or found)[0]])
        return places

    def unnamed(self, documents: Iterable[tuple[Path | None, Sequence[Any]]]) -> set[str]:
        """Return the image files that no records of documents name, each with its source."""
        left = {*self.files}
        names: set[str] = set()
        for source, records in documents:
            own = {name for record in records if (name := _name(record))}
            own_folder = [] if source is None else [source if source.is_dir() else source.parent]
            bases = [*self.roots, *(folder.resolve() for folder in own_folder)]
            left -= {os.path.normpath(base / name) for base in bases for name in own}
            names |= {_of_split(name) for name in own}
        if self._by_folders and left:
            for key, files in self._by_place.items():
                if key in names or key.partition("/")[2] in names:
                    left.difference_update(files)
        return left


def _of_split(name: str) -> str:
    """Return a path with a common name of the split that it begins with: val for valid."""
    first, slash, rest = name.partition("/")
    split = file_names.split_in(first) if slash and file_names.is_split(first) else None
    return name if split is None else f"{split[1]}/{rest}"


def split_of(source: Path) -> str:
    """Return the split of a file or folder of annotations, or of the folder around it."""
    parts = [part for part in source.parts if place_of(f"{part}/a") != "a"]
    named = (file_names.split_in(PurePosixPath(part).stem) for part in reversed(parts[-2:]))
    return next((each[1] for each in named if each is not None), "")


def _name(image: object) -> str | None:
    name = image.get("file_name") if isinstance(image, dict) else None
    return name if isinstance(name, str) and name.strip() else None


class ImageFolder(msgspec.Struct, frozen=True, eq=False):
    """The image files of a document with I image records: where they are, and what they hold."""

    roots: tuple[Path, ...]
    places: tuple[Place, ...]
    contents: "tuple[ImageContent, ...]"
    suggestions: tuple[tuple[str, ...], ...]
    """For lost files, those with that path or name in the folders."""
    unnamed: tuple[str, ...]
    state: ByteArray
    """(I,) uint8. The `ImageState` of each record."""
    shown: IndexArray
    """(I, 2) int64. Width and height after the EXIF orientation is applied; -1 for unknown."""


def scan_images(
    records: Sequence[Any],
    *folders: Path,
    source: Path | None = None,
    others: Iterable[tuple[Path | None, Sequence[Any]]] = (),
    by_folders: bool = False,
    progress: Steps | None = None,
) -> ImageFolder:
    """Search the files of the image records of a document, and read those that are found.

    Files that the records of `others` name, further documents with their sources, are not unnamed.
    """
    roots, sources = [folder.resolve() for folder in folders], [source] if source else []
    search = ImageSearch(roots, sources, by_folders=by_folders)
    names = [_name(record) for record in records]
    places = search.find(names)
    wanted = sorted({place.file for place in places if place.state == ImageState.FOUND})
    read = {}
    # Decoder warnings are either part of the result, or not defects of the data set.
    with warnings.catch_warnings(), ThreadPoolExecutor(min(threads(), _MAX_WORKERS)) as pool:
        warnings.simplefilter("ignore")
        for file, content in zip(wanted, pool.map(read_picture, map(Path, wanted)), strict=True):
            read[file] = content
            if progress is not None:
                progress(len(read), len(wanted))
    meant = _meanings(search, names, places)
    likely = {files[0] for files in meant if len(files) == 1}
    unnamed = search.unnamed([(source, records), *others]) - {*wanted, *likely}
    contents = [
        read.get(place.file, ImageContent("" if place.state in _LOST else place.problem))
        for place in places
    ]
    states = [
        ImageState.UNREADABLE if content.problem else place.state
        for place, content in zip(places, contents, strict=True)
    ]
    return ImageFolder(
        roots=tuple(search.roots),
        places=tuple(places),
        contents=tuple(contents),
        suggestions=tuple(tuple(search.files[file][1] for file in files) for files in meant),
        unnamed=tuple(path for file, (_, path) in search.files.items() if file in unnamed),
        state=np.array(states, np.uint8),
        shown=np.array([each.shown for each in contents], np.int64).reshape(-1, 2),
    )


def _meanings(
    search: ImageSearch, names: Sequence[str | None], places: Sequence[Place]
) -> list[list[str]]:
    """Return the files that each lost name may mean: same path, else same file name."""
    plain_of = {file: file_names.normalised_name(path) for file, (_, path) in search.files.items()}
    index = listed_by(
        (key, file)
        for file, plain in plain_of.items()
        for key in {plain, "/" + PurePosixPath(plain).name}
    )

    def meant(name: str) -> list[str]:
        plain, base = file_names.normalised_name(name), name.replace("\\", "/").rpartition("/")[2]
        alike = index.get("/" + PurePosixPath(plain).name, [])
        exact = [file for file in alike if Path(file).name == base]
        return (index.get(plain) or exact or alike)[:_MAX_SUGGESTIONS]

    return [
        meant(name) or meant(unquote(name)) if name and place.state in _LOST else []
        for name, place in zip(names, places, strict=True)
    ]


def check_folders(folders: Iterable[Path]) -> None:
    """Raise DatasetError unless all of these are folders that can be read."""
    problems = [file_names.folder_problem(folder, "a folder of images") for folder in folders]
    if any(problems):
        raise DatasetError([problem for problem in problems if problem])


class ImageContent(msgspec.Struct, frozen=True):
    """The content of one image file."""

    problem: str = ""
    """Why the file cannot be decoded, or ""."""
    truncated: bool = False
    stored: tuple[int, int] = (-1, -1)
    """(int, int). Width and height in the file, in pixels; (-1, -1) for unknown."""
    shown: tuple[int, int] = (-1, -1)
    """(int, int). Width and height after the EXIF orientation is applied."""
    digest: bytes = b""
    """Hash of the whole file; empty for unknown."""


def read_picture(path: Path) -> ImageContent:
    """Return the content of a regular file, with the problem if it cannot be decoded."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
            if not file.tell():
                return ImageContent("the file is empty", digest=digest)
            file.seek(0)
            head = file.read(HEAD)
            file.seek(0)
            found = _with_pillow(file)
        if found is None and (driver := opening.RASTERS.get(head[:4])) is not None:
            with opening.opened_raster(path, driver) as raster:
                if raster is not None:
                    size = (int(raster.width), int(raster.height))
                    found = ImageContent(opening.block_problem(raster), stored=size, shown=size)
        unknown = "is not an image of a known format, or its header is broken"
        return replace(found or ImageContent(f"it {absence_of(head) or unknown}"), digest=digest)
    except OSError as error:
        return ImageContent(f"the file cannot be read: {opening.reason_of(error)}")


def _with_pillow(file: BinaryIO) -> ImageContent | None:
    """Return the content of a file read with Pillow; None for an unknown image."""
    from PIL import UnidentifiedImageError

    found = ImageContent()
    try:
        with opening.opened(file) as image:
            stored, turn = (int(image.size[0]), int(image.size[1])), 1
            if image.format == "TIFF":
                # The tags are read, as some versions of Pillow apply the orientation to the size.
                tags: Any = image.tag_v2
                stored = (int(tags.get(_WIDTH, stored[0])), int(tags.get(_HEIGHT, stored[1])))
                turn = int(tags.get(opening.ORIENTATION, 1))
            elif image.format in ("JPEG", "MPO", "WEBP", "AVIF"):
                turn = opening.turn_of(image)
            found = _sized(stored, turn)
            n_pixels = found.stored[0] * found.stored[1]
            if n_pixels > opening.MOST_PIXELS:
                problem = f"not decoded, it may be a decompression bomb: {n_pixels:,} pixels"
                return replace(found, problem=problem)
            if n_pixels <= opening.MOST_WHOLE:
                if image.format in ("JPEG", "MPO"):
                    # Decoding at a lower resolution is far faster, and still reads the whole file.
                    image.draft("L", (64, 64))
                image.load()
                if image.format == "PNG":
                    # Read again, as metadata may follow the pixels.
                    found = _sized(found.stored, opening.turn_of(image))
    except UnidentifiedImageError:
        return None
    # Decoders may raise any exception for broken files.
    except Exception as error:  # noqa: BLE001
        reason = opening.reason_of(error)
        return replace(found, problem=reason, truncated="truncated" in reason.lower())
    return found


def _sized(stored: tuple[int, int], turn: object) -> ImageContent:
    return ImageContent(stored=stored, shown=stored[::-1] if turn in opening.SIDEWAYS else stored)
