"""Files that other programs read: what they are, and how to make of them what is read here."""

import re
from contextlib import suppress
from pathlib import Path

from bboxqa.core.errors import DatasetError

_HEAD = 1 << 16
_ADDRESS = re.compile(r"(https?|ftp):/+(.+)", re.IGNORECASE)
_IMAGES = re.compile(
    rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|II\*\0|MM\0\*|RIFF....WEBP|BM.{4}\0\0\0\0", re.DOTALL
)
_ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"BZh", b"\xfd7zXZ")
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml|!--|[A-Za-z])")
# What the first element of a file says; the first that fits.
_ELEMENTS = (
    (re.compile(rb"<ANNOTATION_DOCUMENT\b"), "ELAN"),
    (re.compile(rb"<annotations>.*<(?:version|meta|image|track)\b", re.DOTALL), "CVAT"),
    (re.compile(rb"<annotation\b.*<(?:filename|object|size)\b", re.DOTALL), "VOC"),
    (re.compile(rb"<(?:!doctype html|html)\b", re.IGNORECASE), "HTML"),
)
_LABEL_STUDIO = re.compile(
    rb'\s*\[\s*\{(?=.*"(?:annotations|completions|predictions)"\s*:)(?=.*"(?:data|from_name)"\s*:)',
    re.DOTALL,
)
_YOLO = re.compile(rb"\d+(?: (?:0?\.\d+(?:e-\d+)?|[01](?:\.0*)?)){4,} *\r?(?:\n|\Z)", re.IGNORECASE)

_CONVERT = "or convert its folder, such as with datum convert -if {0} -i FOLDER -f coco -o OUT"
_WHAT = {
    "archive": ("a compressed archive", "Unpack it, and name the json file inside."),
    "image": ("an image", "Name the json file that holds its annotations."),
    "CVAT": ("XML of CVAT", "Export the task from CVAT as COCO 1.0, and name the json file."),
    "VOC": (
        "XML of Pascal VOC",
        f"Export COCO json from the tool that wrote it, {_CONVERT.format('voc')}",
    ),
    "ELAN": ("ELAN's own file", "In ELAN: File, Export As, Tab-delimited Text; give that file."),
    "HTML": (
        "a web page",
        "Look into it: it may be a login or an error in place of the file that was asked for.",
    ),
    "XML": ("XML", "Export COCO json from the tool that wrote it."),
    "Label Studio": (
        "Label Studio's own json",
        "Export the project from Label Studio as COCO, and name the json file inside.",
    ),
    "YOLO": (
        "labels of YOLO",
        f"Export COCO json from the tool that wrote them, {_CONVERT.format('yolo')}",
    ),
}
_TABLE = "Save the table as CSV in utf-8."
# Archives are tables of office programs here, and lists of numbers are tables.
_READ_AS_TABLES = {"archive", "YOLO"}


def refuse_foreign(path: Path, *, table: bool = False) -> None:
    """Refuse a file that only other programs read, and an address, saying what to do.

    With `table`, a table of ratings or segments is expected instead of COCO json.

    Raises
    ------
    DatasetError
        If the file is in a format that is known not to be read.
    """
    address = _ADDRESS.fullmatch(str(path))
    if address is not None and not path.exists():
        name = f"{address[1]}://{address[2]}"
        raise DatasetError(
            [f"{name}: is an address; expected a file"], f"Download it first: curl -LO {name}"
        )
    kind = foreign_kind(path)
    if kind is None or (table and kind in _READ_AS_TABLES):
        return
    what, advice = _WHAT[kind]
    expected = "a table" if table else "COCO json"
    raise DatasetError(
        [f"{path}: is {what}; expected {expected}"],
        _TABLE if table and kind != "ELAN" else advice,
    )


def foreign_kind(path: Path) -> str | None:
    """Return the name of a format that is not read; None if the file may be one that is.

    A file that calls itself json and is none has findings of its own.
    """
    head = _head(path)
    if path.suffix.lower() == ".json":
        return "Label Studio" if _LABEL_STUDIO.match(head) else None
    if _IMAGES.match(head):
        return "image"
    if head.startswith(_ARCHIVES):
        return "archive"
    if _XML.match(head):
        return next((name for element, name in _ELEMENTS if element.search(head)), "XML")
    return "YOLO" if path.suffix.lower() == ".txt" and _YOLO.match(head) else None


def _head(path: Path) -> bytes:
    """Return the beginning of a file; nothing of a pipe, as what is read from it is gone."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(_HEAD)
    return b""
