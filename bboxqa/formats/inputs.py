"""Listing the files that a command reads."""

import os
import shlex
from collections.abc import Iterable, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, cast

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, folder_problem
from bboxqa.core.text import clean, count, first_few, one_line
from bboxqa.core.types import AnyPath
from bboxqa.formats.coco.archive import COCO_ARCHIVE, parts_of
from bboxqa.formats.coco.coco_ends import has_nothing_of_coco
from bboxqa.formats.coco.strict import COCO
from bboxqa.formats.content_kinds import CLASS_NAMES
from bboxqa.formats.damaged import damage_of, files_beside, refuse_damaged
from bboxqa.formats.foreign import foreign_kind, refuse_foreign
from bboxqa.formats.own_files import RESULT_FILES, is_result
from bboxqa.formats.registry import (
    format_of,
    has_parts,
    is_of_one_image,
    sources_below,
    sources_deeper,
    suffixes,
)
from bboxqa.formats.translation.heads import ARCHIVES, head_of, is_archive
from bboxqa.formats.translation.label_folders import share_images
from bboxqa.formats.translation.member import AGAIN
from bboxqa.formats.translation.members import members_of

_OTHER_ARCHIVES = (".7z", ".bz2", ".rar", ".xz")
_SHOWN = 3
# The number of files beside labels that are looked at.
_LOOKED_AT = 50
_EXPECTED = (
    "expected one or several paths. bboxqa.read_coco also takes one table or COCO document in "
    "memory; tables of several annotators are one table with a column annotator"
)


def as_paths(source: object) -> list[AnyPath]:
    """Return one or several paths as a list; raises TypeError for anything else."""
    # A data frame is iterable, by the names of its columns.
    is_table = hasattr(source, "shape") or isinstance(source, bytes)
    one = is_table or isinstance(source, str | PathLike) or not isinstance(source, Iterable)
    paths: list[Any] = [source] if one else list(cast("Iterable[Any]", source))
    for each in paths:
        if not isinstance(each, str | PathLike):
            what = "source" if one else "an item of source"
            raise TypeError(f"{what} is of type {type(each).__name__}; {_EXPECTED}")
    return paths


def list_files(
    paths: Sequence[AnyPath], pattern: str | None = None, *, only_checked: bool = False
) -> list[Path]:
    """Return the given files, and the files below the given folders, sorted.

    Of a folder, the files that a format recognises are listed, and all JSON files. A folder that is
    one source of its format is listed itself. Raises DatasetError if a folder contains no such
    file, or if a given file has a format that is not read.

    Parameters
    ----------
    paths : sequence of path
        Files and folders.
    pattern : str, optional
        A glob that the names of files in folders have to match.
    only_checked : bool
        Whether to leave out files in folders that `validate` does not check, and to list
        sources in deeper folders than others, too.
    """
    result: list[Path] = []
    folders = [folder for folder in map(Path, paths) if folder.is_dir()]
    if problems := [problem for folder in folders if (problem := folder_problem(folder))]:
        raise DatasetError(problems)
    # As inside one folder, ann/batch1 and ann/batch2 are parts of one annotator's work.
    in_parts = [folder for folder in folders if has_parts(folder)] if len(folders) > 1 else []
    people = in_parts if in_parts and share_images(folders) else []
    for path in map(Path, paths):
        if path in people:
            result.append(path)
        elif not path.is_dir():
            if format_of(path) is COCO:
                if path.suffix.lower() == ".xml" and (reason := damage_of(path)):
                    raise DatasetError([f"{path}: {reason}"], AGAIN)
                if foreign_kind(path) == "archive" and is_archive(head_of(path)):
                    _refuse_archive(path)
                refuse_foreign(path)
            result.append(path)
        else:
            found = sources_below(path) or _files_below(path, pattern, only_checked=only_checked)
            found += sources_deeper(path) if only_checked else []
            refuse_damaged(path, found, pattern)
            result += found
    # Several files of COCO JSON in an archive are read as those of a folder.
    return [part for path in result for part in _parts_of(path)]


