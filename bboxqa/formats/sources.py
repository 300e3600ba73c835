"""What paths hold: the sources that a command reads, and by whom each is if files are people."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from os import PathLike
from os.path import abspath, commonpath, realpath
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.core.arrays import AnyPath, Files, listed_by
from bboxqa.core.errors import BboxqaError, DatasetError, NothingToCompareError
from bboxqa.core.file_names import is_split, own_name
from bboxqa.core.json_values import cut
from bboxqa.core.text import count, first_few, one_line, typed_paths
from bboxqa.formats import opening
from bboxqa.formats.coco.reader import COCO, is_surely_coco
from bboxqa.formats.heads import CLASS_NAMES, TABLES, as_utf8, begins, is_without_coco
from bboxqa.formats.label_folders import INSIDE, has_empty_labels_only, is_label_name
from bboxqa.formats.member import ARCHIVES, is_picture
from bboxqa.formats.records import EVERYTHING, ReadSettings
from bboxqa.formats.registry import format_of, formats_of, sources_below, suffixes
from bboxqa.formats.source import SourcePath
from bboxqa.model.annotations import NO_CHOICES, Choices

_SHOWN = 3
_NAME_ONE = "Name the file or the folder that holds annotations."
_LABELS = (
    "Labels of YOLO have a class and a box in shares of the image, such as 0 0.5 0.5 0.2 0.1; "
    "those of DOTA have four corners in pixels and a category."
)
_IF_MASKS = (
    "If PNG or TIFF files are masks: --mask instances (each value is an object), --mask binary "
    "(each file is one object), --mask objects (each file is one object in the folder of its "
    "image) or --mask classes (each region of a value is an object of a class)"
)
_EXPECTED = (
    "expected one or several paths. bboxqa.read also takes one table or COCO document in "
    "memory; tables of several annotators are one table with a column annotator"
)


def as_paths(source: object) -> list[AnyPath]:
    """Return one or several paths, or those of named annotators, as a list."""
    if isinstance(source, Mapping):
        return [path for paths in source.values() for path in as_paths(paths)]
    # A data frame is iterable, by the names of its columns.
    is_one = isinstance(source, str | bytes | PathLike) or hasattr(source, "shape")
    paths: list[Any] = [source] if is_one or not isinstance(source, Iterable) else [*source]
    for each in paths:
        if not isinstance(each, str | PathLike):
            raise TypeError(f"source is of type {type(each).__name__}; {_EXPECTED}")
    return paths


class Sources(msgspec.Struct):
    """The sources that are read, each with the annotator whose it is if files are people."""

    files: list[SourcePath] = msgspec.field(default_factory=list)
    names: list[str] = msgspec.field(default_factory=list)
    """The annotator of each file, by its path; several files may be of one."""
    notes: list[str] = msgspec.field(default_factory=list)
    is_named: bool = False
    """Whether the user named the annotator of each file."""
    is_typed: bool = False
    """Whether the user gave several paths, so that each is by one person."""


def sources_of(source: Files, reading: ReadSettings = EVERYTHING) -> Sources:
    """Return the sources in paths.

    Each path is by one person. Of one folder or archive, a folder that holds all annotations is
    entered; then each folder or file inside is by one person. Folders of labels are where people
    are needed; where all files may be people, only if two share a name.
    """
    within, choices = reading.within, reading.choices
    are_people = reading.min_annotators > 1 or reading.attribution == "files"
    may_be_people = are_people or reading.by_files in ("all", "any")
    may_be_clips = not are_people and reading.by_files == "all" and within is None
    is_named = isinstance(source, Mapping)
    by_name = source if isinstance(source, Mapping) else {"": source}
    found, given, people = Sources(is_named=is_named), list[tuple[str, SourcePath]](), list[Path]()
    for name, paths in by_name.items():
        given += [(name, SourcePath.at(each)) for each in as_paths(paths)]
        if is_named and (not given or given[-1][0] != name):
            raise DatasetError([f"no file given for annotator {name!r}"])
    if within is None:
        found.is_typed = not is_named and len(given) > 1
        pattern = None if is_named else reading.filter
        sources = [listed(each, pattern, choices=choices) for _, each in given]
    else:
        inside = [part for _, each in given for part in sources_in(each, reading.filter, choices)]
        given, sources = [("", SourcePath.at(within))], [(inside, [])]
    for (name, path), (files, notes) in zip(given, sources, strict=True):
        found.notes += notes
        refuse_formats(path, files, choices)
        of_people = [(each, path if found.is_typed else each) for each in files]
        may_be_several = len(files) > 1 or any(each.is_folder for each in files)
        if may_be_several and may_be_people and not (is_named or found.is_typed):
            of_people = _people_in(path, files, choices, may_be_clips=may_be_clips)
        found.files += [each for each, _ in of_people]
        found.names += [name] * len(of_people)
        people += [person for _, person in of_people]
    if not is_named:
        found.names = names_of(people)
    return found


def _people_in(
    path: SourcePath, files: Sequence[SourcePath], choices: Choices, *, may_be_clips: bool
) -> list[tuple[SourcePath, SourcePath]]:
    """Return the sources in a path, each with the folder or file of the person whose it is."""
    if len(files) == 1:
        found = format_of(files[0], choices).folders_in_parts
        parts = found(files[0]) if found else []
        names = [each.name for one in parts for each in one.members] if may_be_clips else []
        is_clips = may_be_clips and len({*names}) == len(names)
        return [(each, each) for each in (not is_clips and parts) or files]
    below = [each.relative_to(path).parts for each in files]
    depth = 0
    while len({each[depth] for each in below}) == 1 and min(map(len, below)) > depth + 1:
        depth += 1
    pairs = zip(files, below, strict=True)
    of_person = listed_by((path / "/".join(part[: depth + 1]), file) for file, part in pairs)
    people = []
    for person, inside in of_person.items():
        # Folders of labels inside a folder may be read with it.
        is_whole = (
            len(inside) > 1
            and all(each.is_folder for each in inside)
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
    ends = {each: own_name(each) for each in people}
    distinct = [*ends]
    # Files of one name in several formats need their suffixes.
    if len({(each.parent, end) for each, end in ends.items()}) < len(distinct):
        ends = {each: each.name for each in distinct}
    parts = {each: (*each.parent.parts, ends[each]) for each in distinct}
    while len(distinct) > 1 and len({each[-1] for each in parts.values()}) == 1:
        if min(map(len, parts.values())) == 1:
            break
        parts = {each: part[:-1] for each, part in parts.items()}
    depth, most = 1, max(map(len, parts.values()), default=1)
    while depth < most and len({part[-depth:] for part in parts.values()}) < len(distinct):
        depth += 1
    return ["/".join(parts[each][-depth:]) for each in people]


def people_in_paths(files: Sequence[Path]) -> set[str]:
    """Return after whom files may be named: the parts of their paths below a common folder."""
    whole = [Path(abspath(each)) for each in files]  # noqa: PTH100 - links keep their names
    shared = commonpath([each.parent for each in whole]) if whole else ""
    parts = {part for each in whole for part in each.parent.relative_to(shared).parts}
    parts |= {own_name(each) for each in whole}
    return {
        part
        for part in parts
        if "@" in part or (len(files) > 1 and not is_split(part) and not re.fullmatch(INSIDE, part))
    }


def refuse_repeated_files(files: Sequence[Path]) -> None:
    """Refuse an empty list of files, and files that are given twice."""
    if not files:
        raise DatasetError(["no file given"])
    # `Path.resolve` raises an error for a link that leads to itself.
    times = Counter(map(realpath, files))
    if twice := [file for file in files if times[realpath(file)] > 1]:
        raise DatasetError([f"a file is given twice: {twice[0]}"])


def refuse_formats(path: Path, files: Sequence[SourcePath], choices: Choices) -> None:
    """Refuse a path whose sources have several formats, unless one of them is chosen."""
    first: dict[str, Path] = {}
    # Empty label files are of any format: their annotator found nothing.
    filled = [e for e in files if not (e.is_folder and has_empty_labels_only(e))]
    for each in filled or files:
        for found in formats_of(each, choices) or [COCO]:
            first.setdefault(found.name, each)
    if len(first) < 2 or choices.from_format in first:
        return
    shown = ", ".join(
        f"{name} ({one_line(each.relative_to(path).as_posix() if each != path else str(each))})"
        for name, each in first.items()
    )
    advice = [f"To read one of them: {' or '.join(f'--from {name}' for name in first)}"]
    # A folder that is named alone holds what is inside it as well.
    if len(files) > 1 and not any(e != of and e.is_relative_to(of) for of in files for e in files):
        advice.append("If people used different formats, name who made each (edit NAME):")
        advice += [f"  --annotator {typed_paths([f'NAME={each}'])}" for each in files[:20]]
    problem = f"{path}: holds annotations in several formats: {shown}; expected one"
    raise NothingToCompareError([problem], "\n".join(advice))


def list_files(
    paths: Sequence[AnyPath], pattern: str | None = None, *, choices: Choices = NO_CHOICES
) -> list[SourcePath]:
    """Return the given files, and the sources below the given folders; see `listed`."""
    return [each for path in paths for each in listed(path, pattern, choices=choices)[0]]


def listed(
    path: AnyPath, pattern: str | None = None, *, choices: Choices = NO_CHOICES,
    archives: bool = False,
) -> tuple[list[SourcePath], list[str]]:  # fmt: skip
    """Return the sources in a path, sorted, and a note on files that are left out.

    Those of a folder are what a format recognises, and all JSON, whose names match the glob
    `pattern`; those in its archives if it has nothing else, or if `archives`.
    """
    path = SourcePath.at(path)
    if not path.is_folder:
        is_unsure = not is_surely_coco(path) and format_of(path, choices) is COCO
        if is_unsure and not (path.is_packed and formats_of(path)):
            opening.refuse_unread(path)
        return _of_format([path], choices) if choices.from_format else [path], []
    if choices.mask and format_of(path, choices).name == "masks":
        return [path], []
    is_folder = path.is_dir()
    if not is_folder and pattern and path.match(pattern):
        pattern = None
    below, others = path.once(sources_below)
    found = [each for each in below if _is_matched(pattern, each)]
    if is_folder and (archives or not found):
        packed = [e for e in others if e.name.lower().endswith(ARCHIVES) and formats_of(e)]
        parts = [(part, each) for each in packed for part in listed(each, choices=choices)[0]]
        found += [part for part, each in parts if _is_matched(pattern, part, each)]
        others = [each for each in others if each not in packed]
    others = [each for each in others if _is_matched(pattern, each)]
    if not found:
        raise _nothing_in(path, [*below, *others], pattern)
    opening.refuse_damaged(others, found)
    related = [each for each in found if not _repeats_boxes(each, found)]
    sources = [each for each in related if each.is_folder or not _is_unrelated(each)] or related
    unknown = [each for each in sources if format_of(each) is COCO and not each.is_packed]
    if unknown == sources and all(opening.foreign_kind(each) is not None for each in sources):
        raise _nothing_in(path, sources, None)
    notes = list[str]()
    if choices.from_format is not None:
        sources = _of_format(sources, choices)
    else:
        ends = (".json", ".xml", *TABLES, *ARCHIVES)
        unread = (e for e in {*others, *found} - {*sources} if e.name.lower().endswith(ends))
        left = sorted(each for each in unread if not each.match(CLASS_NAMES))
        shown = first_few(left, _SHOWN, lambda each: one_line(each.relative_to(path).as_posix()))
        why = "no annotations in a known format, or read only if their paths are given"
        notes += [f"{count(len(left), 'file')} left out: {why} ({shown})"] * bool(left)
    return [path] if sources == below[:1] and not is_folder else sources, notes


def _repeats_boxes(file: SourcePath, found: Sequence[SourcePath]) -> bool:
    """Return whether a table has the masks of Open Images whose boxes are in one beside it."""
    boxes = file.name.replace("-object-segmentation.csv", "-bbox.csv")
    return boxes != file.name and any(
        each.name.endswith(boxes) and each.parent == file.parent for each in found
    )


def _is_matched(pattern: str | None, *paths: Path) -> bool:
    """Return whether a pattern chooses a file or a folder; all match none, also "." and "/"."""
    return not pattern or any(each.match(pattern) for each in paths)


def without_files(notes: Sequence[str]) -> list[str]:
    """Return notes of `listed` without the names of files, which may be those of people."""
    return [note.partition(" (")[0] for note in notes]


def _of_format(sources: list[SourcePath], choices: Choices) -> list[SourcePath]:
    """Return the sources of the format that the user chose."""
    chosen = choices.from_format
    of = [(each, formats_of(each, choices) or [COCO]) for each in sources]
    found = [each for each, formats in of if chosen in [one.name for one in formats]]
    if not found:
        shown = first_few(sources, _SHOWN, lambda each: one_line(str(each)))
        raise DatasetError([f"{shown}: no file is of the format {chosen}, as --from says"])
    return found


def _is_unrelated(file: Path) -> bool:
    """Return whether JSON is about something else than annotations, such as settings."""
    if not file.name.lower().endswith(".json") or format_of(file) is not COCO:
        return False
    if (kind := opening.foreign_kind(file)) not in (None, "table"):
        return kind == "Hugging Face"
    return is_without_coco(b"".join(opening.ends_of_file(file)))


def _nothing_in(
    path: SourcePath, others: Sequence[SourcePath], pattern: str | None
) -> DatasetError:
    """Return the error for a folder or an archive without sources, which describes it."""
    opening.refuse_results([path / "manifest.json"])
    is_folder = path.is_dir()
    if not is_folder:
        if opening.foreign_kind(path) != "archive":
            opening.refuse_foreign(path)
        opening.refuse_damaged(others, ())
    names = [each.name for each in path.members]
    if not names:
        return DatasetError([f"{path}: has no files"], _NAME_ONE)
    some = f"{count(len(names), 'file')}, such as {one_line(min(names))}"
    what = f" in this {'folder' if is_folder else 'archive'}"
    if pattern:
        what, others = f" or folder of labels that matches {pattern!r}", ()
    problem = f"{path}: no file{what} is of a known format ({some})"
    if all(map(is_picture, names)):
        problem = f"{path}: holds images only ({some}); expected their annotations"
    ends = (*suffixes(), *ARCHIVES)
    known = (e for e in others if e.name.lower().endswith(ends)
             or (e.name.lower().endswith(".txt") and opening.foreign_kind(e)))  # fmt: skip
    for file in islice(known, 1):
        try:
            listed(file)
        except DatasetError as error:
            inside = f"{file.relative_to(path)}{error.problems[0].removeprefix(str(file))}"
            more = f"\n{_IF_MASKS}" * any(map(is_picture, names))
            return DatasetError([f"{problem}; {one_line(inside)}"], error.advice + more)
    advice, named = _NAME_ONE, (each for each in others if is_label_name(each.name))
    if labels := sorted(each for each in named if begins("YOLO", each.head)):
        line = as_utf8(labels[0].head).strip().decode("utf-8", "replace").partition("\n")[0]
        problem += f"; {one_line(labels[0].name)} begins with {cut(one_line(line))!r}"
        advice = _LABELS
    if any(map(is_picture, names)):
        advice += f"\n{_IF_MASKS}"
    return DatasetError([problem], advice)


def sources_in(
    path: Path, pattern: str | None = None, choices: Choices = NO_CHOICES
) -> list[SourcePath]:
    """Return the sources in a file or folder: itself, or those inside of an archive."""
    source = SourcePath.at(path)
    is_packed = source.is_folder and not source.is_dir()
    return listed(source, pattern, choices=choices)[0] if is_packed else [source]


def files_read(paths: Iterable[AnyPath | None], images: Iterable[AnyPath] = ()) -> Iterator[Path]:
    """Yield the files of sources of annotations, and the image files of the folders `images`."""
    for path in (SourcePath.at(each) for each in paths if each is not None):
        sources = [path]
        with suppress(BboxqaError, OSError):
            sources = list_files([path]) if path.is_dir() else sources
        for each in sources:
            yield from (file for file in (each, *each.parents) if file.is_file())
            inside = each.readable_members if each.is_dir() else ()
            # Pages of results may be beside annotations, and are read by no format.
            yield from (Path(e.shown) for e in inside if not e.name.endswith(".html"))
    for folder in map(SourcePath, images):
        yield from (Path(e.shown) for e in folder.readable_members if is_picture(e.name))
