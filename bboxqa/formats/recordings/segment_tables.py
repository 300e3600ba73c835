"""Reading one table of segments: encoding, delimiter, rows and layout."""

import csv
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count
from bboxqa.formats.content_kinds import PARQUET
from bboxqa.formats.foreign import NOT_A_FOLDER, refuse_foreign
from bboxqa.formats.opening import decoded, named_errors, read_whole
from bboxqa.formats.recordings.elan_layout import elan_layout
from bboxqa.formats.recordings.segment_layouts import (
    Layout,
    headed_layout,
    is_elan_header,
)
from bboxqa.model.annotations import Source


@dataclass(frozen=True, slots=True)
class Row:
    """The stripped fields of a row, and its first line."""

    line: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A file with its layout and its rows below the header.

    Rows whose number of fields differs from the first row are in `problems` instead.
    """

    path: Path
    source: Source
    layout: Layout
    rows: tuple[Row, ...]
    problems: tuple[str, ...]


def read_table(path: Path) -> Table:
    """Read a table of segments delimited by commas, semicolons or tabs.

    The encoding is UTF-8, or the one that a byte order mark indicates. Lines before the first row
    that begin with "#" are skipped, and so are rows with only empty fields. Raises DatasetError if
    the file cannot be read, is empty, or has no columns of start, end and label.
    """
    name, data = str(path), _read(path)
    if data[:4] == PARQUET:
        raise DatasetError(
            [f"{name}: is a Parquet table; expected text, with a row for each segment"],
            "Save the table as CSV in utf-8.",
        )
    text = decoded(name, data)
    if text.lstrip()[:1] in ("[", "{"):
        raise DatasetError(
            [f"{name}: is json; expected a table of segments"], "Save the table as CSV in utf-8."
        )
    rows = _rows(name, text)
    if not rows:
        raise DatasetError([f"{name}: the file is empty"], "Export it again.")
    first = rows[0]
    layout = None if is_elan_header(first.fields) else elan_layout([row.fields for row in rows])
    layout = layout or headed_layout(name, first.line, first.fields)
    width = len(first.fields)
    as_where = "in the header" if layout.headed else "in the first row"
    body = rows[1:] if layout.headed else rows
    return Table(
        path=path,
        source=Source(name, len(data), hashlib.blake2b(data).hexdigest()),
        layout=layout,
        rows=tuple(row for row in body if len(row.fields) == width),
        problems=tuple(
            f"{name}: line {row.line}: has {count(len(row.fields), 'field')}; "
            f"expected {width}, as {as_where}"
            for row in body
            if len(row.fields) != width
        ),
    )


def _read(path: Path) -> bytes:
    refuse_foreign(path, table=True)
    with named_errors(path, "a table of segments", NOT_A_FOLDER):
        return read_whole(path)


def _rows(name: str, text: str) -> list[Row]:
    lines = io.StringIO(text, newline="").readlines()
    skipped = 0
    while skipped < len(lines) and (
        not lines[skipped].strip() or lines[skipped].lstrip(' "').startswith("#")
    ):
        skipped += 1
    if skipped == len(lines):
        return []
    delimiter = next((mark for mark in "\t;" if mark in lines[skipped]), ",")
    quoted = not _is_raw(lines[skipped:], delimiter)
    try:
        return _parse("".join(lines[skipped:]), delimiter, skipped, quoted=quoted)
    except csv.Error as error:
        raise DatasetError(
            [f"{name}: is not a table that can be read: {clean(str(error))}"],
            "Look for a quotation mark that opens and never closes.",
        ) from None


def _is_raw(lines: list[str], delimiter: str) -> bool:
    """Return whether ELAN wrote the lines, in which quotation marks are plain text."""
    if delimiter != "\t":
        return False
    fields = [[field.strip() for field in line.split(delimiter)] for line in lines[:50]]
    return is_elan_header(fields[0]) or elan_layout([row for row in fields if any(row)]) is not None


def _parse(text: str, delimiter: str, skipped: int, *, quoted: bool) -> list[Row]:
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    rows = []
    line = skipped + 1
    for fields in reader:
        if any(field.strip() for field in fields):
            rows.append(Row(line, tuple(field.strip() for field in fields)))
        line = skipped + reader.line_num + 1
    return rows
