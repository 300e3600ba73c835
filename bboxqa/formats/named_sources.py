"""The files of a source, with the annotator of each if it has one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from os.path import realpath
from pathlib import Path
from typing import NamedTuple

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.types import AnyPath, Files
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.archive_contents import sources_in
from bboxqa.formats.coco.strict import COCO
from bboxqa.formats.folders.beside_notes import beside_notes
from bboxqa.formats.folders.left_out import passed_over, without_settings
from bboxqa.formats.inputs import as_paths, list_files
from bboxqa.formats.registry import format_of
from bboxqa.formats.task_files import without_other_tasks
from bboxqa.formats.translation.label_folders import INSIDE


def names_of(files: Sequence[Path], given: Iterable[AnyPath] = ()) -> list[str]:
    """Return a name per file: its stem, with as many folders as make it unique.

    A file that is alone in a folder beside folders of annotators has the name of its folder. So has
    a folder that was not itself `given`: eve/export beside ann and bob is by eve.
    """
    folders = [*map(Path, given)]
    files = _in_folders(files, {*folders})
    # A folder has no suffix: bob@example.org may be the name of a person.
    stems = {file: file.name if file.is_dir() else own_name(file) for file in files}
    # CVAT writes ann/annotations/instances_default.json.
    parents = [[part for part in file.parent.parts if part != "annotations"] for file in files]
    depth = 1
    # Files with the same stem, in several formats, need their suffixes.
    is_stem_enough = len({file.parent / stem for file, stem in stems.items()}) == len(stems)
    ends = [stems[file] if is_stem_enough else file.name for file in files]
    while True:
        names = [
            "/".join((*parent, end)[-depth:]) for parent, end in zip(parents, ends, strict=True)
        ]
        if len(set(names)) == len(names):
            break
        if depth > max(map(len, parents)):
            whole = [[*file.parent.parts] for file in files]
            if parents == whole:
                # A file is given twice, which is refused later.
                break
            # Files in annotations/ and beside it have the same names.
            parents, depth = whole, 0
        depth += 1
    # For annotators/ann/instances.json and annotators/bob/instances.json, names are ann and bob.
    if depth > 1 and len({*stems.values()}) == 1:
        names = _below(files, folders) or [name.rpartition("/")[0] for name in names]
    # CVAT calls every export annotations.xml.
    short = [name.removesuffix("/annotations") for name in names]
    return short if len({*short}) == len(short) else names


def _in_folders(files: Sequence[Path], given: set[Path]) -> list[Path]:
    """Return files; instead of a file that is alone in a folder beside others, that folder."""
    folders = {each for each in files if each.is_dir()}
    around = {each.parent for each in folders}
    around_found = {each.parent for each in folders - given}
    homes = []
    for each in files:
        beside = around_found if each in folders else around
        homes.append(next((above for above in each.parents if above.parent in beside), each))
    times = Counter(homes)
    return [
        each if each in folders & given or times[home] > 1 else home
        for each, home in zip(files, homes, strict=True)
    ]


def _below(files: Sequence[Path], given: Sequence[Path]) -> list[str]:
    """Return the folders below the only given one that files are in, as they are those of people.

    In ann/a.json and cid/export/labels/a.json, the latter is by cid. Empty if two files are in one
    of these folders, or none is directly in its own.
    """
    if len(given) != 1 or not all(each.is_relative_to(given[0]) for each in files):
        return []
    parts = [each.relative_to(given[0]).parts for each in files]
    folders = [each[0] for each in parts if len(each) > 1 and not INSIDE.fullmatch(each[0])]
    are_people = len({*folders}) == len(files) and any(len(each) == 2 for each in parts)
    return folders if are_people else []


class Sources(NamedTuple):
    """The files of a source, each with the name of its annotator if it has one annotator."""

    files: list[Path]
    names: list[str]
    attribution: str | None
    """The way of attribution; None if it is not given."""
    notes: list[str]
    """Notes on files that are left out."""
    is_named: bool = False
    """Whether the user named the annotator of each file."""
    tables: Sequence[AnnotationFile] = ()
    """Files that are not measured, as they only list images and categories of results."""
    given: Sequence[AnyPath] = ()
    """The files and folders that the user gave, if each has no name of an annotator."""


def sources_of(
    source: Files,
    pattern: str | None,
    attribution: str | None,
    min_annotators: int,
    *,
    hidden: bool = False,
) -> Sources:
    """Return the files of a source; notes on others do not say their names if they are `hidden`."""
    if isinstance(source, Mapping):
        if attribution not in (None, "files"):
            raise ConfigError(f"named files are one annotator each, not {attribution!r}")
        return _named_sources(source, hidden=hidden)
    given = as_paths(source)
    listed = list_files(given, pattern)
    files, notes = _read_of(listed, given, pattern, hidden=hidden)
    # A single source inside a folder belongs to an annotator if it is itself a folder.
    is_person = len(files) == 1 and files[0].is_dir() and files[0] not in map(Path, given)
    if is_person and min_annotators == 1:
        attribution = attribution or "files"
    return Sources(files, names_of(files, given), attribution, notes, given=given)


def _read_of(
    listed: list[Path],
    given: Sequence[AnyPath],
    pattern: str | None,
    *,
    hidden: bool,
    is_named: bool = False,
) -> tuple[list[Path], list[str]]:
    """Return the files that are read, of those listed, and notes on what is left out."""
    files, notes = without_settings(listed, given, hidden=hidden)
    files, others = without_other_tasks(files, hidden=hidden)
    notes += others
    notes += passed_over(given, hidden=hidden)
    notes += beside_notes(given, listed, files, pattern, hidden=hidden, is_named=is_named)
    return files, notes


def _named_sources(source: Mapping[str, AnyPath | Sequence[AnyPath]], *, hidden: bool) -> Sources:
    """Return the files of annotators with names; those in a folder are parts of one's work."""
    found = Sources([], [], "files", [], is_named=True)
    given_of = {name: as_paths(paths) for name, paths in source.items()}
    if unnamed := [name for name, paths in given_of.items() if not paths]:
        raise DatasetError([f"no file given for annotator {unnamed[0]!r}"])
    for name, given in ((name, Path(path)) for name, paths in given_of.items() for path in paths):
        has_files = given.is_dir() and format_of(given) is COCO
        listed = list_files([given], is_named=True) if has_files else sources_in(given)
        files, notes = _read_of(listed, [given], None, hidden=hidden, is_named=True)
        found.files.extend(files)
        found.names.extend([name] * len(files))
        found.notes.extend(notes)
    return found


def refuse_repeated_files(files: Sequence[Path]) -> None:
    """Refuse an empty list of files, and files that are given twice."""
    if not files:
        raise DatasetError(["no file given"])
    # `Path.resolve` raises an error for a link that leads to itself.
    times = Counter(map(realpath, files))
    twice = next((file for file in files if times[realpath(file)] > 1), None)
    if twice is not None:
        raise DatasetError([f"a file is given twice: {twice}"])
