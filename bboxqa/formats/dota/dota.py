"""DOTA's text labels as a format: a folder or archive is by one annotator."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.errors import DatasetError
from bboxqa.formats.dota.dota_heads import DOTA_FOLDERS, is_dota_head
from bboxqa.formats.translation.heads import head_of, is_archive
from bboxqa.formats.translation.label_folders import is_label_name
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted

_SAMPLE = 20


def _recognises(path: Path) -> bool:
    """Return whether an archive has label files."""
    if not is_archive(head_of(path)):
        return False
    from bboxqa.formats.translation.members import members_of

    try:
        members = members_of(path)
    except DatasetError:
        return False
    labels = [each for each in members if is_label_name(each.name)][:_SAMPLE]
    heads = [head for each in labels if (head := each.head()).strip()]
    return 2 * sum(map(is_dota_head, heads)) > len(heads)


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate label files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.dota.dota_records import translate_dota

    return translate_dota(path, add, wanted)


DOTA = translated_format(
    "dota", (), _recognises, translate, recognises_folder=DOTA_FOLDERS.is_one_source
)
"""DOTA's text labels, as of mmrotate and of Roboflow's YOLOv5 OBB."""
