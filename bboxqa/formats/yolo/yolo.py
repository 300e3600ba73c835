"""The format of YOLO label files: each folder or archive has one annotator."""

import re
from pathlib import Path

from bboxqa.formats.format import translated_format
from bboxqa.formats.label_folders import LabelFolders, is_label_name
from bboxqa.formats.member import NUMBER, as_utf8
from bboxqa.formats.source import head_of

_LINE = re.compile(rb"\s*\d+(?:\.0*)?(?:[ \t]+" + NUMBER + rb"){4,}[ \t]*(?:[\r\n]|\Z)")
_SHARES = re.compile(rb"\s*\d+(?:\.0*)?(?:[ \t]+0?\.\d+(?:[eE]-?\d+)?|[ \t]+[01](?:\.0*)?){4}")
_NAMES_KEY = re.compile(rb"^[\"']?names[\"']?\s*:", re.MULTILINE)
_SHAPE_KEY = re.compile(rb"^[\"']?kpt_shape[\"']?\s*:", re.MULTILINE)


def is_yaml(name: str) -> bool:
    """Return whether a file is YAML, by its name."""
    return name.lower().endswith((".yaml", ".yml"))


def is_names_file(name: str) -> bool:
    """Return whether a file may describe the data set: its class names, or its key points."""
    last = name.rpartition("/")[2].lower()
    return is_yaml(last) or last.endswith(".names") or last == "classes.txt"


def is_names_head(name: str, head: bytes) -> bool:
    """Return whether a file has class names, by its name and beginning."""
    text = as_utf8(head).strip()
    if is_yaml(name):
        return _NAMES_KEY.search(text) is not None
    return b"\0" not in text and bool(text)


def is_shape_head(name: str, head: bytes) -> bool:
    """Return whether a file says how many key points there are, by its name and beginning."""
    return is_yaml(name) and _SHAPE_KEY.search(as_utf8(head)) is not None


def is_label_head(head: bytes, *, strict: bool = False) -> bool:
    """Return whether a file begins with a label.

    With `strict`, its numbers have to be relative to the image.

    Examples
    --------
    >>> is_label_head(b"0 0.5 0.5 0.1 0.2"), is_label_head(b"cat 1 2 3 4")
    (True, False)
    """
    return (_SHARES if strict else _LINE).match(head) is not None and _LINE.match(head) is not None


YOLO_FOLDERS = LabelFolders(
    is_label_name, lambda head, strict: is_label_head(head, strict=strict), may_be_empty=True
)


def is_yolo_folder(folder: Path) -> bool:
    """Return whether a folder is one YOLO data set, rather than a folder of several."""
    try:
        names = [each.name for each in folder.iterdir() if is_names_file(each.name)]
    except OSError:
        return False
    heads = {each: head_of(folder / each) for each in names}
    is_marked = any(is_names_head(*each) or is_shape_head(*each) for each in heads.items())
    return YOLO_FOLDERS.is_one_source(folder, is_marked=is_marked)


def is_yolo_archive(path: Path) -> bool:
    """Return whether a file is an archive of YOLO labels."""
    return YOLO_FOLDERS.is_archive(path, is_names_file)


YOLO = translated_format(
    "yolo",
    (),
    is_yolo_archive,
    "bboxqa.formats.yolo.reader:translate_labels",
    recognises_folder=is_yolo_folder,
    folders_in_parts=YOLO_FOLDERS.folders_in_parts,
)
"""YOLO labels: boxes, oriented boxes, outlines and key points."""
