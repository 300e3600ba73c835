"""Folders of masks, and of the people who drew them."""

import re
from pathlib import Path

from bboxqa.core.file_names import is_split
from bboxqa.formats.label_folders import LOOKED_AT, OF_PICTURES, files_by_folder
from bboxqa.formats.source import folders_and_files, is_like_folder

_SUFFIXES = (".png", ".tif", ".tiff", ".bmp", ".gif", ".pgm")
CONTENT = r"masks?|segmentation(?:class|object)(?:png)?"
"""A pattern of the names of folders that say that masks are inside, in lower case."""


def is_mask_name(name: str) -> bool:
    """Return whether a file may be a mask, by its name: a picture without loss."""
    return name.lower().endswith(_SUFFIXES)


def holds_masks(path: Path) -> bool:
    """Return whether a folder or an archive holds pictures that may be masks."""
    return is_like_folder(path) and any(
        is_mask_name(name) for _, names in files_by_folder(path) for name in names
    )


def people_in(folder: Path, *, by_image: bool) -> list[Path]:
    """Return the folders in a folder, each of which is by one person; none if all is by one.

    A folder that holds all masks is entered. If `by_image`, an image has a folder of its masks.
    """
    while not (any(map(_has_masks, _folders(folder))) if by_image else _has_masks(folder)):
        inside = [each for each in _folders(folder) if holds_masks(each)]
        if len(inside) != 1:
            return [] if any(is_split(each.name) for each in inside) else inside
        (folder,) = inside
    return []


def _folders(folder: Path) -> list[Path]:
    inside = folders_and_files(folder)[0]
    return [folder / each for each in inside if not OF_PICTURES.fullmatch(each)]


def _has_masks(folder: Path) -> bool:
    """Return whether masks are directly in a folder, or in one inside that says so."""
    inside, names = folders_and_files(folder, LOOKED_AT)
    return any(map(is_mask_name, names)) or any(
        _has_masks(folder / each) for each in inside if re.fullmatch(CONTENT, each, re.IGNORECASE)
    )
