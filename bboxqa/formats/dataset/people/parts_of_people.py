"""Finding the files of one person among several: parts of the work, each about other images."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, first_few, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.dataset.people.places import (
    Place,
    folders_and_names,
    is_grid,
    places_of,
    short_names,
)
from bboxqa.formats.task_files import split_in, without_split
from bboxqa.formats.translation.translated import UNNAMED

# The most names and files that a note shows.
_SHOWN, _TYPED = 3, 20
_ONE_FILE = """\
Name one file of each person: --annotator NAME=FILE
If the person annotated the images again and each file is a session: --session-key file\
"""


class People(NamedTuple):
    """The annotator of each file, and how they were found."""

    names: list[str]
    """`UNNAMED` for all files if they are splits of one data set."""
    way: str
    splits: Sequence[str] = ()
    """The split of each file, where an image of a split has the name of one in another split."""


def people_of(files: Sequence[AnnotationFile]) -> People | None:
    """Return who made each file, if several files are by one person; None if it is not sure.

    In ann/train.json, ann/val.json, bob/train.json and bob/val.json, as in train/ann.json or
    ann_train.json, people are what is left without the splits; without people, the files are one
    data set. So it is in train/ann.json, train/bob.json, val/eve.json and val/dan.json, where each
    split is by several others. Other files of the same names in several folders are told by their
    images. Folders are people if no folder has an image in two files, and files of one name share
    images. In day1/ann.json, day1/bob.json, day2/ann.json and day2/bob.json it is the other way
    round.
    """
    places = places_of([Path(file.source.name) for file in files])
    return _by_split(places, files) or _by_images(places, files)


def named_people(
    files: Sequence[AnnotationFile], names: Sequence[str], *, are_sessions: bool = False
) -> People:
    """Return the annotators whose names are known; one may have several files.

    Raises DatasetError if an annotator has an image in two files that are not of different splits,
    unless files are sessions.
    """
    if len({*names}) == len(names):
        return People([*names], "one file per annotator")
    inside = defaultdict(list)
    for file, name in zip(files, names, strict=True):
        inside[name].append(Path(file.source.name))
    split_of = {
        path: without_split(place)[0]
        for paths in inside.values()
        for path, place in zip(paths, places_of(paths), strict=True)
    }
    splits = [split_of[Path(file.source.name)] for file in files]
    if _is_apart(_images(files), names):
        splits = []
    elif are_sessions:
        return People([*names], "several files per annotator, each a session")
    elif not _is_apart(_images(files), zip(names, splits, strict=True)):
        _refuse_shared_image(files, names)
    return People([*names], "one folder per annotator", splits)


def split_people(places: Sequence[Place]) -> tuple[list[Place], list[str]] | None:
    """Return the person and the split of each file, "" for a file without; None without splits.

    The person of splits that name nobody is an empty path.
    """
    found = [without_split(place) for place in places]
    splits, people = [split for split, _ in found], [person for _, person in found]
    parts = Counter(person for person, split in zip(people, splits, strict=True) if split)
    is_once = len({*zip(people, splits, strict=True)}) == len(places)
    # Where each split is by another person, it may be a part of the person's name.
    is_of_several = min(Counter(splits).values()) > 1 and all(map(_is_in_split, places))
    is_split = len({*splits} - {""}) > 1 and (max(parts.values()) > 1 or is_of_several)
    return (people, splits) if is_once and is_split else None


def _is_in_split(place: Place) -> bool:
    """Return whether a folder around a file has the name of a split alone, as in train/ann."""
    return any((found := split_in(part)) and not found[0] for part in place[:-1])


def _by_split(places: Sequence[Place], files: Sequence[AnnotationFile]) -> People | None:
    found = split_people(places)
    if found is None:
        return None
    people, splits = found
    names = short_names(people)
    # Pictures of two splits may have the same name, but a person annotates one only once.
    images = _images(files)
    is_apart = _is_apart(images, names) and (
        len({*names}) < len(names) or _is_apart_by(splits, images)
    )
    named = () if is_apart else splits
    if not any(people):
        return People([UNNAMED] * len(places), "", named)
    whole = [person for person, split in zip(people, splits, strict=True) if not split]
    parts = {person for person, split in zip(people, splits, strict=True) if split}
    if (
        () in people
        or (whole and not is_apart)
        or any(person[: len(part)] == part for person in whole for part in parts)
    ):
        _refuse_other_files(files, splits)
    listed = ", ".join(dict.fromkeys(filter(None, splits)))
    return People(names, f"names of files and folders without splits ({listed})", named)


def _refuse_other_files(files: Sequence[AnnotationFile], splits: Sequence[str]) -> None:
    """Refuse splits beside files of no split, or of nobody, where it is not sure who made which."""
    names = [one_line(file.source.name) for file in files]
    split = next(name for name, split in zip(names, splits, strict=True) if split)
    others = [name for name, split in zip(names, splits, strict=True) if not split]
    beside = f"beside {others[0]}, which is none" if others else "and some of them name nobody"
    raise DatasetError(
        [f"{split} is named as a split of a data set, {beside}: it is not sure who made which"],
        "Name the files of each annotator: --annotator ann=FOLDER --annotator bob=FILE\n"
        "If each file is by one annotator nevertheless: --attribution files",
    )


def _by_images(places: Sequence[Place], files: Sequence[AnnotationFile]) -> People | None:
    folders, names = folders_and_names(places)
    if not is_grid(folders, names):
        return None
    images = _images(files)
    is_apart_in_folders, is_apart_by_name = _is_apart(images, folders), _is_apart(images, names)
    if is_apart_in_folders and not is_apart_by_name:
        return People(folders, "one folder per annotator")
    if is_apart_by_name and not is_apart_in_folders:
        return People(names, "files of one name per annotator")
    return None


def one_name_notes(files: Sequence[AnnotationFile], *, hidden: bool) -> list[str]:
    """Return a note on annotators of one name in several folders, who may be one person.

    In day1/ann.json, day1/bob.json, day2/ann.json and day2/eve.json, this is ann, if no image is in
    both files of that name, while those of a folder share images. Notes that are `hidden` do not
    say names.
    """
    paths = [Path(file.source.name) for file in files]
    places, images = places_of(paths), _images(files)
    names, folders = [place[-1] for place in places], [place[:-1] for place in places]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if not repeated or _is_apart(images, folders) or not _is_apart(images, names):
        return []
    files_of = sorted(zip(names, paths, strict=True), key=lambda each: each[0] not in repeated)
    if hidden:
        typed = "--annotator NAME=FILE --annotator NAME=FILE …"
    else:
        named = [shlex.quote(clean(f"{name}={path}")) for name, path in files_of[:_TYPED]]
        typed = " ".join(f"--annotator {each}" for each in named)
        typed += " …" if len(files_of) > _TYPED else ""
    some = "" if hidden else f" ({first_few(repeated, _SHOWN, one_line)})"
    note = f"files of one name in several folders{some} count as annotators of their own"
    return [f"{note}; if one person made them: bboxqa agree {typed}"]


def _images(files: Sequence[AnnotationFile]) -> list[set[str | None]]:
    return [{image.file_name for image in file.images} for file in files]


def with_names_of_splits(
    files: Sequence[AnnotationFile], splits: Sequence[str]
) -> list[AnnotationFile]:
    """Return files whose images have the split before their names.

    There may be fewer splits than files: lists of results at the end are of no split.
    """
    named = []
    for file, split in zip(files, splits, strict=False):
        if not split:
            named.append(file)
            continue
        images = [
            msgspec.structs.replace(image, file_name=f"{split}/{image.file_name}")
            if image.file_name
            else image
            for image in file.images
        ]
        called = f"images are called {split}/…, since another split has images of the same names"
        note = f"{called}: if these are the same images, measure one split only"
        named.append(replace(file, images=images, notes=(*file.notes, note)))
    return [*named, *files[len(named) :]]


def _refuse_shared_image(files: Sequence[AnnotationFile], names: Sequence[str]) -> None:
    """Refuse several files by one annotator, since an image is in two of them."""
    seen: dict[tuple[str, str], str] = {}
    for file, name in zip(files, names, strict=True):
        for image in sorted({image.file_name for image in file.images if image.file_name}):
            before = seen.setdefault((name, image), file.source.name)
            if before != file.source.name:
                problem = (
                    f"annotator {one_line(name)!r}: image {one_line(image)!r} is in "
                    f"{one_line(before)} and in {one_line(file.source.name)}; expected one file, "
                    "or files about different images"
                )
                raise DatasetError([problem], _ONE_FILE)


def _is_apart_by(groups: Sequence[str], images: Sequence[set[str | None]]) -> bool:
    """Return whether no image is in two groups of files."""
    whole: dict[str, set[str | None]] = defaultdict(set)
    for group, each in zip(groups, images, strict=True):
        whole[group] |= each
    return _is_apart(whole.values(), [""] * len(whole))


def _is_apart(images: Iterable[set[str | None]], groups: Iterable[Hashable]) -> bool:
    """Return whether no image is in two files of a group."""
    of_group = defaultdict(list)
    for each, group in zip(images, groups, strict=True):
        of_group[group].append(each)
    return all(sum(map(len, sets)) == len(set().union(*sets)) for sets in of_group.values())
