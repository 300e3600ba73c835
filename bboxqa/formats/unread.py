"""Telling files of annotations from settings, and from files of other programs."""

from pathlib import Path

from bboxqa.formats.coco.coco_ends import has_nothing_of_coco
from bboxqa.formats.coco.strict import COCO
from bboxqa.formats.foreign import foreign_kind
from bboxqa.formats.registry import format_of

SETTINGS = "settings"
"""The kind of JSON files unrelated to annotations."""


def unread_kind(file: Path) -> str | None:
    """Return what a file has that no format reads: SETTINGS, or `foreign_kind`; else None."""
    if format_of(file) is not COCO:
        return None
    kind = foreign_kind(file)
    return SETTINGS if kind is None and has_nothing_of_coco(file) else kind
