"""The format of the VGG Image Annotator (VIA 1 and 2): JSON annotations or projects, and CSV."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.translation.translated_format import translated_format
from bboxqa.formats.via.via_heads import recognises

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate a VIA file; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.via.via_records import translate_via

    return translate_via(path, add, wanted)


VIA = translated_format("via", (".json", ".csv"), recognises, translate)
"""JSON and CSV of the VGG Image Annotator."""
