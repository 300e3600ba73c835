"""Hiding the names of files and folders in a text on folders in which nothing is read."""

from collections.abc import Iterable
from pathlib import Path

from bboxqa.core.file_names import IMAGE_SUFFIXES, own_name
from bboxqa.core.pseudonyms import spellings, without_names
from bboxqa.formats.translation.label_folders import INSIDE


def without_entries(text: str, folders: Iterable[Path]) -> str:
    """Return a text without the names of what is inside folders, which may be those of people.

    Names of images stay, and so do those of folders that data sets have, such as labels.
    """
    entries = (
        each
        for folder in folders
        for each in folder.rglob("*")
        if each.name in text and each.suffix.lower() not in IMAGE_SUFFIXES
    )
    hidden = {
        each.name: "FOLDER" if each.is_dir() else without_own_name(each).name
        for each in entries
        if not INSIDE.fullmatch(each.name)
    }
    shown: str = without_names(text, spellings(hidden))
    return shown


def without_own_name(file: Path) -> Path:
    """Return the path of a file without its own name.

    Examples
    --------
    >>> without_own_name(Path("p/ann.json.gz")).as_posix()
    'p/FILE.json.gz'
    """
    return file.with_name(f"FILE{file.name.removeprefix(own_name(file))}")
