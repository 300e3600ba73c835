"""Tables in CSV, TSV, JSON lines and Parquet: of texts and numbers, or of boxes."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, islice
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.heads import PARQUET
from bboxqa.formats.member import Member
from bboxqa.formats.opening import decoded, parquet_errors
from bboxqa.formats.translation.collector import BrokenTextError
from bboxqa.formats.translation.shapes import items, mapping, plain_text
from bboxqa.model.labels import Coder, LabelColumn, label_of

_QUOTES = (
    "A quote that is not closed is the usual cause; one within a quoted cell is written twice."
)
# Number of rows per chunk, few enough to stay in the processor's cache.
_CHUNK = 4096
_LINES = "Write one JSON object on each line."
# The keys of results of COCO, or of a list of its annotations alone, which are no table.
_OF_RESULTS = {
    "id", "image_id", "category_id", "bbox", "segmentation", "keypoints", "num_keypoints", "area",
    "iscrowd", "score",
}  # fmt: skip
_BETWEEN = re.compile(r"[\s,]*")


class Rows(msgspec.Struct, frozen=True):
    """Consecutive rows of a table, as columns."""

    at: list[int]
    """The line, or the Parquet row number, of each row."""
    cells: Mapping[Any, Sequence[Any]]
    """The columns by what they hold, or by their places."""
    ragged: Sequence[tuple[int, int]] = ()
    """Lines with more or fewer cells than the header, and the number of their cells."""

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the line and the cells of each row."""
        for at, row in zip(self.at, zip(*self.cells.values(), strict=True), strict=True):
            yield at, dict(zip(self.cells, row, strict=True))


class TableFile:
    """A table in memory."""

    name: str
    """The name of the file in messages."""
    header: tuple[str, ...]
    """The first row, or the names of the columns."""
    header_is_certain = True
    """Whether the first row is certainly a header; False if it may be data."""
    word = "line"
    """What messages call a row."""

    def columns(self, names: Sequence[str]) -> dict[str, LabelColumn]:
        """Return the values of some columns, below the header."""
        return dict(zip(names, self._read([*map(self.header.index, names)]), strict=True))

    def grid(self) -> tuple[LabelColumn, int]:
        """Return all cells below the header, row by row, and the number of columns."""
        labels, cells = list[str | None](), list[IndexArray]()
        for column in self._read([*range(len(self.header))]):
            cells.append(np.where(column.codes < 0, -1, column.codes + len(labels)))
            labels += column.labels
        return LabelColumn(np.stack(cells, axis=1).ravel(), tuple(labels)), len(self.header)

    def places(self, rows: IndexArray) -> list[str]:
        """Return file and line of rows, counted from 0 below the header."""
        lines = [at for chunk in self.chunks([]) for at in chunk.at] if len(rows) else []
        return [f"{self.name}: {self.word} {lines[row]}" for row in rows.tolist()]

    def chunks(self, places: Sequence[int]) -> Iterator[Rows]:
        """Yield the columns at some places, a few thousand rows at a time."""
        raise NotImplementedError

    def rows(self, names: Mapping[str, str]) -> Rows:
        """Return all rows, with columns of some names by keys."""
        places = {key: self.header.index(name) for key, name in names.items()}
        chunks = [*self.chunks([*places.values()])]
        at = [each for chunk in chunks for each in chunk.at]
        cells = {
            key: [*chain.from_iterable(chunk.cells[place] for chunk in chunks)]
            for key, place in places.items()
        }
        return Rows(at, cells, [each for chunk in chunks for each in chunk.ragged])

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the line and the cells of each row, by the names of columns."""
        rows = self.rows({name: name for name in self.header})
        self._refuse_ragged(rows.ragged)
        return rows.records()

    def _read(self, places: Sequence[int]) -> list[LabelColumn]:
        coders = [Coder() for _ in places]
        ragged: list[tuple[int, int]] = []
        for chunk in self.chunks(places):
            ragged += chunk.ragged
            for coder, place in zip(coders, places, strict=True):
                try:
                    coder.add(chunk.cells[place])
                except TypeError:
                    is_object = [isinstance(cell, dict) for cell in chunk.cells[place]]
                    at = chunk.at[is_object.index(True)]
                    problem = f"{self.word} {at}: {self.header[place]} is an object"
                    expected = "expected a text or a number"
                    raise DatasetError([f"{self.name}: {problem}; {expected}"]) from None
        self._refuse_ragged(ragged)
        found = [coder.finish() for coder in coders]
        return [
            LabelColumn(codes, tuple((label_of(label) or "").strip() or None for label in labels))
            for codes, labels in found
        ]

    def _refuse_ragged(self, ragged: Sequence[tuple[int, int]]) -> None:
        if ragged:
            expected = f"expected {len(self.header)}, as the first line has"
            raise DatasetError(
                [f"{self.name}: line {line}: has {n} cells; {expected}" for line, n in ragged],
                "Quote cells that hold the delimiter.",
            )


class Delimited(TableFile):
    """A table of cells, delimited by commas, tabs or semicolons."""

    header_is_certain = False

    def __init__(self, name: str, text: str, *, tab: bool = False) -> None:
        self.name = name
        self._text = text
        self._delimiter = "\t" if tab else _delimiter_of(text)
        self.header = tuple(cell.strip() for cell in next(self._rows(), (0, []))[1])

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        return split_rows(self.name, self._text, self._delimiter)

    def chunks(self, places: Sequence[int]) -> Iterator[Rows]:
        """Yield the columns at some places, a few thousand rows at a time."""
        width, rows = len(self.header), islice(self._rows(), 1, None)
        while some := list(islice(rows, _CHUNK)):
            whole = [each for each in some if len(each[1]) == width]
            ragged = [(at, len(row)) for at, row in some if len(row) != width]
            columns = [*zip(*(row for _, row in whole), strict=True)] or [()] * width
            yield Rows([at for at, _ in whole], {e: columns[e] for e in places}, ragged)


def split_rows(
    name: str, text: str, delimiter: str, quoting: int = csv.QUOTE_MINIMAL
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text, with the line in which each begins; raises BrokenTextError."""
    # Strict: a file cut off inside quotes is refused rather than read as one cell.
    settings: Any = {"strict": True, "skipinitialspace": True, "quoting": quoting}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, **settings)
    line, width = 0, 0
    try:
        for row in reader:
            start, line = line + 1, reader.line_num
            if row and (width == 1 or len(row) > 1 or row[0].strip()):
                width = width or len(row)
                yield start, row
    except csv.Error as error:
        problem = f"{name}: line {line + 1}: cannot be split into cells: {error}"
        raise BrokenTextError([problem], _QUOTES) from None


