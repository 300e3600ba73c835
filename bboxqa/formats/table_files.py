"""Opening tables of texts and numbers."""

import io
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.formats.heads import PARQUET
from bboxqa.formats.opening import decoded, named_errors, read_whole
from bboxqa.formats.tables import Delimited, JsonArray, JsonLines, Parquet, TableFile
from bboxqa.formats.unreadable import NOT_A_FOLDER, refuse_foreign


def open_table(path: str | Path) -> TableFile:
    """Read a table of texts and numbers.

    The table is CSV or TSV, JSON lines (``.jsonl``, ``.ndjson``, or beginning with a brace), a
    JSON array of objects, or Parquet. Text is UTF-8, or UTF-16 or UTF-32 with a byte order mark.
    The delimiter is the most frequent of tab, comma and semicolon in the first line. Raises
    DatasetError if the file does not exist, is empty, or has another format.
    """
    path = Path(path)
    name = str(path)
    refuse_foreign(path, table=True)
    with named_errors(path, "one table", NOT_A_FOLDER):
        data = read_whole(path)
    if data[:4] == PARQUET:
        table = Parquet(name, io.BytesIO(data))
        if table.file.metadata.num_rows == 0:
            raise DatasetError([f"{name}: has no rows; expected ratings"])
        return table
    text = decoded(name, data)
    if not text.strip():
        raise DatasetError([f"{name}: is empty; expected a table with a header"])
    first = text.lstrip()[0]
    if path.suffix.lower() in {".jsonl", ".ndjson", ".json"} or first == "{":
        lines = (JsonArray if first == "[" else JsonLines)(name, text)
        if not lines.header:
            raise DatasetError([f"{name}: has rows without keys; expected the names of columns"])
        return lines
    return Delimited(name, text, tab=path.suffix.lower() in {".tsv", ".tab"})
