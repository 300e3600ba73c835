"""The format of Supervisely projects: a folder, an archive, or the file of one image."""

import re
from pathlib import Path

from bboxqa.formats.format import translated_format
from bboxqa.formats.source import head_of
from bboxqa.formats.translation.json_files import all_begin, begins, json_in, recognises_text

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


def _is_meta(head: bytes) -> bool:
    return _META.match(head) is not None


def _is_folder(folder: Path) -> bool:
    """Return whether a folder is a project, a dataset, or the annotations of a dataset.

    Annotations in `ann` and in a folder beside it are those of two people.
    """
    own = folder / "ann"
    if all_begin(looks_right, own):
        return not any(all_begin(looks_right, each) for each in folder.glob("*/") if each != own)
    named = (each for each in json_in(folder) if each.name.lower() == META)
    return any(begins(_is_meta, head_of(each)) for each in named) or all_begin(looks_right, folder)


SUPERVISELY = translated_format(
    "supervisely",
    (".json",),
    recognises_text(looks_right),
    "bboxqa.formats.supervisely.reader:translate",
    recognises_folder=_is_folder,
)
"""Supervisely image projects."""
