"""Pages as files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bboxqa.core.errors import OutputError
from bboxqa.core.files import filled_folder
from bboxqa.report.pages.html_document import ASSETS, asset
from bboxqa.report.pages.pictures import INDEX, TOP

PIXELS = "images"
"""The folder of the pixels of images in a folder of pages."""

# Of base.html.j2.
_MARK = b'<meta name="generator" content="bboxqa'
_HEAD = 4096
_TOP_OF_FOLDER = 1000
# Bytes of a page in one file: per image, at least, and at most.
_OF_IMAGE, _OF_FEW, _OF_ANY = 100_000, 5_000_000, 20_000_000
# File names of a folder of pages, and of its folder of pixels.
_OWN = re.compile(rf"{'|'.join(map(re.escape, (INDEX, *ASSETS)))}|images-\d+\.html")
_OWN_PIXELS = re.compile(r"\d+\.webp")


class PageTarget(msgspec.Struct, frozen=True):
    """The path of a page, and the images that it shows."""

    path: Path
    images: Sequence[Path] = ()
    """Folders of image files; nothing outside them is opened."""
    split: bool = False
    """Whether it is a folder, with style, script and images as files, instead of one file."""
    n_images: int | None = None
    above: str = ""
    """URL of a parent page to link to."""

    @property
    def top(self) -> int:
        """The number of worst images that are shown."""
        if self.n_images is not None:
            return self.n_images
        return _TOP_OF_FOLDER if self.split else TOP

    @property
    def most_bytes(self) -> int:
        """The largest size in bytes of a page in one file."""
        return min(max(self.top * _OF_IMAGE, _OF_FEW), _OF_ANY)

    @property
    def page(self) -> Path:
        """The file to open."""
        return self.path / INDEX if self.split else self.path

    def check(self, *, force: bool) -> None:
        """Refuse to replace other files; see `check_page` and `check_page_folder`."""
        (check_page_folder if self.split else check_page)(self.path, force=force)


def check_page(path: Path, *, force: bool) -> None:
    """Refuse to replace a file that is not a page.

    Raises OutputError for such a file, unless `force`, and if the folder does not exist.
    """
    if not path.parent.is_dir():
        raise OutputError(f"{path}: cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file, or give --split")
    if not force and path.is_file() and not _is_page(path):
        raise OutputError(f"{path}: is no page of bboxqa; name another file, or give --force")


def check_page_folder(folder: Path, *, force: bool) -> None:
    """Refuse to replace a file, or a folder that holds anything but pages.

    Raises OutputError in these cases, and for an existing folder of pages, unless `force`.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; name a folder, or leave out --split")
    try:
        found = [*folder.iterdir()] if folder.is_dir() else []
        other = next(_other_files(found), None)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be read: {error.strerror}") from None
    if other is not None:
        problem = f"holds {other.relative_to(folder)}, which is no part of a page"
        raise OutputError(f"{folder}: {problem}; name another folder")
    if found and not _is_page(folder / INDEX):
        raise OutputError(f"{folder}: holds no page of bboxqa; name another folder")
    if found and not force:
        raise OutputError(f"{folder}: holds a page; name another folder, or give --force")


def _other_files(found: Iterable[Path]) -> Iterator[Path]:
    """Yield the files and folders that do not belong to a folder of pages."""
    for each in found:
        if each.name == PIXELS and each.is_dir() and not each.is_symlink():
            for file in each.iterdir():
                if not (_OWN_PIXELS.fullmatch(file.name) and file.is_file()):
                    yield file
        elif not (_OWN.fullmatch(each.name) and each.is_file()):
            yield each


def _is_page(path: Path) -> bool:
    """Return whether a file is a page of bboxqa."""
    try:
        with path.open("rb") as file:
            return _MARK in file.read(_HEAD)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def page_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder with style and script, to fill with pages.

    It replaces an earlier folder of pages as a whole. Raises OutputError if it cannot be written,
    or the earlier folder holds anything else by then.
    """
    target = folder.resolve()
    try:
        with filled_folder(target, last=INDEX) as scratch:
            for name in ASSETS:
                (scratch / name).write_text(asset(name), "utf-8")
            yield scratch
            check_page_folder(target, force=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror}") from None


def encoded(page: str) -> bytes:
    """Return the bytes of a page."""
    return page.encode("utf-8", "backslashreplace")


ONE_FILE = PageTarget(Path("page.html"))
"""A page in one file, without images."""
