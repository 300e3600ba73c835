"""The format of the VGG Image Annotator (VIA 1 and 2): JSON annotations or projects, and CSV."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted

_JSON = re.compile(
    rb'\{(?!\s*"images"\s*:)(?:.*"_via_(?:settings|img_metadata)"\s*:'
    rb'|\s*"(?:[^"\\]|\\.)*"\s*:\s*\{(?=.{0,4000}"filename"\s*:)'
    rb'.{0,4000}"(?:regions|file_attributes|base64_img_data)"\s*:)',
    re.DOTALL,
)
_CSV = re.compile(
    rb'#?"?filename"?,"?file_size"?,"?file_attributes"?,"?region_count"?,"?region_id"?,'
    rb'"?region_shape_attributes"?,"?region_attributes"?\s'
)


def looks_right(head: bytes) -> bool:
    """Return whether a text begins like a VIA file."""
    return (_JSON if head[:1] == b"{" else _CSV).match(head) is not None


def _recognises(path: Path) -> bool:
    from bboxqa.formats.translation.json_files import recognises_text

    return recognises_text(looks_right, (".json", ".csv"))(path)


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate a VIA file; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.via.via_records import translate_via

    return translate_via(path, add, wanted)


VIA = translated_format("via", (".json", ".csv"), _recognises, translate)
"""JSON and CSV of the VGG Image Annotator."""
