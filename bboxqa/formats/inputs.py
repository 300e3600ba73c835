"""Listing the files that a command reads."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, cast

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, folder_problem, folders_in
from bboxqa.core.text import count, first_few, one_line
from bboxqa.core.types import AnyPath, Files
from bboxqa.formats.archive_contents import (
    labels_of_two_formats,
    matching_parts_of,
    refuse_archive,
    sources_in,
)
from bboxqa.formats.coco.strict import COCO, is_surely_coco
from bboxqa.formats.commands import typed_names, typed_paths
from bboxqa.formats.damaged import refuse_damaged, refuse_damaged_file
from bboxqa.formats.folders.patterns import has_match, refuse_pattern
from bboxqa.formats.folders.source_folders import labels_beside_coco, sources_below, sources_deeper
from bboxqa.formats.folders.unread_folders import refuse_closed
from bboxqa.formats.foreign import foreign_kind, refuse_foreign
from bboxqa.formats.own_files import RESULT_FILES, is_result
from bboxqa.formats.registry import format_of, has_parts, is_of_one_image, suffixes
from bboxqa.formats.translation.heads import ARCHIVES, as_utf8, is_archive
from bboxqa.formats.translation.label_folders import is_label_name, share_images
from bboxqa.formats.translation.member import READABLE
from bboxqa.formats.translation.members import head_of
from bboxqa.formats.unread import SETTINGS, unread_kind

_OTHER_ARCHIVES = (".7z", ".bz2", ".rar", ".xz")
_SHOWN, _EXCERPT, _LOOKED_AT = 3, 60, 20
_LABELS = (
    "Labels of YOLO have a class and a box in shares of the image, such as 0 0.5 0.5 0.2 0.1; "
    "those of DOTA have four corners in pixels and a category."
)
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


def paths_in(source: Files) -> list[AnyPath]:
    """Return the paths of a source, with those of all annotators who are named."""
    if isinstance(source, Mapping):
        return [path for paths in source.values() for path in as_paths(paths)]
    return as_paths(source)


def list_files(
    paths: Sequence[AnyPath],
    pattern: str | None = None,
    *,
    only_checked: bool = False,
    is_named: bool = False,
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
        A glob that the names of files in folders, or in an archive of several, have to match.
    only_checked : bool
        Whether to leave out files in folders that `validate` does not check, and to list
        sources in deeper folders than others, too.
    is_named : bool
        Whether all paths are of one annotator, who is named.
    """
    # A folder given beside others is by one annotator, whatever is inside: ann/train/clip1.
    is_whole = is_named or len(paths) > 1
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
                refuse_damaged_file(path)
                if foreign_kind(path) == "archive" and is_archive(head_of(path)):
                    refuse_archive(path)
                refuse_foreign(path)
            result.append(path)
        else:
            sources = sources_below(path, is_whole=is_whole)
            found = [each for each in sources if has_match(each, pattern)]
            refuse_pattern(path, found, pattern)
            found += _beside_folders(path, found, pattern, only_checked=only_checked)
            found = found or _files_below(path, sources, pattern, only_checked=only_checked)
            found += sources_deeper(path) if only_checked and path not in found else []
            refuse_damaged(path, found, pattern)
            refuse_closed(path, found)
            result += found
    # Several files of one format in an archive are read as those of a folder.
    return [part for path in result for part in matching_parts_of(path, pattern)]


def _beside_folders(
    folder: Path, sources: Sequence[Path], pattern: str | None, *, only_checked: bool
) -> list[Path]:
    """Return the files of annotations in subfolders beside those that are sources.

    In ann/labels, bob/labels and eve/export.json, three people used two formats.
    """
    if not sources or folder in sources:
        return []
    apart = [*sources, *sources_deeper(folder)]
    above = {each for source in apart for each in (source, *source.parents)}
    return [
        file
        for each in folders_in(folder)
        if each not in above
        for file in _files_inside(each, pattern, only_checked=only_checked)
        if is_surely_coco(file) or format_of(file) is not COCO
    ]


