"""The format of DOTA's text labels: each folder or archive has one annotator."""

import re

from bboxqa.formats.format import translated_format
from bboxqa.formats.label_folders import LabelFolders, is_label_name
from bboxqa.formats.member import NUMBER

_HEADER = rb"\s*(?:imagesource|gsd)\s*:[^\n]*(?:\n|\Z)"
# A category contains a character other than digits, since lines of numbers only may be YOLO labels.
# A quoted character at the end of a line means ICDAR text, which has colours, centres and boxes
# before it.
_REST = rb"(?![-+.\deE \t]+(?:\r?\n|\Z))(?![^\n]*\"[ \t]*(?:\r?\n|\Z))[^\s:]"
_LABEL = rb"\s*" + rb"[ \t]+".join([NUMBER] * 8) + rb"[ \t]+" + _REST
_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:(?:" + _HEADER + rb")+(?:\s*\Z|" + _LABEL + rb")|" + _LABEL + rb")",
    re.IGNORECASE,
)


def is_dota_head(head: bytes) -> bool:
    r"""Return whether a file begins with a label, or with DOTA's header lines.

    Examples
    --------
    >>> is_dota_head(b"1 1 5 1 5 3 1 3 plane 0"), is_dota_head(b"0 .1 .1 .5 .1 .5 .3 .1 .3")
    (True, False)
    >>> is_dota_head(b"imagesource:GoogleEarth\ngsd:0.146\n")
    True
    """
    return _HEAD.match(head) is not None


DOTA_FOLDERS = LabelFolders(is_label_name, lambda head, _strict: is_dota_head(head))
"""Folders with label files directly inside, in labelTxt, or in subfolders of splits."""

DOTA = translated_format(
    "dota",
    (),
    DOTA_FOLDERS.is_archive,
    "bboxqa.formats.dota.reader:translate_dota",
    recognises_folder=DOTA_FOLDERS.is_one_source,
    folders_in_parts=DOTA_FOLDERS.folders_in_parts,
)
"""DOTA's text labels, also as written by mmrotate and Roboflow's YOLOv5 OBB."""
