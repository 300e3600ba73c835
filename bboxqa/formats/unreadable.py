"""Files that are not read: results, empty or cut off files, and files of other programs."""

import io
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.heads import (
    IS_COCO,
    LOOKED_AT,
    PARQUET,
    TABLES,
    WHAT,
    absence_of,
    as_utf8,
    is_dota_head,
    is_label_head,
    is_lines,
    kind_in,
    kind_of,
)
from bboxqa.formats.member import AGAIN, ARCHIVES, READABLE, is_archive
from bboxqa.formats.opening import SAVE_AS_CSV, damage_in, decoded
from bboxqa.formats.source import SourcePath, members_with, named_errors, read_whole
from bboxqa.model.labels import number_of

if TYPE_CHECKING:
    from bboxqa.formats.tables import TableFile

REVIEW_QUEUE = "review.json"
"""The name of the annotations to review first, which `agree --out` writes."""
RESULT_FILES = frozenset({"manifest.json", "summary.json"})
"""The JSON files that `agree --out` and `compare --out` always write next to their tables."""
WRITTEN_FILES = RESULT_FILES | {
    "details.json", REVIEW_QUEUE, "diagnosis.json", "diagnosis.schema.json", "worst_images.json",
}  # fmt: skip
"""All JSON files that these commands write, or wrote in earlier versions."""
SENT_LISTS = ("sent.json", "sent.csv")
"""The lists of the objects that `agree --send-back` sent."""


def results_among(names: Collection[str]) -> set[str]:
    """Return the files that `agree`, `compare` or `validate --fix` wrote, of all files in a folder.

    The lists of what was sent back, beside the files of annotators, are such files.

    Examples
    --------
    >>> sorted(results_among(["a.json", "a.fixed.json", "b.fixed.json"]))
    ['a.fixed.json']
    """
    known = {*names}
    fixed = (each for each in names if each.lower().endswith(".fixed.json"))
    found = {each for each in fixed if f"{each[: -len('.fixed.json')]}{each[-5:]}" in known}
    found |= {*SENT_LISTS} if known.issuperset(SENT_LISTS) else set()
    if known >= RESULT_FILES and not known.isdisjoint(("units.csv", "changes.csv")):
        found |= {each for each in names if each in WRITTEN_FILES or not each.endswith(".json")}
    return found


def is_result(file: Path) -> bool:
    """Return whether a file is one of `results_among` those of its folder."""
    return file.name in results_among(SourcePath.at(file.parent).names.files)


def is_review_queue(file: Path) -> bool:
    """Return whether a file is the review queue in a result of `agree --out`."""
    return file.name == REVIEW_QUEUE and is_result(file)


class _Sent(msgspec.Struct):
    to: str
    files: dict[str, str]


