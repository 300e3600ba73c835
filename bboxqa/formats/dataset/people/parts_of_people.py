"""Finding the files of one person among several: parts of the work, each about other images."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os.path import abspath, commonpath
from pathlib import Path
from typing import NamedTuple

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.text import one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.task_files import split_in
from bboxqa.formats.translation.translated import UNNAMED


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
    data set. Other files of the same names in several folders are told by their images. Folders are
    people if no folder has an image in two files, and files of one name share images. In
    day1/ann.json, day1/bob.json, day2/ann.json and day2/bob.json it is the other way round.
    """
    places = _places([Path(file.source.name) for file in files])
    return _by_split(places, files) or _by_images(places, files)


def _by_split(places: Sequence[tuple[str, ...]], files: Sequence[AnnotationFile]) -> People | None:
    found = [each for each in map(_without_split, places) if each is not None]
    splits = [split for split, _ in found]
    people = _short([person for _, person in found])
    n_people, n_splits = len({*people}), len({*splits})
    is_once = len({*zip(people, splits, strict=True)}) == len(places)
    # Where each split is by another person, it may be a part of the person's name.
    is_part_of_name = n_people > 1 and (len(splits) == n_splits or "" in people)
    if not is_once or n_splits < 2 or is_part_of_name:
        return None
    of_split: defaultdict[str, set[str | None]] = defaultdict(set)
    for split, each in zip(splits, _images(files), strict=True):
        of_split[split] |= each
    is_apart = sum(map(len, of_split.values())) == len(set().union(*of_split.values()))
    named = () if is_apart else splits
    if n_people == 1:
        return People([UNNAMED] * len(places), "", named)
    listed = ", ".join(dict.fromkeys(splits))
    return People(people, f"names of files and folders without splits ({listed})", named)


