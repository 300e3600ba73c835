"""Tables of texts and numbers in CSV, TSV, JSON lines and Parquet."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.formats.content_kinds import PARQUET
from bboxqa.formats.opening import decoded, named_errors, parquet_errors, read_whole
from bboxqa.formats.unreadable import NOT_A_FOLDER, refuse_foreign
from bboxqa.model.labels import Coder, LabelColumn, label_of

# Number of rows per chunk, few enough to stay in the processor's cache.
_CHUNK = 4096
_LINES = "Write one JSON object on each line."
_SUCH_AS = 'Write a rating on each line, such as {"unit": 1, "ann": "cat", "bob": "dog"}.'


class TableFile:
    """A table in memory whose columns can be read."""

    name: str
    """The name of the file in messages."""
    header: tuple[str, ...]
    """The first row, or the names of the columns."""
    header_is_certain = True
    """Whether the first row is certainly a header; False if it may be data."""

    def columns(self, names: Sequence[str]) -> dict[str, LabelColumn]:
        """Return the values of some columns, below the header."""
        return dict(zip(names, self._read([*map(self.header.index, names)]), strict=True))

    def grid(self) -> tuple[LabelColumn, int]:
        """Return all cells below the header, row by row, and the number of columns."""
        columns = self._read([*range(len(self.header))])
        offsets = np.cumsum([0, *(len(column.labels) for column in columns)])
        cells = [
            np.where(column.codes < 0, -1, column.codes + offset)
            for column, offset in zip(columns, offsets[:-1], strict=True)
        ]
        labels = chain.from_iterable(column.labels for column in columns)
        return LabelColumn(np.stack(cells, axis=1).ravel(), tuple(labels)), len(self.header)

    def places(self, rows: IndexArray) -> list[str]:
        """Return file and line of rows, counted from 0 below the header."""
        lines = self._lines() if len(rows) else []
        return [f"{self.name}: line {lines[row]}" for row in rows.tolist()]

    def _read(self, places: Sequence[int]) -> list[LabelColumn]:
        coders = [Coder() for _ in places]
        for chunk in self._chunks(places):
            for coder, place, cells in zip(coders, places, chunk, strict=True):
                try:
                    coder.add(cells)
                except TypeError:
                    raise DatasetError(self._nested(place)) from None
        return [_texts(*coder.finish()) for coder in coders]

    def _nested(self, place: int) -> list[str]:
        cells = chain.from_iterable(next(iter(chunk)) for chunk in self._chunks([place]))
        rows = [row for row, cell in enumerate(cells) if isinstance(cell, dict | list)]
        expected = f"{self.header[place]} is a list or an object; expected a text or a number"
        return [f"{where}: {expected}" for where in self.places(np.array(rows))]

    def _chunks(self, places: Sequence[int]) -> Iterator[Sequence[Sequence[Any]]]:
        """Yield some columns of a few thousand rows at a time."""
        raise NotImplementedError

    def _lines(self) -> list[int]:
        """Return the line of each row below the header."""
        raise NotImplementedError


def _texts(codes: IndexArray, labels: list[Any]) -> LabelColumn:
    return LabelColumn(codes, tuple((label_of(label) or "").strip() or None for label in labels))


class _Delimited(TableFile):
    header_is_certain = False

    def __init__(self, name: str, text: str, *, tab: bool) -> None:
        self.name = name
        self._text = text
        first = text.lstrip("\r\n").partition("\n")[0]
        self._delimiter = "\t" if tab else max(",\t;", key=first.count)
        self.header = tuple(cell.strip() for cell in next(self._rows())[1])

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows, with the line in which each ends; raises DatasetError for broken ones."""
        # Strict: a file cut off inside quotes is refused rather than read as one cell.
        lines = io.StringIO(self._text, newline="")
        reader = csv.reader(lines, delimiter=self._delimiter, strict=True, skipinitialspace=True)
        line = 0
        try:
            for row in reader:
                line = reader.line_num
                if row:
                    yield line, row
        except csv.Error as error:
            raise DatasetError(
                [f"{self.name}: line {line + 1}: cannot be split into cells: {error}"],
                "A quote that is not closed is the usual cause; a quote within a quoted cell is "
                "written twice.",
            ) from None

    def _chunks(self, places: Sequence[int]) -> Iterator[Sequence[Sequence[Any]]]:
        width = len(self.header)
        rows = (row for _, row in islice(self._rows(), 1, None))
        while chunk := list(islice(rows, _CHUNK)):
            if set(map(len, chunk)) != {width}:
                problems = [
                    f"{self.name}: line {line}: has {len(row)} cells; expected {width}, as the "
                    "first line has"
                    for line, row in self._rows()
                    if len(row) != width
                ]
                raise DatasetError(problems, "Quote cells that hold the delimiter.")
            columns = [*zip(*chunk, strict=True)]
            yield [columns[place] for place in places]

    def _lines(self) -> list[int]:
        return [line for line, _ in islice(self._rows(), 1, None)]