def _parts_of(path: Path) -> list[Path]:
    is_packed = path.is_file() and format_of(path) is COCO_ARCHIVE
    return parts_of(path) if is_packed else [path]


def passed_over(paths: Sequence[AnyPath]) -> list[str]:
    """Return a note on the folders of annotations that are too deep for `list_files`, if any.

    The folders directly below a folder are those of annotators; what is deeper is of nobody.
    """
    deeper = [
        source for path in map(Path, paths) if path.is_dir() for source in sources_deeper(path)
    ]
    if not deeper:
        return []
    some = count(len(deeper), "folder")
    note = (
        f"{some} of annotations left out, as others are directly below the folder given (such as "
        f"{one_line(str(deeper[0]))}): name the folders that are to be read"
    )
    return [note]


def beside_labels(sources: Iterable[Path]) -> list[str]:
    """Return a note on files of other formats in a folder that is one source, if there are any.

    Files of one image each are reported by the readers of folders.
    """
    found = {each: files for each in sources if each.is_dir() if (files := _of_others(each))}
    if not found:
        return []
    folder, files = next(iter(found.items()))
    some = f"{count(len(files), 'file')} of other formats"
    shown = first_few(files, _SHOWN, lambda each: one_line(each.name))
    more = f", and more in {count(len(found) - 1, 'other folder')}" if len(found) > 1 else ""
    read = f"{one_line(str(folder))} is read as {format_of(folder).name}"
    return [f"{read}: {some} left out ({shown}){more}; to read such a file, name it"]


def of_no_format(
    paths: Sequence[AnyPath], sources: Sequence[Path], pattern: str | None = None
) -> list[str]:
    """Return a note on XML files and tables in given folders that no format recognises, if any."""
    listed = {*sources}
    others = [
        file
        for folder in map(Path, paths)
        if folder.is_dir()
        for file in files_beside(folder, listed, pattern)
        if file.suffix.lower() not in (".json", *ARCHIVES) and not file.match(CLASS_NAMES)
        if format_of(file) is COCO
    ]
    if not others:
        return []
    shown = first_few(others, _SHOWN, lambda each: one_line(each.name))
    return [f"{count(len(others), 'file')} left out: no annotations in a known format ({shown})"]


def _of_others(folder: Path) -> list[Path]:
    """Return files of other formats directly in the folder of a source."""
    own, ends = format_of(folder), suffixes()
    files = islice((each for each in sorted(folder.iterdir()) if each.is_file()), _LOOKED_AT)
    named = (each for each in files if each.suffix.lower() in ends and not is_of_one_image(each))
    return [each for each in named if format_of(each) not in (COCO, own)]


def without_settings(files: list[Path], given: Sequence[AnyPath]) -> tuple[list[Path], list[str]]:
    """Return the files without JSON files unrelated to annotations, and a note on these.

    JSON files that were given by name, or that have no other files next to them, are kept.
    """
    named = {*map(Path, given)}
    others = [
        file
        for file in files
        if file not in named and format_of(file) is COCO
        if has_nothing_of_coco(file) and foreign_kind(file) is None
    ]
    if not others or len(others) == len(files):
        return files, []
    some = count(len(others), "JSON file")
    note = f"{some} left out: no annotations (such as {one_line(str(others[0]))})"
    left_out = {*others}
    return [file for file in files if file not in left_out], [note]


