"""Opening tables of texts and numbers."""

import io
from contextlib import suppress
from pathlib import Path

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.formats.heads import PARQUET
from bboxqa.formats.opening import decoded, named_errors, read_whole
from bboxqa.formats.tables.rows import Delimited, JsonArray, JsonLines, Parquet, TableFile
from bboxqa.formats.unreadable import NOT_A_FOLDER, refuse_foreign

_SUCH_AS = 'Write a rating on each line, such as {"unit": 1, "ann": "cat", "bob": "dog"}.'


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
    if path.suffix.lower() in {".parquet", ".pq"}:
        raise DatasetError([f"{name}: is not Parquet, despite its name"], "Export it again.")
    text = decoded(name, data)
    if not text.strip():
        raise DatasetError([f"{name}: is empty; expected a table with a header"])
    if path.suffix.lower() in {".jsonl", ".ndjson", ".json"} or text.lstrip()[0] == "{":
        return _json_lines(name, text)
    return Delimited(name, text, tab=path.suffix.lower() in {".tsv", ".tab"})


def _json_lines(name: str, text: str) -> TableFile:
    is_list = text.lstrip()[0] == "["
    if not is_list and not _is_object(text.lstrip().partition("\n")[0]) and _is_object(text):
        problem = f"{name}: is one JSON object over several lines; expected one object a line"
        raise DatasetError([problem], _SUCH_AS)
    table = (JsonArray if is_list else JsonLines)(name, text)
    if not table.header:
        problem = "is an object without keys; expected the names of columns"
        raise DatasetError([f"{name}: line 1: {problem}"], _SUCH_AS)
    return table


def _is_object(text: str) -> bool:
    with suppress(msgspec.DecodeError, RecursionError):
        return isinstance(msgspec.json.decode(text), dict)
    return False
