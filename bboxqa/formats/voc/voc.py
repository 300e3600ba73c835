"""The format of Pascal VOC XML: a folder, an archive, or the file of one image."""

import re

from bboxqa.formats.format import translated_format
from bboxqa.formats.label_folders import LabelFolders
from bboxqa.formats.member import plain_head
from bboxqa.formats.translation.json_files import recognises_text

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


VOC_FOLDERS = LabelFolders(
    lambda name: name.lower().endswith(".xml"), lambda head, _strict: is_voc_head(head)
)
"""Folders with XML files directly inside, in Annotations, or in subfolders of splits."""

VOC = translated_format(
    "voc",
    (),
    recognises_text(is_voc_head, (".xml",)),
    "bboxqa.formats.voc.reader:translate_voc",
    recognises_folder=VOC_FOLDERS.is_one_source,
    folders_in_parts=VOC_FOLDERS.folders_in_parts,
)
"""Pascal VOC XML, as LabelImg, CVAT and Roboflow write it."""