class _JsonLines(TableFile):
    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text
        if text.lstrip()[0] == "[":
            raise DatasetError(
                [f"{name}: begins with a list; expected one object a line"],
                f"Convert it: jq -c '.[]' {name} > table.jsonl",
            )
        first = text.lstrip().partition("\n")[0]
        if not _is_object(first) and _is_object(text):
            problem = f"{name}: is one JSON object over several lines; expected one object a line"
            raise DatasetError([problem], _SUCH_AS)
        records = islice(self._records(), _CHUNK)
        self.header = tuple(dict.fromkeys(key for _, record in records for key in record))
        if not self.header:
            problem = "is an object without keys; expected the names of columns"
            raise DatasetError([f"{name}: line 1: {problem}"], _SUCH_AS)

    def _records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        for number, line in enumerate(io.StringIO(self._text, newline=""), start=1):
            if line.isspace():
                continue
            try:
                yield number, decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                found = line.strip() if len(line) <= 40 else f"{line.strip()[:37]}..."
                problem = f"is {found!r}; expected a JSON object ({error})"
                raise DatasetError([f"{self.name}: line {number}: {problem}"], _LINES) from None

    def _chunks(self, places: Sequence[int]) -> Iterator[Sequence[Sequence[Any]]]:
        records = (record for _, record in self._records())
        while chunk := list(islice(records, _CHUNK)):
            yield [[record.get(self.header[place]) for record in chunk] for place in places]

    def _lines(self) -> list[int]:
        return [number for number, _ in self._records()]


def _is_object(text: str) -> bool:
    """Return whether a text is one JSON object."""
    with suppress(msgspec.DecodeError, RecursionError):
        return isinstance(msgspec.json.decode(text), dict)
    return False


class _Parquet(TableFile):
    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        with parquet_errors(name) as parquet:
            self._file = parquet.ParquetFile(io.BytesIO(data))
        self.header = tuple(self._file.schema_arrow.names)
        if self._file.metadata.num_rows == 0:
            raise DatasetError([f"{name}: has no rows; expected ratings"])

    def _chunks(self, places: Sequence[int]) -> Iterator[Sequence[Sequence[Any]]]:
        with parquet_errors(self.name):
            for batch in self._file.iter_batches(_CHUNK):
                yield [batch.column(place).to_pylist() for place in places]

    def places(self, rows: IndexArray) -> list[str]:
        """Return file and number of rows, counted from 0."""
        return [f"{self.name}: row {row + 1}" for row in rows.tolist()]


def open_table(path: str | Path) -> TableFile:
    """Read a table of texts and numbers.

    The table is CSV or TSV, JSON lines (``.jsonl``, ``.ndjson``, or beginning with a brace) or
    Parquet. Text is UTF-8, or UTF-16 or UTF-32 with a byte order mark. The delimiter is the most
    frequent of tab, comma and semicolon in the first line. Raises DatasetError if the file does not
    exist, is empty, or has another format.
    """
    path = Path(path)
    name = str(path)
    refuse_foreign(path, table=True)
    with named_errors(path, "one table", NOT_A_FOLDER):
        data = read_whole(path)
    if data[:4] == PARQUET:
        return _Parquet(name, data)
    if path.suffix.lower() in {".parquet", ".pq"}:
        raise DatasetError([f"{name}: is not Parquet, despite its name"], "Export it again.")
    text = decoded(name, data)
    if not text.strip():
        raise DatasetError([f"{name}: is empty; expected a table with a header"])
    if path.suffix.lower() in {".jsonl", ".ndjson", ".json"} or text.lstrip()[0] == "{":
        return _JsonLines(name, text)
    return _Delimited(name, text, tab=path.suffix.lower() in {".tsv", ".tab"})
