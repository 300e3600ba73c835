"""Folders beside those of annotators in which nothing is read."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path, PurePath

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, folder_problem, folders_in
from bboxqa.core.text import count, first_few, one_line
from bboxqa.core.types import AnyPath
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.content_kinds import TABLES
from bboxqa.formats.folders.source_folders import sources_below
from bboxqa.formats.registry import format_of, is_source, title_of
from bboxqa.formats.translation.heads import as_utf8
from bboxqa.formats.translation.label_folders import is_label_name
from bboxqa.formats.translation.members import head_of

_LOOKED_AT, _LOOKED_AT_TOGETHER = 5000, 100_000
_SHOWN, _EXCERPT, _FOLDERS = 3, 60, 20
_TOLD = (".json", ".xml", ".zip", ".tar", ".tgz", *TABLES)
_FIRST = re.compile(rb"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?=\s)")
_NUMBER = re.compile(rb"\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?")
_LETTER = re.compile(rb"[A-DF-Za-df-z]")
# Captions beside images hardly have as many numbers in their first line as a box.
_OF_BOX, _OF_MATRIX = 4, (12, 16)


def refuse_unlisted(folder: Path, sources: Sequence[Path]) -> None:
    """Refuse folders that cannot be listed, and links to folders that are gone.

    They may be those of annotators where several folders beside them are read, or where nothing
    else is. Raises DatasetError.
    """
    read = {above for source in sources for above in (source, *source.parents)}
    around = dict.fromkeys((folder, *(each.parent for each in sources if folder in each.parents)))
    problems = []
    for each in (each for each in around if each not in sources and each.is_dir()):
        inside = folders_in(each)
        if not sources or len(read.intersection(inside)) > 1:
            problems += [problem for below in inside if (problem := folder_problem(below))]
            problems += [f"{link}: is a link that leads nowhere" for link in _lost_folders(each)]
    if problems:
        raise DatasetError(problems, "Restore access to it, or name the folders to read.")


def _lost_folders(folder: Path) -> list[Path]:
    """Return the links in a folder that are called like folders, and lead nowhere."""
    names = sorted(os.listdir(folder))  # noqa: PTH208
    links = (folder / each for each in names if each[0] != "." and not PurePath(each).suffix)
    return [each for each in links if each.is_symlink() and not each.exists()]


def refuse_unread_labels(folder: Path, sources: Sequence[Path]) -> None:
    """Refuse a folder with text files that are named like the labels beside it, but are not read.

    They are those of an annotator, who would be missing from the result. Raises DatasetError.

    Parameters
    ----------
    folder : Path
        The folder that was given.
    sources : sequence of Path
        The files and folders in it that are read.
    """
    read = {above for source in sources for above in (source, *source.parents)}
    labelled = [each for each in sources if each.is_dir() and each != folder]
    problems = []
    beside_each_other: dict[Path, list[Path]] = {}
    for each in labelled:
        beside_each_other.setdefault(each.parent, []).append(each)
    of_people = ((around, known) for around, known in beside_each_other.items() if len(known) > 1)
    for around, known in of_people:
        texts = {beside: _texts_in(beside) for beside in folders_in(around) if beside not in read}
        names = _names_in(known) if any(texts.values()) else set()
        for beside, files in texts.items():
            found = next((each for each in files if each.name in names and _is_box(each)), None)
            # Notes tell of labels that are too deep to be read.
            if found is None or is_source(found.parent) or sources_below(beside):
                continue
            line = one_line(_first_line(found)[:_EXCERPT].decode("utf-8", "replace"))
            expected = f"expected labels of {title_of(format_of(known[0]))}, as beside it"
            problems.append(f"{found}: begins with {line!r}; {expected}")
    if problems:
        raise DatasetError(
            problems,
            "Export these labels again; if they are not of an annotator, move them elsewhere, or "
            f"name the folders to read: {typed_paths(labelled, len(labelled))}",
        )


def unread_folders(
    paths: Sequence[AnyPath], sources: Sequence[Path], *, hidden: bool = False
) -> list[str]:
    """Return a note on folders beside those of annotators in which no file is read, if any.

    Other notes are on files of a known format by their suffix, and on empty folders beside labels.
    Folders of pictures and those of programs, whose names begin with an underscore, are none.
    """
    read = {above for source in sources for above in (source, *source.parents)}
    are_labels = any(each.is_dir() for each in sources)
    unread: dict[Path, list[Path]] = {}
    given = (each for each in map(Path, paths) if each in read and each not in sources)
    for folder in (each for each in given if each.is_dir()):
        inside = folders_in(folder)
        if len(read.intersection(inside)) > 1:
            others = (each for each in inside if each not in read and each.name[0] != "_")
            files = {each: [*_files_in(each)] for each in others if not sources_below(each)}
            unread |= {each: own for each, own in files.items() if _is_unread(own, are_labels)}
    deep = {each: place for each, own in unread.items() if (place := _source_among(own))}
    notes = []
    for found, words in (
        ([each for each in unread if each not in deep], "in which no annotations are found"),
        ([*deep.values()], "of annotations that are too deep to be read with others"),
    ):
        if found:
            some = f"{count(len(found), 'folder')} left out, {words}"
            names = first_few(found, _SHOWN, lambda each: one_line(str(each)))
            notes.append(some if hidden else f"{some}: {names}")
    return notes


def _source_among(files: Sequence[Path]) -> Path | None:
    """Return the first of a few folders of files that is a source."""
    return next(filter(is_source, [*dict.fromkeys(each.parent for each in files)][:_FOLDERS]), None)


def _is_unread(files: Sequence[Path], are_labels: bool) -> bool:
    suffixes = {each.suffix.lower() for each in files}
    return suffixes.isdisjoint((*_TOLD, *IMAGE_SUFFIXES)) and (bool(files) or not are_labels)


def _texts_in(folder: Path) -> list[Path]:
    """Return the first text files in a folder that may be labels, by their names."""
    return [each for each in _files_in(folder) if is_label_name(each.name)]


def _names_in(folders: Iterable[Path]) -> set[str]:
    """Return the names of the first text files in folders."""
    files = chain.from_iterable(map(_texts_in, folders))
    return {each.name for each in islice(files, _LOOKED_AT_TOGETHER)}


def _is_box(file: Path) -> bool:
    """Return whether the first line of a text may be a box: a class, or none, and its numbers.

    Poses and calibrations of cameras, in files named like those of images, are none.
    """
    line = _first_line(file)
    first = _FIRST.match(line)
    is_class = first is None or float(first[0]).is_integer()
    n_numbers = len(_NUMBER.findall(line))
    is_matrix = n_numbers in _OF_MATRIX and _LETTER.search(line) is None
    is_long = n_numbers >= _OF_BOX + (first is not None)
    return is_long and is_class and b":" not in line and not is_matrix


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield the first files in a folder, without hidden ones."""
    names = ((here, name) for here, _, names in os.walk(folder) for name in sorted(names))
    return (Path(*each) for each in islice(names, _LOOKED_AT) if each[1][0] != ".")


def _first_line(file: Path) -> bytes:
    lines = as_utf8(head_of(file)).splitlines()
    return next(filter(None, map(bytes.strip, lines)), b"")
