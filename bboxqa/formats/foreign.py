"""Refusing files of other programs, with advice on how to convert them."""

import re
from contextlib import suppress
from math import isfinite
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import first_few, one_line
from bboxqa.formats.content_kinds import (
    HEAD,
    IS_COCO,
    PARQUET,
    TABLES,
    WHAT,
    json_kind_of,
    kind_of,
)
from bboxqa.formats.dota.dota import is_dota_head
from bboxqa.formats.member import as_utf8
from bboxqa.formats.opening import SAVE_AS_CSV
from bboxqa.formats.yolo.yolo import is_label_head

# A single letter may be a drive of Windows.
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)", re.IGNORECASE)
_BY_CURL = {"http", "https", "ftp"}

_CELLS, _LINES = {".csv", ".tsv"}, {".jsonl", ".ndjson"}
# Blanks and byte order marks.
_BLANK = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"
# The first character of JSON in each encoding, after a byte order mark.
_JSON = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\0]*[\[{]")
# Kinds of text that have no other mark.
_SUFFIXES = {".yaml": "YAML", ".yml": "YAML", ".ipynb": "notebook"}
NOT_A_FOLDER = "Name a table in it; `bboxqa agree` measures folders of annotated images."
"""Advice for a folder where a table is expected."""

_NO_HEADER = (
    "Write what the columns hold in a line above the first, such as: image,x1,y1,x2,y2,category"
)
_TABLE_KINDS = {"table", "Parquet"}
_MOST_COLUMNS, _OF_BOX = 6, 4
# Kinds with the same advice where a table is expected.
_OWN_ADVICE = {
    "COCO", "CVAT", "Darwin", "Datumaro", "ELAN", "Label Studio", "LabelMe", "Supervisely", "VIA",
    "VOC",
}  # fmt: skip
# Kinds that the reader of tables accepts: an archive may be an office table, for instance.
_READ_AS_TABLES = {"archive", "office", "table", "Parquet", "binary", "zeros", "YOLO", "DOTA"}


def refuse_foreign(path: Path, *, table: bool = False) -> None:
    """Refuse a file that bboxqa does not read, or a URL, with advice.

    With `table`, a table of ratings or segments is expected instead of COCO JSON. Raises
    DatasetError if the file has a known format that is not read.
    """
    refuse_address(path)
    is_table = path.suffix.lower() in TABLES and path.is_file()
    if is_table and not table and not _head(path).strip(_BLANK):
        header = " with a header" if path.suffix.lower() in _CELLS else ""
        problem = f"{path}: is empty; expected a table{header}"
        raise DatasetError([problem], "Export it again: nothing was written.")
    kind = foreign_kind(path)
    if kind is None and table and IS_COCO.match(_head(path)):
        kind = "COCO"
    if kind is None or (table and kind in _READ_AS_TABLES):
        return
    what, advice = WHAT[kind]
    expected = "a table" if table else "COCO JSON"
    if kind in _TABLE_KINDS and not table:
        names = _columns_in(path)
        listed = first_few(names, _MOST_COLUMNS, one_line)
        # The corners of a box; single numbers, such as years, may be names.
        if sum(map(_is_number, names)) >= _OF_BOX:
            what += f" whose first line has numbers ({listed})"
            expected, advice = "a line with the names of columns", _NO_HEADER
        else:
            what += f" with the columns {listed}" * bool(names)
            expected = "columns of images and boxes"
    raise DatasetError(
        [f"{path}: is {what}; expected {expected}"],
        SAVE_AS_CSV if table and kind not in _OWN_ADVICE else advice,
    )


def _columns_in(path: Path) -> list[str]:
    """Return the names in the first line of a table of text; none of other tables."""
    from bboxqa.formats.box_tables.rows import header_of

    head = _head(path)
    return [] if head.startswith(PARQUET) else header_of(head)


def _is_number(name: str) -> bool:
    with suppress(ValueError):
        return isfinite(float(name))
    return False


def refuse_address(path: Path) -> None:
    """Refuse a URL, which as a path has lost a slash, with advice. Raises DatasetError."""
    address = _ADDRESS.fullmatch(str(path))
    if address is None or path.exists():
        return
    name = f"{address[1]}://{address[2]}"
    how = f": curl -LO {name}" if address[1].lower() in _BY_CURL else "."
    raise DatasetError([f"{name}: is an address; expected a file"], f"Download it first{how}")


def foreign_kind(path: Path) -> str | None:
    """Return the name of the format if it is known not to be read; else None.

    A file with the suffix .json that is not JSON gives None, as `validate` reports it.
    """
    head = _head(path)
    if path.suffix.lower() == ".json":
        return json_kind_of(head)
    kind = kind_of(head) or _kind_of_table(path, head)
    if path.suffix.lower() != ".txt":
        return kind or (_SUFFIXES.get(path.suffix.lower()) if head else None)
    text = as_utf8(head)
    return "YOLO" if is_label_head(text, strict=True) else "DOTA" if is_dota_head(text) else kind


def _kind_of_table(path: Path, head: bytes) -> str | None:
    """Return the kind of a table of text, by its suffix and its beginning."""
    from bboxqa.formats.box_tables.rows import header_of

    suffix = path.suffix.lower()
    if suffix in _LINES and not IS_COCO.match(head):
        return json_kind_of(head) or ("table" if header_of(head) else None)
    is_table = suffix in _CELLS and path.exists() and not _JSON.match(head)
    return "table" if is_table else None


def _head(path: Path) -> bytes:
    """Return the beginning of a file; b"" for a pipe, which cannot be read twice."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(HEAD)
    return b""
