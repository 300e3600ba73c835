"""The format of Label Studio's JSON."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.format import translated_format
from bboxqa.formats.member import is_archive, plain_head
from bboxqa.formats.source import head_of, readable_members

if TYPE_CHECKING:
    from bboxqa.formats.member import Member

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
    return _begins_right(head) or (is_archive(head) and bool(studio_members(path)))


def _begins_right(head: bytes) -> bool:
    plain = plain_head(head)
    return plain[:1] in (b"[", b"{") and _HEAD.match(plain) is not None


def studio_members(path: Path) -> "list[Member]":
    """Return the files of a source that are Label Studio JSON."""
    return [each for each in readable_members(path) if _begins_right(each.head())]


LABEL_STUDIO = translated_format(
    "label-studio", (".json",), _recognises, "bboxqa.formats.label_studio.reader:translate"
)
"""Label Studio's JSON and JSON-MIN."""
