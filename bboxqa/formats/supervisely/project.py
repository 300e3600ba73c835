"""The format of Supervisely projects: a folder, an archive, or the file of one image."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.translation.heads import head_of
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted

META = "meta.json"
"""The file of a project that lists its classes."""
_IMAGE = re.compile(
    rb'\{(?!.*"images"\s*:)(?=.*"objects"\s*:\s*\[)'
    rb'(?=.*"(?:classTitle|tags)"\s*:)(?=.*"(?:size|classTitle|figures|frames)"\s*:)',
    re.DOTALL,
)
_META = re.compile(rb'\{.*"classes"\s*:\s*\[(?:\s*\]|\s*\{.*"(?:title|shape)"\s*:)', re.DOTALL)


def looks_right(head: bytes) -> bool:
    """Return whether a text begins like the annotations of an image."""
    return _IMAGE.match(head) is not None


def _recognises(path: Path) -> bool:
    from bboxqa.formats.translation.json_files import recognises_text

    return recognises_text(looks_right)(path)


def _is_folder(folder: Path) -> bool:
    """Return whether a folder is a project, a dataset, or the annotations of a dataset."""
    from bboxqa.formats.translation.json_files import all_begin

    if _META.match(head_of(folder / META).lstrip(b"\xef\xbb\xbf").lstrip()):
        return True
    return any(all_begin(looks_right, folder, pattern) for pattern in ("ann/*.json", "*.json"))


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate a project; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.supervisely.project_records import translate_project

    return translate_project(path, add, wanted)


SUPERVISELY = translated_format(
    "supervisely", (".json",), _recognises, translate, recognises_folder=_is_folder
)
"""Supervisely image projects."""
