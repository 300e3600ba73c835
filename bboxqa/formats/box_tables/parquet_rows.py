"""Rows of Parquet files, including those of Hugging Face, which contain whole images."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from bboxqa.formats.content_kinds import PARQUET
from bboxqa.formats.opening import parquet_errors
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.untrusted import items, mapping, plain_text

_BATCH = 4096

Row = tuple[int, dict[str, Any]]
"""The line or the Parquet row number, and the cells by column name."""


@contextmanager
def parquet_file(member: Member) -> Iterator[Any]:
    """Open a Parquet file; raises DatasetError if it cannot be read."""
    # Packed content cannot be read from its end without unpacking it each time.
    with (
        parquet_errors(member.shown) as parquet,
        member.open() if member.is_file else io.BytesIO(member.read()) as stream,
    ):
        yield parquet.ParquetFile(stream)


def parquet_rows(member: Member, only: Sequence[str]) -> Iterator[Row]:
    """Yield the rows with the columns in `only`, or with all; images are reduced to their paths."""
    with parquet_file(member) as file:
        names = [_part(file.schema_arrow.field(name)) for name in only or file.schema_arrow.names]
        number = 0
        for batch in file.iter_batches(_BATCH, columns=names):
            for row in batch.to_pylist():
                number += 1
                yield number, row


def _part(field: Any) -> str:
    """Return the part of a column to read: for images, the path."""
    import pyarrow as pa

    is_picture = pa.types.is_struct(field.type) and field.type.get_field_index("path") >= 0
    return f"{field.name}.path" if is_picture else str(field.name)


def class_names(member: Member, column: str) -> list[str]:
    """Return the class names that Hugging Face stores with a column of class numbers."""
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
    """Return the first class names inside a description of columns."""
    found = mapping(feature)
    if found.get("_type") == "ClassLabel":
        return [plain_text(name) for name in items(found.get("names"))]
    inside = [*found.values(), *items(feature)]
    return next((names for each in inside if (names := _names_below(each))), [])
