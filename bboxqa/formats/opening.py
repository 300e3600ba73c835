"""Decoding files, and refusing results, damaged files, and those of other programs."""

import json
import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from xml.parsers import expat

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import first_few, one_line
from bboxqa.formats import heads
from bboxqa.formats.heads import TABLES
from bboxqa.formats.member import ARCHIVES, is_archive
from bboxqa.formats.scanner import may_be_rows
from bboxqa.formats.source import SourcePath

SAVE_AS_CSV = "Save the table as CSV in utf-8."


def decoded(name: str, data: bytes) -> str:
    """Decode the text of a table as UTF-8, or as its byte order mark indicates.

    Raises DatasetError if the content is not text, with the first line that is not.
    """
    marks = (each for each in heads.MARKS if data.startswith(each[0]))
    mark, encoding = next(marks, (b"", "utf-8"))
    place = data.find(b"\0") if encoding == "utf-8" else -1
    try:
        if place < 0:
            return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        place = error.start + len(mark)
    line = data.count(b"\n", 0, place) + 1
    found = f"byte {place} of the file is {data[place]:#04x}"
    raise DatasetError([f"{name}: line {line}: is not {encoding}: {found}"], SAVE_AS_CSV)


REVIEW_QUEUE = "review.json"
RESULT_FILES = frozenset({"manifest.json", "summary.json"})
"""The JSON files that commands with `--out DIR` always write next to their tables."""
AUDIT = "audit.csv"
WRITTEN_FILES = RESULT_FILES | {
    "details.json", REVIEW_QUEUE, "diagnosis.json", "diagnosis.schema.json", "worst_images.json",
}  # fmt: skip
"""All JSON files that these commands write, or wrote in earlier versions."""
SENT_LISTS = ("sent.json", "sent.csv")


def results_among(names: Collection[str]) -> set[str]:
    """Return the files of a folder that `agree`, `audit`, `compare` or `validate --fix` wrote."""
    known = {*names}
    fixed = {f"{each[:-5]}.fixed.json" for each in known if each.endswith(".json")}
    found = fixed & known
    found |= {*SENT_LISTS} if known.issuperset(SENT_LISTS) else set()
    if known >= RESULT_FILES and not known.isdisjoint(("units.csv", "changes.csv", AUDIT)):
        found |= {each for each in names if each in WRITTEN_FILES or not each.endswith(".json")}
    return found


def is_review_queue(file: Path) -> bool:
    """Return whether a file is the review queue in a result of `agree --out`."""
    beside = SourcePath.at(file.parent).names.files
    return file.name == REVIEW_QUEUE and file.name in results_among(beside)


def refuse_results(paths: Iterable[Path], *, sent_files: bool = False) -> None:
    """Refuse files of a result, and what `agree --send-back` sent: a part of the annotations."""
    for path in paths:
        folder = path if path.is_dir() else path.parent
        sent: dict[str, str] | None = None
        if (folder / SENT_LISTS[1]).is_file():
            with suppress(OSError, ValueError, LookupError, RecursionError, msgspec.MsgspecError):
                whole = (folder / SENT_LISTS[0]).read_bytes()
                files = msgspec.json.decode(whole, type=dict[str, Any])["files"]
                sent = msgspec.convert(files, dict[str, str])
        refused = (*SENT_LISTS, *(sent.values() if sent and sent_files else ()))
        if sent is not None and (path.is_dir() or path.name in refused):
            problem = f"{path}: has objects that `bboxqa agree --send-back` sent"
            again = shlex.join(["bboxqa", "accept", "ORIGINAL", str(folder), "-o", "NEW.json"])
            raise DatasetError([problem], f"To take over what came back: {again}")
        beside: Collection[str] = ()
        if path.name in {*WRITTEN_FILES, "units.csv", AUDIT}:
            beside = SourcePath.at(folder).names.files
        if path.name in results_among(beside):
            problem = f"{path}: is a part of a result of bboxqa, not the annotations measured"
            page = f"For a page of it: bboxqa report {shlex.quote(str(folder))}"
            advice = "Name the annotations that were audited." if AUDIT in beside else page
            raise DatasetError([problem], advice)


_BLANK = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"
NOT_A_FOLDER = "Name a table in it; `bboxqa agree` measures folders of annotated images."
_NO_HEADER = (
    "Write what the columns hold in a line above the first, such as: image,x1,y1,x2,y2,category"
)
# A box has four numbers; single ones, such as years, may be names of columns.
_MOST_COLUMNS, _OF_BOX = 6, 4
# Kinds that the reader of tables accepts, or whose first line that is no text it names.
_READ_AS_TABLES = {"table", "Parquet", "binary", "YOLO", "DOTA"}


def refuse_foreign(path: Path, *, table: bool = False) -> None:
    """Refuse a file that bboxqa does not read, with advice."""
    head, kind = SourcePath.at(path).head, foreign_kind(path)
    if kind is None and table and re.match(heads.IS_COCO, head):
        kind = "COCO"
    if kind is None or (table and kind in _READ_AS_TABLES):
        return
    (what, advice), expected = heads.WHAT[kind], "a table" if table else "COCO JSON"
    if kind in ("table", "Parquet") and not table:
        # pandas writes its index under an empty name.
        names = [*filter(None, () if head.startswith(heads.PARQUET) else heads.header_of(head))]
        shown, expected = first_few(names, _MOST_COLUMNS, one_line), "columns of images and boxes"
        if sum(re.fullmatch(heads.NUMBER, each.encode()) is not None for each in names) >= _OF_BOX:
            what += f" whose first line has numbers ({shown})"
            expected, advice = "a line with the names of columns", _NO_HEADER
        else:
            what += f" with the columns {shown}" * bool(names)
    is_measured = kind == "ELAN" or "bboxqa agree" in advice
    advice = advice.replace("agree FILE", f"agree {shlex.quote(str(path))}")
    raise DatasetError(
        [f"{path}: is {what}" + f"; expected {expected}" * (kind != "pointer")],
        SAVE_AS_CSV if table and not is_measured else advice,
    )


