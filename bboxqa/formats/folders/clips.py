"""Pictures that tell folders of people from those of images by one person, such as clips."""

import os
import re
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
from bboxqa.formats.translation.images.label_images import folders_around
from bboxqa.formats.translation.label_folders import (
    LISTS,
    LOOKED_AT,
    files_by_folder,
    folders_and_files,
    may_have_labels,
)
from bboxqa.formats.translation.members import head_of
from bboxqa.formats.translation.picture_sizes import is_picture

OF_PICTURES = re.compile(r"(?:jpeg)?images?|imgs?|frames?|pics?|pictures?|photos?", re.IGNORECASE)
_SHARED = ("images", "JPEGImages")
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
    beside = [each / name for each in around for name in _SHARED]
    of_split = [each / name / split for each in above for name in _SHARED]
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


def _have_pictures(beside: Path, folders: Sequence[Path], parts: Sequence[str]) -> bool:
    """Return whether pictures of a data set, or of a list in it, are in folders of the same names.

    Folders of pictures may be in those of the parts of the data set, such as splits.
    """
    names = {each.name for each in folders}
    with suppress(OSError):
        inside = sorted(islice(beside.iterdir(), LOOKED_AT))
        if any(
            (place := each / part / folder.name).is_dir() and _has_picture(place, _labels([folder]))
            for each in inside
            if OF_PICTURES.fullmatch(each.name)
            for part in ("", *parts)
            for folder in folders
        ):
            return True
        for each in inside:
            if LISTS.fullmatch(each.name) and each.is_file():
                listed = as_utf8(head_of(each)).decode("utf-8", "replace").replace("\\", "/")
                if any(names & {*line.split("/")[:-1]} for line in listed.splitlines()):
                    return True
    return False


def have_other_pictures(folders: Sequence[Path], whole: Path) -> bool:
    """Return whether folders of labels are those of images, as of videos, and not of people.

    Either pictures of the labels are in folders of the same names, images/train/clip1 beside
    labels/train/clip1, or pictures in two folders have the same name and different content.
    Pictures may be beside the `whole` data set. Folders that share pictures are those of people,
    who may have pictures of their labels each.
    """
    if share_pictures(folders):
        return False
    above = folders[0].parent
    parts = above.relative_to(whole).parts
    around = [above, *islice(above.parents, len(parts)), whole.resolve().parent]
    if any(_have_pictures(each, folders, parts) for each in around):
        return True
    seen: dict[str, os.DirEntry[str]] = {}
    pairs = (
        (seen.setdefault(each.name, each), each)
        for folder in folders
        for each in _pictures_in(folder)
    )
    of_one_size: dict[str, tuple[str, str]] = {}
    with suppress(OSError):
        for first, second in pairs:
            if first.stat().st_size != second.stat().st_size:
                return True
            if first is not second:
                of_one_size[second.path] = first.path, second.path
        # Uncompressed pictures of one camera have one size. People may have changed a few.
        sample = [of_one_size[path] for path in sorted(of_one_size)]
        sample = sample[:: 1 + len(sample) // _COMPARED]
        return 2 * sum(not cmp(*pair, shallow=False) for pair in sample) > len(sample)
    return False


def _pictures_in(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the pictures in a folder, and in its folders of images."""
    for here in (folder, *(folder / each for each in folders_and_files(folder, LOOKED_AT)[0])):
        if here != folder and not OF_PICTURES.fullmatch(here.name):
            continue
        with suppress(OSError), os.scandir(here) as found:
            for each in islice(found, LOOKED_AT):
                if PurePosixPath(each.name).suffix.lower() in IMAGE_SUFFIXES:
                    yield each
