"""Files of the same annotations as another one, as data sets in several layouts have them."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from bboxqa.core.text import count, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.dataset.overlapping_splits import shared_images
from bboxqa.formats.dataset.people.places import places_of
from bboxqa.formats.task_files import KEYPOINTS, OBJECTS, task_of, without_split


def read_twice(
    files: Sequence[Path],
    read: Sequence[AnnotationFile],
    groups: Sequence[str],
    *,
    keypoints: bool,
) -> dict[int, str]:
    """Return the places of files whose annotations another one has as well, each with a note.

    Only files of one group are compared. With `keypoints`, the file that has these stays.
    """
    is_one_folder = len({file.parent for file in files}) == 1
    tasks = partial(_other_tasks, keypoints=keypoints, is_one_folder=is_one_folder)
    found: dict[int, str] = {}
    for group in dict.fromkeys(groups):
        inside = [place for place, each in enumerate(groups) if each == group]
        for search in (tasks, _copied_splits, _parts_of_splits):
            left = [place for place in inside if place not in found]
            copies = search([files[each] for each in left], [read[each] for each in left])
            found |= {left[place]: note for place, note in copies.items()}
    return found


def _other_tasks(
    files: Sequence[Path],
    read: Sequence[AnnotationFile],
    *,
    keypoints: bool,
    is_one_folder: bool,
) -> dict[int, str]:
    """Return the places of files for another task, as person_keypoints_val.json often is."""
    place = {task: number for number, task in enumerate(map(task_of, files)) if task is not None}
    called = [one_line(file.name if is_one_folder else str(file)) for file in files]
    found = {}
    for (kind, *of), number in place.items():
        whole = place.get((OBJECTS, *of)) if kind == KEYPOINTS else None
        if whole is None or not _is_part_of(read[number], read[whole]):
            continue
        n = count(len(read[number].columns.id), "annotation")
        left, kept = (whole, number) if keypoints else (number, whole)
        has = f"have the same {n}; the second is left out"
        found[left] = f"{called[kept]} and {called[left]} {has}"
    return found


def _copied_splits(files: Sequence[Path], read: Sequence[AnnotationFile]) -> dict[int, str]:
    """Return the places of copies of a split, as annotations/train.json and train/coco.json.

    Only if a person, or nobody, has several splits: others may be by annotators.
    """
    places = [without_split(place) for place in places_of(files)]
    splits_of = defaultdict(set)
    for split, person in places:
        splits_of[person].add(split)
    found: dict[int, str] = {}
    for one, other in combinations(range(len(files)), 2):
        split, person = places[one]
        if one in found or not split or len(splits_of[person]) < 2 or places[other] != places[one]:
            continue
        n_annotations = len(read[one].columns.id)
        if n_annotations == len(read[other].columns.id) and _is_part_of(read[other], read[one]):
            has = f"have the same {count(n_annotations, 'annotation')}; the second is left out"
            found[other] = f"{one_line(str(files[one]))} and {one_line(str(files[other]))} {has}"
    return found


def _parts_of_splits(files: Sequence[Path], read: Sequence[AnnotationFile]) -> dict[int, str]:
    """Return the places of splits whose images another split of the same person has as well.

    Only if all files are of splits, and this holds for all that share images: images of the same
    names may differ. Where files name annotators, a folder is not by one person.
    """
    if any(author.names for file in read for author in file.columns.authors.values()):
        return {}
    places = [without_split(place) for place in places_of(files)]
    if not all(split for split, _ in places):
        return {}
    files_of: dict[tuple[str, ...], dict[int, AnnotationFile]] = defaultdict(dict)
    for number, ((_, person), file) in enumerate(zip(places, read, strict=True)):
        if any(person):
            files_of[person][number] = file
    found: dict[int, str] = {}
    for shared in (each for inside in files_of.values() for each in shared_images(inside)):
        if not found.keys().isdisjoint(shared.files):
            continue
        if shared.copy is None:
            return {}
        part, whole = shared.copy
        both = f"{one_line(str(files[whole]))} and {one_line(str(files[part]))}"
        n_images = count(len(read[part].images), "image")
        found[part] = f"{both} have the same boxes in {n_images}; the second is left out"
    return found


def _is_part_of(part: AnnotationFile, whole: AnnotationFile) -> bool:
    """Return whether all annotations of a file are in another, with their images and boxes."""
    if not len(part.columns.id):
        return False
    order = np.argsort(whole.columns.id, kind="stable")
    ids = whole.columns.id[order]
    at = np.searchsorted(ids, part.columns.id)
    if (at >= len(ids)).any() or (ids[at] != part.columns.id).any():
        return False
    rows = order[at]
    same_box = np.abs(whole.columns.bbox[rows] - part.columns.bbox) <= 0.01
    names = [{each.id: each.file_name for each in file.images} for file in (part, whole)]
    pairs = {
        *zip(part.columns.image_id.tolist(), whole.columns.image_id[rows].tolist(), strict=True)
    }
    return bool(same_box.all()) and all(
        names[0].get(one) == names[1].get(other) for one, other in pairs
    )
