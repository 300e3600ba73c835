"""Patterns of names of files, where folders of labels are read as a whole."""

import re
from collections.abc import Sequence
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import first_few, one_line

_SHOWN = 3
# A pattern of all files of a kind.
_KIND = re.compile(r"(?:\*\*/)?\*(?:\.[\w*?]+)*")


def has_match(folder: Path, pattern: str | None) -> bool:
    """Return whether a file in a folder matches a pattern; any does where there is none."""
    return not pattern or any(file.match(pattern) for file in folder.rglob("*"))


def refuse_pattern(folder: Path, sources: Sequence[Path], pattern: str | None) -> None:
    """Refuse a pattern where folders of labels are read, unless it tells a kind of file."""
    if sources and pattern and not _KIND.fullmatch(pattern):
        named = first_few(sources, _SHOWN, lambda each: one_line(str(each)))
        problem = f"{folder}: {pattern!r} chooses among files, but all labels in a folder are read"
        raise DatasetError([f"{problem} ({named})"], "Name the folders to read, without --pattern.")
