"""Tables in CSV, TSV, JSON lines and Parquet: of texts and numbers, or of boxes."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, one_line
from bboxqa.formats.heads import PARQUET, delimiter_of
from bboxqa.formats.member import Member
from bboxqa.formats.opening import NOT_A_FOLDER, decoded, refuse_foreign
from bboxqa.formats.source import read_whole
from bboxqa.formats.translation.collector import BrokenTextError
from bboxqa.formats.translation.shapes import items, mapping, plain_text
from bboxqa.model.ratings import Coder, LabelColumn, label_of

_QUOTES = "Close each quote, and write one within a quoted cell twice."
# Number of rows per chunk, few enough to stay in the processor's cache.
_CHUNK = 4096
_NOT_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)


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


class Table(msgspec.Struct, frozen=True, eq=False):
    """A table in memory."""

    name: str
    """The name of the file in messages."""
    header: tuple[str, ...]
    """The first row, or the names of the columns."""
    chunks: Callable[[Sequence[int]], Iterator[Rows]]
    """Yields the columns at some places, a few thousand rows at a time."""
    word: str = "line"
    """What messages call a row."""
    is_text: bool = False
    """Whether all cells are texts, and the first row may be data instead of a header."""
    metadata: Mapping[bytes, bytes] = msgspec.field(default_factory=dict)

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


def delimited(name: str, text: str) -> Table:
    """Return a table of cells, delimited by commas, tabs or semicolons."""
    delimiter = delimiter_of(text)
    _, first = next(split_rows(name, text, delimiter), (0, []))
    header = tuple(cell.strip() for cell in first)

    def chunks(places: Sequence[int]) -> Iterator[Rows]:
        width, rows = len(header), islice(split_rows(name, text, delimiter), 1, None)
        while some := list(islice(rows, _CHUNK)):
            whole = [each for each in some if len(each[1]) == width]
            ragged = [(at, len(row)) for at, row in some if len(row) != width]
            columns = [*zip(*(row for _, row in whole), strict=True)] or [()] * width
            yield Rows([at for at, _ in whole], {e: columns[e] for e in places}, ragged)

    return Table(name, header, chunks, is_text=True)


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


def _json_rows(name: str, text: str) -> Table:
    is_array = text.lstrip()[:1] == "["

    def texts() -> Iterator[tuple[int, str]]:
        if not is_array:
            lines = enumerate(io.StringIO(text, newline=""), start=1)
            yield from ((number, line) for number, line in lines if not line.isspace())
            return
        try:
            rows = msgspec.json.decode(text, type=list[msgspec.Raw])
        except _NOT_JSON as error:
            raise BrokenTextError([f"{name}: is not a JSON array: {error}"]) from None
        start, stop, line = 0, 0, 1
        for row in (bytes(each).decode() for each in rows):
            before, start = start, text.index(row, stop)
            line, stop = line + text.count("\n", before, start), start + len(row)
            yield line, row

    def rows(used: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        keys = [json.dumps(each, ensure_ascii=False) for each in used]
        for number, line in texts():
            try:
                row = decode(line)
                # Decoding keeps the last of equal keys; objects inside of the row have their own.
                is_doubtful = any(line.count(key) > 1 for key in keys)
                pairs = json.loads(line, object_pairs_hook=list) if is_doubtful else ()
            except _NOT_JSON as error:
                problem = f"{name}: line {number}: is not a JSON object: {error}"
                raise BrokenTextError([problem], "Write one JSON object on each line.") from None
            refuse_repeated(f"{name}: line {number}", [key for key, _ in pairs], used)
            yield number, row

    header = (*dict.fromkeys(key for _, row in islice(rows(), _CHUNK) for key in row),)

    def chunks(places: Sequence[int]) -> Iterator[Rows]:
        found = rows([*map(header.__getitem__, places)])
        while some := list(islice(found, _CHUNK)):
            cells = {place: [row.get(header[place]) for _, row in some] for place in places}
            yield Rows([at for at, _ in some], cells)

    return Table(name, header, chunks)


@contextmanager
def _parquet_errors(name: str) -> Iterator[Any]:
    """Yield the module that reads Parquet; refuse the file of this name where that fails."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise DatasetError(
            [f"{name}: is Parquet, for which pyarrow is needed"],
            'Install it: pip install "bboxqa[parquet]"; or save the table as CSV.',
        ) from None
    try:
        yield parquet
    except (pa.ArrowException, OSError) as error:
        problem = f"{name}: is not Parquet that can be read: {clean(str(error).strip())}"
        raise DatasetError([problem], "Export it again.") from None


def _parquet(name: str, source: Any) -> Table:
    with _parquet_errors(name) as parquet:
        import pyarrow as pa

        file = parquet.ParquetFile(source)
    schema = file.schema_arrow

    def chunks(places: Sequence[int]) -> Iterator[Rows]:
        fields = {place: schema.field(place) for place in places}
        first, names = 1, []
        for each in fields.values():
            # Of images of Hugging Face, the path is read.
            is_picture = pa.types.is_struct(each.type) and each.type.get_field_index("path") >= 0
            names.append(f"{each.name}.path" if is_picture else str(each.name))
        with _parquet_errors(name):
            for batch in file.iter_batches(_CHUNK, columns=[*dict.fromkeys(names)]):
                cells = {e: batch.column(field.name).to_pylist() for e, field in fields.items()}
                stop = first + batch.num_rows
                yield Rows([*range(first, stop)], cells)
                first = stop

    return Table(name, tuple(schema.names), chunks, "row", metadata=schema.metadata or {})


def refuse_repeated(table: str, names: Sequence[str], used: Iterable[str]) -> None:
    """Refuse a table with several columns of a name that is used."""
    if found := next((name for name in used if [*names].count(name) > 1), None):
        problem = f"{table}: has several columns {one_line(found)!r}; expected one"
        raise DatasetError([problem], "Rename all but one of them, or leave them out.")


def table_in(member: Member) -> Table:
    """Return the table in a file; raises DatasetError or BrokenTextError if it cannot be read."""
    if member.head().startswith(PARQUET) and member.is_file:
        # Its end is read first, and then only the columns that are used.
        return _parquet(member.shown, member.shown)
    return table_of(member.shown, member.read())


def table_of(name: str, data: bytes) -> Table:
    """Return the table in the content of a file, as `table_in` does."""
    if data.startswith(PARQUET):
        return _parquet(name, io.BytesIO(data))
    text = decoded(name, data)
    return (_json_rows if text.lstrip()[:1] in ("{", "[") else delimited)(name, text)


def open_table(path: str | Path) -> Table:
    """Read a table of texts and numbers: CSV, TSV, JSON Lines, an array of objects, or Parquet."""
    refuse_foreign(Path(path), table=True)
    table = table_of(str(path), read_whole(Path(path), "one table", NOT_A_FOLDER))
    if not any(table.header):
        problem = f"{path}: is empty; expected a table with the names of columns"
        raise DatasetError([problem])
    return table


def class_names(table: Table, column: str) -> list[str]:
    """Return the class names that Hugging Face stores with a column of class numbers."""
    try:
        content = mapping(msgspec.json.decode(table.metadata.get(b"huggingface", b"{}")))
    except _NOT_JSON:
        return []
    waiting = [mapping(mapping(content.get("info")).get("features")).get(column)]
    for each in waiting:
        if mapping(each).get("_type") == "ClassLabel":
            return [plain_text(name) for name in items(mapping(each).get("names"))]
        waiting += [*mapping(each).values(), *items(each)]
    return []
