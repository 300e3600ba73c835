"""The format of CVAT XML."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.format import translated_format
from bboxqa.formats.member import is_archive, plain_head
from bboxqa.formats.source import head_of, members_with, readable_members

if TYPE_CHECKING:
    from bboxqa.formats.member import Member

_ROOT = re.compile(rb"<annotations\b[^>]*>.*?<(?:version|meta|image|track)\b", re.DOTALL)


def _recognises(path: Path) -> bool:
    head = head_of(path)
    return _begins_right(head) or (is_archive(head) and bool(cvat_members(path)))


def _begins_right(head: bytes) -> bool:
    plain = plain_head(head)
    return plain.startswith(b"<") and _ROOT.search(plain) is not None


def cvat_members(path: Path) -> "list[Member]":
    """Return the files of a source that are CVAT XML."""
    # In an archive with images, only XML files are opened.
    named = members_with(readable_members(path), ".xml")
    return [each for each in named if _begins_right(each.head())]


CVAT = translated_format("cvat", (".xml",), _recognises, "bboxqa.formats.cvat.reader:translate")
"""CVAT XML 1.1, for images and for video."""
