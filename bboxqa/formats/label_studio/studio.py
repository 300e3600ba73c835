"""The format of Label Studio's JSON."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.translation.heads import is_archive, plain_head
from bboxqa.formats.translation.members import head_of, only_file, readable_members
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.member import Member
    from bboxqa.formats.translation.translated import Add, Translated, Wanted

_HEAD = re.compile(
    rb'\s*(?:\[\s*\{|\{(?!.*"images"\s*:))(?:'
    rb'(?=.*"(?:annotations|completions|predictions)"\s*:)'
    rb'(?=.*"(?:from_name|completed_by|result|data)"\s*:)'
    rb'|(?=.*"result"\s*:\s*\[)(?=.*"(?:from_name|original_width)"\s*:)'
    rb'|(?=.*"(?:rectangle|polygon|ellipse|brush|keypoint)labels"\s*:\s*\[)'
    rb'(?=.*"(?:original_width|annotation_id|lead_time)"\s*:)'
    rb'|(?=.*"annotation_id"\s*:)(?=.*"lead_time"\s*:))',
    re.DOTALL,
)


def _recognises(path: Path) -> bool:
    head = head_of(path)
    return _looks_right(head) or (is_archive(head) and bool(_members(path)))


def _looks_right(head: bytes) -> bool:
    plain = plain_head(head)
    return plain[:1] in (b"[", b"{") and _HEAD.match(plain) is not None


def _members(path: Path) -> "list[Member]":
    """Return the files of a source that are Label Studio JSON."""
    return [each for each in readable_members(path) if _looks_right(each.head())]


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate Label Studio JSON; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.label_studio.task_records import translate_tasks

    return translate_tasks(path, only_file(path, _members(path), "Label Studio"), add, wanted)


LABEL_STUDIO = translated_format("label-studio", (".json",), _recognises, translate)
"""Label Studio's JSON and JSON-MIN."""
