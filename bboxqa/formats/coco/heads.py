"""Recognising COCO JSON by the lists at the beginning and the end of a file."""

import os
import re
from pathlib import Path

LOOKED_AT = 1 << 16
"""Bytes read at either end of a file to recognise COCO, whose lists begin there."""

_LISTS = re.compile(rb'"(?:images|annotations)"\s*:\s*\[|"categories"\s*:\s*\[\s*(?:\{|\]|$)')
# A list of results: the content of the first record, one level deep.
_OF_RECORD = rb"(?:[^{}]|\{[^{}]*\})*?"
_RESULTS_LIST = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*\[\s*\{"
    + rb"(?=%b\"image_id\"\s*:)(?=%b\"(?:score|caption)\"\s*:)" % (_OF_RECORD, _OF_RECORD)
)


_ANY_KEY = re.compile(
    rb'"(?:images|annotations|categories|image_id|category_id|bbox|segmentation|keypoints)"'
)
_SOMETHING = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]\s*[^\s\[\]{}]")
# A list of categories and nothing else, such as panoptic_coco_categories.json.
_OF_CATEGORY = (
    rb'"(?:id|name|supercategory|isthing|color)"\s*:\s*(?:"[^"]*"|\[[\d,\s]*\]|[\w.-]+)\s*'
)
_CATEGORIES_LIST = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*\[\s*\{\s*(?=[^{}]*\"name\")%b(?:,\s*%b)*\}"
    % (_OF_CATEGORY, _OF_CATEGORY)
)


def has_nothing_of_coco(path: Path) -> bool:
    """Return whether a file is JSON with no COCO key near either end.

    Settings and lists of categories are examples. A file that is empty, cut off before its first
    key, or has zero bytes, as UTF-16 does, may be annotations and gives False.
    """
    try:
        with path.open("rb") as file:
            head = file.read(LOOKED_AT)
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOOKED_AT))
            return is_without_coco(head, file.read())
    except OSError:
        return False


def is_without_coco(head: bytes, end: bytes = b"") -> bool:
    """Return whether the content of a file, or its beginning and end, is as `has_nothing_of_coco`.

    Examples
    --------
    >>> is_without_coco(b'{"line": 1}'), is_without_coco(b'{"images": []}'), is_without_coco(b"{")
    (True, False, False)
    >>> is_without_coco(b'[{"id": 1, "name": "cat"}]'), is_without_coco(b'[{"name": "a", "x": 1}]')
    (True, False)
    """
    is_something = _SOMETHING.match(head) or _CATEGORIES_LIST.match(head)
    is_text = is_something is not None and b"\0" not in head
    return is_text and not _ANY_KEY.search(head + end)


def is_coco(name: str, end: bytes) -> bool:
    """Return whether a file has a list of images, annotations or categories near one of its ends.

    Lists of results, which begin with a record of an image and a score or caption, count as COCO.
    So does a file that is cut off or in UTF-16, so that `validate` reports the defect.
    """
    text = end.replace(b"\0", b"")
    is_known = _LISTS.search(text) is not None or _RESULTS_LIST.match(text) is not None
    return is_known and not name.lower().endswith(".fixed.json")
