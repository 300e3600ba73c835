"""The format of LabelMe JSON: a folder, an archive, or the file of one image."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.labelme.labelme_heads import LABELME_FOLDERS, is_labelme_head
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted


def _recognises(path: Path) -> bool:
    from bboxqa.formats.translation.json_files import recognises_text

    return recognises_text(is_labelme_head)(path)


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate LabelMe files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.labelme.labelme_records import translate_labelme

    return translate_labelme(path, add, wanted)


LABELME = translated_format(
    "labelme", (), _recognises, translate, recognises_folder=LABELME_FOLDERS.is_one_source
)
"""LabelMe JSON."""
