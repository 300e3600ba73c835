"""Opening tables in CSV, TSV, JSON lines and Parquet."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.formats.content_kinds import PARQUET
from bboxqa.formats.foreign import NOT_A_FOLDER, refuse_foreign
from bboxqa.formats.opening import decoded, named_errors, read_whole
from bboxqa.formats.tables.delimited import Delimited
from bboxqa.formats.tables.typed import JsonLines, Parquet
from bboxqa.model.labels import LabelColumn


class TableFile(Protocol):
    """A table whose columns can be read."""

    name: str
    """The name of the file in messages."""
    header: tuple[str, ...]
    """The first row, or the names of the columns."""
    header_is_certain: bool
    """Whether the first row is certainly a header; False if it may be data."""

    def columns(self, names: Sequence[str]) -> dict[str, LabelColumn]:
        """Return the values of some columns, below the header."""

    def places(self, rows: IndexArray) -> list[str]:
        """Return file and line of rows, counted from 0 below the header."""

    def grid(self) -> tuple[LabelColumn, int]:
        """Return all cells below the header, row by row, and the number of columns."""


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
        return Parquet(name, data)
    if path.suffix.lower() in {".parquet", ".pq"}:
        raise DatasetError([f"{name}: is not Parquet, despite its name"], "Export it again.")
    text = decoded(name, data)
    if not text.strip():
        raise DatasetError([f"{name}: is empty; expected a table with a header"])
    if path.suffix.lower() in {".jsonl", ".ndjson", ".json"} or text.lstrip()[0] == "{":
        return JsonLines(name, text)
    return Delimited(name, text, tab=path.suffix.lower() in {".tsv", ".tab"})
