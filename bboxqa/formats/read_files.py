"""All files that a command reads, so that none of them is written to."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from bboxqa.core.errors import BboxqaError
from bboxqa.core.file_names import IMAGE_SUFFIXES
from bboxqa.core.types import AnyPath
from bboxqa.formats.sources import list_files

# Pages of results may be beside annotations, and are read by no format.
_PAGE = ".html"


def files_read(paths: Iterable[AnyPath | None], images: Iterable[AnyPath] = ()) -> Iterator[Path]:
    """Yield the files of sources of annotations, and the image files of folders.

    A path that cannot be read is left out.

    Parameters
    ----------
    paths : iterable of path or None
        Files, folders of annotations, and files in archives, which stand for the archive.
    images : iterable of path
        Folders of images.
    """
    for path in (Path(each) for each in paths if each is not None):
        if path.is_dir():
            yield from _listed(path)
        else:
            yield from (each for each in (path, *path.parents) if each.is_file())
    for folder in images:
        yield from (each for each in _below(Path(folder)) if each.suffix.lower() in IMAGE_SUFFIXES)


def _listed(folder: Path) -> Iterator[Path]:
    for only_checked in (False, True):
        with suppress(BboxqaError, OSError):
            for source in list_files([folder], only_checked=only_checked):
                yield from _below(source) if source.is_dir() else files_read([source])


def _below(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if not name.endswith(_PAGE))
