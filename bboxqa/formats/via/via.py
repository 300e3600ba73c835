"""The format of the VGG Image Annotator (VIA 1 and 2): JSON annotations or projects, and CSV."""

from bboxqa.formats.format import translated_format
from bboxqa.formats.via.via_heads import recognises

VIA = translated_format(
    "via", (".json", ".csv"), recognises, "bboxqa.formats.via.via_records:translate_via"
)
"""JSON and CSV of the VGG Image Annotator."""
