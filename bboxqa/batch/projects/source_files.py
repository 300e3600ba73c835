"""The files of a source: the file itself, or the files of a folder."""

import os
from pathlib import Path

from bboxqa.core.file_names import IMAGE_SUFFIXES


def files_of(source: Path) -> list[Path]:
    """Return a file itself, or the files of a folder, sorted; hidden ones are left out."""
    if not source.is_dir():
        return [source]
    found = []
    for folder, inside, names in os.walk(source):
        inside[:] = [name for name in inside if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".")]
    return sorted(found)


def is_image(file: Path) -> bool:
    """Return whether a file of a source is an image, which is large and no annotation."""
    return file.suffix.lower() in IMAGE_SUFFIXES
