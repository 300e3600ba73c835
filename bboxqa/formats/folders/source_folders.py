"""Finding the sources in a folder: those of each person."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from bboxqa.core.file_names import folders_in
from bboxqa.core.remembered import once
from bboxqa.formats.folders.clips import have_other_pictures
from bboxqa.formats.registry import (
    all_formats,
    format_of,
    has_coco,
    has_parts,
    is_of_one_image,
    is_source,
    is_source_of,
)
from bboxqa.formats.task_files import is_split
from bboxqa.formats.translation.label_folders import share_images

_DEPTH = 6
_LOOKED_AT = 50
_OF_LABELS = ("labels", "Annotations", "annotations")


def sources_below(folder: Path, *, is_whole: bool = False) -> list[Path]:
    """Return the folder itself if it is one source, else the sources among its subfolders.

    Each subfolder has the annotations of one person, maybe in parts: ann/batch1, ann/batch2,
    bob/batch1. Beside others, a person may have one source in a deeper folder: eve/export/labels.
    The folders of people may be in those of splits: train/ann, train/bob, val/ann, val/bob. Of
    several sources, each is by one person: ann/train/clip1, bob/train/clip1. So is a folder that
    `is_whole`.
    """
    found = _sources_below(folder, _DEPTH)
    return found if is_whole or len(found) != 1 else people_in_parts(found[0]) or found


def whole_source(folder: Path) -> Path | None:
    """Return the only source in a folder, which may be by several people; None for several."""
    found = _sources_below(folder, _DEPTH)
    return found[0] if len(found) == 1 else None


def people_in_parts(source: Path) -> list[Path]:
    """Return the folders of people in the splits of a source, or in its folder of labels."""
    return people_among(folders_in_parts(source))


def people_among(parts: Sequence[Sequence[Path]]) -> list[Path]:
    """Return the folders in the parts of a source if they are those of people.

    Either there is one part, or each shares a person with another. In train/clip1, train/clip2 and
    val/clip3, nothing says that folders are people. Each is a source: labels may be in folders
    inside of them, which are too deep.
    """
    times = Counter(name for part in parts for name in {each.name for each in part})
    are_people = len(parts) == 1 or all(
        any(times[each.name] > 1 for each in part) for part in parts
    )
    people = [each for part in parts for each in part]
    return people if are_people and all(map(is_source, people)) else []


@once(str)
def folders_in_parts(source: Path) -> list[list[Path]]:
    """Return the folders in each split of a source that may be of people, as far as is known.

    Empty if pictures show that these folders are those of other images each, as of videos.
    """
    found = format_of(source).folders_in_parts
    parts = [] if found is None else found(source)
    return [] if any(have_other_pictures(each, source) for each in parts) else parts


def _sources_below(folder: Path, depth: int) -> list[Path]:
    if is_source(folder):
        return [folder]
    if not depth or has_coco(folder) or not any(each.recognises_folder for each in all_formats()):
        return []
    try:
        inside = folders_in(folder)
    except OSError:
        # Listing the files to read refuses it.
        return []
    found = [each for each in inside if is_source(each)]
    people = [each for each in inside if each in found or has_parts(each)]
    if len(people) > len(found) and share_images(people):
        return people
    if found:
        others = [_sources_below(each, depth - 1) for each in inside if each not in found]
        return sorted([*found, *(each[0] for each in others if len(each) == 1)])
    # The labels of all annotators may be in a folder next to the folder of images, or in splits.
    around = [each for each in inside if is_around_people(each)]
    return [each for below in around for each in _sources_below(below, depth - 1)]


def is_around_people(folder: Path) -> bool:
    """Return whether the folders of people may be in a folder, by its name: labels, or a split."""
    return folder.name in _OF_LABELS or is_split(folder.name)


def sources_deeper(folder: Path) -> list[Path]:
    """Return the sources that `sources_below` passes over, as they are deeper than others."""
    found = sources_below(folder)
    if not found or folder in found:
        return []
    read = {above for source in found for above in (source, *source.parents)}
    without = (each for each in folders_in(folder) if each not in read)
    return [source for each in without for source in sources_below(each)]


def labels_beside_coco(folder: Path) -> list[Path]:
    """Return the folder itself, or else the sources in it, where labels are next to COCO JSON."""
    if not has_coco(folder):
        return []
    if any(is_source_of(each, folder) for each in all_formats()) or _has_several_images(folder):
        return [folder]
    return [source for each in folders_in(folder) for source in sources_below(each)]


def _has_several_images(folder: Path) -> bool:
    """Return whether several files of one image each are directly in a folder."""
    files = (each for each in sorted(folder.iterdir()) if each.suffix.lower() in (".json", ".xml"))
    return sum(map(is_of_one_image, islice(files, _LOOKED_AT))) > 1