def _without_split(place: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """Return the split in a path, and the path without it; None if it has none, or several.

    Examples
    --------
    >>> _without_split(("train", "ann")), _without_split(("ann", "instances_val2017"))
    (('train', ('ann',)), ('val', ('ann',)))
    >>> _without_split(("ann-test",)), _without_split(("ann", "contest"))
    (('test', ('ann',)), None)
    """
    found = [(row, each) for row, part in enumerate(place) if (each := split_in(part))]
    if len(found) != 1:
        return None
    ((row, (person, split)),) = found
    return split, (*place[:row], *([person] if person else []), *place[row + 1 :])


def _short(people: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the paths of people as names, without the folders and file names that all have.

    Examples
    --------
    >>> _short([("in", "ann", "_annotations.coco"), ("in", "bob", "_annotations.coco")])
    ['ann', 'bob']
    """
    left = list(people)
    for end in (-1, 0):
        while all(len(each) > 1 for each in left) and len({each[end] for each in left}) == 1:
            left = [each[:-1] if end else each[1:] for each in left]
    return ["/".join(each) for each in left]


def _by_images(places: Sequence[tuple[str, ...]], files: Sequence[AnnotationFile]) -> People | None:
    folders, names = _folders_and_names(places)
    if not _is_grid(folders, names):
        return None
    images = _images(files)
    if any(None in each for each in images):
        return None
    is_apart_in_folders, is_apart_by_name = _is_apart(images, folders), _is_apart(images, names)
    if is_apart_in_folders == is_apart_by_name:
        return None
    if is_apart_in_folders:
        return People(folders, "one folder per annotator")
    return People(names, "files of one name per annotator")


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
        images = [
            msgspec.structs.replace(image, file_name=f"{split}/{image.file_name}")
            if image.file_name
            else image
            for image in file.images
        ]
        note = f"images are called {split}/…, since another split has images of the same names"
        named.append(replace(file, images=images, notes=(*file.notes, note)))
    return [*named, *files[len(named) :]]


def refuse_videos(files: Sequence[AnnotationFile]) -> None:
    """Refuse files of several videos without names, the frames of which have the same numbers.

    Tasks with different names are of different videos, and so are the files of one person in
    ann/clip1.xml, ann/clip2.xml, bob/clip1.xml and bob/clip2.xml.
    """
    folders, names = _folders_and_names(_places([Path(file.source.name) for file in files]))
    tasks = {file: file.task_of_frames for file in files if file.task_of_frames}
    pair = _with_one_image([*tasks], [""] * len(tasks), [*tasks.values()])
    shown = [f" (task {one_line(tasks[each] or '')!r})" for each in pair]
    if not pair and all(file.task_of_frames is not None for file in files):
        pair = _with_one_image(files, folders, names) if _is_grid(folders, names) else ()
        shown = [""] * len(pair)
    if not pair:
        return
    found = " and ".join(
        f"{one_line(file.source.name)}{task}" for file, task in zip(pair, shown, strict=True)
    )
    problem = f"{found}: frames of the same numbers, but of different videos, as it seems"
    raise DatasetError(
        [f"{problem}; expected files of one video"],
        f"Measure one video at a time, {pattern_option(files, pair[0])}\n"
        "If all are of one video: bboxqa agree --annotator ann=FILE --annotator bob=FILE",
    )


def pattern_option(files: Sequence[AnnotationFile], file: AnnotationFile) -> str:
    """Return how to choose the files that have the name of one of them below their folders."""
    _, names = _folders_and_names(_places([Path(each.source.name) for each in files]))
    below, path = names[files.index(file)].rpartition("/")[0], Path(file.source.name)
    pattern = shlex.quote(f"{below}/{path.name}" if below else path.name)
    return f"by the names of its files: --pattern {pattern}"


def _with_one_image(
    files: Sequence[AnnotationFile], groups: Sequence[str], labels: Sequence[str | None]
) -> tuple[AnnotationFile, ...]:
    """Return the first two files of a group with an image in common and different labels."""
    seen: dict[tuple[str, str | None], tuple[AnnotationFile, str | None]] = {}
    for file, group, label in zip(files, groups, labels, strict=True):
        for image in file.images:
            other, before = seen.setdefault((group, image.file_name), (file, label))
            if before != label:
                return other, file
    return ()


def refuse_shared_images(files: Sequence[AnnotationFile], names: Sequence[str]) -> None:
    """Refuse several files by one annotator if an image is in two of them."""
    seen: dict[str, dict[str | None, str]] = defaultdict(dict)
    for file, name in zip(files, names, strict=True):
        before = seen[name]
        here = {image.file_name: file.source.name for image in file.images}
        for image in sorted(filter(None, before.keys() & here.keys()))[:1]:
            problem = (
                f"annotator {one_line(name)!r}: image {one_line(image)!r} is in "
                f"{one_line(before[image])} and in {one_line(here[image])}; expected one file, "
                "or files about different images"
            )
            raise DatasetError([problem], "Name the file: --annotator NAME=FILE")
        before |= here


def _places(paths: Sequence[Path]) -> list[tuple[str, ...]]:
    """Return the paths below the folder that all share, without suffixes.

    Examples
    --------
    >>> _places([Path("in/ann/b/1.json"), Path("in/bob/b/1.json"), Path("in/bob/2.csv")])
    [('ann', 'b', '1'), ('bob', 'b', '1'), ('bob', '2')]
    """
    whole = [Path(abspath(path)) for path in paths]  # noqa: PTH100 - links keep their names
    shared = Path(commonpath([path.parent for path in whole]))
    below = [path.relative_to(shared) for path in whole]
    return [(*path.parent.parts, own_name(path)) for path in below]


def _folders_and_names(places: Sequence[tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Return the first folder of each path, "" if it has none, and what is below."""
    folders = [place[0] if len(place) > 1 else "" for place in places]
    return folders, ["/".join(place[1:]) for place in places]


def _is_grid(folders: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether each name is in several folders, and some folder has several files."""
    cells = {*zip(folders, names, strict=True)}
    is_once = len(cells) == len(names) and "" not in folders
    return is_once and len({*folders}) < len(cells) and min(Counter(names).values()) > 1


def _is_apart(images: Iterable[set[str | None]], groups: Iterable[str]) -> bool:
    """Return whether no image is in two files of a group."""
    of_group = defaultdict(list)
    for each, group in zip(images, groups, strict=True):
        of_group[group].append(each)
    return all(sum(map(len, sets)) == len(set().union(*sets)) for sets in of_group.values())