def _files_below(
    folder: Path, sources: Sequence[Path], pattern: str | None, *, only_checked: bool
) -> list[Path]:
    """Return `_files_inside` a folder, whose `sources` have no file that matches the pattern.

    Raises DatasetError if there is no file to read.
    """
    inside = _files_inside(folder, pattern, only_checked=only_checked)
    if not inside:
        refuse_pattern(folder, sources, pattern)
        raise _nothing_in(folder, suffixes(only_checked=only_checked), pattern)
    # Settings may be beside annotations, such as metadata.json beside samples.json of FiftyOne.
    kinds = ((file, unread_kind(file)) for file in inside)
    annotated = ((file, kind) for file, kind in kinds if kind != SETTINGS)
    first, first_kind = next(annotated, (folder, None))
    if first_kind is not None and all(kind is not None for _, kind in annotated):
        refuse_foreign(first)
    return inside


def _files_inside(folder: Path, pattern: str | None, *, only_checked: bool) -> list[Path]:
    """Return the files of a folder to read; archives only if there are no other files.

    An archive often contains the files that were unpacked next to it.
    """
    ends = suffixes(only_checked=only_checked)

    def is_wanted(file: Path) -> bool:
        is_json = file.name.lower().endswith(COCO.suffixes)
        found = COCO if is_json else format_of(file)
        if found is COCO:
            return is_json
        return not only_checked or found.document is not None

    def inside_with(ends: tuple[str, ...], pattern: str = pattern or "*") -> list[Path]:
        return sorted(
            file
            for file in _below(folder)
            if file.name.lower().endswith(ends)
            if file.match(pattern) and not file.name.startswith(".")
            if file.is_file() and not is_result(file) and is_wanted(file)
        )

    found = _without_labels(inside_with(ends), folder) or inside_with(ARCHIVES)
    if found or not pattern:
        return found
    archives = inside_with(ARCHIVES, "*")
    return [each for each in archives if any(part.match(pattern) for part in sources_in(each))]


def _below(folder: Path) -> Iterator[Path]:
    """Yield what is below a folder, and below folders elsewhere to which links in it lead."""
    if folder_problem(folder):
        # A note names it.
        return
    yield from folder.rglob("*")
    own = folder.resolve()
    for link in (each for each in folders_in(folder) if each.is_symlink()):
        target = link.resolve()
        if not target.is_relative_to(own) and not own.is_relative_to(target):
            yield from link.rglob("*")


def _without_labels(files: list[Path], folder: Path) -> list[Path]:
    """Return the files without labels of one image each, of which none is by a person alone.

    If all files are such labels, they are kept. So is one that may be by a person: `bob.json` next
    to `ann.json`, but not `bob/a.json`, which is one of the labels of bob.
    """
    labels = [each for each in files if is_of_one_image(each)]
    if not labels or len(labels) == len(files):
        return files
    times = Counter(each.parent for each in labels)
    beside = {*labels_beside_coco(folder)}
    left_out = {
        each
        for each in labels
        if times[each.parent] > 1 or (each.parent != folder and beside & {*each.parents})
    }
    return [each for each in files if each not in left_out]


def _nothing_in(folder: Path, ends: Sequence[str], pattern: str | None) -> DatasetError:
    """Return the error for a folder without files to read, which describes the folder."""
    if all((folder / name).is_file() for name in RESULT_FILES):
        return _result_folder(folder)
    if closed := [problem for each in folders_in(folder) if (problem := folder_problem(each))]:
        return DatasetError(closed, READABLE)
    files = [file for file in _below(folder) if file.is_file() and file.name[0] != "."]
    if not files:
        held = "a folder without files" if any(folder.iterdir()) else "an empty folder"
        problem = f"{folder}: is {held}"
        return DatasetError([problem], "Name the file or the folder that holds annotations.")
    if all(file.suffix.lower() in IMAGE_SUFFIXES for file in files):
        some = f"{count(len(files), 'image')}, such as {one_line(min(files).name)}"
        problem = f"{folder}: holds images only ({some}); expected their annotations"
        return DatasetError([problem], "Name the file or the folder that holds annotations.")
    if not pattern and (around := [each for each in folders_in(folder) if sources_below(each)]):
        return _too_deep(folder, around)
    return _of_no_format(folder, files, ends, pattern)


