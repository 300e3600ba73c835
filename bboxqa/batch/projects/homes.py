"""The folders of the projects that files and folders below a root belong to."""

from pathlib import Path

from bboxqa.formats.folders.source_folders import is_around_people
from bboxqa.formats.task_files import is_split


def home_of(file: Path) -> Path:
    """Return the folder of the project that a file belongs to; both are below the root.

    Examples
    --------
    >>> home_of(Path("fruits/train/annotations/a.json")).as_posix()
    'fruits'
    """
    folder = file.parent
    while _is_part(folder):
        folder = folder.parent
    return folder


def home_of_source(path: str) -> Path:
    """Return the folder of the project of a source, whose path ends with ``/`` if it is a folder.

    Examples
    --------
    >>> [home_of_source(path).as_posix() for path in ("a/", "a/ann/", "a/train/", "a/x.json")]
    ['a', 'a', 'a', 'a']
    >>> home_of_source("a/labels/train2017/ann/").as_posix()
    'a'
    """
    below = Path(path)
    if not path.endswith("/"):
        return home_of(below)
    if len(below.parts) <= 1 and not _is_part(below):
        return below
    return home_of_person(below)


def home_of_person(folder: Path) -> Path:
    """Return the folder of the project of an annotator's folder, which is below the root.

    Examples
    --------
    >>> home_of_person(Path("fruits/labels/train/ann")).as_posix()
    'fruits'
    """
    around = folder.parent
    while is_around_people(around):
        around = around.parent
    return around


def _is_part(folder: Path) -> bool:
    """Return whether a folder is in a project: CVAT writes annotations/, Roboflow splits."""
    return folder.name.lower() == "annotations" or is_split(folder.name)
