"""The format of YOLO label files: each folder or archive has one annotator."""

from bboxqa.formats.translation.translated_format import translated_format
from bboxqa.formats.yolo.label_heads import YOLO_FOLDERS, is_yolo_archive, is_yolo_folder

YOLO = translated_format(
    "yolo",
    (),
    is_yolo_archive,
    "bboxqa.formats.yolo.label_records:translate_labels",
    recognises_folder=is_yolo_folder,
    folders_in_parts=YOLO_FOLDERS.folders_in_parts,
)
"""YOLO labels: boxes, oriented boxes, outlines and key points."""