def _sent_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the files that were sent, and of their lists; none if nothing was."""
    with suppress(OSError, ValueError, msgspec.MsgspecError):
        if (folder / SENT_LISTS[1]).is_file():
            listed = msgspec.json.decode((folder / SENT_LISTS[0]).read_bytes(), type=_Sent)
            return (*SENT_LISTS, *listed.files.values())
    return ()


def refuse_results(paths: Iterable[Path], *, sent_files: bool = False) -> None:
    """Refuse files of a result, and what `agree --send-back` sent: a part of the annotations.

    With `sent_files`, each file for an annotator is refused as well. Raises DatasetError.
    """
    for path in paths:
        folder = path if path.is_dir() else path.parent
        sent = _sent_names(folder)
        refused = sent if sent_files else SENT_LISTS
        if sent and (path.is_dir() or path.name in refused):
            problem = f"{path}: has objects that `bboxqa agree --send-back` sent"
            again = shlex.join(["bboxqa", "accept", "ORIGINAL", str(folder), "-o", "NEW.json"])
            raise DatasetError([problem], f"To take over what came back: {again}")
        if path.name in {*WRITTEN_FILES, "units.csv"} and is_result(path):
            problem = f"{path}: is a part of a result of bboxqa, not the annotations measured"
            page = f"For a page of it: {shlex.join(['bboxqa', 'report', str(folder)])}"
            is_agreement = (folder / "units.csv").is_file()
            raise DatasetError([problem], page if is_agreement else "Name the files compared.")


# A single letter may be a drive of Windows.
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)", re.IGNORECASE)
_CELLS, _LINES = (".csv", ".tsv"), (".jsonl", ".ndjson")
_BLANK = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"
"""Blanks and byte order marks."""
# Kinds of text that have no other mark.
_SUFFIXES = {".yaml": "YAML", ".yml": "YAML", ".ipynb": "notebook"}
NOT_A_FOLDER = "Name a table in it; `bboxqa agree` measures folders of annotated images."
"""Advice for a folder where a table is expected."""
_NO_HEADER = (
    "Write what the columns hold in a line above the first, such as: image,x1,y1,x2,y2,category"
)
# The corners of a box.
_MOST_COLUMNS, _OF_BOX = 6, 4
# Kinds that the reader of tables accepts: an archive may be an office table, for instance.
_READ_AS_TABLES = {"archive", "office", "table", "Parquet", "binary", "zeros", "YOLO", "DOTA"}


def refuse_foreign(path: Path, *, table: bool = False) -> None:
    """Refuse a file that bboxqa does not read, or a URL, with advice.

    With `table`, a table of ratings or segments is expected instead of COCO JSON. Raises
    DatasetError if the file has a known format that is not read.
    """
    refuse_address(path)
    name, head = path.name.lower(), SourcePath.at(path).head
    if name.endswith(TABLES) and path.is_file() and not table and not head.strip(_BLANK):
        header = " with a header" if name.endswith(_CELLS) else ""
        problem = f"{path}: is empty; expected a table{header}"
        raise DatasetError([problem], "Export it again: nothing was written.")
    kind = foreign_kind(path)
    if kind is None and table and IS_COCO.match(head):
        kind = "COCO"
    if kind is None or (table and kind in _READ_AS_TABLES):
        return
    if kind == "binary" and name.endswith(ARCHIVES):
        raise DatasetError([f"{path}: is no {name.rpartition('.')[2]} archive"], AGAIN)
    what, advice = WHAT[kind]
    expected = "a table" if table else "COCO JSON"
    if kind in ("table", "Parquet") and not table:
        names = [] if head.startswith(PARQUET) else _header_of(head)
        listed = first_few(names, _MOST_COLUMNS, one_line)
        # Single numbers, such as years, may be names.
        if sum(number_of(name) is not None for name in names) >= _OF_BOX:
            what += f" whose first line has numbers ({listed})"
            expected, advice = "a line with the names of columns", _NO_HEADER
        else:
            what += f" with the columns {listed}" * bool(names)
            expected = "columns of images and boxes"
    is_measured = kind == "ELAN" or "bboxqa agree" in advice
    raise DatasetError(
        [f"{path}: is {what}; expected {expected}"],
        SAVE_AS_CSV if table and not is_measured else advice,
    )


def _header_of(head: bytes) -> list[str]:
    from bboxqa.formats.tables import header_of

    return header_of(head)


def refuse_address(path: Path) -> None:
    """Refuse a URL, which as a path has lost a slash, with advice. Raises DatasetError."""
    address = _ADDRESS.fullmatch(str(path))
    if address is None or path.exists():
        return
    name = f"{address[1]}://{address[2]}"
    how = f": curl -LO {name}" if address[1].lower() in ("http", "https", "ftp") else "."
    raise DatasetError([f"{name}: is an address; expected a file"], f"Download it first{how}")


def refuse_unread(path: Path) -> None:
    """Refuse a file that no format recognises, unless it may be JSON.

    XML, label files and archives that are empty or cut off would be read as JSON.
    """
    name, source = path.name.lower(), SourcePath.at(path)
    # JSON may have kept the name of the archive that it was unpacked from.
    is_no_json = name.endswith((".xml", ".txt")) or (name.endswith(ARCHIVES) and not source.head)
    if source.archive is not None or foreign_kind(source) == "archive":
        for each in source.members:
            next(each.chunks(), b"")
    elif is_no_json and (reason := damage_of(source)):
        advice = READABLE if reason == DENIED else AGAIN
        if name.endswith(".txt"):
            advice = "If it is the label file of an image, name the folder of all labels."
        raise DatasetError([f"{path}: {reason}"], advice)
    refuse_foreign(source)


def foreign_kind(path: Path) -> str | None:
    """Return the name of the format if it is known not to be read; else None.

    A file with the suffix .json that is not JSON gives None, as `validate` reports it.
    """
    head, suffix = SourcePath.at(path).head, path.suffix.lower()
    if suffix == ".json":
        return kind_in("json", head) or ("table" if is_lines(head) else None)
    if suffix == ".txt":
        text = as_utf8(head)
        if is_label_head(text, strict=True) or is_dota_head(text):
            return "DOTA" if is_dota_head(text) else "YOLO"
        if (kind := kind_in("text", text)) is not None:
            return kind
    if (kind := kind_of(head)) is not None:
        return kind
    if is_lines(head) or (suffix in _LINES and not IS_COCO.match(head)):
        return kind_in("json", head) or ("table" if _header_of(head) else None)
    is_cells = suffix in _CELLS and path.exists() and head.lstrip(_BLANK)[:1] not in (b"[", b"{")
    return "table" if is_cells else _SUFFIXES.get(suffix) if head else None


DENIED = "cannot be read: Permission denied"
"""What is wrong with a file that the user may not read."""
_EXPORT = "Export or download it again; if it is not of an annotator, move it out of the folder."


def damaged(files: Iterable[Path], sources: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield files that may be those of an annotator and are empty or cut off, with what is wrong.

    Of several in a folder, the first is yielded, with the number of the others.

    Parameters
    ----------
    files : iterable of path
        Files beside the sources that no format recognises.
    sources : sequence of path
        Without a table among those in its folder, a table is not that of an annotator.
    """
    with_tables = {each.parent for each in sources if each.name.lower().endswith(TABLES)}
    found: dict[Path, list[tuple[Path, str]]] = {}
    for file in files:
        if not file.name.lower().endswith(TABLES) or file.parent in with_tables:
            reason = damage_of(file)
            if reason:
                found.setdefault(file.parent, []).append((file, reason))
    for (file, reason), *others in found.values():
        more = f" (and {count(len(others), 'more file')} in this folder)" if others else ""
        yield file, f"{reason}{more}"


