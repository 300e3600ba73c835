"""The format of CVAT XML."""

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.files import Identity, identity_of
from bboxqa.formats.translation.heads import is_archive, plain_head
from bboxqa.formats.translation.members import (
    archive_around,
    head_of,
    members_with,
    only_file,
    readable_members,
)
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.member import Member
    from bboxqa.formats.translation.translated import Add, Translated, Wanted

_ROOT = re.compile(rb"<annotations\b[^>]*>.*?<(?:version|meta|image|track)\b", re.DOTALL)


def _recognises(path: Path) -> bool:
    head = head_of(path)
    return _looks_right(head) or (is_archive(head) and bool(_members(path)))


def _looks_right(head: bytes) -> bool:
    plain = plain_head(head)
    return plain.startswith(b"<") and _ROOT.search(plain) is not None


def _members(path: Path) -> "list[Member]":
    """Return the files of a source that are CVAT XML."""
    # In an archive with images, only XML files are opened.
    named = members_with(readable_members(path), ".xml")
    return [each for each in named if _looks_right(each.head())]


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate CVAT XML; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.cvat.cvat_records import translate_member

    member = only_file(path, _members(path), "CVAT XML")
    archive = archive_around(path)
    n_beside = () if archive is None else _frames_inside(archive, identity_of(archive))
    return translate_member(member, n_beside, add, wanted)


# The files of an archive are translated one by one.
@lru_cache(1)
def _frames_inside(archive: Path, identity: Identity) -> tuple[int, ...]:
    """Return how many frames each file of an archive says that its videos have."""
    from bboxqa.formats.cvat.frame_limits import frames_in_head

    del identity
    return tuple(map(frames_in_head, _members(archive)))


CVAT = translated_format("cvat", (".xml",), _recognises, translate)
"""CVAT XML 1.1, for images and for video."""