def _delimiter_of(text: str) -> str:
    """Return the most frequent delimiter of the first line."""
    return max(",\t;", key=text.lstrip(" \r\n").partition("\n")[0].count)


class JsonLines(TableFile):
    """A table of one JSON object a line, in which a key that is used twice is refused."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    @cached_property
    def header(self) -> tuple[str, ...]:  # type: ignore[override]
        """The keys of the first rows."""
        rows = (row for _, row in islice(self._rows(), _CHUNK))
        return tuple(dict.fromkeys(key for row in rows for key in row))

    def _texts(self) -> Iterator[tuple[int, str]]:
        """Yield the text of each row, with the line in which it begins."""
        lines = enumerate(io.StringIO(self._text, newline=""), start=1)
        return ((number, line) for number, line in lines if not line.isspace())

    def _rows(self, used: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        keys = [json.dumps(name, ensure_ascii=False) for name in used]
        for number, line in self._texts():
            try:
                row = decode(line)
                # Decoding keeps the last of equal keys; objects inside of the row have their own.
                is_doubtful = any(line.count(key) > 1 for key in keys)
                pairs = json.loads(line, object_pairs_hook=list) if is_doubtful else ()
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
                problem = f"{self.name}: line {number}: is not a JSON object: {error}"
                raise BrokenTextError([problem], _LINES) from None
            refuse_repeated(f"{self.name}: line {number}", [name for name, _ in pairs], used)
            yield number, row

    def chunks(self, places: Sequence[int]) -> Iterator[Rows]:
        """Yield the columns at some places, a few thousand rows at a time."""
        names = {place: self.header[place] for place in places}
        rows = self._rows([*names.values()])
        while some := list(islice(rows, _CHUNK)):
            cells = {place: [row.get(name) for _, row in some] for place, name in names.items()}
            yield Rows([at for at, _ in some], cells)


class JsonArray(JsonLines):
    """A table of one JSON array of objects, read as the same objects in JSON lines are."""

    def _texts(self) -> Iterator[tuple[int, str]]:
        """Yield the text of each row, with the line in which it begins."""
        try:
            rows = msgspec.json.decode(self._text, type=list[msgspec.Raw])
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise BrokenTextError([f"{self.name}: is not a JSON array: {error}"]) from None
        place, line = 0, 1
        for row in rows:
            text = bytes(row).decode()
            start = self._text.index(text, place)
            line += self._text.count("\n", place, start)
            yield line, text
            place, line = start + len(text), line + text.count("\n")


class Parquet(TableFile):
    """A Parquet file; images of Hugging Face in it are reduced to their paths."""

    word = "row"

    def __init__(self, name: str, source: Any) -> None:
        self.name = name
        with parquet_errors(name) as parquet:
            self.file = parquet.ParquetFile(source)
        self.header = tuple(self.file.schema_arrow.names)

    def chunks(self, places: Sequence[int]) -> Iterator[Rows]:
        """Yield the columns at some places, a few thousand rows at a time."""
        import pyarrow as pa

        fields = {place: self.file.schema_arrow.field(place) for place in places}
        first, names = 1, []
        for each in fields.values():
            # Of images of Hugging Face, the path is read.
            is_picture = pa.types.is_struct(each.type) and each.type.get_field_index("path") >= 0
            names.append(f"{each.name}.path" if is_picture else str(each.name))
        with parquet_errors(self.name):
            for batch in self.file.iter_batches(_CHUNK, columns=[*dict.fromkeys(names)]):
                cells = {e: batch.column(field.name).to_pylist() for e, field in fields.items()}
                stop = first + batch.num_rows
                yield Rows([*range(first, stop)], cells)
                first = stop


def refuse_repeated(table: str, names: Sequence[str], used: Iterable[str]) -> None:
    """Refuse a table with several columns of a name that is used."""
    if found := next((name for name in used if [*names].count(name) > 1), None):
        problem = f"{table}: has several columns {one_line(found)!r}; expected one"
        raise DatasetError([problem], "Rename all but one of them, or leave them out.")


def table_in(member: Member) -> TableFile:
    """Return the table in a file; raises DatasetError or BrokenTextError if it cannot be read."""
    if member.head().startswith(PARQUET):
        # Packed content cannot be read from its end without unpacking it each time.
        source = member.shown if member.is_file else io.BytesIO(member.read())
        return Parquet(member.shown, source)
    text = decoded(member.shown, member.read())
    kinds = {"{": JsonLines, "[": JsonArray}
    return kinds.get(text.lstrip()[:1], Delimited)(member.shown, text)


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
    found: dict[str, None] = {}
    if first.lstrip().startswith("["):
        # Objects at the beginning of a list, which may be cut off.
        text, decode = "\n".join(lines), json.JSONDecoder().raw_decode
        place = text.index("[") + 1
        with suppress(ValueError, RecursionError):
            while (between := _BETWEEN.match(text, place)) is not None:
                row, place = decode(text, between.end())
                found |= dict.fromkeys(row if isinstance(row, dict) else ())
        return [] if {"image_id", "category_id"} <= {*found} <= _OF_RESULTS else [*found]
    if first.lstrip().startswith("{"):
        for line in lines:
            # The last line may be cut off.
            with suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                found |= dict.fromkeys(msgspec.json.decode(line, type=dict[str, Any]))
        return [*found]
    try:
        cells = next(csv.reader([first], delimiter=_delimiter_of(first)), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def class_names(table: Parquet, column: str) -> list[str]:
    """Return the class names that Hugging Face stores with a column of class numbers."""
    kept = (table.file.schema_arrow.metadata or {}).get(b"huggingface", b"{}")
    try:
        content = mapping(msgspec.json.decode(kept))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    waiting = [mapping(mapping(content.get("info")).get("features")).get(column)]
    for each in waiting:
        if mapping(each).get("_type") == "ClassLabel":
            return [plain_text(name) for name in items(mapping(each).get("names"))]
        waiting += [*mapping(each).values(), *items(each)]
    return []
