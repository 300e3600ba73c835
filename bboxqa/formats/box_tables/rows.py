"""The rows of a table of boxes in csv, JSON lines or Parquet, a few thousand at a time."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.content_kinds import PARQUET
from bboxqa.formats.member import Member
from bboxqa.formats.opening import decoded, parquet_errors
from bboxqa.formats.translation.collector import BrokenTextError
from bboxqa.formats.translation.untrusted import items, mapping, plain_text

NAMED_ONCE = "Rename all but one of them, or leave them out."
"""The advice on columns with the same name."""
QUOTES = "A quote that is not closed is the usual cause; one within a quoted cell is written twice."
"""The advice if a text cannot be split into cells."""
_LOOKED_AT, _TOGETHER = 1000, 4096


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive rows of a table, as columns."""

    at: list[int] = field(default_factory=list)
    """The line, or the Parquet row number, of each row."""
    cells: dict[str, Sequence[Any]] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    """Lines that are not rows, and what they have instead."""

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the line and the cells of each row."""
        for at, row in zip(self.at, zip(*self.cells.values(), strict=True), strict=True):
            yield at, dict(zip(self.cells, row, strict=True))


class Table:
    """A table of boxes.

    Raises DatasetError or BrokenTextError if it cannot be read.
    """

    def __init__(self, member: Member) -> None:
        self.member = member
        self.is_parquet = member.head().startswith(PARQUET)
        self._text = "" if self.is_parquet else decoded(member.shown, member.read())
        self.is_csv = not self.is_parquet and self._text.lstrip()[:1] != "{"

    @cached_property
    def header(self) -> list[str]:
        """The column names; those of the first thousand lines of JSON."""
        if self.is_parquet:
            with parquet_file(self.member) as file:
                return list(file.schema_arrow.names)
        if self.is_csv:
            first = self._text.lstrip(" \r\n").partition("\n")[0]
            return header_of(first.encode("utf-8", "surrogatepass"))
        rows = (row for _, row in islice(self._json_rows(()), _LOOKED_AT))
        return list(dict.fromkeys(name for row in rows for name in row if name))

    def refuse_repeated(self, used: Sequence[str]) -> None:
        """Refuse a table with several columns of a name that is used."""
        if problem := repeated_name(self.header, used):
            place = "" if self.is_parquet else "line 1: "
            raise DatasetError([f"{self.member.shown}: {place}{problem}"], NAMED_ONCE)

    def parts(self, of: Mapping[str, str]) -> Iterator[Part]:
        """Yield the rows, with the columns in `of` under its keys."""
        if self.is_parquet:
            return self._parquet_parts(of)
        return self._csv_parts(of) if self.is_csv else self._json_parts(of)

    def _parquet_parts(self, of: Mapping[str, str]) -> Iterator[Part]:
        with parquet_file(self.member) as file:
            names = [_picture_path(file.schema_arrow.field(name)) for name in {*of.values()}]
            first = 1
            for batch in file.iter_batches(_TOGETHER, columns=names):
                columns = batch.to_pydict()
                stop = first + batch.num_rows
                yield Part([*range(first, stop)], {key: columns[name] for key, name in of.items()})
                first = stop

    def _json_parts(self, of: Mapping[str, str]) -> Iterator[Part]:
        rows = self._json_rows([*of.values()])
        while some := [*islice(rows, _TOGETHER)]:
            cells: dict[str, Sequence[Any]] = {
                key: [row.get(name) for _, row in some] for key, name in of.items()
            }
            yield Part([at for at, _ in some], cells)

    def _json_rows(self, used: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        keys = [json.dumps(name, ensure_ascii=False) for name in used]
        shown = self.member.shown
        for number, line in enumerate(io.StringIO(self._text, newline=""), start=1):
            if line.isspace():
                continue
            try:
                row = decode(line)
                # Decoding keeps the last of equal keys; objects inside of the row have their own.
                is_doubtful = any(line.count(key) > 1 for key in keys)
                pairs = json.loads(line, object_pairs_hook=list) if is_doubtful else ()
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
                problem = f"{shown}: line {number}: is not a JSON object: {error}"
                raise BrokenTextError([problem], "Write one JSON object on each line.") from None
            if problem := repeated_name([name for name, _ in pairs], used):
                raise DatasetError([f"{shown}: line {number}: {problem}"], NAMED_ONCE)
            yield number, row

    def _csv_parts(self, of: Mapping[str, str]) -> Iterator[Part]:
        reader = csv_reader(self._text)
        places = [(key, self.header.index(name)) for key, name in of.items()]
        n_cells, line, is_header = len(self.header), 0, True
        at: list[int] = []
        rows: list[list[str]] = []
        problems: list[tuple[int, str]] = []
        try:
            for row in reader:
                # A cell may span lines.
                start, line = line + 1, reader.line_num
                if len(row) < 2 and not "".join(row).strip():
                    continue
                if is_header:
                    is_header = False
                elif len(row) != n_cells:
                    found = f"has {count(len(row), 'cell')}, and the first line {n_cells}"
                    problems.append((start, found))
                else:
                    at.append(start)
                    rows.append(row)
                if len(rows) == _TOGETHER:
                    yield _part_of(at, rows, places, problems)
                    at, rows, problems = [], [], []
        except csv.Error as error:
            problem = f"{self.member.shown}: line {line + 1}: cannot be split into cells: {error}"
            raise BrokenTextError([problem], QUOTES) from None
        yield _part_of(at, rows, places, problems)


def _part_of(
    at: list[int],
    rows: list[list[str]],
    places: list[tuple[str, int]],
    problems: list[tuple[int, str]],
) -> Part:
    columns = [*zip(*rows, strict=True)]
    return Part(at, {key: columns[place] if rows else () for key, place in places}, problems)


def csv_reader(text: str) -> Any:
    """Return a reader of the rows of delimited text."""
    first = text.lstrip(" \r\n").partition("\n")[0]
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=_delimiter_of(first), strict=True, skipinitialspace=True)


def _delimiter_of(first: str) -> str:
    return max(",\t;", key=first.count)


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
        cells = next(csv.reader([first], delimiter=_delimiter_of(first)), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def _keys(line: str) -> list[str]:
    try:
        return list(msgspec.json.decode(line, type=dict[str, Any]))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        # The last line may be cut off.
        return []


def repeated_name(names: Sequence[str], used: Sequence[str]) -> str:
    """Return the problem that a used name occurs several times; "" if none does.

    Examples
    --------
    >>> repeated_name(["image", "x", "x", "note", "note"], ["image", "x"])
    "has several columns 'x'; expected one"
    """
    found = next((name for name in used if names.count(name) > 1), "")
    return f"has several columns {one_line(found)!r}; expected one" if found else ""


@contextmanager
def parquet_file(member: Member) -> Iterator[Any]:
    """Open a Parquet file; raises DatasetError if it cannot be read."""
    # Packed content cannot be read from its end without unpacking it each time.
    with (
        parquet_errors(member.shown) as parquet,
        member.open() if member.is_file else io.BytesIO(member.read()) as stream,
    ):
        yield parquet.ParquetFile(stream)


def _picture_path(column: Any) -> str:
    """Return the part of a column to read: of images of Hugging Face, the path."""
    import pyarrow as pa

    is_picture = pa.types.is_struct(column.type) and column.type.get_field_index("path") >= 0
    return f"{column.name}.path" if is_picture else str(column.name)


def class_names(member: Member, column: str) -> list[str]:
    """Return the class names that Hugging Face stores with a column of class numbers."""
    with parquet_file(member) as file:
        kept = (file.schema_arrow.metadata or {}).get(b"huggingface", b"{}")
    try:
        content = mapping(msgspec.json.decode(kept))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    features = mapping(mapping(content.get("info")).get("features"))
    return _names_below(features.get(column))


def _names_below(feature: object) -> list[str]:
    """Return the first class names inside a description of columns."""
    found = mapping(feature)
    if found.get("_type") == "ClassLabel":
        return [plain_text(name) for name in items(found.get("names"))]
    inside = [*found.values(), *items(feature)]
    return next((names for each in inside if (names := _names_below(each))), [])
