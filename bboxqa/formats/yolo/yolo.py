"""The format of YOLO label files: each folder or archive has one annotator."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.translation.translated_format import translated_format
from bboxqa.formats.yolo.label_heads import is_yolo_archive, is_yolo_folder

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate label files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.yolo.label_records import translate_labels

    return translate_labels(path, add, wanted)


YOLO = translated_format("yolo", (), is_yolo_archive, translate, recognises_folder=is_yolo_folder)
"""YOLO labels: boxes, oriented boxes, outlines and key points."""
