"""The format of Pascal VOC XML: a folder, an archive, or the file of one image."""

from bboxqa.formats.translation.json_files import recognises_text
from bboxqa.formats.translation.translated_format import translated_format
from bboxqa.formats.voc.voc_heads import VOC_FOLDERS, is_voc_head

VOC = translated_format(
    "voc",
    (),
    recognises_text(is_voc_head, (".xml",)),
    "bboxqa.formats.voc.voc_records:translate_voc",
    recognises_folder=VOC_FOLDERS.is_one_source,
    folders_in_parts=VOC_FOLDERS.folders_in_parts,
)
"""Pascal VOC XML, as LabelImg, CVAT and Roboflow write it."""
