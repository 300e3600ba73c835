"""Recognising Pascal VOC files and their folders."""

import re

from bboxqa.formats.translation.heads import plain_head
from bboxqa.formats.translation.label_folders import LabelFolders

_ROOT = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>\s*)?(?:<!--.*?-->\s*)*"
    rb"<annotation(?:\s[^>]*)?>(?=.*<(?:filename|object|size|folder)\b)",
    re.DOTALL,
)


def is_voc_head(head: bytes) -> bool:
    """Return whether a file begins like Pascal VOC.

    Examples
    --------
    >>> is_voc_head(b"<annotation><filename>a.jpg"), is_voc_head(b"<annotations><image>")
    (True, False)
    """
    return _ROOT.match(plain_head(head)) is not None


def _is_label(head: bytes, _strict: bool) -> bool:
    return is_voc_head(head)


VOC_FOLDERS = LabelFolders(lambda name: name.lower().endswith(".xml"), _is_label)
"""Folders with XML files directly inside, in Annotations, or in subfolders of splits."""