def refuse_unread(path: Path) -> None:
    """Refuse a file that no format recognises, unless it may be JSON."""
    source = SourcePath.at(path)
    kind, is_json = foreign_kind(source), path.name.lower().endswith(".json")
    if source.archive is not None or kind == "archive":
        for each in source.members:
            next(each.chunks(), b"")
    may_be_damaged = kind in (None, "binary") and source.is_file() and not is_json
    if may_be_damaged and (reason := damage_of(source)):
        todo = heads.WHAT["YOLO"][1] if path.name.lower().endswith(".txt") else _EXPORT
        raise DatasetError([f"{path}: {reason}"], todo)
    refuse_foreign(source)


def foreign_kind(path: Path) -> str | None:
    """Return the name of the format if it is known not to be read; else None.

    A file with the suffix .json that is not JSON gives None, as `validate` reports it.
    """
    head, suffix = SourcePath.at(path).head, path.suffix.lower()
    if suffix == ".txt":
        text = heads.as_utf8(head)
        labels = (each for each in ("DOTA", "YOLO") if heads.begins(each, text, strict=True))
        if kind := next(labels, heads.kind_in("text", text)):
            return kind
    is_json, are_lines = suffix == ".json", suffix in (".jsonl", ".ndjson")
    if not is_json and (kind := heads.kind_of(head)) is not None:
        return kind
    are_rows = may_be_rows(heads.plain_head(head)) or (
        are_lines and not re.match(heads.IS_COCO, head)
    )
    if (is_json or are_rows) and (kind := heads.kind_in("json", head)):
        return kind
    if are_rows:
        keys = heads.header_of(head)
        return "table" if keys and not {"images", "annotations"}.issubset(keys) else None
    is_cells = suffix in (".csv", ".tsv") and head.lstrip(_BLANK)[:1] not in (b"", b"[", b"{")
    return "table" if is_cells else "YAML" if head and heads.is_yaml(path.name) else None


_EXPORT = (
    "Export or download it again, or allow reading it; if it is not of an annotator, move it out "
    "of the folder."
)


def ends_of_file(file: Path) -> tuple[bytes, bytes]:
    """Return the beginning and the end of a file, where COCO is recognised; empty if unreadable."""
    with suppress(OSError), file.open("rb") as stream:
        head = stream.read(heads.HEAD)
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - heads.HEAD))
        return head, stream.read()
    return b"", b""


def damaged(files: Iterable[Path], sources: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield files beside sources that are empty or cut off, with what is wrong."""
    with_tables = {each.parent for each in sources if each.name.lower().endswith(TABLES)}
    for file in files:
        may_be_read = not file.name.lower().endswith(TABLES) or file.parent in with_tables
        if may_be_read and (reason := damage_of(file)):
            yield file, reason


def refuse_damaged(files: Iterable[SourcePath], sources: Sequence[SourcePath]) -> None:
    """Refuse a folder or an archive in which a file beside its sources is empty or cut off."""
    # Archives are read if there is nothing else.
    are_packed = any(each.is_packed for each in sources)
    ends = (".json", ".xml", *TABLES, *(ARCHIVES if are_packed else ()))
    named = (each for each in files if each.name.lower().endswith(ends))
    if found := dict(damaged(named, sources)):
        problems = [f"{file}: {reason}" for file, reason in found.items()]
        raise DatasetError(problems, _EXPORT)


def damage_of(file: Path) -> str:
    """Return what is wrong with a file that is empty, cut off or gone, by its suffix; else ""."""
    source = SourcePath.at(file)
    # Reading a pipe would consume its data.
    if source.exists() and not source.is_file():
        return ""
    is_packed = source.name.lower().endswith(ARCHIVES)
    if is_packed and source.head and not is_archive(source.head):
        return heads.absence_of(source.head) or "is not an archive"
    content = b""
    try:
        for member in source.members:
            name, content = member.name or source.name, b""
            if is_packed and member.name and not name.lower().endswith((".json", ".xml", *TABLES)):
                continue
            for part in member.chunks():
                content = (content + part)[: 2 * heads.HEAD + 1]
                # Archives have a checksum of all the content of a file.
                if member.is_file and len(content) > 2 * heads.HEAD:
                    break
            if len(content) <= 2 * heads.HEAD and (reason := damage_in(name, content)):
                return f"{member.name}: {reason}" if member.name else reason
    except DatasetError as error:
        return error.problems[0].removeprefix(f"{file}: ").removeprefix(f"{file}/")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def damage_in(name: str, content: bytes) -> str:
    """Return what is wrong with the content of a file, by its suffix; "" if nothing is."""
    if absence := heads.absence_of(content):
        return absence
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".json" and not heads.is_without_coco(content):
        with suppress(RecursionError):
            try:
                json.loads(heads.as_utf8(content))
            except ValueError as error:
                return f"is not JSON: {error}"
    elif suffix == ".xml" and b"<!DOCTYPE" not in heads.plain_head(content):
        with suppress(LookupError, ValueError):
            try:
                expat.ParserCreate().Parse(content, True)
            except expat.ExpatError as error:
                reason = expat.ErrorString(error.code)
                return f"line {error.lineno}: is XML that cannot be read: {reason}"
    elif suffix in (".csv", ".tsv") and b"\n" not in content and b"\r" not in content:
        return "ends within its first line"
    return ""
