"""Folders beside those of annotators in which nothing is read."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path, PurePath

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, folder_problem, folders_in
from bboxqa.core.text import clean, count, first_few, one_line
from bboxqa.core.types import AnyPath
from bboxqa.formats.content_kinds import TABLES
from bboxqa.formats.folders.source_folders import sources_below
from bboxqa.formats.registry import format_of, is_source, title_of
from bboxqa.formats.translation.heads import as_utf8
from bboxqa.formats.translation.label_folders import is_label_name
from bboxqa.formats.translation.members import head_of

_LOOKED_AT, _LOOKED_AT_TOGETHER = 5000, 100_000
_SHOWN, _EXCERPT = 3, 60
_TOLD = (".json", ".xml", ".zip", ".tar", ".tgz", *TABLES)
_NUMBER = re.compile(rb"\d+(?:[.,]\d+)?")
# Of a box; captions beside images hardly have as many numbers in their first line.
_OF_BOX = 4


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
    problems, typed = [], [*labelled]
    beside_each_other: dict[Path, list[Path]] = {}
    for each in labelled:
        beside_each_other.setdefault(each.parent, []).append(each)
    for around, known in beside_each_other.items():
        texts = {beside: _texts_in(beside) for beside in folders_in(around) if beside not in read}
        names = _names_in(known) if any(texts.values()) else set()
        for beside, files in texts.items():
            found = next((each for each in files if each.name in names and _is_box(each)), None)
            # A note tells of sources that others are beside.
            if found is None or sources_below(beside):
                continue
            if is_source(found.parent):
                problems.append(f"{found.parent}: holds labels too deep in {beside} to be found")
                typed.append(found.parent)
            else:
                line = one_line(_first_line(found).decode("utf-8", "replace"))
                expected = f"expected labels of {title_of(format_of(known[0]))}, as beside it"
                problems.append(f"{found}: begins with {line!r}; {expected}")
    if problems:
        named = shlex.join(clean(str(each)) for each in typed)
        raise DatasetError(
            problems,
            "Export labels of another form again; if they are not of an annotator, move them "
            f"elsewhere. Or name the folders to read: {named}",
        )


def unread_folders(
    paths: Sequence[AnyPath], sources: Sequence[Path], *, hidden: bool = False
) -> list[str]:
    """Return a note on folders beside those of annotators in which no file is read, if any.

    Other notes are on files of a known format by their suffix, and on empty folders beside labels.
    """
    read = {above for source in sources for above in (source, *source.parents)}
    are_labels = any(each.is_dir() for each in sources)
    found = []
    given = (each for each in map(Path, paths) if each in read and each not in sources)
    for folder in (each for each in given if each.is_dir()):
        inside = folders_in(folder)
        if len(read.intersection(inside)) > 1:
            others = (each for each in inside if each not in read and not sources_below(each))
            own = ((each, [*_files_in(each)]) for each in others)
            found += [(files or [each])[0] for each, files in own if _is_unread(files, are_labels)]
    if not found:
        return []
    some = f"{count(len(found), 'folder')} left out, in which no file is read"
    shown = first_few(found, _SHOWN, lambda each: one_line(str(each)))
    why = "there is none, its format is not known, or it is too deep"
    return [f"{some}: {why}" if hidden else f"{some} ({shown}): {why}"]


def _is_unread(files: Sequence[Path], are_labels: bool) -> bool:
    suffixes = {each.suffix.lower() for each in files}
    if suffixes <= IMAGE_SUFFIXES:
        return not files and not are_labels
    return suffixes.isdisjoint(_TOLD)


def _texts_in(folder: Path) -> list[Path]:
    """Return the first text files in a folder that may be labels, by their names."""
    return [each for each in _files_in(folder) if is_label_name(each.name)]


def _names_in(folders: Iterable[Path]) -> set[str]:
    """Return the names of the first text files in folders."""
    files = chain.from_iterable(map(_texts_in, folders))
    return {each.name for each in islice(files, _LOOKED_AT_TOGETHER)}


def _is_box(file: Path) -> bool:
    """Return whether the first line of a text has the numbers of a box."""
    return len(_NUMBER.findall(_first_line(file))) >= _OF_BOX


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield the first files in a folder, without hidden ones."""
    names = ((here, name) for here, _, names in os.walk(folder) for name in sorted(names))
    return (Path(*each) for each in islice(names, _LOOKED_AT) if each[1][0] != ".")


def _first_line(file: Path) -> bytes:
    lines = as_utf8(head_of(file)).splitlines()
    return next(filter(None, map(bytes.strip, lines)), b"")[:_EXCERPT]
