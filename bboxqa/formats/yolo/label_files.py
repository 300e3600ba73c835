"""The files of a YOLO data set: labels, pictures, lists of images, and names of classes."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from bboxqa.formats.translation.members import Member, members_of, opened_file
from bboxqa.formats.translation.picture_sizes import is_picture
from bboxqa.formats.yolo.label_heads import LISTS, is_label_name, is_names_file, is_names_head

_PLACES = re.compile(r"labels|images|data|obj_[^/]*_data", re.IGNORECASE)
"""Folders that say nothing of an image."""
_SPLITS = re.compile(r"train|valid?|test", re.IGNORECASE)
_ORDER = ("data.yaml", "data.yml", "dataset.yaml", "obj.names", "classes.txt")


@dataclass(slots=True)
class LabelFiles:
    """The files of a data set, by the places of images: their paths without known folders."""

    labels: dict[str, Member] = field(default_factory=dict)
    pictures: dict[str, Member] = field(default_factory=dict)
    listed: dict[str, str] = field(default_factory=dict)
    """Names of images in lists such as train.txt."""
    names: Member | None = None
    names_inside: bool = False
    """Whether the names stand below the source."""
    n_names: int = 0


def label_files_of(path: Path) -> LabelFiles:
    """Return the files of a source.

    Pictures and names may be beside a folder of labels: then all annotators have them together.
    """
    members = members_of(path)
    found = LabelFiles()
    names = [member for member in members if is_names_file(member.name) and _has_names(member)]
    found.names_inside, found.n_names = bool(names), len(names)
    pictures = [member for member in members if is_picture(member.name)]
    for folder in _shared_folders(path) if path.is_dir() else ():
        if not names:
            names = [each for each in _directly_in(folder) if _has_names(each)]
        if not pictures and (folder / "images").is_dir():
            pictures = [each for each in members_of(folder / "images") if is_picture(each.name)]
        if not pictures:
            pictures = [each for each in _directly_in(folder) if is_picture(each.name)]
    found.names = min(names, key=_rank, default=None)
    for each in members:
        if LISTS.fullmatch(PurePosixPath(each.name).name):
            found.listed |= _listed(each)
    labels = [each for each in members if is_label_name(each.name)]
    if any("labels" in _folders(each.name) for each in labels):
        # Other texts are about the data set.
        labels = [each for each in labels if "labels" in _folders(each.name)]
    found.labels = _by_place(labels)
    found.pictures = _by_place(pictures)
    return found


def _has_names(member: Member) -> bool:
    return is_names_file(member.name) and is_names_head(member.name, member.head())


def _rank(member: Member) -> tuple[int, int, str]:
    name = PurePosixPath(member.name).name.lower()
    known = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    return member.name.count("/"), known, member.name


def _shared_folders(path: Path) -> list[Path]:
    """Return the folders above a source that may have names and pictures of all annotators."""
    above = path.resolve().parent
    return [above, above.parent] if above.name.lower() == "labels" else [above]


def _directly_in(folder: Path) -> list[Member]:
    try:
        files = sorted(each for each in folder.iterdir() if each.is_file() and each.name[0] != ".")
    except OSError:
        return []
    return [
        Member(each.name, str(each), each.stat().st_size, partial(opened_file, each))
        for each in files
        if is_picture(each.name) or is_names_file(each.name)
    ]


def _folders(name: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in name.split("/")[:-1])


def _by_place(members: Sequence[Member]) -> dict[str, Member]:
    """Return files by the places of their images; by their whole paths where that is not unique."""
    places = [place_of(member.name) for member in members]
    known = Counter(places)
    return {
        place if known[place] == 1 else _without_suffix(member.name): member
        for place, member in zip(places, members, strict=True)
    }


def place_of(name: str) -> str:
    r"""Return the place of an image by the path of its label file, its picture, or a list.

    Of folders that say what is inside, only those of splits are kept.

    Examples
    --------
    >>> place_of("data/set/labels/train/a/b.txt"), place_of("train/images/b.jpg")
    ('train/a/b', 'train/b')
    >>> place_of("data/obj_train_data/b.c.jpg"), place_of("C:\\x\\images\\b.jpg"), place_of("b.png")
    ('b.c', 'b', 'b')
    """
    *folders, last = _without_suffix(name.replace("\\", "/")).split("/")
    known = [place for place, each in enumerate(folders) if _PLACES.fullmatch(each)]
    if known:
        before, behind = folders[: known[-1]], folders[known[-1] + 1 :]
        split = [each for each in before[-1:] if _SPLITS.fullmatch(each)]
        folders = [*split, *behind]
    elif folders and (folders[0] == "" or ":" in folders[0]):
        folders = []
    return "/".join([*(each for each in folders if each not in ("", ".", "..")), last])


def _without_suffix(name: str) -> str:
    return name.removesuffix(PurePosixPath(name).suffix)


def _listed(member: Member) -> dict[str, str]:
    """Return the names of images that a list has, by their places."""
    text = member.text().decode("utf-8", "replace")
    return dict(_image_names(line.strip() for line in text.splitlines()))


def _image_names(paths: Iterable[str]) -> Iterable[tuple[str, str]]:
    for path in paths:
        if is_picture(path.replace("\\", "/")):
            place = place_of(path)
            yield place, place + PurePosixPath(path.replace("\\", "/")).suffix
