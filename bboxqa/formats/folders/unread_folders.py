"""Folders beside those of annotators in which nothing is read."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

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

_LOOKED_AT = 5000
_SHOWN, _EXCERPT = 3, 60
_TOLD = (".json", ".xml", ".zip", ".tar", ".tgz", *TABLES)
_NUMBER = re.compile(rb"\d+(?:[.,]\d+)?")
# Of a box; captions beside images hardly have as many numbers in their first line.
_OF_BOX = 4


def refuse_unlisted(folder: Path, sources: Sequence[Path]) -> None:
    """Refuse folders that cannot be listed, and may be those of annotators. Raises DatasetError.

    They are where several folders beside them are read, or where nothing else is.
    """
    read = {above for source in sources for above in (source, *source.parents)}
    around = dict.fromkeys((folder, *(each.parent for each in sources if folder in each.parents)))
    inside = [folders_in(each) for each in around if each not in sources and each.is_dir()]
    people = (each for each in inside if not sources or len(read.intersection(each)) > 1)
    problems = [problem for each in people for below in each if (problem := folder_problem(below))]
    if problems:
        raise DatasetError(problems, "Allow reading it, or name the folders to read.")


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
    for around in dict.fromkeys(each.parent for each in labelled):
        known = [each for each in labelled if each.parent == around]
        for beside in (each for each in folders_in(around) if each not in read):
            # A note tells of sources that others are beside.
            found = None if sources_below(beside) else _like(known, beside)
            if found is not None and is_source(found.parent):
                problems.append(f"{found.parent}: holds labels too deep in {beside} to be found")
                typed.append(found.parent)
            elif found is not None:
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


def _like(known: Sequence[Path], folder: Path) -> Path | None:
    """Return a file of a folder with other labels that has the name of a known one, if any."""
    own = {each.name: each for each in _texts_in(folder)}
    names = (each.name for source in known for each in _texts_in(source)) if own else ()
    shared = (own[name] for name in names if name in own)
    lines = ((each, _first_line(each)) for each in shared)
    return next((each for each, line in lines if len(_NUMBER.findall(line)) >= _OF_BOX), None)


def _texts_in(folder: Path) -> Iterator[Path]:
    """Yield the first text files in a folder that may be labels, by their names."""
    return (each for each in _files_in(folder) if is_label_name(each.name))


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield the first files in a folder, without hidden ones."""
    names = ((here, name) for here, _, names in os.walk(folder) for name in sorted(names))
    return (Path(*each) for each in islice(names, _LOOKED_AT) if each[1][0] != ".")


def _first_line(file: Path) -> bytes:
    lines = as_utf8(head_of(file)).splitlines()
    return next(filter(None, map(bytes.strip, lines)), b"")[:_EXCERPT]
