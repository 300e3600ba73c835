"""A note on archives of labels in which several folders may be by several people."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bboxqa.core.text import first_few, one_line
from bboxqa.formats.registry import format_of
from bboxqa.formats.supervisely.project import SUPERVISELY
from bboxqa.formats.supervisely.project_heads import META
from bboxqa.formats.task_files import is_split, split_in
from bboxqa.formats.translation.heads import is_archive
from bboxqa.formats.translation.label_folders import INSIDE, may_have_labels
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.members import head_of, members_of
from bboxqa.formats.translation.picture_sizes import is_picture

_SHOWN, _TYPED = 3, 20


class _Place(NamedTuple):
    """Where a file is: in folders that name somebody or something, and in those of splits."""

    named: tuple[str, ...]
    splits: tuple[str, ...]
    file: str


def people_inside(sources: Iterable[Path], *, hidden: bool = False) -> list[str]:
    """Return a note on each archive in which several folders hold labels of the same images."""
    notes = []
    for path in sources:
        if path.is_dir() or not is_archive(head_of(path)):
            continue
        found = format_of(path)
        if not found.recognises_folder:
            continue
        members = members_of(path)
        labels = [each for each in members if may_have_labels(each.name)]
        around = _around(labels)
        # Datasets of a project of Supervisely are not by a person each.
        n_around = sum(map(_is_named, around)) if found is not SUPERVISELY else 0
        people = _people_of(labels, [each for each in members if is_picture(each.name)], n_around)
        if people:
            some = "" if hidden else f" ({first_few(people, _SHOWN, one_line)})"
            # A folder with the classes of a project is one source.
            is_project = found is SUPERVISELY and any(each.name == META for each in members)
            folders = _folders_of(people, labels, n_around, are_whole=is_project)
            typed = _typed("/".join(("FOLDER", *around)), folders, is_project, hidden=hidden)
            notes.append(
                f"{one_line(str(path))}: folders with labels of the same images{some} do not "
                "count as annotators; if each is by another, unpack the archive into a folder of "
                f"its own: bboxqa agree {typed}"
            )
    return notes


def _typed(
    whole: str, folders: Sequence[tuple[str, str]], is_project: bool, *, hidden: bool
) -> str:
    """Return what reads the `folders` of people, each with its person; the `whole` if none."""
    if is_project:
        typed = shlex.join(f"FOLDER/{each}" for _, each in folders)
        return "FOLDER/PERSON FOLDER/PERSON" if hidden else one_line(typed)
    if not folders:
        return "FOLDER" if hidden else one_line(whole)
    named = [f"{person}=FOLDER/{each}" for person, each in folders[:_TYPED]]
    if hidden:
        named = ["NAME=FOLDER/PERSON"] * 2
    return one_line(shlex.join(word for each in named for word in ("--annotator", each)))


def _folders_of(
    people: Sequence[str], labels: Sequence[Member], n_around: int, *, are_whole: bool
) -> list[tuple[str, str]]:
    """Return the folders of people, each with its person, where the folder around is not read.

    It is read if the folders hold labels, and have to be named if these are in deeper folders.
    """
    found: dict[tuple[str, str], None] = {}
    is_deeper = are_whole
    for member in labels:
        parts = PurePosixPath(member.name).parent.parts
        named = [place for place, part in enumerate(parts) if _is_named(part)]
        if len(named) > n_around and parts[named[n_around]] in people:
            found[parts[named[n_around]], "/".join(parts[: named[n_around] + 1])] = None
            is_deeper |= len(named) > n_around + 1
    return list(found) if is_deeper else []


def _people_of(labels: Sequence[Member], pictures: Sequence[Member], n_around: int) -> list[str]:
    """Return the folders that have labels of images that others have too, and no other pictures."""
    images: dict[str, set[_Place]] = defaultdict(set)
    for person, place in _by_person(labels, n_around):
        images[person].add(place)
    times = Counter(place for inside in images.values() for place in inside)
    people = [each for each, inside in images.items() if any(times[n] > 1 for n in inside)]
    sizes: dict[_Place, int] = {}
    for member in pictures:
        for person, place in _by_person([member], n_around):
            if person in people and sizes.setdefault(place, member.most) != member.most:
                return []
    return people


def _by_person(members: Iterable[Member], n_around: int) -> Iterable[tuple[str, _Place]]:
    """Yield the folder of a person, below those around all people, and the place in it."""
    for member in members:
        named, splits, file = _place_of(member.name)
        if len(named) > n_around:
            yield named[n_around], _Place(named[n_around + 1 :], splits, file)


def _around(labels: Sequence[Member]) -> tuple[str, ...]:
    """Return the folders around all labels, up to the last that is not a part of a data set."""
    folders = [PurePosixPath(each.name).parent.parts for each in labels]
    shared = [each[0] for each in takewhile(_are_equal, zip(*folders, strict=False))]
    last = max((place for place, each in enumerate(shared) if _is_named(each)), default=-1)
    return tuple(shared[: last + 1])


def _are_equal(names: Sequence[str]) -> bool:
    return len({*names}) == 1


def _place_of(name: str) -> _Place:
    folder, _, file = name.rpartition("/")
    return _Place(*_parts_of(folder), file)


@lru_cache(1024)
def _parts_of(folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the parts of the path of a folder that name somebody or something, and the splits."""
    parts = PurePosixPath(folder).parts
    found = filter(None, map(split_in, parts))
    splits = tuple(split for beside, split in found if not beside)
    return tuple(filter(_is_named, parts)), splits


def _is_named(folder: str) -> bool:
    """Return whether a folder may have the name of a person or of a project."""
    return not INSIDE.fullmatch(folder) and not is_split(folder)
