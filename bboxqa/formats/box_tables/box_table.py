"""The format of box tables in CSV, JSON lines and Parquet, including those of Open Images."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.errors import DatasetError
from bboxqa.formats.content_kinds import PARQUET, TABLES
from bboxqa.formats.translation.heads import head_of, is_archive
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.member import Member
    from bboxqa.formats.translation.translated import Add, Translated, Wanted


def _recognises(path: Path) -> bool:
    head = head_of(path)
    if is_archive(head):
        return _member(path) is not None
    return path.name.lower().endswith(TABLES) and _is_table(path, head)


def _is_table(path: Path, head: bytes) -> bool:
    """Return whether the columns hold boxes; True for any table if the user names its columns."""
    from bboxqa.formats.box_tables.table_columns import columns_of
    from bboxqa.formats.box_tables.table_rows import header_of
    from bboxqa.formats.translation.choices import choices

    chosen = choices().columns
    header = _parquet_header(path) if head.startswith(PARQUET) else header_of(head)
    return bool(header) and (bool(chosen) or not columns_of(header, {}).problem)


def _parquet_header(path: Path) -> Sequence[str]:
    try:
        from pyarrow import parquet

        found: Sequence[str] = parquet.read_schema(path).names
    except ImportError:
        # Reading then raises an error that says what to install.
        return ["image", "bbox"]
    # Any error means that the file is not of this format.
    except Exception:  # noqa: BLE001
        return []
    return found


def _member(path: Path) -> "Member | None":
    """Return the table of boxes of an archive, if it has exactly one."""
    from bboxqa.formats.box_tables.table_columns import columns_of
    from bboxqa.formats.box_tables.table_rows import header_of
    from bboxqa.formats.translation.members import members_of

    try:
        members = members_of(path)
    except DatasetError:
        return None
    named = [(each.name or path.stem).lower().endswith(TABLES) for each in members]
    found = [
        each
        for each, is_named in zip(members, named, strict=True)
        if is_named and not columns_of(header_of(each.head()), {}).problem
    ]
    return found[0] if len(found) == 1 else None


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate a table; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.box_tables.table_records import translate_table
    from bboxqa.formats.translation.members import members_of

    member = _member(path) if is_archive(head_of(path)) else members_of(path)[0]
    if member is None:
        raise DatasetError([f"{path}: has no table of boxes inside"])
    return translate_table(path, member, add, wanted)


BOX_TABLE = translated_format("table", TABLES, _recognises, translate)
"""Tables with one row per box or per image."""
