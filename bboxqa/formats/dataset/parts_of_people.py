"""Finding the files of one person among several: parts of the work, each about other images."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from os.path import commonpath
from pathlib import Path
from typing import NamedTuple

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.text import one_line
from bboxqa.formats.annotations.columns import AnnotationFile


class People(NamedTuple):
    """The annotator of each file, and how they were found."""

    names: list[str]
    way: str


def people_of(files: Sequence[AnnotationFile]) -> People | None:
    """Return who made each file, if folders have files of the same names; None if it is not sure.

    In ann/train.json, ann/val.json, bob/train.json and bob/val.json, folders are people if no
    folder has an image in two files, and files of one name share images. In day1/ann.json,
    day1/bob.json, day2/ann.json and day2/bob.json it is the other way round.
    """
    places = _places([Path(file.source.name) for file in files])
    folders, names = [folder for folder, _ in places], [name for _, name in places]
    if not _is_grid(folders, names):
        return None
    images = [{image.file_name for image in file.images} for file in files]
    if any(None in each for each in images):
        return None
    is_apart_in_folders, is_apart_by_name = _is_apart(images, folders), _is_apart(images, names)
    if is_apart_in_folders == is_apart_by_name:
        return None
    if is_apart_in_folders:
        return People(folders, "one folder per annotator")
    return People(names, "files of one name per annotator")


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


def _places(paths: Sequence[Path]) -> list[tuple[str, str]]:
    """Return for each file its folder below what all share, and its name in that folder.

    Examples
    --------
    >>> _places([Path("in/ann/b/1.json"), Path("in/bob/b/1.json"), Path("in/bob/2.csv")])
    [('ann', 'b/1'), ('bob', 'b/1'), ('bob', '2')]
    """
    shared = Path(commonpath([path.parent for path in paths])) if paths else Path()
    result = []
    for path in paths:
        folder, *below = path.relative_to(shared).parts
        result.append((folder, "/".join((*below[:-1], own_name(path)))) if below else ("", folder))
    return result


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
