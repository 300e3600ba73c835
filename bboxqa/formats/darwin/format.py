"""The format of V7 Darwin JSON 2.0: a folder or an archive of files, or one file."""

import re
from pathlib import Path

from bboxqa.formats.format import translated_format
from bboxqa.formats.translation.json_files import all_begin, recognises_text

_HEAD = re.compile(
    rb'\{(?!.*"images"\s*:)(?:.*"item"\s*:\s*\{.*"slots"\s*:\s*\['
    rb'|\s*"annotations"\s*:\s*\[\s*\{.*"slot_names"\s*:\s*\[)',
    re.DOTALL,
)


def looks_right(head: bytes) -> bool:
    """Return whether a text begins like a Darwin file."""
    return _HEAD.match(head) is not None


def _is_folder(folder: Path) -> bool:
    # Releases have their files directly inside; "latest" may be a link to another release.
    releases = [
        each for each in folder.glob("releases/*") if each.is_dir() and not each.is_symlink()
    ]
    folders = (folder, *(releases if len(releases) == 1 else ()))
    inside = (below for each in folders for below in (each, each / "annotations"))
    return any(all_begin(looks_right, each) for each in inside)


DARWIN = translated_format(
    "darwin",
    (".json",),
    recognises_text(looks_right),
    "bboxqa.formats.darwin.reader:translate",
    recognises_folder=_is_folder,
)
"""V7 Darwin JSON 2.0."""
