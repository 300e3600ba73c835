"""Telling by images which files are one person's: parts of the work are about different images."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from bboxqa.formats.dataset.people.places import Place, folders_and_names, is_grid, names_of_people

OF_FOLDERS = "one folder per annotator"
OF_NAMES = "files of one name per annotator"
"""How it is found who made each file."""

Images = AbstractSet[Hashable]
"""The images of a file, by any names."""


def told_by_images(
    places: Sequence[Place], images: Sequence[Images]
) -> tuple[list[str], str] | None:
    """Return who made the file at each place, and how this is found; None if it is not sure.

    Folders are people if no folder has an image in two files, and files of one name share images.
    If the names are different, each folder must have several files, and folders must share images.
    Names are people if files of one name share no image, and those of a folder do.

    Examples
    --------
    >>> places = [("ann", "1"), ("ann", "2"), ("bob", "3"), ("bob", "4")]
    >>> told_by_images(places, [{"x"}, {"y"}, {"x"}, {"y"}])
    (['ann', 'ann', 'bob', 'bob'], 'one folder per annotator')
    >>> told_by_images([*places, ("cid",)], [{"x"}, {"y"}, {"x"}, {"y"}, {"x"}]) is None
    True
    >>> told_by_images(places, [{"x"}, {"x"}, {"y"}, {"y"}]) is None
    True
    """
    tops = [place[0] for place in places]
    folders, names = folders_and_names(places)
    is_apart_in_folders, is_apart_by_name = is_apart(images, tops), is_apart(images, names)
    if is_grid(folders, names):
        if is_apart_by_name and not is_apart_in_folders:
            people = names_of_people([place[1:] for place in places])
            return people, OF_NAMES
        are_people = not is_apart_by_name
    else:
        are_names_different = len({*names}) == len(names)
        are_people = are_names_different or not is_apart_by_name
        are_people = are_people and min(Counter(tops).values()) > 1
        are_people = are_people and not is_apart_by(tops, images)
    return (tops, OF_FOLDERS) if is_apart_in_folders and are_people else None


def unsure_files(places: Sequence[Place], images: Sequence[Images]) -> list[int]:
    """Return the files of a folder that may be by one person or several, if images do not tell.

    Empty if each file is by another person.

    Examples
    --------
    >>> places = [("pre", "ann"), ("pre", "bob"), ("post", "ann"), ("post", "bob")]
    >>> unsure_files(places, [{"x"}] * 4)
    [0, 1]
    >>> unsure_files([("ann", "1"), ("ann", "2"), ("bob", "1")], [{"x"}, {"y"}, {"x"}])
    [0, 1]
    """
    if is_apart(images, [""] * len(images)):
        return []
    folders, names = folders_and_names(places)
    if not is_grid(folders, names):
        return _parts_of_work(places, images)
    times = Counter(names)
    shared = [row for row, name in enumerate(names) if times[name] > 1]
    return [row for row in shared if folders[row] == folders[shared[0]]]


def _parts_of_work(places: Sequence[Place], images: Sequence[Images]) -> list[int]:
    """Return the files of the first folder that may be parts of one person's work.

    They share no image with each other, but some do with files elsewhere.
    """
    times = Counter(name for each in images for name in each)
    inside: dict[str, list[int]] = defaultdict(list)
    for row, place in enumerate(places):
        inside[place[0]].append(row)
    for rows in inside.values():
        own = [images[row] for row in rows]
        is_shared = any(times[name] > 1 for each in own for name in each)
        if len(rows) > 1 and is_shared and is_apart_by(rows, own):
            return rows
    return []


def is_apart(images: Iterable[Images], groups: Iterable[Hashable]) -> bool:
    """Return whether no image is in two files of a group."""
    of_group = defaultdict(list)
    for each, group in zip(images, groups, strict=True):
        of_group[group].append(each)
    return all(sum(map(len, sets)) == len(set().union(*sets)) for sets in of_group.values())


def is_apart_by(groups: Sequence[Hashable], images: Sequence[Images]) -> bool:
    """Return whether no image is in two groups of files."""
    whole: dict[Hashable, set[Hashable]] = defaultdict(set)
    for group, each in zip(groups, images, strict=True):
        whole[group] |= each
    return is_apart(whole.values(), [""] * len(whole))
