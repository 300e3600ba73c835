"""The format of Datumaro JSON: a file, or the subsets of a data set in a folder or archive."""

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from bboxqa.formats.format import translated_format
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


def _is_folder(folder: Path) -> bool:
    """Return whether a folder is one data set; files with other names belong to annotators."""
    if all_begin(looks_right, folder / "annotations"):
        return True
    names = [file.name for file in json_in(folder)]
    return bool(names) and are_subsets(names) and all_begin(looks_right, folder)


def are_subsets(names: Sequence[str]) -> bool:
    """Return whether paths of files are those of the subsets of one data set.

    Examples
    --------
    >>> are_subsets(["train.json", "val.json"]), are_subsets(["ann.json", "bob.json"])
    (True, False)
    >>> are_subsets(["x/annotations/day1.json"]), are_subsets(["ann/train.json", "bob/train.json"])
    (True, False)
    """
    paths = [PurePosixPath(each) for each in names]
    folders = {each.parent for each in paths}
    stems = {each.stem.lower() for each in paths}
    of_one = {each.name for each in folders} == {"annotations"} or stems <= _SUBSETS
    return len(folders) == 1 and of_one


DATUMARO = translated_format(
    "datumaro",
    (".json",),
    recognises_text(looks_right),
    "bboxqa.formats.datumaro.reader:translate",
    recognises_folder=_is_folder,
)
"""Datumaro JSON."""
