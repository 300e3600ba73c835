"""Reading tables with typed values: JSON lines and Parquet."""

import io
import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.formats.opening import parquet_errors
from bboxqa.model.labels import Coder, LabelColumn, label_of

# Number of rows per chunk, few enough to stay in the processor's cache.
_CHUNK = 4096


class JsonLines:
    """A table of JSON lines in memory, one object per line; see `TableFile`."""

    header_is_certain = True

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text
        if text.lstrip()[0] == "[":
            raise DatasetError(
                [f"{name}: begins with a list; expected one object a line"],
                f"Convert it: jq -c '.[]' {name} > table.jsonl",
            )
        if not _is_object(next(self._lines())[1]) and _is_object(text):
            raise DatasetError(
                [f"{name}: is one JSON object over several lines; expected one object a line"],
                'Write a rating on each line, such as {"unit": 1, "ann": "cat", "bob": "dog"}.',
            )
        first = next(self._chunks())
        self.header = tuple(dict.fromkeys(key for record in first for key in record))
        if not self.header:
            raise DatasetError(
                [f"{name}: line 1: is an object without keys; expected the names of columns"],
                'Write a rating on each line, such as {"unit": 1, "ann": "cat", "bob": "dog"}.',
            )

    def _lines(self) -> Iterator[tuple[int, str]]:
        lines = enumerate(io.StringIO(self._text, newline=""), start=1)
        return ((number, line) for number, line in lines if not line.isspace())

    def _chunks(self) -> Iterator[list[dict[str, Any]]]:
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        lines = (line for line in io.StringIO(self._text, newline="") if not line.isspace())
        while chunk := list(itertools.islice(lines, _CHUNK)):
            try:
                records = [decode(line) for line in chunk]
            except (msgspec.DecodeError, RecursionError):
                raise DatasetError(self._broken(), "Write one JSON object on each line.") from None
            yield records

    def _broken(self) -> list[str]:
        problems = []
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        for number, line in self._lines():
            try:
                decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                found = line.strip() if len(line) <= 40 else f"{line.strip()[:37]}..."
                problems.append(
                    f"{self.name}: line {number}: is {found!r}; expected a JSON object ({error})"
                )
        return problems

    def columns(self, names: Sequence[str]) -> dict[str, LabelColumn]:
        """Return the values below the header of some columns."""
        coders = {name: Coder() for name in names}
        for chunk in self._chunks():
            for name, coder in coders.items():
                try:
                    coder.add([record.get(name) for record in chunk])
                except TypeError:
                    raise DatasetError(self._nested(name)) from None
        return {name: _texts(*coder.finish()) for name, coder in coders.items()}

    def _nested(self, name: str) -> list[str]:
        numbers = (number for number, _ in self._lines())
        records = itertools.chain.from_iterable(self._chunks())
        return [
            f"{self.name}: line {number}: {name} is {_kind(record.get(name))}; expected a text or "
            "a number"
            for number, record in zip(numbers, records, strict=True)
            if isinstance(record.get(name), dict | list)
        ]

    def grid(self) -> tuple[LabelColumn, int]:
        """Return all cells below the header, row by row, and the number of columns."""
        return _side_by_side(self.columns(self.header)), len(self.header)

    def places(self, rows: IndexArray) -> list[str]:
        """Return file and line of rows, counted from 0 below the header."""
        if len(rows) == 0:
            return []
        lines = [number for number, _ in self._lines()]
        return [f"{self.name}: line {lines[row]}" for row in rows.tolist()]


def _is_object(text: str) -> bool:
    """Return whether a text is one JSON object."""
    with suppress(msgspec.DecodeError, RecursionError):
        return isinstance(msgspec.json.decode(text), dict)
    return False


def _kind(value: object) -> str:
    return "an object" if isinstance(value, dict) else "a list"


def _texts(codes: IndexArray, labels: list[Any]) -> LabelColumn:
    return LabelColumn(codes, tuple((label_of(label) or "").strip() or None for label in labels))


def _side_by_side(columns: dict[str, LabelColumn]) -> LabelColumn:
    """Interleave the cells of columns, row by row."""
    offsets = np.cumsum([0, *(len(column.labels) for column in columns.values())])
    cells = [
        np.where(column.codes < 0, -1, column.codes + offset)
        for column, offset in zip(columns.values(), offsets[:-1], strict=True)
    ]
    labels = itertools.chain.from_iterable(column.labels for column in columns.values())
    return LabelColumn(np.stack(cells, axis=1).ravel(), tuple(labels))


class Parquet:
    """A Parquet file in memory; see `TableFile`."""

    header_is_certain = True

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        with parquet_errors(name) as parquet:
            self._file = parquet.ParquetFile(io.BytesIO(data))
        self.header = tuple(self._file.schema_arrow.names)
        if self._file.metadata.num_rows == 0:
            raise DatasetError([f"{name}: has no rows; expected ratings"])

    def columns(self, names: Sequence[str]) -> dict[str, LabelColumn]:
        """Return the values below the header of some columns."""
        import pyarrow as pa

        schema = self._file.schema_arrow
        wrong = [
            f"{self.name}: {name} is of type {schema.field(name).type}; expected texts or numbers"
            for name in names
            if pa.types.is_nested(schema.field(name).type)
        ]
        if wrong:
            raise DatasetError(wrong)
        with parquet_errors(self.name):
            table = self._file.read(columns=list(names))
        return {name: self._column(table.column(name)) for name in names}

    @staticmethod
    def _column(cells: Any) -> LabelColumn:
        import pyarrow as pa

        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        coded = pa.concat_arrays(cells.chunks).dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return _texts(codes, coded.dictionary.to_pylist())

    def grid(self) -> tuple[LabelColumn, int]:
        """Return all cells below the header, row by row, and the number of columns."""
        return _side_by_side(self.columns(self.header)), len(self.header)

    def places(self, rows: IndexArray) -> list[str]:
        """Return file and line of rows, counted from 0 below the header."""
        return [f"{self.name}: row {row + 1}" for row in rows.tolist()]
