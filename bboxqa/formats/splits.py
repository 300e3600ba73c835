"""Names of the splits of data sets, which are folders of a layout: train, valid2017, test."""

import re

from bboxqa.core.file_names import SPLITS

_WITH_SPLIT = re.compile(
    r"(?:(?:instances|person_keypoints|captions|panoptic|stuff|labels|image_info|oidv6)[_-])?"
    rf"(?:(?:(?P<before>.+)[_. -])?(?P<last>{SPLITS})(?:20\d\d)?(?:-annotations-bbox)?"
    rf"|(?P<first>{SPLITS})(?:20\d\d)?[_. -](?P<after>.+))",
    re.IGNORECASE,
)
_SAME = {"training": "train", "valid": "val", "validation": "val", "testing": "test"}


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
