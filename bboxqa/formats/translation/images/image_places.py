"""The places of images, by which labels, pictures and lists of images are joined."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PureWindowsPath
from typing import TypeVar
from unicodedata import normalize

from bboxqa.formats.splits import is_split
from bboxqa.formats.translation.label_folders import OF_CONTENT, OF_PICTURES
from bboxqa.formats.translation.member import Member

_Found = TypeVar("_Found")
_PLACES = re.compile(rf"{OF_CONTENT}|exports?", re.IGNORECASE)
"""Folders whose names do not belong to image names."""
_FOLDERS = 4
"""The most folders by which images of one name are told apart."""


def place_of(name: str) -> str:
    r"""Return the place of an image from the path of its label file, its image file, or a list.

    Folders that name their content are removed, except for splits.

    Examples
    --------
    >>> place_of("data/set/labels/train/a/b.txt"), place_of("train/images/b.jpg")
    ('train/a/b', 'train/b')
    >>> place_of("valid/img/b.jpg"), place_of("labels/img/b.txt"), place_of("clip/img/b.jpg")
    ('valid/b', 'img/b', 'clip/img/b')
    >>> place_of("data/obj_train_data/b.c.jpg"), place_of("C:\\x\\images\\b.jpg"), place_of("b.png")
    ('b.c', 'b', 'b')
    """
    folder, _, last = without_suffix(name.replace("\\", "/")).rpartition("/")
    return _place_of_folder(folder) + last


@lru_cache(1024)
def _place_of_folder(name: str) -> str:
    """Return the prefix of the places of all images of a folder."""
    folders = name.split("/")
    known = [place for place, each in enumerate(folders) if _PLACES.fullmatch(each)]
    if known:
        before, behind = folders[: known[-1]], folders[known[-1] + 1 :]
        split = [each for each in before[-1:] if is_split(each)]
        folders = [*split, *behind]
    elif folders[0] == "" or ":" in folders[0]:
        folders = []
    else:
        # Deeper ones may be those of clips: clip1/frames/a.jpg.
        first = int(is_split(folders[0]))
        is_of_pictures = [*map(OF_PICTURES.fullmatch, folders[first : first + 1])]
        folders = [*folders[:first], *folders[first + any(is_of_pictures) :]]
    return "".join(f"{each}/" for each in folders if each not in ("", ".", ".."))


def without_suffix(name: str) -> str:
    """Return a path without the suffix of its last part."""
    stem, point, suffix = name.rpartition(".")
    return stem if point and "/" not in suffix and stem and stem[-1] != "/" else name


def path_below(name: str) -> str:
    r"""Return the part of a path that does not depend on the computer.

    Examples
    --------
    >>> path_below("C:\\users\\me\\a.jpg"), path_below("/home/me/a.jpg"), path_below("day/a.jpg")
    ('a.jpg', 'a.jpg', 'day/a.jpg')
    """
    if PureWindowsPath(name).drive or name.startswith(("/", "\\")):
        return PureWindowsPath(name).name
    parts = name.replace("\\", "/").split("/")
    return PureWindowsPath(name).name if ".." in parts else "/".join(parts)


def by_place(members: Sequence[Member]) -> dict[str, Member]:
    """Return files by the places of their images, or by full paths if places are not unique."""
    places = [place_of(member.inner) for member in members]
    if len({*places}) == len(places):
        return dict(zip(places, members, strict=True))
    known = Counter(places)
    return {
        place if known[place] == 1 else without_suffix(member.inner): member
        for place, member in zip(places, members, strict=True)
    }


def spelled_as(found: Mapping[str, _Found], labelled: Collection[str]) -> dict[str, _Found]:
    r"""Return what is found by place with the places of label files, where letters are the same.

    macOS decomposes letters with marks in names of files (Unicode form NFD), which others compose.

    Examples
    --------
    >>> spelled_as({"\u00e9": 1, "a": 2}, ["e\u0301", "a"]) == {"e\u0301": 1, "a": 2}
    True
    """
    other = [each for each in labelled if not each.isascii() and each not in found]
    wanted = {normalize("NFC", each): each for each in other}
    kept = {*labelled}
    return {
        place if place in kept else wanted.get(normalize("NFC", place), place): each
        for place, each in found.items()
    }


def known_places(places: Iterable[str], known: set[str]) -> list[str]:
    """Return the place of each image as it is known, if it is.

    That is itself, without folders of labels around it, or the only one of its name. Images in
    several folders, such as clips, may have the same names.

    Examples
    --------
    >>> known_places(["xml/day/a", "new/a", "new/b", "c"], {"day/a", "night/a", "day/b"})
    ['day/a', 'new/a', 'day/b', 'c']
    """
    by_name: dict[str, list[str]] = {}
    for each in known:
        by_name.setdefault(each.rpartition("/")[2], []).append(each)

    def known_place(place: str) -> str:
        alike = by_name.get(place.rpartition("/")[2], [])
        only = alike[0] if len(alike) == 1 else place
        return next((end for end in ends_of(place) if end in known), only)

    return [*map(known_place, places)]


def ends_of(place: str) -> Iterator[str]:
    """Yield the ends of a place, from that with most folders to its name."""
    parts = place.rsplit("/", _FOLDERS + 1)[-_FOLDERS - 1 :]
    for first in range(len(parts)):
        yield "/".join(parts[first:])
