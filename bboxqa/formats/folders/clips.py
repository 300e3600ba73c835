"""Pictures that tell folders of people from those of images by one person, such as clips."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from filecmp import cmp
from itertools import islice
from pathlib import Path, PurePosixPath

from bboxqa.core.file_names import IMAGE_SUFFIXES
from bboxqa.formats.translation.heads import as_utf8
from bboxqa.formats.translation.label_folders import LISTS, LOOKED_AT, folders_and_files
from bboxqa.formats.translation.label_images import folders_around
from bboxqa.formats.translation.members import head_of
from bboxqa.formats.translation.picture_sizes import is_picture

_OF_PICTURES = re.compile(r"(?:jpeg)?images?|imgs?|frames?|pics?|pictures?|photos?", re.IGNORECASE)
_SHARED = ("images", "JPEGImages")
# The most pairs of pictures whose content is compared.
_COMPARED = 8


def share_pictures(people: Iterable[Path]) -> bool:
    """Return whether pictures around folders of labels show that these are of the same images.

    Folders of labels of other images, such as clips, have pictures of their own.
    """
    one_of_each_part = {each.parent: each for each in people}
    return all(map(_has_shared_pictures, one_of_each_part.values()))


def _has_shared_pictures(path: Path) -> bool:
    """Return whether pictures are around a source, as those that several annotators share.

    They are directly in one of the places in which `pictures_of` looks for them.
    """
    around, above, split = folders_around(path)
    beside = [each / name for each in around for name in _SHARED]
    of_split = [each / name / split for each in above for name in _SHARED]
    return any(map(_has_picture, (*around, *beside, *of_split)))


def _has_picture(folder: Path) -> bool:
    with suppress(OSError), os.scandir(folder) as inside:
        return any(is_picture(each.name) for each in inside)
    return False


def _have_pictures(folder: Path, names: set[str], parts: Sequence[str]) -> bool:
    """Return whether pictures of a data set, or of a list in it, are in folders of these names.

    Folders of pictures may be in those of the parts of the data set, such as splits.
    """
    with suppress(OSError):
        inside = sorted(islice(folder.iterdir(), LOOKED_AT))
        if any(
            (each / part / name).is_dir()
            for each in inside
            if _OF_PICTURES.fullmatch(each.name)
            for part in ("", *parts)
            for name in names
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

    Either pictures are in folders of the same names, images/train/clip1 beside labels/train/clip1,
    or pictures in two folders have the same name and different content. Pictures may be beside
    the `whole` data set.
    """
    above = folders[0].parent
    names = {each.name for each in folders}
    parts = above.relative_to(whole).parts
    around = [above, *islice(above.parents, len(parts)), whole.resolve().parent]
    if any(_have_pictures(each, names, parts) for each in around):
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
        if here != folder and not _OF_PICTURES.fullmatch(here.name):
            continue
        with suppress(OSError), os.scandir(here) as found:
            for each in islice(found, LOOKED_AT):
                if PurePosixPath(each.name).suffix.lower() in IMAGE_SUFFIXES:
                    yield each
