"""The folders of the projects that files and folders below a root belong to."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import SPLIT, folders_in
from bboxqa.formats.sources import list_files
from bboxqa.formats.splits import is_split, split_in
from bboxqa.formats.translation.label_folders import INSIDE

_OF_PROJECT = re.compile(rf"annotations|{SPLIT}", re.IGNORECASE)
_ROOT = Path()
# Files of these suffixes beside the folders of splits belong to a data set: data.yaml, train.txt.
_OF_DATA_SET = {".csv", ".data", ".json", ".names", ".txt", ".xml", ".yaml", ".yml"}


def home_of(file: Path, projects: Collection[Path] = ()) -> Path:
    """Return the folder of the project that a file belongs to; both are below the root.

    CVAT writes `annotations` in a project, and Roboflow the folders of splits. Folders in
    `projects` are projects, whatever their names.

    Examples
    --------
    >>> home_of(Path("fruits/train/annotations/a.json")).as_posix()
    'fruits'
    >>> home_of(Path("training/annotations/a.json"), [Path("training")]).as_posix()
    'training'
    """
    folder = file.parent
    while folder not in projects and _OF_PROJECT.fullmatch(folder.name):
        folder = folder.parent
    return folder


def home_of_source(path: str, projects: Collection[Path] = ()) -> Path:
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
        return home_of(below, projects)
    if len(below.parts) <= 1 and (below in projects or not _OF_PROJECT.fullmatch(below.name)):
        return below
    return home_of_person(below, projects)


def home_of_person(folder: Path, projects: Collection[Path] = ()) -> Path:
    """Return the folder of the project of an annotator's folder, which is below the root.

    Examples
    --------
    >>> home_of_person(Path("fruits/labels/train/ann")).as_posix()
    'fruits'
    """
    around = folder.parent
    while around not in projects and is_around_people(around):
        around = around.parent
    return around


def called_as_splits(paths: Iterable[str]) -> set[Path]:
    """Return the folders directly below the root that are projects, though named as splits.

    Beside projects with other names, and without files of a project in the root itself, folders
    named as one split are no splits of a data set: that has several.

    Examples
    --------
    >>> called_as_splits(["street/ann.json", "training/ann.json"])
    {PosixPath('training')}
    >>> called_as_splits(["street/ann.json", "train/ann.json", "val/ann.json"])
    set()
    >>> called_as_splits(["street/ann.json", "ann.json", "train/ann.json"])
    set()
    """
    homes = [(Path(path), home_of_source(path)) for path in paths]
    in_root = [path for path, home in homes if home == _ROOT]
    folders = {Path(*path.parts[:1]) for path in in_root}
    is_beside_others = 0 < len(in_root) < len(homes)
    return folders if is_beside_others and _is_one_split(folders) else set()


def is_around_people(folder: Path) -> bool:
    """Return whether the folders of people may be in a folder, by its name: labels, or a split."""
    return folder.name.lower() in ("labels", "annotations") or is_split(folder.name)


def is_of_projects(root: Path) -> bool:
    """Return whether a folder has projects of which one is named as a split: street, training.

    As a data set it would have its other folders left out. With several splits, or with other
    folders or files of a data set, such as `labels` or data.yaml, it is one nevertheless.
    """
    folders = folders_in(root)
    others = [each for each in folders if not INSIDE.fullmatch(each.name)]
    if not others or not _is_one_split([each for each in folders if each not in others]):
        return False
    files = (each.suffix.lower() for each in root.iterdir() if each.is_file())
    if not _OF_DATA_SET.isdisjoint(files):
        return False
    return any(_is_read(each) or any(map(_is_read, folders_in(each))) for each in others)


def _is_one_split(folders: Collection[Path]) -> bool:
    """Return whether folders are named as the same split: train, training, train2017."""
    splits = {split_in(each.name) for each in folders}
    return len(splits) == 1 and all(is_split(each.name) for each in folders)


def _is_read(folder: Path) -> bool:
    try:
        return bool(list_files([folder]))
    except (DatasetError, OSError):
        return False
