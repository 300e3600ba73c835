"""Recognising Datumaro JSON."""

import re
from pathlib import Path

from bboxqa.formats.translation.json_files import all_begin, json_in, recognises_text

_HEAD = re.compile(
    rb'\{(?!.*"images"\s*:)(?=.*"categories"\s*:\s*\{\s*(?:"|\}))'
    rb'(?:.*"items"\s*:\s*\[|.*"dm_format_version"\s*:'
    rb'|.*"categories"\s*:\s*\{\s*"label"\s*:\s*\{)',
    re.DOTALL,
)
# File names of the subsets of a data set.
_SUBSETS = frozenset({"default", "train", "training", "val", "valid", "validation", "test"})


def looks_right(head: bytes) -> bool:
    """Return whether a text begins like a Datumaro file."""
    return _HEAD.match(head) is not None


recognises = recognises_text(looks_right)
"""Return whether a file is of this format."""


def is_folder(folder: Path) -> bool:
    """Return whether a folder is one data set; files with other names belong to annotators."""
    if all_begin(looks_right, folder / "annotations"):
        return True
    names = {file.stem.lower() for file in json_in(folder)}
    return bool(names) and names <= _SUBSETS and all_begin(looks_right, folder)
