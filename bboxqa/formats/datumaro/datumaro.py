"""The format of Datumaro JSON: a file, or the subsets of a data set in a folder or archive."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted

_HEAD = re.compile(
    rb'\{(?!.*"images"\s*:)(?=.*"categories"\s*:\s*\{\s*(?:"|\}))'
    rb'(?:.*"items"\s*:\s*\[|.*"dm_format_version"\s*:'
    rb'|.*"categories"\s*:\s*\{\s*"label"\s*:\s*\{)',
    re.DOTALL,
)
SUBSETS = frozenset({"default", "train", "training", "val", "valid", "validation", "test"})
"""File names of the subsets of a data set."""


def looks_right(head: bytes) -> bool:
    """Return whether a text begins like a Datumaro file."""
    return _HEAD.match(head) is not None


def _recognises(path: Path) -> bool:
    from bboxqa.formats.translation.json_files import recognises_text

    return recognises_text(looks_right)(path)


def _is_folder(folder: Path) -> bool:
    """Return whether a folder is one data set; files with other names belong to annotators."""
    from bboxqa.formats.translation.json_files import all_begin

    if all_begin(looks_right, folder, "annotations/*.json"):
        return True
    names = {file.stem.lower() for file in folder.glob("*.json")}
    return bool(names) and names <= SUBSETS and all_begin(looks_right, folder, "*.json")


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate Datumaro files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.datumaro.datumaro_records import translate_datumaro

    return translate_datumaro(path, add, wanted)


DATUMARO = translated_format(
    "datumaro", (".json",), _recognises, translate, recognises_folder=_is_folder
)
"""Datumaro JSON."""
