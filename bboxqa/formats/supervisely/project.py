"""The format of Supervisely projects: a folder, an archive, or the file of one image."""

from bboxqa.formats.format import translated_format
from bboxqa.formats.supervisely.project_heads import is_folder, recognises

SUPERVISELY = translated_format(
    "supervisely",
    (".json",),
    recognises,
    "bboxqa.formats.supervisely.project_records:translate_project",
    recognises_folder=is_folder,
)
"""Supervisely image projects."""
