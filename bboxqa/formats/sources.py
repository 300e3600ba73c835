"""What paths hold: the sources that a command reads, and by whom each is if files are people."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from os.path import realpath
from pathlib import Path
from typing import Any, cast

from bboxqa.core.errors import BboxqaError, DatasetError, NothingToCompareError
from bboxqa.core.file_names import IMAGE_SUFFIXES, folder_problem, folders_in, person_in
from bboxqa.core.text import count, first_few, one_line
from bboxqa.core.types import AnyPath, Files
from bboxqa.formats.coco.reader import COCO, is_surely_coco
from bboxqa.formats.format import Format
from bboxqa.formats.heads import (
    CLASS_NAMES,
    LOOKED_AT,
    TABLES,
    WHAT,
    is_without_coco,
    json_kind_of,
    text_kind_of,
)
from bboxqa.formats.label_folders import has_empty_labels_only
from bboxqa.formats.member import ARCHIVES, READABLE, is_archive, is_picture
from bboxqa.formats.opening import typed_paths
from bboxqa.formats.records import AnnotationFile
from bboxqa.formats.registry import (
    FORMATS,
    OF_ONE_IMAGE,
    format_inside,
    format_of,
    formats_of,
    is_source,
    short_name,
    suffixes,
    title_of,
)
from bboxqa.formats.source import are_subsets, head_of, members_of, members_with
from bboxqa.formats.unreadable import (
    RESULT_FILES,
    foreign_kind,
    is_result,
    refuse_damaged,
    refuse_damaged_file,
    refuse_damaged_members,
    refuse_damaged_others,
    refuse_foreign,
)
from bboxqa.model.choices import NO_CHOICES, Choices

# Formats of one file for all images, several of which may be in an archive.
_OF_FILES = ("coco-archive", "label-studio", "datumaro", "table", "cvat")
_SHOWN, _LOOKED_AT, _DEPTH = 3, 50, 12
# A pattern of all files of a kind.
_KIND = re.compile(r"(?:\*\*/)?\*(?:\.[\w*?]+)*")
_NAME_ONE = "Name the file or the folder that holds annotations."
_IF_MASKS = (
    "If the images are masks: --mask instances (each value is an object), --mask binary (each file "
    "is one object), --mask objects (each file is one object in the folder of its image) or "
    "--mask classes (each region of a value is an object of a class)"
)
_EXPECTED = (
    "expected one or several paths. bboxqa.read also takes one table or COCO document in "
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


@dataclass(slots=True)
class Sources:
    """The sources that are read, each with the annotator whose it is if files are people."""

    files: list[Path] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """The annotator of each file, by its path; several files may be of one."""
    notes: list[str] = field(default_factory=list)
    """Notes on files that are left out."""
    is_named: bool = False
    """Whether the user named the annotator of each file."""
    is_typed: bool = False
    """Whether the user gave several paths, so that each is by one person."""
    tables: Sequence[AnnotationFile] = ()
    """Files that are not measured, as they only list images and categories of results."""


def sources_of(
    source: Files,
    pattern: str | None = None,
    *,
    within: Path | None = None,
    are_people: bool | None = True,
    choices: Choices = NO_CHOICES,
) -> Sources:
    """Return the sources in paths.

    Each path is by one person. Of one folder or archive, a folder that holds all annotations is
    entered; then each folder or file inside is by one person.

    Parameters
    ----------
    source : path, sequence of paths, or mapping of annotators to paths
    pattern : str or None
        A glob that the names of files in folders have to match.
    within : Path, optional
        The one folder whose sources were given.
    are_people : bool
        Whether folders of labels may be by one person each; None if only where two share a name.
    """
    if isinstance(source, Mapping):
        return _named_sources(source, choices)
    given = as_paths(source)
    if within is not None:
        files = [part for each in given for part in matching_parts_of(Path(each), pattern, choices)]
        refuse_formats(within, files, choices)
        of_people = _people_in(within, files, choices)
        names = names_of([person for _, person in of_people])
        return Sources([each for each, _ in of_people], names)
    found = Sources(is_typed=len(given) > 1)
    people: list[Path] = []
    for path in map(Path, given):
        files, notes = listed(path, pattern, choices=choices)
        refuse_formats(path, files, choices)
        of_people = [(each, path if found.is_typed else each) for each in files]
        if are_people is not False and not found.is_typed:
            of_people = _people_in(path, files, choices, may_be_clips=are_people is None)
        found.files += [each for each, _ in of_people]
        found.notes += notes
        people += [person for _, person in of_people]
    found.names = names_of(people)
    return found


def _named_sources(source: Mapping[str, AnyPath | Sequence[AnyPath]], choices: Choices) -> Sources:
    """Return the sources of annotators who are named."""
    found = Sources(is_named=True)
    for name, paths in source.items():
        given = as_paths(paths)
        if not given:
            raise DatasetError([f"no file given for annotator {name!r}"])
        for path in map(Path, given):
            files, notes = listed(path, choices=choices)
            refuse_formats(path, files, choices)
            found.files += files
            found.names += [name] * len(files)
            found.notes += notes
    return found


def _people_in(
    path: Path, files: Sequence[Path], choices: Choices, *, may_be_clips: bool = False
) -> list[tuple[Path, Path]]:
    """Return the sources in a path, each with the folder or file of the person whose it is.

    If folders of a person hold labels of one format, the folder of the person is one source.
    """
    if len(files) == 1:
        found = format_of(files[0], choices).folders_in_parts if files[0].is_dir() else None
        parts = found(files[0]) if found else []
        names = [each.name for one in parts for each in members_of(one)] if may_be_clips else []
        is_clips = may_be_clips and len({*names}) == len(names)
        return [(each, each) for each in (not is_clips and parts) or files]
    below = [each.relative_to(path).parts for each in files]
    depth = 0
    while len({each[depth] for each in below}) == 1 and min(map(len, below)) > depth + 1:
        depth += 1
    of_person: dict[Path, list[Path]] = {}
    for file, part in zip(files, below, strict=True):
        of_person.setdefault(path.joinpath(*part[: depth + 1]), []).append(file)
    people = []
    for person, inside in of_person.items():
        # Folders of labels inside a folder may be read with it.
        is_whole = (
            len(inside) > 1
            and all(each.is_dir() for each in inside)
            and format_of(person, choices) is format_of(inside[0], choices)
        )
        people += [(each, person) for each in ([person] if is_whole else inside)]
    return people


def names_of(people: Sequence[Path]) -> list[str]:
    """Return the name of each person: the part by which the paths differ.

    Examples
    --------
    >>> names_of([Path("in/ann/labels.json"), Path("in/bob/labels.json")])
    ['ann', 'bob']
    >>> names_of([Path("a/ann.json"), Path("b/bob.json"), Path("b/bob.json")])
    ['ann', 'bob', 'bob']
    """
    ends = {each: person_in(each) for each in people}
    distinct = [*ends]
    # Files of one name in several formats need their suffixes.
    if len({each.parent / end for each, end in ends.items()}) < len(distinct):
        ends = {each: each.name for each in distinct}
    parts = {each: (*each.parent.parts, ends[each]) for each in distinct}
    while len(distinct) > 1 and len({each[-1] for each in parts.values()}) == 1:
        shorter = {each: part[:-1] for each, part in parts.items()}
        if not all(shorter.values()):
            break
        parts = shorter
    depth, most = 1, max(map(len, parts.values()), default=1)
    while depth < most and len({part[-depth:] for part in parts.values()}) < len(distinct):
        depth += 1
    return ["/".join(parts[each][-depth:]) for each in people]


def refuse_repeated_files(files: Sequence[Path]) -> None:
    """Refuse an empty list of files, and files that are given twice."""
    if not files:
        raise DatasetError(["no file given"])
    # `Path.resolve` raises an error for a link that leads to itself.
    times = Counter(map(realpath, files))
    twice = next((file for file in files if times[realpath(file)] > 1), None)
    if twice is not None:
        raise DatasetError([f"a file is given twice: {twice}"])


def refuse_formats(path: Path, files: Sequence[Path], choices: Choices) -> None:
    """Refuse a path whose sources have several formats, unless one of them is chosen."""
    first: dict[str, Path] = {}
    # Empty label files are of any format: their annotator found nothing.
    for each in [each for each in files if not has_empty_labels_only(each)] or files:
        for found in formats_of(each, choices) or [COCO]:
            first.setdefault(short_name(found), each)
    if len(first) < 2 or choices.from_format in first:
        return
    shown = ", ".join(
        f"{title_of(FORMATS[name]) if name in FORMATS else name} "
        f"({one_line(each.relative_to(path).as_posix() if each != path else str(each))})"
        for name, each in first.items()
    )
    lines = "\n".join(f"  --annotator {typed_paths([f'NAME={each}'])}" for each in files[:20])
    raise NothingToCompareError(
        [f"{path}: holds annotations in several formats: {shown}; expected one"],
        f"To read one of them: {' or '.join(f'--from {name}' for name in first)}\n"
        f"If people used different formats, name who made each (edit NAME):\n{lines}",
    )


def list_files(
    paths: Sequence[AnyPath], pattern: str | None = None, *, choices: Choices = NO_CHOICES
) -> list[Path]:
    """Return the given files, and the sources below the given folders; see `listed`."""
    return [each for path in paths for each in listed(path, pattern, choices=choices)[0]]


def listed(
    path: AnyPath, pattern: str | None = None, *, choices: Choices = NO_CHOICES
) -> tuple[list[Path], list[str]]:
    """Return the sources in a path, sorted, and a note on files that are left out.

    These are a file itself, the files of an archive, or of a folder those that a format recognises
    and all JSON files. A folder that is one source of its format is listed itself. Raises
    DatasetError if there is nothing to read, or if a given file has a format that is not read.

    Parameters
    ----------
    path : path
    pattern : str, optional
        A glob that the names of files in a folder, or in an archive of several, have to match.
    choices : Choices
    """
    path = Path(path)
    if choices.mask and path.is_file() and is_picture(path.name):
        problem = f"{path}: is one picture; masks are read from the folder of each person"
        raise DatasetError([problem], _NAME_ONE)
    if not path.is_dir():
        if not is_surely_coco(path) and format_of(path, choices) is COCO:
            _refuse_unread(path)
        return _of_format(matching_parts_of(path, pattern, choices), choices), []
    if problem := folder_problem(path):
        raise DatasetError([problem])
    if choices.mask and format_of(path, choices).name == "masks":
        return [path], []
    if choices.mask and all(is_picture(each.name) for each in path.iterdir()):
        problem = f"{path}: has no masks in PNG or TIFF; JPEG changes the values of masks"
        raise DatasetError([problem], "Export the masks as PNG.")
    walked = [each for each in _walk(path) if each.is_dir() or not is_result(each)]
    ends = suffixes()
    found = _sources_in(path, walked, pattern, ends)
    if any(each.is_dir() for each in found):
        # Beside folders of labels, other JSON is empty, cut off, or about something else.
        found = [e for e in found if format_of(e, choices) is not COCO or is_surely_coco(e)]
    if not found:
        raise _nothing_in(path, ends, pattern)
    sources = [each for each in found if each.is_dir() or not _is_unrelated(each)] or found
    if all(map(_is_foreign, sources)):
        refuse_foreign(sources[0])
    sources = _of_format(sources, choices)
    others = [each for each in walked if each not in found and each.match(pattern or "*")]
    refuse_damaged(others, found)
    notes = [] if choices.from_format else _left_out(path, [*others, *{*found} - {*sources}])
    return [part for each in sources for part in matching_parts_of(each, pattern, choices)], notes


def without_files(notes: Sequence[str]) -> list[str]:
    """Return notes of `listed` without the names of files, which may be those of people."""
    return [note.partition(" (")[0] for note in notes]


def _of_format(sources: list[Path], choices: Choices) -> list[Path]:
    """Return the sources of the format that the user chose; all if none was chosen."""
    chosen = choices.from_format
    if chosen is None:
        return sources
    found = [e for e in sources if chosen in map(short_name, formats_of(e, choices) or [COCO])]
    if not found:
        shown = first_few(sources, _SHOWN, lambda each: one_line(str(each)))
        raise DatasetError([f"{shown}: no file is of the format {chosen}, as --from says"])
    return found


def _sources_in(
    folder: Path, walked: Sequence[Path], pattern: str | None, ends: tuple[str, ...]
) -> list[Path]:
    """Return the sources in a folder: folders of labels, and files; archives if nothing else."""
    found: list[Path] = []
    archives: list[Path] = []
    for each in walked:
        name = each.name.lower()
        if each.is_dir():
            if pattern and not _KIND.fullmatch(pattern):
                problem = f"{folder}: {pattern!r} chooses among files, but all labels in a folder "
                raise DatasetError([f"{problem}are read ({each})"], "Name the folders to read.")
            if not pattern or any(file.match(pattern) for file in each.rglob("*")):
                found.append(each)
        elif name.endswith(ARCHIVES) and not name.endswith(ends):
            archives.append(each)
        elif not (each.match(pattern or "*") and name.endswith(ends) and each.is_file()):
            continue
        elif name.endswith(".json") or format_of(each) is not COCO:
            found.append(each)
    if not found:
        found = [each for each in archives if each.is_file() and format_of(each) is not COCO]
    if not found or found[0] not in archives or not pattern:
        return sorted(found)
    parts = {each: [each, *sources_in(each)] for each in found}
    return [each for each in sorted(found) if any(part.match(pattern) for part in parts[each])]


def _walk(folder: Path, depth: int = _DEPTH, root: str = "") -> Iterator[Path]:
    """Yield the folders in a folder that are one source, and its files outside of them.

    Files of other formats directly beside labels, or in `annotations`, are yielded as well.
    """
    try:
        inside = folders_in(folder)
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in entries if each.name[0] != ".")
    except OSError as error:
        # Passing over it would lose annotations.
        raise DatasetError([f"{folder}: cannot be read: {error.strerror}"], READABLE) from None
    files = [each for name in names if (each := folder / name) not in inside]
    if is_source(folder):
        yield folder
        beside = folder / "annotations"
        more = sorted(beside.glob("*.json")) if beside.is_dir() else []
        yield from _of_others([*files, *more], format_of(folder))
        return
    yield from files
    root = root or realpath(folder)
    for each in inside if depth else ():
        # A link may lead to what is read anyway, or to a folder around it.
        to = Path(realpath(each))
        is_within = to.is_relative_to(root) or Path(root).is_relative_to(to)
        if not (each.is_symlink() and is_within):
            yield from _walk(each, depth - 1, root)


def _of_others(files: Sequence[Path], own: Format) -> Iterator[Path]:
    """Yield the files of many images in another format beside labels, of the first ones."""
    ends = (".json", ".xml", *TABLES)
    for each in [each for each in files if each.name.lower().endswith(ends)][:_LOOKED_AT]:
        if is_surely_coco(each) or format_of(each) not in (COCO, own, *OF_ONE_IMAGE):
            yield each


def _is_unrelated(file: Path) -> bool:
    """Return whether JSON is about something else than annotations, such as settings."""
    if not file.name.lower().endswith(".json") or format_of(file) is not COCO:
        return False
    kind = foreign_kind(file)
    if kind is not None:
        return kind == "Hugging Face"
    with suppress(OSError), file.open("rb") as stream:
        head = stream.read(LOOKED_AT)
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - LOOKED_AT))
        return is_without_coco(head, stream.read())
    return False


def _is_foreign(path: Path) -> bool:
    """Return whether a file has a format that is not read."""
    return path.is_file() and format_of(path) is COCO and foreign_kind(path) is not None


def _left_out(folder: Path, others: Iterable[Path]) -> list[str]:
    """Return a note on files that are called like annotations or archives, and are not read."""
    ends = (".json", ".xml", *TABLES, *ARCHIVES)
    named = (each for each in others if each.is_file() and each.name.lower().endswith(ends))
    left = sorted(each for each in named if not each.match(CLASS_NAMES))
    if not left:
        return []
    shown = first_few(left, _SHOWN, _shown_in(folder))
    packed = any(each.name.lower().endswith(ARCHIVES) for each in left)
    why = "; to read an archive as well, name it" if packed else ""
    return [f"{count(len(left), 'file')} left out: no annotations in a known format{why} ({shown})"]


def _shown_in(folder: Path) -> Any:
    return lambda each: one_line(each.relative_to(folder).as_posix())


def _nothing_in(folder: Path, ends: Sequence[str], pattern: str | None) -> DatasetError:
    """Return the error for a folder without files to read, which describes the folder."""
    if all((folder / name).is_file() for name in RESULT_FILES):
        what = "compare" if (folder / "changes.csv").is_file() else "agree"
        advice = "Name the files of annotations that were compared."
        if what == "agree":
            advice = f"For a page of the result: bboxqa report {typed_paths([folder])}"
        problem = f"{folder}: holds a result of `bboxqa {what}`, no annotations"
        return DatasetError([problem], advice)
    files = sorted(e for e in folder.rglob("*") if e.is_file() and e.name[0] != ".")
    if not files:
        held = "a folder without files" if any(folder.iterdir()) else "an empty folder"
        return DatasetError([f"{folder}: is {held}"], _NAME_ONE)
    some = f"{count(len(files), 'file')}, such as {one_line(min(files).name)}"
    if all(file.suffix.lower() in IMAGE_SUFFIXES for file in files):
        some = some.replace("file", "image", 1)
        problem = f"{folder}: holds images only ({some}); expected their annotations"
        return DatasetError([problem], f"{_NAME_ONE}\n{_IF_MASKS}")
    if pattern:
        problem = f"{folder}: no file that matches {pattern!r} is of a known format ({some})"
        return DatasetError([problem])
    problem = f"{folder}: no file in this folder is of a known format ({some})"
    named = [each for each in files if each.name.lower().endswith((*ends, *ARCHIVES))]
    texts = [each for each in files if each.name.lower().endswith(".txt")][:_LOOKED_AT]
    named += [each for each in texts if text_kind_of(head_of(each)) is not None]
    if (file := next(iter(named), None)) is not None:
        try:
            listed(file)
        except DatasetError as error:
            inside = f"{file.relative_to(folder)}{error.problems[0].removeprefix(str(file))}"
            return DatasetError([f"{problem}; {one_line(inside)}"], error.advice)
    advice = (
        "Labels of YOLO have a class and a box in shares of the image, such as "
        "0 0.5 0.5 0.2 0.1; those of DOTA have four corners in pixels and a category."
    )
    has_pictures = any(file.suffix.lower() in IMAGE_SUFFIXES for file in files)
    return DatasetError([problem], f"{advice}\n{_IF_MASKS}" if has_pictures else advice)


def matching_parts_of(path: Path, pattern: str | None, choices: Choices = NO_CHOICES) -> list[Path]:
    """Return the sources in a file: itself, or those in an archive that match a pattern.

    Of an archive whose own name matches, all do. Raises DatasetError if none does, or if a file of
    annotations in the archive cannot be read.
    """
    parts = [path]
    if path.is_file() and is_archive(head_of(path)) and format_of(path) is not COCO:
        refuse_damaged_members(path)
        parts = sources_in(path, choices)
    if not pattern or len(parts) == 1 or path.match(pattern):
        return parts
    matching = [each for each in parts if each.match(pattern)]
    if not matching:
        names = first_few(parts, _SHOWN, _shown_in(path))
        some = f"{count(len(parts), 'file')}: {names}"
        raise DatasetError([f"{path}: no file in this archive matches {pattern!r} ({some})"])
    return matching


def sources_in(path: Path, choices: Choices = NO_CHOICES) -> list[Path]:
    """Return the sources in a file: itself, or the paths of several files inside an archive.

    Raises DatasetError if another file inside, which may be one of them, cannot be read, is empty
    or is cut off.
    """
    if not path.is_file() or not is_archive(head_of(path)):
        return [path]
    found = formats_of(path, choices) or [COCO]
    is_mixed = len(found) > 1 and choices.from_format is None
    if format_of(path, choices).name not in _OF_FILES or is_mixed:
        return [path]
    members = [each for each in members_of(path) if each.name and not is_picture(each.name)]
    formats = {each.name: format_inside(path / each.name) for each in members}
    read = [each for each in members if formats[each.name] not in (None, *OF_ONE_IMAGE)]
    names = [each.name for each in read]
    named = members_with(members, (".json", ".xml", *TABLES))
    refuse_damaged_others(path, read, [each for each in named if each.name not in names])
    is_one = len(read) < 2 or (found[0].name == "datumaro" and are_subsets(names))
    return [path] if is_one else [path / each for each in names]


def _refuse_unread(path: Path) -> None:
    """Refuse a file that no format recognises, unless it may be JSON."""
    refuse_damaged_file(path)
    if foreign_kind(path) != "archive" or not is_archive(head_of(path)):
        refuse_foreign(path)
        return
    inside = refuse_damaged_members(path)
    held = [each for each in inside if is_archive(each.head())]
    names = first_few(held or inside, _SHOWN, lambda each: one_line(each.name or path.stem))
    if held:
        problem = f"{path}: holds archives, which are not read inside of another one: {names}"
        raise DatasetError([problem], WHAT["archive"][1])
    for member in members_with(inside, ".json"):
        if (kind := json_kind_of(member.head())) is not None:
            what, advice = WHAT[kind]
            named = f" ({one_line(member.name)})" if member.name else ""
            raise DatasetError([f"{path}: is an archive of {what}{named}"], advice)
    found = f"in which no file is of a known format ({count(len(inside), 'file')}: {names})"
    raise DatasetError(
        [f"{path}: is an archive {found if inside else 'without files'}"],
        "Name the archive, file or folder that holds annotations.",
    )


def files_read(paths: Iterable[AnyPath | None], images: Iterable[AnyPath] = ()) -> Iterator[Path]:
    """Yield the files of sources of annotations, and the image files of folders.

    A path that cannot be read is left out.

    Parameters
    ----------
    paths : iterable of path or None
        Files, folders of annotations, and files in archives, which stand for the archive.
    images : iterable of path
        Folders of images.
    """
    for path in (Path(each) for each in paths if each is not None):
        sources = [path]
        if path.is_dir():
            with suppress(BboxqaError, OSError):
                sources = list_files([path])
        for each in sources:
            inside = _files_below(each) if each.is_dir() else (each, *each.parents)
            yield from (file for file in inside if file.is_file())
    for folder in images:
        inside = _files_below(Path(folder))
        yield from (each for each in inside if each.suffix.lower() in IMAGE_SUFFIXES)


def _files_below(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        # Pages of results may be beside annotations, and are read by no format.
        yield from (Path(place, name) for name in names if not name.endswith(".html"))
