"""The format of Pascal VOC XML: a folder, an archive, or the file of one image."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.translation.translated_format import translated_format
from bboxqa.formats.voc.voc_heads import VOC_FOLDERS, is_voc_head

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted


def _recognises(path: Path) -> bool:
    from bboxqa.formats.translation.json_files import recognises_text

    return recognises_text(is_voc_head, (".xml",))(path)


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate VOC files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.voc.voc_records import translate_voc

    return translate_voc(path, add, wanted)


VOC = translated_format(
    "voc", (), _recognises, translate, recognises_folder=VOC_FOLDERS.is_one_source
)
"""Pascal VOC XML, as LabelImg, CVAT and Roboflow write it."""