def _of_no_format(
    folder: Path, files: Sequence[Path], ends: Sequence[str], pattern: str | None
) -> DatasetError:
    """Return the error for a folder with files of no known format."""
    heads = ((str(each.relative_to(folder)), partial(head_of, each)) for each in sorted(files))
    mixed, todo = labels_of_two_formats(heads)
    if todo and not pattern:
        return DatasetError([f"{folder}: {mixed}; expected one format in a folder"], todo)
    # Text labels are read as a folder, and archives if there is nothing else.
    kinds = ", ".join(end.removeprefix(".") for end in (*ends, "txt", *ARCHIVES[:-1]))
    kinds += f" or {ARCHIVES[-1].removeprefix('.')}"
    matching = f" that matches {pattern!r}" if pattern else ""
    some = f"{count(len(files), 'file')}, such as {one_line(min(files).name)}"
    problem = f"{folder}: no {kinds} file{matching} in this folder is of a known format ({some})"
    known = (*ends, *ARCHIVES, *_OTHER_ARCHIVES)
    named = sorted(each for each in files if each.name.lower().endswith(known))
    refused = [] if pattern else [*_refused(named[:_LOOKED_AT])]
    if refused and refused[0][0] == named[0]:
        (first, reason, advice), *others = refused
        problem = f"{folder}: no file in this folder is of a known format ({some})"
        problem += f"; {one_line(f'{first.relative_to(folder)}{reason}')}"
        # The values of a file in brackets are examples.
        alike = [file for file, *why in others if _kind_of(*why) == _kind_of(reason, advice)]
        if alike:
            names = first_few(alike, _SHOWN, lambda each: one_line(str(each.relative_to(folder))))
            problem += f"; the same is true of {names}"
        return DatasetError([problem], advice)
    texts = [each for each in sorted(files) if is_label_name(each.name)]
    if texts and not pattern:
        head = as_utf8(head_of(texts[0])).strip().decode("utf-8", "replace")
        line = head.partition("\n")[0][:_EXCERPT]
        problem = f"{folder}: no file in this folder is of a known format ({some})"
        problem += f"; {one_line(texts[0].name)} begins with {one_line(line)!r}"
        return DatasetError([problem], _LABELS)
    return DatasetError([problem])


def _refused(files: Sequence[Path]) -> Iterator[tuple[Path, str, str]]:
    """Yield the files that are of no known format, with the reason and what to do about it."""
    for file in files:
        try:
            list_files([file])
        except DatasetError as error:
            yield file, error.problems[0].removeprefix(str(file)), error.advice


def _kind_of(reason: str, advice: str) -> tuple[str, str]:
    """Return a reason without the values of its file, and the advice."""
    return re.sub(r" \(.*\)", "", reason), advice


def _too_deep(folder: Path, held: Sequence[Path]) -> DatasetError:
    """Return the error for a folder whose annotations are two folders deeper."""
    some = first_few(held, _SHOWN, lambda each: one_line(each.name))
    problem = f"{folder}: annotations are in folders inside {some}, which is too deep to find them"
    todo = f"Name these folders instead: {typed_paths(held, _SHOWN)}"
    named = typed_names([(each.name, each) for each in held])
    return DatasetError([problem], f"{todo}\nIf each is by one person: bboxqa agree {named}")


def _result_folder(folder: Path) -> DatasetError:
    """Return the error for a folder of results that a command wrote."""
    if (folder / "changes.csv").is_file():
        problem = f"{folder}: holds a result of `bboxqa compare`, no annotations"
        return DatasetError([problem], "Name the files of annotations that were compared.")
    problem = f"{folder}: holds a result of `bboxqa agree`, no annotations"
    command = f"bboxqa report {typed_paths([folder])}"
    return DatasetError([problem], f"For a page of the result: {command}")
