"""Recognising files of the VGG Image Annotator."""

import re

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


recognises = recognises_text(looks_right, (".json", ".csv"))
"""Return whether a file is of this format."""
