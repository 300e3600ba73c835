"""Opening tables: CSV and TSV, json lines, Parquet."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.formats.foreign import refuse_foreign
from bboxqa.formats.tables.delimited import Delimited
from bboxqa.formats.tables.typed import JsonLines, Parquet
from bboxqa.model.labels import LabelColumn

_PARQUET = b"PAR1"


class TableFile(Protocol):
    """A table whose columns can be read.

    Attributes
    ----------
    name : str
        The file as messages name it.
    header : tuple of str
        The first row, or the names of the columns.
    header_is_certain : bool
        False where the first row may be data.
    """

    name: str
    header: tuple[str, ...]
    header_is_certain: bool

    def columns(self, names: Sequence[str]) -> dict[str, LabelColumn]:
        """Return the values below the header of some columns."""

    def places(self, rows: IndexArray) -> list[str]:
        """Return file and line of rows, counted from 0 below the header."""

    def grid(self) -> tuple[LabelColumn, int]:
        """Return all cells below the header, row by row, and the number of columns."""


def open_table(path: str | Path) -> TableFile:
    """Read a table of texts and numbers.

    Parameters
    ----------
    path : str or Path
        CSV or TSV (utf-8, or utf-16 with its mark; delimited by tab, comma or semicolon, whichever
        the first line has most of), json lines (``.jsonl``, ``.ndjson``, or beginning with a
        brace) or Parquet.

    Raises
    ------
    DatasetError
        If the file does not exist, is empty, or has another format.
    """
    path = Path(path)
    name = str(path)
    refuse_foreign(path, table=True)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DatasetError([f"{name}: no such file"]) from None
    except IsADirectoryError:
        raise DatasetError([f"{name}: is a folder; expected one table"]) from None
    except OSError as error:
        raise DatasetError([f"{name}: cannot be read: {error.strerror}"]) from None
    if data[:4] == _PARQUET:
        return Parquet(name, data)
    if path.suffix.lower() in {".parquet", ".pq"}:
        raise DatasetError([f"{name}: is not Parquet, though named so"], "Export it again.")
    text = _decode(name, data)
    if not text.strip():
        raise DatasetError([f"{name}: is empty; expected a table with a header"])
    if path.suffix.lower() in {".jsonl", ".ndjson", ".json"} or text.lstrip()[0] == "{":
        return JsonLines(name, text)
    return Delimited(name, text, tab=path.suffix.lower() in {".tsv", ".tab"})


def _decode(name: str, data: bytes) -> str:
    advice = "Save the table as CSV in utf-8."
    if data[:4] == b"PK\x03\x04":
        raise DatasetError([f"{name}: is a zip archive, as xlsx and ods files are"], advice)
    if data[:2] == b"\x1f\x8b":
        raise DatasetError([f"{name}: is compressed (gzip)"], "Unpack it first.")
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    if encoding == "utf-8-sig" and b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise DatasetError(
            [f"{name}: line {line}: contains a zero byte, so it is not text"], advice
        )
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte {error.start} is {data[error.start]:#04x}"
        raise DatasetError(
            [f"{name}: line {line}: is not {encoding.removesuffix('-sig')}: {found}"], advice
        ) from None
