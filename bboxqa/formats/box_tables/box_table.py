"""The format of box tables in CSV, JSON lines and Parquet, including those of Open Images."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.errors import DatasetError
from bboxqa.formats.content_kinds import PARQUET, TABLES
from bboxqa.formats.format import translated_format
from bboxqa.formats.member import is_archive
from bboxqa.formats.source import head_of, members_of, only_file, readable_members

if TYPE_CHECKING:
    from bboxqa.formats.member import Member
    from bboxqa.formats.translation.collector import Add, Translated, Wanted


def _recognises(path: Path) -> bool:
    if is_archive(head_of(path)):
        return bool(_members(path))
    return path.name.lower().endswith(TABLES) and _is_table(path)


def _is_table(path: Path) -> bool:
    from bboxqa.formats.box_tables.columns import columns_of

    header = _header_in(members_of(path)[0])
    return bool(header) and not columns_of(header, {}).problem


def has_columns(path: Path) -> bool:
    """Return whether a file is a table, whatever its columns hold."""
    return path.name.lower().endswith(TABLES) and bool(_header_in(members_of(path)[0]))


def _header_in(member: "Member") -> Sequence[str]:
    """Return the column names of a table; empty if it is none."""
    from bboxqa.formats.box_tables.rows import header_of, table_in

    head = member.head()
    if not head.startswith(PARQUET):
        return header_of(head)
    try:
        return table_in(member).header
    except DatasetError:
        # Reading then raises an error that says what is wrong, or what to install.
        return ["image", "bbox"]


def _members(path: Path) -> "list[Member]":
    """Return the tables of boxes in an archive."""
    from bboxqa.formats.box_tables.columns import columns_of

    members = readable_members(path)
    named = [each for each in members if (each.name or path.stem).lower().endswith(TABLES)]
    return [each for each in named if not columns_of(_header_in(each), {}).problem]


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate a table; see `bboxqa.formats.translation.collector.Translate`."""
    from bboxqa.formats.box_tables.reader import translate_table

    found = _members(path) if is_archive(head_of(path)) else members_of(path)
    return translate_table(path, only_file(path, found, "boxes as a table"), add, wanted)


BOX_TABLE = translated_format("table", TABLES, _recognises, translate)
"""Tables with one row per box or per image."""
