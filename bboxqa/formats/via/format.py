"""The format of the VGG Image Annotator (VIA 1 and 2): JSON annotations or projects, and CSV."""

import re

from bboxqa.formats.format import translated_format
from bboxqa.formats.translation.json_files import recognises_text

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


_SUFFIXES = (".json", ".csv")
_recognises = recognises_text(looks_right, _SUFFIXES)
VIA = translated_format("via", _SUFFIXES, _recognises, "bboxqa.formats.via.reader:translate")
"""JSON and CSV of the VGG Image Annotator."""
