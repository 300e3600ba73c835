"""Files of one data set for several tasks, as COCO and Open Images have: instances_val.json, ….

They are no annotators: objects and their key points or masks are the same annotations, and captions
have none.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from bboxqa.core.file_names import SPLITS
from bboxqa.core.text import count, one_line, such_as

_TASKS = "instances|person_keypoints|captions|panoptic|stuff|labels|image_info"
_NAME = re.compile(rf"({_TASKS})[_-](.+)\.json", re.IGNORECASE)
OBJECTS, KEYPOINTS = "instances", "person_keypoints"
_BOXES = re.compile(r"annotations-bbox\.csv", re.IGNORECASE)
_MASKS = re.compile(r"annotations-object-segmentation\.csv", re.IGNORECASE)
_WITH_SPLIT = re.compile(
    rf"(?:(?:{_TASKS}|oidv6)[_-])?"
    rf"(?:(?:(?P<before>.+)[_. -])?(?P<last>{SPLITS})(?:20\d\d)?(?:-annotations-bbox)?"
    rf"|(?P<first>{SPLITS})(?:20\d\d)?[_. -](?P<after>.+))",
    re.IGNORECASE,
)
# Names that tools give to all exports.
_OF_NOBODY = re.compile(
    rf"{_TASKS}|_?annotations|(?:_annotations\.)?coco|instances_default", re.IGNORECASE
)
_SAME = {"training": "train", "valid": "val", "validation": "val", "testing": "test"}


def without_other_tasks(
    files: Sequence[Path], *, hidden: bool = False
) -> tuple[list[Path], list[str]]:
    """Return files without those of captions and the like beside one of objects, and notes.

    Notes that are `hidden` do not say the names of files.
    """
    known = {task_of(file) for file in files}
    others = [
        file
        for file in files
        if (found := task_of(file)) is not None and found[0] not in (OBJECTS, KEYPOINTS)
        if {(OBJECTS, *found[1:]), (KEYPOINTS, *found[1:])} & known
    ]
    with_boxes = {file.parent for file in files if _BOXES.search(file.name)}
    masks = [file for file in files if _MASKS.search(file.name) and file.parent in with_boxes]
    notes = [
        f"{count(len(left), kind)} left out: {why}"
        + ("" if hidden else such_as(len(left), one_line(str(left[0]))))
        for left, kind, why in (
            (others, "JSON file", "other tasks than objects"),
            (masks, "table", "masks of objects whose boxes are in the other tables of Open Images"),
        )
        if left
    ]
    left_out = {*others, *masks}
    return [file for file in files if file not in left_out], notes


def split_in(name: str) -> tuple[str, str] | None:
    """Return what stands beside the split in the name of a folder or file, and the split.

    Examples
    --------
    >>> split_in("instances_train2017"), split_in("bob_valid"), split_in("contest")
    (('', 'train'), ('bob', 'val'), None)
    >>> split_in("oidv6-train-annotations-bbox"), split_in("test_bob")
    (('', 'train'), ('bob', 'test'))
    """
    found = _WITH_SPLIT.fullmatch(name)
    if found is None:
        return None
    split = (found["last"] or found["first"]).lower()
    return found["before"] or found["after"] or "", _SAME.get(split, split)


def is_split(name: str) -> bool:
    """Return whether the name of a folder is that of a split, and of nothing else.

    Examples
    --------
    >>> [is_split(name) for name in ("train", "Val2017", "instances_test", "bob_val", "contest")]
    [True, True, True, False, False]
    """
    found = split_in(name)
    return found is not None and not found[0]


def without_split(place: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the split in a path, "" if it has none or several, and the path without it.

    What tools call all exports is no part of the path without a split.

    Examples
    --------
    >>> without_split(("train", "ann")), without_split(("ann", "instances_val2017"))
    (('train', ('ann',)), ('val', ('ann',)))
    >>> without_split(("test", "ann-test")), without_split(("ann", "contest"))
    (('test', ('ann',)), ('', ('ann', 'contest')))
    >>> without_split(("annotations", "validation")), without_split(("val", "coco"))
    (('val', ()), ('val', ()))
    """
    found = [split_in(part) for part in place]
    splits = {each[1] for each in found if each is not None}
    if len(splits) != 1:
        return "", tuple(place)
    kept = [part if each is None else each[0] for part, each in zip(place, found, strict=True)]
    # In ann/ann_train.json, ann is named twice.
    people = dict.fromkeys(part for part in kept if part and not _OF_NOBODY.fullmatch(part))
    return splits.pop(), tuple(people)


def names_nobody(part: str) -> bool:
    """Return whether a folder or file has the name of a split, or one that tools give to all.

    Examples
    --------
    >>> [names_nobody(each) for each in ("train", "annotations", "train_ann", "ann")]
    [True, True, False, False]
    """
    return _OF_NOBODY.fullmatch(part) is not None or is_split(part)


def splits_among(names: Collection[str]) -> set[str]:
    """Return the names of files and folders that are those of splits, and of no person.

    Examples
    --------
    >>> sorted(splits_among(["train", "instances_val2017", "val/_annotations.coco", "ann_test"]))
    ['instances_val2017', 'train', 'val/_annotations.coco']
    >>> splits_among(["val", "ann"])
    set()
    """
    of_names = {name: without_split(name.split("/")) for name in names}
    found = {name for name, (split, person) in of_names.items() if split and not person}
    # Beside people and no other split, Val is one of them.
    is_person = {name.lower() for name in found} == {"val"} and len(found) < len(of_names)
    return set() if is_person else found


def task_of(file: Path) -> tuple[str, ...] | None:
    """Return the task of a file, its folder and the part of the data set; None without a task."""
    found = _NAME.fullmatch(file.name)
    return (found[1].lower(), str(file.parent), found[2]) if found else None
