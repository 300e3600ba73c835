"""The format of LabelMe JSON: a folder, an archive, or the file of one image."""

import re

from bboxqa.formats.format import translated_format
from bboxqa.formats.label_folders import LabelFolders
from bboxqa.formats.translation.json_files import begins, recognises_text

# An image embedded before the shapes may be larger than the examined beginning.
_HEAD = re.compile(
    rb'\{(?!.*"images"\s*:)(?:'
    rb'(?=.*"shapes"\s*:\s*\[)(?=.*"(?:version|imagePath|imageData|flags|points|shape_type)"\s*:)'
    rb'|(?=.*"(?:version|imagePath|flags|lineColor)"\s*:)(?=.*"imageData"\s*:\s*")'
    rb'|\s*"imageData"\s*:\s*")',
    re.DOTALL,
)


def is_labelme_head(head: bytes) -> bool:
    """Return whether a text begins like a LabelMe file.

    Examples
    --------
    >>> is_labelme_head(b'{"version": "5.2", "shapes": []}'), is_labelme_head(b'{"images": []}')
    (True, False)
    """
    return _HEAD.match(head) is not None


LABELME_FOLDERS = LabelFolders(
    lambda name: name.lower().endswith(".json"),
    lambda head, _strict: begins(is_labelme_head, head),
)
"""Folders with JSON files directly inside, or in subfolders such as annotations or train."""

LABELME = translated_format(
    "labelme",
    (),
    recognises_text(is_labelme_head),
    "bboxqa.formats.labelme.reader:translate_labelme",
    recognises_folder=LABELME_FOLDERS.is_one_source,
    folders_in_parts=LABELME_FOLDERS.folders_in_parts,
)
"""LabelMe JSON."""
