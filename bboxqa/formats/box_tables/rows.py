"""The rows of a table of boxes in csv, JSON lines or Parquet, and its column names."""

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.formats.heads import PARQUET
from bboxqa.formats.member import Member
from bboxqa.formats.opening import decoded
from bboxqa.formats.tables.rows import (
    Delimited,
    JsonArray,
    JsonLines,
    Parquet,
    TableFile,
    delimiter_of,
)
from bboxqa.formats.translation.untrusted import items, mapping, plain_text

# The keys of results of COCO, or of a list of its annotations alone, which are no table.
_OF_RESULTS = {
    "id", "image_id", "category_id", "bbox", "segmentation", "keypoints", "num_keypoints", "area",
    "iscrowd", "score",
}  # fmt: skip
_BETWEEN = re.compile(r"[\s,]*")


def table_in(member: Member) -> TableFile:
    """Return the table in a file; raises DatasetError or BrokenTextError if it cannot be read."""
    if member.head().startswith(PARQUET):
        # Packed content cannot be read from its end without unpacking it each time.
        source = member.shown if member.is_file else io.BytesIO(member.read())
        return Parquet(member.shown, source)
    text = decoded(member.shown, member.read())
    kinds = {"{": JsonLines, "[": JsonArray}
    return kinds.get(text.lstrip()[:1], Delimited)(member.shown, text)


def header_of(head: bytes) -> list[str]:
    r"""Return the column names at the beginning of a text; empty if it is not a table.

    Examples
    --------
    >>> header_of(b"image;x\na.jpg;1\n"), header_of(b'{"image": "a.jpg", "x": 1}\n{"')
    (['image', 'x'], ['image', 'x'])
    """
    try:
        lines = decoded("", head).splitlines()
    except DatasetError:
        # The last character may be cut off.
        lines = head[:-4].decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("["):
        found = list(dict.fromkeys(name for row in _first_rows("\n".join(lines)) for name in row))
        return [] if {"image_id", "category_id"} <= {*found} <= _OF_RESULTS else found
    if first.lstrip().startswith("{"):
        return list(dict.fromkeys(name for line in lines for name in _keys(line)))
    try:
        cells = next(csv.reader([first], delimiter=delimiter_of(first)), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def _first_rows(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects at the beginning of a list, which may be cut off."""
    place, decode = text.index("[") + 1, json.JSONDecoder().raw_decode
    with suppress(ValueError, RecursionError):
        while (between := _BETWEEN.match(text, place)) is not None:
            row, place = decode(text, between.end())
            yield row if isinstance(row, dict) else {}


def _keys(line: str) -> list[str]:
    try:
        return list(msgspec.json.decode(line, type=dict[str, Any]))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        # The last line may be cut off.
        return []


def class_names(table: Parquet, column: str) -> list[str]:
    """Return the class names that Hugging Face stores with a column of class numbers."""
    kept = (table.file.schema_arrow.metadata or {}).get(b"huggingface", b"{}")
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
