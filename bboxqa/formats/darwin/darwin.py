"""The format of V7 Darwin JSON 2.0: a folder or an archive of files, or one file."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted

_HEAD = re.compile(
    rb'\{(?!.*"images"\s*:)(?:.*"item"\s*:\s*\{.*"slots"\s*:\s*\['
    rb'|\s*"annotations"\s*:\s*\[\s*\{.*"slot_names"\s*:\s*\[)',
    re.DOTALL,
)
# The locations of files in releases and downloads.
_PATTERNS = ("*.json", "annotations/*.json")


def looks_right(head: bytes) -> bool:
    """Return whether a text begins like a Darwin file."""
    return _HEAD.match(head) is not None


def _recognises(path: Path) -> bool:
    from bboxqa.formats.translation.json_files import recognises_text

    return recognises_text(looks_right)(path)


def _is_folder(folder: Path) -> bool:
    from bboxqa.formats.translation.json_files import all_begin

    return any(all_begin(looks_right, folder, pattern) for pattern in _PATTERNS)


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate Darwin files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.darwin.darwin_records import translate_darwin

    return translate_darwin(path, add, wanted)


DARWIN = translated_format(
    "darwin", (".json",), _recognises, translate, recognises_folder=_is_folder
)
"""V7 Darwin JSON 2.0."""
