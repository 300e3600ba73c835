"""Reading CSV and TSV tables."""

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.model.labels import Coder, LabelColumn

# Number of rows per chunk, few enough to stay in the processor's cache.
_CHUNK = 4096


class Delimited:
    """A CSV or TSV table in memory; see `TableFile`."""

    header_is_certain = False

    def __init__(self, name: str, text: str, *, tab: bool) -> None:
        self.name = name
        self._text = text
        self._delimiter = "\t" if tab else _delimiter(text)
        with self._refusing():
            first = next(self._rows(self._reader()))
        self.header = tuple(cell.strip() for cell in first)

    def _reader(self) -> Any:
        # Strict: a file cut off inside quotes is refused rather than read as one cell.
        return csv.reader(
            io.StringIO(self._text, newline=""),
            delimiter=self._delimiter,
            strict=True,
            skipinitialspace=True,
        )

    @staticmethod
    def _rows(reader: Any) -> Iterator[list[str]]:
        return filter(None, reader)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Convert errors of the csv module to DatasetError."""
        try:
            yield
        except csv.Error as error:
            raise DatasetError(
                [f"{self.name}: line {self._broken()}: cannot be split into cells: {error}"],
                "A quote that is not closed is the usual cause; a quote within a quoted cell is "
                "written twice.",
            ) from None

    def _broken(self) -> int:
        """Return the number of the first line of the row that cannot be split."""
        reader = self._reader()
        start = 1
        with suppress(csv.Error):
            for _ in reader:
                start = reader.line_num + 1
        return start

    def _chunks(self) -> Iterator[list[list[str]]]:
        """Yield chunks of rows below the header, all as long as the header."""
        rows = self._rows(self._reader())
        width = len(next(rows))
        while chunk := list(itertools.islice(rows, _CHUNK)):
            if set(map(len, chunk)) != {width}:
                raise DatasetError(self._ragged(width), "Quote cells that hold the delimiter.")
            yield chunk

    def _ragged(self, width: int) -> list[str]:
        reader = self._reader()
        return [
            f"{self.name}: line {reader.line_num}: has {len(row)} cells; expected {width}, as the "
            "first line has"
            for row in reader
            if row and len(row) != width
        ]

    def columns(self, names: Sequence[str]) -> dict[str, LabelColumn]:
        """Return the values of some columns, below the header."""
        places = [self.header.index(name) for name in names]
        coders = [Coder() for _ in names]
        with self._refusing():
            for chunk in self._chunks():
                cells = list(zip(*chunk, strict=True))
                for coder, place in zip(coders, places, strict=True):
                    coder.add(cells[place])
        return {name: _stripped(*coder.finish()) for name, coder in zip(names, coders, strict=True)}

    def grid(self) -> tuple[LabelColumn, int]:
        """Return all cells below the header, row by row, and the number of columns."""
        coder = Coder()
        with self._refusing():
            for chunk in self._chunks():
                coder.add(list(itertools.chain.from_iterable(chunk)))
        return _stripped(*coder.finish()), len(self.header)

    def places(self, rows: IndexArray) -> list[str]:
        """Return file and line of rows, counted from 0 below the header."""
        if len(rows) == 0:
            return []
        reader = self._reader()
        lines = [reader.line_num for row in reader if row][1:]
        return [f"{self.name}: line {lines[row]}" for row in rows.tolist()]


def _delimiter(text: str) -> str:
    """Return the most frequent delimiter of the first line."""
    first = text.lstrip("\r\n").partition("\n")[0]
    return max(",\t;", key=first.count)


def _stripped(codes: IndexArray, labels: list[str]) -> LabelColumn:
    return LabelColumn(codes, tuple(label.strip() or None for label in labels))
