"""Rows of Parquet files, among them those of Hugging Face, which hold whole pictures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean
from bboxqa.formats.translation.members import Member
from bboxqa.formats.translation.untrusted import items, mapping, plain_text

PARQUET = b"PAR1"
"""The first bytes of a file."""
_BATCH = 4096

Row = tuple[int, dict[str, Any]]
"""A line, or the number of a row of Parquet, and the cells by the names of their columns."""


@contextmanager
def parquet_file(member: Member) -> Iterator[Any]:
    """Open a file; raise DatasetError if it cannot be read."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise DatasetError(
            [f"{member.shown}: is Parquet, for which pyarrow is needed"],
            'Install it: pip install "bboxqa[parquet]"; or save the table as CSV.',
        ) from None
    try:
        with member.open() as stream:
            yield parquet.ParquetFile(stream)
    except (pa.ArrowException, OSError) as error:
        problem = f"{member.shown}: is not Parquet that can be read: {clean(str(error).strip())}"
        raise DatasetError([problem], "Export it again.") from None


def parquet_rows(member: Member, only: Sequence[str]) -> Iterator[Row]:
    """Yield the rows, with some columns or all; of pictures their paths only."""
    with parquet_file(member) as file:
        names = [_part(file.schema_arrow.field(name)) for name in only or file.schema_arrow.names]
        number = 0
        for batch in file.iter_batches(_BATCH, columns=names):
            for row in batch.to_pylist():
                number += 1
                yield number, row


def _part(field: Any) -> str:
    """Return what to read of a column: of a picture, its path."""
    import pyarrow as pa

    is_picture = pa.types.is_struct(field.type) and field.type.get_field_index("path") >= 0
    return f"{field.name}.path" if is_picture else str(field.name)


def class_names(member: Member, column: str) -> list[str]:
    """Return the names of the numbers of classes that Hugging Face keeps beside a column."""
    if not member.head().startswith(PARQUET):
        return []
    with parquet_file(member) as file:
        kept = (file.schema_arrow.metadata or {}).get(b"huggingface", b"{}")
    try:
        content = mapping(msgspec.json.decode(kept))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    features = mapping(mapping(content.get("info")).get("features"))
    return _names_below(features.get(column))


def _names_below(feature: object) -> list[str]:
    """Return the first names of classes inside of a description of columns."""
    found = mapping(feature)
    if found.get("_type") == "ClassLabel":
        return [plain_text(name) for name in items(found.get("names"))]
    inside = [*found.values(), *items(feature)]
    return next((names for each in inside if (names := _names_below(each))), [])
