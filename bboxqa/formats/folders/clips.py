"""Pictures that tell folders of people from those of images by one person, such as clips."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from filecmp import cmp
from itertools import islice
from pathlib import Path, PurePosixPath
from unicodedata import normalize

from bboxqa.core.file_names import IMAGE_SUFFIXES
from bboxqa.formats.translation.heads import as_utf8
from bboxqa.formats.translation.images.image_places import place_of, without_suffix
from bboxqa.formats.translation.images.label_images import folders_around, picture_folders
from bboxqa.formats.translation.label_folders import (
    LISTS,
    LOOKED_AT,
    OF_PICTURES,
    files_by_folder,
    folders_and_files,
    may_have_labels,
)
from bboxqa.formats.translation.members import head_of
from bboxqa.formats.translation.picture_sizes import is_picture

# The most pairs of pictures whose content is compared.
_COMPARED = 8


def share_pictures(people: Iterable[Path]) -> bool:
    """Return whether pictures around folders of labels show that these are of the same images.

    They have to show it in each folder that is around some of them, such as that of a split.
    Folders of labels of other images, such as clips, have pictures of their own.
    """
    parts: dict[Path, list[Path]] = defaultdict(list)
    for each in people:
        parts[each.parent].append(each)
    return all(map(_share_pictures, parts.values()))


def _share_pictures(folders: Sequence[Path]) -> bool:
    """Return whether the pictures of labels are where `pictures_of` finds those of all folders."""
    around, above, split = folders_around(folders[0])
    beside = [inside for each in around for inside in picture_folders(each)]
    of_split = [inside / split for each in above for inside in picture_folders(each)]
    labels = _labels(folders)
    return any(_has_picture(each, labels) for each in (*around, *beside, *of_split))


def _labels(folders: Iterable[Path]) -> set[str]:
    """Return the places of labels: those that several of the folders have, if any are."""
    times = Counter(place for folder in folders for place in _places(folder))
    return {place for place, n_folders in times.items() if n_folders > 1} or {*times}


def _places(folder: Path) -> set[str]:
    return {
        place_of(f"{inside}/{name}")
        for here, files in files_by_folder(folder)
        for inside in [here.relative_to(folder).as_posix()]
        for name in files
        if may_have_labels(name)
    }


def _has_picture(folder: Path, labels: Iterable[str]) -> bool:
    """Return whether the picture of a label is in a folder, maybe in the other Unicode form."""
    named: dict[Path, set[str]] = defaultdict(set)
    for label in labels:
        inside, _, name = label.rpartition("/")
        named[folder / inside].add(normalize("NFC", name))
    for here, names in named.items():
        with suppress(OSError), os.scandir(here) as found:
            pictures = (without_suffix(each.name) for each in found if is_picture(each.name))
            if any(normalize("NFC", each) in names for each in pictures):
                return True
    return False


def have_other_pictures(folders: Sequence[Path], whole: Path) -> bool:
    """Return whether folders of labels are those of images, as of videos, and not of people.

    Folders that share pictures are those of people. Other pictures are with the labels, or in
    folders of the same names: images/train/clip1 and labels/train/clip1. Those folders or a list of
    images may be beside the `whole` data set. If most pictures of one name are equal, people have a
    copy each; if none has the name of another, folders of the same names are those of images.
    """
    if share_pictures(folders):
        return False
    above = folders[0].parent
    parts = above.relative_to(whole).parts
    around = [above, *islice(above.parents, len(parts)), whole.resolve().parent]
    of_images = [each for folder in around for each in _folders_of_images(folder, parts)]
    beside = {each: _with_pictures(each, of_images) for each in folders}
    differ = _differ([each, *beside[each]] for each in folders)
    if differ is not None:
        return differ
    return any(beside.values()) or any(_are_listed(folders, each) for each in around)


def _folders_of_images(beside: Path, parts: Sequence[str]) -> list[Path]:
    """Return the folders of images in a folder; images may be in those of parts of a data set."""
    return [each / part for each in picture_folders(beside) for part in ("", *parts)]


def _with_pictures(folder: Path, of_images: Iterable[Path]) -> list[Path]:
    """Return the first folder of images called like one of labels, with the picture of a label."""
    named = (each / folder.name for each in of_images)
    found = (each for each in named if each.is_dir() and _has_picture(each, _labels([folder])))
    return [*islice(found, 1)]


def _are_listed(folders: Sequence[Path], beside: Path) -> bool:
    """Return whether a list of images in a folder names those in folders of the same names."""
    names = {each.name for each in folders}
    _, files = folders_and_files(beside, LOOKED_AT)
    for each in filter(LISTS.fullmatch, files):
        listed = as_utf8(head_of(beside / each)).decode("utf-8", "replace").replace("\\", "/")
        if any(names & {*line.split("/")[:-1]} for line in listed.splitlines()):
            return True
    return False


def _differ(groups: Iterable[Iterable[Path]]) -> bool | None:
    """Return whether most pictures of one name in groups of folders differ; None if there are none.

    People may have changed a few.
    """
    seen: dict[str, str] = {}
    pairs: dict[str, str] = {}
    for group in groups:
        own = {each.name: each.path for folder in group for each in _pictures_in(folder)}
        pairs |= {path: seen[name] for name, path in own.items() if name in seen}
        for name, path in own.items():
            seen.setdefault(name, path)
    sample = sorted(pairs.items())[:: 1 + len(pairs) // _COMPARED]
    with suppress(OSError):
        n_other = sum(not cmp(*pair, shallow=False) for pair in sample)
        return 2 * n_other > len(sample) if sample else None
    return None


def _pictures_in(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the pictures in a folder, and in its folders of images."""
    for here in (folder, *(folder / each for each in folders_and_files(folder, LOOKED_AT)[0])):
        if here != folder and not OF_PICTURES.fullmatch(here.name):
            continue
        with suppress(OSError), os.scandir(here) as found:
            for each in islice(found, LOOKED_AT):
                if PurePosixPath(each.name).suffix.lower() in IMAGE_SUFFIXES:
                    yield each