def _refuse_archive(path: Path) -> None:
    """Refuse an archive that cannot be read, that has archives inside, or nothing that is read."""
    inside = members_of(path)
    for each in inside:
        # A single packed file may be cut off after its beginning; other files that are damaged
        # have none.
        if not each.name or (each.most and not each.head()):
            next(each.chunks(), b"")
    held = [each for each in inside if is_archive(each.head())]
    unpack = "Unpack it into a folder of its own, and name the folder."
    if held:
        names = first_few(held, _SHOWN, lambda each: one_line(each.name or path.stem))
        problem = f"{path}: holds archives, which are not read inside of another one: {names}"
        raise DatasetError([problem], unpack)
    names = first_few(inside, _SHOWN, lambda each: one_line(each.name or path.stem))
    found = f"{count(len(inside), 'file')}: {names}" if inside else "it is empty"
    raise DatasetError(
        [f"{path}: is an archive in which no file is of a known format ({found})"],
        "Name the archive, file or folder that holds annotations.",
    )


def _files_below(folder: Path, pattern: str | None, *, only_checked: bool) -> list[Path]:
    """Return the files of a folder to read; archives only if there are no other files.

    An archive often contains the files that were unpacked next to it. Raises DatasetError if there
    is no file to read.
    """
    ends = suffixes(only_checked=only_checked)

    def is_wanted(file: Path) -> bool:
        found = COCO if file.name.endswith(COCO.suffixes) else format_of(file)
        if found is COCO:
            return file.name.endswith(COCO.suffixes)
        return not only_checked or found.document is not None

    def inside_with(ends: Sequence[str]) -> list[Path]:
        named = {file for end in ends for file in folder.rglob(f"*{end}")}
        return sorted(
            file
            for file in named
            if file.match(pattern or "*") and not file.name.startswith(".")
            if file.is_file() and not is_result(file) and is_wanted(file)
        )

    inside = inside_with(ends) or inside_with(ARCHIVES)
    if not inside:
        raise _nothing_in(folder, ends, pattern)
    return inside


def _nothing_in(folder: Path, ends: Sequence[str], pattern: str | None) -> DatasetError:
    """Return the error for a folder without files to read, which describes the folder."""
    if all((folder / name).is_file() for name in RESULT_FILES):
        return _result_folder(folder)
    files = [file for file in folder.rglob("*") if file.is_file() and file.name[0] != "."]
    if not files:
        held = "a folder without files" if any(folder.iterdir()) else "an empty folder"
        problem = f"{folder}: is {held}"
        return DatasetError([problem], "Name the file or the folder that holds annotations.")
    if all(file.suffix.lower() in IMAGE_SUFFIXES for file in files):
        some = f"{count(len(files), 'image')}, such as {one_line(min(files).name)}"
        problem = f"{folder}: holds images only ({some}); expected their annotations"
        return DatasetError([problem], "Name the file or the folder that holds annotations.")
    # Text labels are read as a folder, and archives if there is nothing else.
    kinds = ", ".join(end.removeprefix(".") for end in (*ends, "txt", *ARCHIVES[:-1]))
    kinds += f" or {ARCHIVES[-1].removeprefix('.')}"
    matching = f" that matches {pattern!r}" if pattern else ""
    some = f"{count(len(files), 'file')}, such as {one_line(min(files).name)}"
    problem = f"{folder}: no {kinds} file{matching} in this folder is of a known format ({some})"
    known = (*ends, *ARCHIVES, *_OTHER_ARCHIVES)
    named = sorted(each for each in files if each.name.lower().endswith(known))
    for file in named[:1] if not pattern else []:
        try:
            list_files([file])
        except DatasetError as error:
            reason = error.problems[0].removeprefix(f"{folder}{os.sep}")
            problem = f"{folder}: no file in this folder is of a known format ({some})"
            return DatasetError([f"{problem}; {one_line(reason)}"], error.advice)
    return DatasetError([problem])


def _result_folder(folder: Path) -> DatasetError:
    """Return the error for a folder of results that a command wrote."""
    if (folder / "changes.csv").is_file():
        problem = f"{folder}: holds a result of `bboxqa compare`, no annotations"
        return DatasetError([problem], "Name the files of annotations that were compared.")
    problem = f"{folder}: holds a result of `bboxqa agree`, no annotations"
    typed = shlex.quote(clean(str(folder)))
    return DatasetError([problem], f"For a page of the result: bboxqa report {typed}")
