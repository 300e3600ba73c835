"""The format of CVAT XML."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.errors import DatasetError
from bboxqa.formats.translation.heads import is_archive
from bboxqa.formats.translation.members import head_of, members_of, members_with
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.member import Member
    from bboxqa.formats.translation.translated import Add, Translated, Wanted

_ROOT = re.compile(rb"<annotations\b[^>]*>.*?<(?:version|meta|image|track)\b", re.DOTALL)


def _recognises(path: Path) -> bool:
    head = head_of(path)
    return _looks_right(head) or (is_archive(head) and bool(_members(path)))


def _looks_right(head: bytes) -> bool:
    plain = head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe").lstrip()
    return plain.startswith(b"<") and _ROOT.search(plain) is not None


def _members(path: Path) -> "list[Member]":
    """Return the files of a source that are CVAT XML."""
    try:
        members = members_of(path)
    except DatasetError:
        return []
    # In an archive with images, only XML files are opened.
    named = members_with(members, ".xml")
    return [each for each in named if _looks_right(each.head())]


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate CVAT XML; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.cvat.cvat_records import translate_members

    members = _members(path)
    if not members:
        raise DatasetError([f"{path}: has no XML of CVAT inside"])
    return translate_members(members, add, wanted)


CVAT = translated_format("cvat", (".xml",), _recognises, translate)
"""CVAT XML 1.1, for images and for video."""
