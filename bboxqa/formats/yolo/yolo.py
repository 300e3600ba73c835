"""YOLO's label files as a format: a folder or archive is by one annotator."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.errors import DatasetError
from bboxqa.formats.translation.heads import head_of, is_archive
from bboxqa.formats.translation.label_folders import is_label_name
from bboxqa.formats.translation.translated_format import translated_format
from bboxqa.formats.yolo.label_heads import (
    is_label_head,
    is_names_file,
    is_yolo_folder,
)

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
    has_names = any(is_names_file(each.name) for each in members)
    right = sum(is_label_head(head, strict=not has_names) for head in heads)
    return 2 * right > len(heads) if heads else bool(labels) and has_names


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate label files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.yolo.label_records import translate_labels

    return translate_labels(path, add, wanted)


YOLO = translated_format("yolo", (), _recognises, translate, recognises_folder=is_yolo_folder)
"""YOLO's labels of boxes, oriented boxes, outlines and key points."""
