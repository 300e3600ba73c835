"""The format of LabelMe JSON: a folder, an archive, or the file of one image."""

from bboxqa.formats.format import translated_format
from bboxqa.formats.labelme.labelme_heads import LABELME_FOLDERS, is_labelme_head
from bboxqa.formats.translation.json_files import recognises_text

LABELME = translated_format(
    "labelme",
    (),
    recognises_text(is_labelme_head),
    "bboxqa.formats.labelme.labelme_records:translate_labelme",
    recognises_folder=LABELME_FOLDERS.is_one_source,
    folders_in_parts=LABELME_FOLDERS.folders_in_parts,
)
"""LabelMe JSON."""
