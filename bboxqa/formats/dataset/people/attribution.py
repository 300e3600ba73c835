"""Attribution: the three ways in which files can name the annotator of each annotation."""

import os
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import numpy as np

from bboxqa.core.errors import ConfigError, DatasetError, NothingToCompareError
from bboxqa.core.text import first_few, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS
from bboxqa.formats.commands import typed_names
from bboxqa.formats.dataset.people.attributed import Attribution, way_by_key
from bboxqa.formats.dataset.people.image_records import asked_in, by_records, names_in
from bboxqa.formats.dataset.people.mixed_keys import check_folders, check_keys, names_by_file
from bboxqa.formats.dataset.people.parts_of_people import (
    People,
    named_people,
    people_of,
)
from bboxqa.formats.dataset.people.places import split_advice
from bboxqa.formats.dataset.people.videos import refuse_videos
from bboxqa.formats.dataset.people.ways_to_name import (
    listed_files,
    nothing_to_compare,
    ways_to_name,
)
from bboxqa.formats.registry import is_of_one_image
from bboxqa.formats.translation.heads import is_archive
from bboxqa.formats.translation.label_folders import is_of_labels
from bboxqa.formats.translation.members import head_of, members_of
from bboxqa.formats.translation.translated import UNNAMED

WAYS = ("annotator-key", "image-records", "files")
"""The ways of attribution, in the order in which they are tried."""

_ASSIGNEE = "the assignee"
_FOLDERS = (
    "Put the files of each person in one folder: --annotator NAME=FOLDER --annotator NAME=FOLDER"
)
_NAMED = 3
_OF_FILES = "If each file is by another person: --attribution files"
_EACH_FILE = f"""\
{_OF_FILES}
Two versions of one data set are compared with: bboxqa compare BEFORE AFTER\
"""


def attribute(
    files: Sequence[AnnotationFile],
    file_names: Sequence[str],
    *,
    annotator_key: str | None,
    way: str | None,
    min_annotators: int = 2,
    session_key: str | None = None,
) -> Attribution:
    """Find the annotator of each annotation.

    Raises DatasetError, which lists all ways of naming annotators, if fewer than `min_annotators`
    are found. Raises ConfigError if the way is unknown.

    Parameters
    ----------
    files : sequence of AnnotationFile
        All files.
    file_names : sequence of str
        The annotator of each file, if each file has one annotator.
    annotator_key : str or None
        The annotation key that names the annotator, if the user chose one.
    way : {"annotator-key", "image-records", "files"} or None
        The way of attribution; None tries them in this order.
    min_annotators : {1, 2}
        With 1, a file that names nobody has one annotator, called `UNNAMED`.
    session_key : str or None
        The key that distinguishes image records of one annotator.
    """
    if way is not None and way not in WAYS:
        raise ConfigError(f"attribution is {way!r}; expected one of {', '.join(WAYS)}")
    if annotator_key is not None:
        way = way or "annotator-key"
    if min_annotators > 1 and not any(len(file.columns.id) for file in files):
        raise nothing_to_compare(files)
    found: list[Attribution] = []
    for candidate in WAYS if way is None else (way,):
        if candidate == "annotator-key":
            found += _by_key(files, annotator_key, chosen=way is not None)
        elif candidate == "image-records":
            # Records of a person who is named are not by several.
            is_named = any(each.names != (UNNAMED,) for each in found)
            found += [] if is_named else by_records(files, session_key, chosen=way is not None)
        # A name that all files share, as that of an owner, tells nobody apart.
        elif all(len(each.names) < 2 and not _is_assignee(each) for each in found) and (
            len(files) > 1 or (way == "files" and min_annotators == 1)
        ):
            people = _people(files, file_names, session_key, chosen=way is not None)
            found.append(_by_file(files, people))
    for attribution in found:
        if len(attribution.names) >= 2:
            if way is None:
                refuse_videos(files, are_named=not attribution.of_files)
            return attribution
    if min_annotators == 1 and (found or way is None):
        return found[0] if found else _unnamed(files)
    raise _nothing_found(files, found, annotator_key, session_key)


def _is_assignee(found: Attribution) -> bool:
    """Return whether all files of CVAT are assigned to the one person that is named."""
    return found.way == _ASSIGNEE and found.names != (UNNAMED,)


def _nothing_found(
    files: Sequence[AnnotationFile],
    found: Sequence[Attribution],
    annotator_key: str | None,
    session_key: str | None,
) -> NothingToCompareError:
    """Return an error for files by fewer than two annotators."""
    is_unnamed = bool(found) and found[0].names == (UNNAMED,)
    found = [] if is_unnamed else found
    if is_unnamed and len(files) > 1:
        ways = split_advice([Path(file.source.name) for file in files])
        nevertheless = "If each file is by one annotator nevertheless: --attribution files"
        advice = "\n".join(filter(None, (ways, nevertheless)))
    elif found and session_key:
        advice = _as_annotators(session_key)
    elif found and len(files) > 1 and annotator_key is None:
        advice = _EACH_FILE
    else:
        advice = ways_to_name(files)
    return NothingToCompareError([_too_few(files, found, annotator_key)], advice)


def _too_few(
    files: Sequence[AnnotationFile], found: Sequence[Attribution], annotator_key: str | None
) -> str:
    named = listed_files(files)
    if annotator_key is not None and not found:
        return f"{named}: no annotation has the key {annotator_key!r}"
    if found:
        return f"{named}: one annotator only, {found[0].names[0]!r}, by {found[0].way}"
    return f"{named}: no annotator is named in the files"


