"""Opening tables: CSV and TSV, json lines, Parquet."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.formats.foreign import refuse_foreign
from bboxqa.formats.opening import decoded, named_errors, read_whole
from bboxqa.formats.tables.delimited import Delimited
from bboxqa.formats.tables.typed import JsonLines, Parquet
from bboxqa.model.labels import LabelColumn

_PARQUET = b"PAR1"


class TableFile(Protocol):
    """A table whose columns can be read."""

    name: str
    """The file as messages name it."""
    header: tuple[str, ...]
    """The first row, or the names of the columns."""
    header_is_certain: bool
    """False where the first row may be data."""

    def columns(self, names: Sequence[str]) -> dict[str, LabelColumn]:
        """Return the values below the header of some columns."""

    def places(self, rows: IndexArray) -> list[str]:
        """Return file and line of rows, counted from 0 below the header."""

    def grid(self) -> tuple[LabelColumn, int]:
        """Return all cells below the header, row by row, and the number of columns."""


def open_table(path: str | Path) -> TableFile:
    """Read a table of texts and numbers.

    It is CSV or TSV (utf-8, or utf-16 or utf-32 with its mark; delimited by tab, comma or
    semicolon, whichever the first line has most of), json lines (``.jsonl``, ``.ndjson``, or
    beginning with a brace) or Parquet. Raises DatasetError if the file does not exist, is empty, or
    has another format.
    """
    path = Path(path)
    name = str(path)
    refuse_foreign(path, table=True)
    with named_errors(path, "one table"):
        data = read_whole(path)
    if data[:4] == _PARQUET:
        return Parquet(name, data)
    if path.suffix.lower() in {".parquet", ".pq"}:
        raise DatasetError([f"{name}: is not Parquet, though named so"], "Export it again.")
    text = decoded(name, data)
    if not text.strip():
        raise DatasetError([f"{name}: is empty; expected a table with a header"])
    if path.suffix.lower() in {".jsonl", ".ndjson", ".json"} or text.lstrip()[0] == "{":
        return JsonLines(name, text)
    return Delimited(name, text, tab=path.suffix.lower() in {".tsv", ".tab"})
