"""Folders beside those of annotators in which nothing is read."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePath

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, folder_problem, folders_in
from bboxqa.core.text import count, first_few, one_line
from bboxqa.core.types import AnyPath
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.content_kinds import TABLES
from bboxqa.formats.folders.source_folders import sources_below
from bboxqa.formats.registry import is_source
from bboxqa.formats.translation.label_folders import INSIDE, OF_PICTURES

_LOOKED_AT, _SHOWN, _FOLDERS = 5000, 3, 20
# Other notes are on files that are called like annotations.
_TOLD = (".json", ".xml", ".zip", ".tar", ".tgz", *TABLES)
_CLOSED = "which cannot be opened"
_DEEP = "of annotations that are too deep to be read with others"
_WITHOUT = "in which no annotations are found"


def refuse_closed(folder: Path, sources: Sequence[Path]) -> None:
    """Refuse folders beside those of annotators that cannot be opened.

    They may be those of other annotators, unless they are called like those of pictures. Raises
    DatasetError.
    """
    problems = []
    for around, below, n_read in _around([folder], sources):
        if n_read > 1:
            links = [f"{each}: is a link that leads nowhere" for each in _lost_folders(around)]
            problems += [*filter(None, map(folder_problem, below)), *links]
    if problems:
        named = typed_paths([each for each in sources if each.is_dir()] or sources)
        raise DatasetError(problems, f"Restore access to it, or name what to read: {named}")


def unread_folders(
    paths: Sequence[AnyPath], sources: Sequence[Path], *, hidden: bool = False
) -> list[str]:
    """Return notes on folders beside those of annotators in which no file is read, if any.

    Folders of pictures and those of programs, such as `__pycache__`, are none. Empty folders beside
    labels have a note of their own.
    """
    are_labels = any(each.is_dir() for each in sources)
    found: list[tuple[str, Path]] = []
    for folder, unread, n_read in _around(paths, sources):
        closed = [each for each in unread if folder_problem(each)]
        if n_read > 1:
            found += [_why_unread(each, are_labels) for each in unread if each not in closed]
            closed += _lost_folders(folder)
        found += [(_CLOSED, each) for each in closed]
    notes = []
    for why in (_CLOSED, _DEEP, _WITHOUT):
        if folders := [place for reason, place in found if reason == why]:
            some = f"{count(len(folders), 'folder')} left out, {why}"
            names = first_few(folders, _SHOWN, lambda each: one_line(str(each)))
            why_so = f"; to see why: bboxqa validate {typed_paths(folders[:1])}"
            notes.append(some if hidden else f"{some}: {names}" + why_so * (why == _WITHOUT))
    return notes


def _around(
    paths: Sequence[AnyPath], sources: Sequence[Path]
) -> Iterator[tuple[Path, list[Path], int]]:
    """Yield the folders around sources, those in each that are not read, and how many are.

    Folders that are called like those of pictures are left out.
    """
    read = {above for source in sources for above in (source, *source.parents)}
    given = [each for each in map(Path, paths) if each in read and each.is_dir()]
    inside = (each.parent for each in sources if any(above in each.parents for above in given))
    for folder in dict.fromkeys((*given, *inside)):
        if folder not in sources and folder.is_dir():
            below = folders_in(folder)
            unread = [each for each in below if each not in read and not _is_of_pictures(each)]
            yield folder, unread, len(read.intersection(below))


def _is_of_pictures(folder: Path) -> bool:
    return bool(OF_PICTURES.fullmatch(folder.name) or INSIDE.fullmatch(folder.name))


def _lost_folders(folder: Path) -> list[Path]:
    """Return the links in a folder that are called like folders, and lead nowhere."""
    names = sorted(os.listdir(folder))  # noqa: PTH208
    links = (folder / each for each in names if each[0] != "." and not PurePath(each).suffix)
    lost = (each for each in links if each.is_symlink() and not each.exists())
    return [each for each in lost if not _is_of_pictures(each)]


def _why_unread(folder: Path, are_labels: bool) -> tuple[str, Path]:
    """Return why nothing is read in a folder that may be of a person, and the place; "" if not."""
    if folder.name.startswith("__") or sources_below(folder):
        return "", folder
    files = [*_files_in(folder)]
    if not files:
        return "" if are_labels else _WITHOUT, folder
    suffixes = {each.suffix.lower() for each in files}
    if suffixes <= IMAGE_SUFFIXES or not suffixes.isdisjoint(_TOLD):
        return "", folder
    within = [*dict.fromkeys(each.parent for each in files)][:_FOLDERS]
    deep = next(filter(is_source, within), None)
    return (_WITHOUT, folder) if deep is None else (_DEEP, deep)


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield the first files in a folder, without hidden ones."""
    names = ((here, name) for here, _, names in os.walk(folder) for name in sorted(names))
    return (Path(*each) for each in islice(names, _LOOKED_AT) if each[1][0] != ".")
