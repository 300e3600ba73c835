"""The rows of a table in any of the file formats."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.box_tables.parquet_rows import Row, parquet_file, parquet_rows
from bboxqa.formats.content_kinds import PARQUET
from bboxqa.formats.opening import decoded
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.translated import BrokenTextError

_LOOKED_AT = 1000
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
NAMED_ONCE = "Rename all but one of them, or leave them out."
"""The advice on columns with the same name."""
_LINES = "Write one JSON object on each line."
QUOTES = "A quote that is not closed is the usual cause; one within a quoted cell is written twice."
"""The advice if a text cannot be split into cells."""


def header_of(head: bytes) -> list[str]:
    r"""Return the column names at the beginning of a text; empty if it is not a table.

    Examples
    --------
    >>> header_of(b"image;x\na.jpg;1\n"), header_of(b'{"image": "a.jpg", "x": 1}\n{"')
    (['image', 'x'], ['image', 'x'])
    """
    try:
        lines = decoded("", head).splitlines()
    except DatasetError:
        # The last character may be cut off.
        lines = head[:-4].decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        return list(dict.fromkeys(name for line in lines for name in _keys(line)))
    try:
        return header_in(first, delimiter_of(first))
    except csv.Error:
        return []


def header_in(first: str, delimiter: str) -> list[str]:
    """Return the column names in a line."""
    return [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter), [])]


def _keys(line: str) -> list[str]:
    try:
        return list(msgspec.json.decode(line, type=dict[str, Any]))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        # The last line may be cut off.
        return []


def names_in(member: Member) -> list[str]:
    """Return the column names of a table; empty if it has no rows.

    Raises BrokenTextError if it cannot be read.
    """
    if member.head().startswith(PARQUET):
        with parquet_file(member) as file:
            return list(file.schema_arrow.names) if file.metadata.num_rows else []
    with suppress(DatasetError):
        # The first rows may be broken by the cut, or not be in UTF-8.
        text = decoded("", _beginning_of(member))
        if text.lstrip()[:1] != "{" and (found := _names_of(_of_cells(member, text))):
            return found
    return _names_of(rows_of(member))


def _beginning_of(member: Member) -> bytes:
    """Return the first whole lines of a text."""
    first = next(member.chunks(), b"")
    return first[: first.rfind(b"\n") + 1]


def _names_of(rows: Iterator[Row]) -> list[str]:
    # JSON lines may omit empty values, so several rows are read.
    first = (row for _, row in islice(rows, _LOOKED_AT) if "" not in row)
    return list(dict.fromkeys(name for row in first for name in row))


def refuse_repeated(member: Member, used: Sequence[str]) -> None:
    """Refuse a table with several columns of a name that is used; `rows_of` refuses JSON lines."""
    if member.head().startswith(PARQUET):
        with parquet_file(member) as file:
            names, place = list(file.schema_arrow.names), ""
    else:
        names, place = header_of(member.head()), "line 1: "
    if problem := repeated_name(names, used):
        raise DatasetError([f"{member.shown}: {place}{problem}"], NAMED_ONCE)


def repeated_name(names: Sequence[str], used: Sequence[str]) -> str:
    """Return the problem that a used name occurs several times; "" if none does.

    Examples
    --------
    >>> repeated_name(["image", "x", "x", "note", "note"], ["image", "x"])
    "has several columns 'x'; expected one"
    """
    found = next((name for name in used if names.count(name) > 1), "")
    return f"has several columns {one_line(found)!r}; expected one" if found else ""


def without_rows(member: Member) -> DatasetError:
    """Return the error for a table of which no row has the columns of the first line."""
    at, row = next(rows_of(member), (0, {}))
    if "" not in row:
        return DatasetError([f"{member.shown}: has no rows"], "Export it again.")
    return DatasetError(
        [f"{member.shown}: line {at} {row['']}; no row could be read"],
        "Give the first line a name for each column, and put cells that hold the delimiter in "
        "double quotes.",
    )


def rows_of(member: Member, only: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the rows of a table, with at least the columns in `only`.

    Columns without a name, such as the index of a data frame, are left out. A row whose length
    differs from the header has the key "" with what it has instead. Raises BrokenTextError if the
    table cannot be read, and DatasetError if a JSON object has a key of `only` twice.
    """
    if member.head().startswith(PARQUET):
        return parquet_rows(member, only)
    text = decoded(member.shown, member.read())
    if text.lstrip()[:1] == "{":
        return _of_lines(member, text, only)
    return _of_cells(member, text)


def delimiter_of(first: str) -> str:
    """Return the most frequent delimiter of a line."""
    return max(",\t;", key=first.count)


def _of_cells(member: Member, text: str) -> Iterator[Row]:
    first = text.lstrip(" \r\n").partition("\n")[0]
    return cells_of(member, text, delimiter_of(first))


def cells_of(
    member: Member, text: str, delimiter: str, header: Sequence[str] = (), line: int = 0
) -> Iterator[Row]:
    """Yield the rows of delimited text, which begins with the header if `header` is empty.

    `line` is the number of lines before the text.
    """
    # Copying the text to a stream would take four bytes for each character.
    lines = (found[0] for found in _LINE.finditer(text))
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    before = line
    try:
        for cells in reader:
            # A cell may span lines.
            start, line = line + 1, before + reader.line_num
            if not "".join(cells).strip() and len(cells) < 2:
                continue
            if not header:
                header = [cell.strip() for cell in cells]
            elif len(cells) == len(header):
                row = dict(zip(header, cells, strict=True))
                row.pop("", None)
                yield start, row
            else:
                found = count(len(cells), "cell")
                yield start, {"": f"has {found}, and the first line {len(header)}"}
    except csv.Error as error:
        problem = f"{member.shown}: line {line + 1}: cannot be split into cells: {error}"
        raise BrokenTextError([problem], QUOTES) from None


def _of_lines(member: Member, text: str, only: Sequence[str]) -> Iterator[Row]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    keys = [json.dumps(name, ensure_ascii=False) for name in only]
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if line.isspace():
            continue
        try:
            row = decode(line)
            # Decoding keeps the last of equal keys; objects inside of the row have their own.
            is_doubtful = any(line.count(key) > 1 for key in keys)
            pairs = json.loads(line, object_pairs_hook=list) if is_doubtful else ()
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            problem = f"{member.shown}: line {number}: is not a JSON object: {error}"
            raise BrokenTextError([problem], _LINES) from None
        if problem := repeated_name([name for name, _ in pairs], only):
            raise DatasetError([f"{member.shown}: line {number}: {problem}"], NAMED_ONCE)
        row.pop("", None)
        yield number, row
