"""What either end of a file shows of the lists of COCO json."""

import os
import re
from pathlib import Path

LOOKED_AT = 1 << 16
"""Bytes read at either end of a file to tell whether it is COCO: its lists begin there."""

_LISTS = re.compile(rb'"(?:images|annotations)"\s*:\s*\[|"categories"\s*:\s*\[\s*(?:\{|\]|$)')
# A list of results: what is in their first record, but not deeper.
_OF_RECORD = rb"(?:[^{}]|\{[^{}]*\})*?"
_RESULTS_LIST = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*\[\s*\{"
    + rb"(?=%b\"image_id\"\s*:)(?=%b\"(?:score|caption)\"\s*:)" % (_OF_RECORD, _OF_RECORD)
)


_ANY_KEY = re.compile(
    rb'"(?:images|annotations|categories|image_id|category_id|bbox|segmentation|keypoints)"'
)
_SOMETHING = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]\s*[^\s\[\]{}]")


def has_nothing_of_coco(path: Path) -> bool:
    """Return whether a file has json with other content, and no key of COCO near either end.

    Such are settings. A file that is empty, or cut off before its first key, may be annotations.
    """
    try:
        with path.open("rb") as file:
            head = file.read(LOOKED_AT)
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOOKED_AT))
            return _SOMETHING.match(head) is not None and not _ANY_KEY.search(head + file.read())
    except OSError:
        return False


def is_coco(name: str, end: bytes) -> bool:
    """Return whether a file has a list of images, annotations or categories near one of its ends.

    Lists of results, which begin with a record of an image and a score or caption, count as well.

    A file that is cut off, or in UTF-16, counts as COCO: what is wrong with it is a finding.
    """
    text = end.replace(b"\0", b"")
    is_known = _LISTS.search(text) is not None or _RESULTS_LIST.match(text) is not None
    return is_known and not name.endswith(".fixed.json")
