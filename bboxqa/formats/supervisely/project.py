"""The format of Supervisely projects: a folder, an archive, or the file of one image."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.supervisely.project_heads import is_folder, recognises
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate a project; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.supervisely.project_records import translate_project

    return translate_project(path, add, wanted)


SUPERVISELY = translated_format(
    "supervisely", (".json",), recognises, translate, recognises_folder=is_folder
)
"""Supervisely image projects."""