def _as_annotators(session_key: str) -> str:
    """Return how to compare the sessions of one annotator."""
    option = "--attribution files" if session_key == "file" else f"--annotator-key {session_key}"
    return (
        "To measure how far one annotator agrees across sessions, take each session as an "
        f"annotator: {option}"
    )


def _by_key(
    files: Sequence[AnnotationFile], annotator_key: str | None, *, chosen: bool
) -> list[Attribution]:
    """Return one attribution for each annotator key that occurs, in the order of the keys."""
    keys = ANNOTATOR_KEYS if annotator_key is None else (annotator_key,)
    result = []
    for key in keys:
        authors = [file.columns.authors[key] for file in files]
        is_used = any(author.names for author in authors)
        # Several files are parts of one data set only if each of them names annotators.
        if not is_used or not (chosen or all(names_in(file, key) for file in files)):
            continue
        names = tuple(sorted({name for author in authors for name in author.names}))
        number = {name: place for place, name in enumerate(names)}
        codes = []
        for author in authors:
            table = np.array([number[name] for name in author.names] + [-1], np.int32)
            codes.append(table[author.code])
        # The lists of what is translated have people, also where another key is chosen.
        asked: list[list[tuple[str, ...] | None]] = [
            [None] * len(file.images)
            if file.named_by and key != ANNOTATOR_KEYS[0]
            else asked_in(file.images)
            for file in files
        ]
        listed = {name for images in asked for given in images for name in given or ()}
        names = (*names, *sorted(listed - set(names)))
        result.append(Attribution(way_by_key(files, key), codes, asked, names, key=key))
    return result


def _check_people(files: Sequence[AnnotationFile]) -> None:
    """Refuse files with one image each if some are surely by the same person."""
    if not all(file.numbers_categories and len(file.images) == 1 for file in files):
        return
    images: dict[Path, set[str | None]] = {}
    for file in files:
        path = Path(file.source.name)
        if path.is_file() and not _is_packed(path) and is_of_one_image(path):
            images.setdefault(path.parent, set()).add(file.images[0].file_name)
    # Several files of the same image may be by different people.
    if any(len(names) > 1 for names in images.values()):
        problem = (
            f"{listed_files(files)}: each file is about one image and does not say who drew it"
        )
        raise DatasetError([problem], "\n".join([*_of_folders(sorted(images)), _OF_FILES]))


def _of_folders(folders: Sequence[Path]) -> list[str]:
    """Return how to name the annotators of folders, by the first or the last folders that differ.

    Folders may be in those of people, as anna/clip1 and bob/clip1, or the other way round.
    """
    # What is typed from inside of a folder does not name it.
    if any(".." in each.parts for each in folders) or len({*map(Path.is_absolute, folders)}) > 1:
        return [_FOLDERS]
    common = Path(os.path.commonpath(folders))
    parts = (folder.relative_to(common).parts[:1] for folder in folders)
    first = [common.joinpath(*each) for each in dict.fromkeys(parts)]
    if common in first:
        return [_FOLDERS]
    last = [each.parent if is_of_labels(each.name) else each for each in folders]
    are_inside = 1 < len({each.name for each in last}) < len(last)
    inside = [sorted(last, key=attrgetter("name"))] if are_inside else []
    return [*map(_if_annotators, (first, *inside))]


def _if_annotators(folders: Sequence[Path]) -> str:
    names = first_few([*dict.fromkeys(each.name for each in folders)], _NAMED, one_line)
    named = typed_names([(each.name, each) for each in folders])
    return f"If {names} are the annotators: bboxqa agree {named}"


def _people(
    files: Sequence[AnnotationFile], names: Sequence[str], session_key: str | None, *, chosen: bool
) -> People:
    """Return who made each file; several files may be by one person.

    These are the people of these names if files are `chosen` as annotators. Otherwise, files in
    which it is not sure are refused.
    """
    if not chosen:
        _check_people(files)
        check_keys(files)
        if found := people_of(files):
            return found
        refuse_videos(files, are_named=False)
        check_folders(files)
        names = names_by_file(files, names)
    return named_people(files, names, are_sessions=session_key == "file")


def _is_packed(path: Path) -> bool:
    """Return whether a file is an archive of files, all by one annotator, even if it has one."""
    head = head_of(path)
    return is_archive(head) and members_of(path)[0].name != ""


def _unnamed(files: Sequence[AnnotationFile]) -> Attribution:
    """Attribute all annotations to one unnamed annotator."""
    authors = [np.zeros(len(file.columns.id), np.int32) for file in files]
    asked: list[list[tuple[str, ...] | None]] = [[(UNNAMED,)] * len(f.images) for f in files]
    return Attribution("", authors, asked, (UNNAMED,))


def _by_file(files: Sequence[AnnotationFile], people: People) -> Attribution:
    """Attribute each file to one annotator."""
    names = tuple(sorted(set(people.names)))
    authors = [
        np.full(len(file.columns.id), names.index(name), np.int32)
        for file, name in zip(files, people.names, strict=True)
    ]
    asked: list[list[tuple[str, ...] | None]] = [
        [(name,)] * len(file.images) for file, name in zip(files, people.names, strict=True)
    ]
    of_files = names != (UNNAMED,)
    return Attribution(people.way, authors, asked, names, of_files=of_files, splits=people.splits)
