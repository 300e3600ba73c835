"""Recognising LabelMe files and their folders."""

import re

from bboxqa.formats.label_folders import LabelFolders
from bboxqa.formats.translation.json_files import begins

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


def _is_label(head: bytes, _strict: bool) -> bool:
    return begins(is_labelme_head, head)


LABELME_FOLDERS = LabelFolders(lambda name: name.lower().endswith(".json"), _is_label)
"""Folders with JSON files directly inside, or in subfolders such as annotations or train."""
