"""Recognising files of V7 Darwin JSON 2.0."""

import re
from pathlib import Path

from bboxqa.formats.translation.json_files import all_begin, recognises_text

_HEAD = re.compile(
    rb'\{(?!.*"images"\s*:)(?:.*"item"\s*:\s*\{.*"slots"\s*:\s*\['
    rb'|\s*"annotations"\s*:\s*\[\s*\{.*"slot_names"\s*:\s*\[)',
    re.DOTALL,
)


def looks_right(head: bytes) -> bool:
    """Return whether a text begins like a Darwin file."""
    return _HEAD.match(head) is not None


recognises = recognises_text(looks_right)
"""Return whether a file is of this format."""


def is_folder(folder: Path) -> bool:
    """Return whether a folder is of this format."""
    # Releases have their files directly inside, downloads in a folder.
    folders = (folder, *_only_release(folder))
    inside = (below for each in folders for below in (each, each / "annotations"))
    return any(all_begin(looks_right, each) for each in inside)


def _only_release(folder: Path) -> list[Path]:
    """Return the release of a downloaded data set; none if there are several.

    The release "latest" may be a link to another one.
    """
    found = [each for each in folder.glob("releases/*") if each.is_dir() and not each.is_symlink()]
    return found if len(found) == 1 else []