def refuse_damaged(files: Iterable[SourcePath], sources: Sequence[SourcePath]) -> None:
    """Refuse a folder or an archive in which a file beside its sources is empty or cut off.

    Raises DatasetError; without the file, its annotator would be missing from the result.
    """
    # Archives are read if there is nothing else.
    are_packed = any(each.is_packed for each in sources)
    ends = (".json", ".xml", *TABLES, *(ARCHIVES if are_packed else ()))
    named = (each for each in files if each.name.lower().endswith(ends))
    if found := [*damaged(named, sources)]:
        is_denied = all(reason.startswith(DENIED) for _, reason in found)
        problems = [f"{file}: {reason}" for file, reason in found]
        is_packed = any(not each.exists() and not each.is_symlink() for each, _ in found)
        raise DatasetError(problems, READABLE if is_denied else AGAIN if is_packed else _EXPORT)


def damage_of(file: Path) -> str:
    """Return what is wrong with a file that is empty, cut off or gone, by its suffix; else "".

    The text follows the name of the file, as in "a.xml: is empty". Only small files of text are
    looked at: a large one has a known format by its beginning, and its reader says where it ends.
    """
    try:
        return _damage_of(SourcePath.at(file))
    except DatasetError as error:
        return error.problems[0].removeprefix(f"{file}: ").removeprefix(str(file)).lstrip("/")
    except PermissionError:
        return DENIED
    except OSError:
        # Reading the file reports the error.
        return ""


def _damage_of(file: SourcePath) -> str:
    if file.is_symlink() and not file.exists():
        return "is a link that leads nowhere"
    # Reading a pipe would consume its data.
    if file.exists() and not file.is_file():
        return ""
    is_packed = file.name.lower().endswith(ARCHIVES)
    if is_packed and file.head and not is_archive(file.head):
        return absence_of(file.head) or "is not an archive"
    member, *others = file.members
    if is_packed and member.name:
        named = members_with([member, *others], (".json", ".xml", *TABLES))
        damaged = ((each.name, damage_of(file / each.name)) for each in named)
        return next((f"{name}: {damage}" for name, damage in damaged if damage), "")
    content = b""
    for part in member.chunks():
        content = (content + part)[: 2 * LOOKED_AT + 1]
        # Archives have a checksum of all the content of a file.
        if member.is_file and len(content) > 2 * LOOKED_AT:
            break
    return damage_in(file.name, content) if len(content) <= 2 * LOOKED_AT else ""


def open_table(path: str | Path) -> "TableFile":
    """Read a table of texts and numbers.

    The table is CSV or TSV, JSON lines (``.jsonl``, ``.ndjson``, or beginning with a brace), a
    JSON array of objects, or Parquet. Text is UTF-8, or UTF-16 or UTF-32 with a byte order mark.
    The delimiter is the most frequent of tab, comma and semicolon in the first line. Raises
    DatasetError if the file does not exist, is empty, or has another format.
    """
    from bboxqa.formats.tables import Delimited, JsonArray, JsonLines, Parquet

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
