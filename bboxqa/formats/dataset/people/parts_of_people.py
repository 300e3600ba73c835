"""Finding the files of one person among several: parts of the work, each about other images."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import first_few, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.dataset.people.places import (
    Place,
    names_of_people,
    places_of,
    short_places,
)
from bboxqa.formats.dataset.people.told_by_images import (
    Images,
    is_apart,
    is_apart_by,
    told_by_images,
    unsure_files,
)
from bboxqa.formats.task_files import is_split, without_split
from bboxqa.formats.translation.translated import UNNAMED

OF_EACH = (
    "Name the files of each annotator: --annotator NAME=FOLDER --annotator NAME=FILE\n"
    "If each file is by one annotator nevertheless: --attribution files"
)
_SHOWN = 3
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
    ann_train.json, the path without its split names the person. Where nothing is left of it, the
    files are one data set. People are also found in this way in train/ann.json, train/bob.json,
    val/eve.json and val/dan.json, where each split is by several others. Other files of the same
    names in several folders are told by their images. Folders are people if no folder has an image
    in two files, and files of one name share images. In day1/ann.json, day1/bob.json, day2/ann.json
    and day2/bob.json it is the other way round.
    """
    places = places_of([Path(file.source.name) for file in files])
    found = _by_split(places, files)
    if found is not None:
        return found
    told = told_by_images(places, images_of(files))
    return None if told is None else People(*told)


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
    place_of = {
        path: place
        for paths in inside.values()
        for path, place in zip(paths, places_of(paths), strict=True)
    }
    places = [place_of[Path(file.source.name)] for file in files]
    splits = [without_split(place)[0] for place in places]
    if is_apart(images_of(files), names):
        splits = []
    elif are_sessions:
        return People([*names], "several files per annotator, each a session")
    elif not is_apart(images_of(files), zip(names, splits, strict=True)):
        splits = _clips(files, names, places)
    return People([*names], "one folder per annotator", splits)


def _clips(
    files: Sequence[AnnotationFile], names: Sequence[str], places: Sequence[Place]
) -> list[str]:
    """Return the names of folders that are clips: each is a folder of labels of several people.

    Raises DatasetError for other files of one annotator that share images.
    """
    clips = ["/".join(each) for each in places]
    people = Counter(zip(clips, names, strict=True))
    times = Counter(clip for clip, _ in people)
    are_folders = all(Path(file.source.name).is_dir() for file in files)
    if not are_folders or min(times.values()) < 2:
        _refuse_shared_image(files, names)
    return clips


def split_people(places: Sequence[Place]) -> tuple[list[Place], list[str]] | None:
    """Return the person and the split of each file, "" for a file without; None without splits.

    The person of splits that name nobody is an empty path.
    """
    found = [without_split(place) for place in places]
    splits, people = [split for split, _ in found], [person for _, person in found]
    parts = Counter(person for person, split in zip(people, splits, strict=True) if split)
    is_once = len({*zip(people, splits, strict=True)}) == len(places)
    # Where each split is by another person, it may be a part of the person's name.
    is_of_several = min(Counter(splits).values()) > 1 and all(
        any(map(is_split, place[:-1])) for place in places
    )
    are_parts = len({*splits} - {""}) > 1 and (max(parts.values()) > 1 or is_of_several)
    return (people, splits) if is_once and are_parts else None


def _by_split(places: Sequence[Place], files: Sequence[AnnotationFile]) -> People | None:
    found = split_people(places)
    if found is None:
        return None
    people, splits = found
    if not any(people):
        named = () if is_apart(images_of(files), people) else splits
        return People([UNNAMED] * len(places), "", named)
    whole = {person for person, split in zip(people, splits, strict=True) if not split}
    parts = {person for person, split in zip(people, splits, strict=True) if split}
    if () in people or whole & parts:
        _refuse_other_files(files, splits)
    names, way = _people_of_parts(files, people, splits)
    # Pictures of two splits may have the same name, but a person annotates one only once.
    images = images_of(files)
    are_apart = is_apart(images, names) and (
        len({*names}) < len(names) or is_apart_by(splits, images)
    )
    if whole and not are_apart:
        _refuse_other_files(files, splits)
    return People(names, way, () if are_apart else splits)


def _people_of_parts(
    files: Sequence[AnnotationFile], people: Sequence[Place], splits: Sequence[str]
) -> tuple[list[str], str]:
    """Return who made each file, and how it is found, where a person may have parts in folders.

    Without splits, ann/train_1.json, ann/train_2.json and ann/val_1.json are ann/1 and ann/2.
    """
    images: Sequence[Images] = images_of(files)
    if not is_apart(images, people):
        images = [
            {(split, name) for name in each} for split, each in zip(splits, images, strict=True)
        ]
    short = short_places(people)
    inside: dict[Place, set[Hashable]] = defaultdict(set)
    for place, each in zip(short, images, strict=True):
        inside[place] |= each
    distinct = [*inside]
    told = told_by_images(distinct, [*inside.values()])
    if told is not None:
        name_of = dict(zip(distinct, told[0], strict=True))
        return [name_of[place] for place in short], told[1]
    below = {place for place in distinct for end in range(1, len(place)) if place[:end] in inside}
    if below and "" in splits:
        _refuse_other_files(files, splits)
    unsure = {distinct[each] for each in unsure_files(distinct, [*inside.values()])} or below
    if unsure:
        _refuse_parts([file for file, each in zip(files, short, strict=True) if each in unsure])
    listed = ", ".join(dict.fromkeys(filter(None, splits)))
    way = f"names of files and folders without splits ({listed})"
    return names_of_people(short), way


def _refuse_other_files(files: Sequence[AnnotationFile], splits: Sequence[str]) -> None:
    """Refuse splits beside files of no split, or of nobody, where it is not sure who made which."""
    names = [one_line(file.source.name) for file in files]
    split = next(name for name, split in zip(names, splits, strict=True) if split)
    others = [name for name, split in zip(names, splits, strict=True) if not split]
    unnamed = "and not all splits name their annotators"
    beside = f"beside {others[0]}, which is none" if others else unnamed
    raise DatasetError(
        [f"{split} is named as a split of a data set, {beside}: it is not sure who made which"],
        OF_EACH,
    )


def _refuse_parts(files: Sequence[AnnotationFile]) -> None:
    """Refuse files in a folder of a person, or of several, of which it is not sure."""
    listed = first_few(files, _SHOWN, lambda each: one_line(each.source.name))
    problem = f"{listed}: named as parts of a data set, which may be by one person or by several"
    raise DatasetError([problem], OF_EACH)


def images_of(files: Sequence[AnnotationFile]) -> list[set[str | None]]:
    """Return the file names of the images of each file."""
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
        kind = "split" if is_split(split) else "folder"
        called = f"images are called {split}/…, since another {kind} has images of the same names"
        note = f"{called}: if these are the same images, measure one {kind} only"
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
