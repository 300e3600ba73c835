"""The format of DOTA's text labels: each folder or archive has one annotator."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.dota.dota_heads import DOTA_FOLDERS
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate label files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.dota.dota_records import translate_dota

    return translate_dota(path, add, wanted)


DOTA = translated_format(
    "dota", (), DOTA_FOLDERS.is_archive, translate, recognises_folder=DOTA_FOLDERS.is_one_source
)
"""DOTA's text labels, also as written by mmrotate and Roboflow's YOLOv5 OBB."""
