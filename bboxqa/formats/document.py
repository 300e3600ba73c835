"""What readers return: the content of a file with its irregularities, or annotations to measure."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bboxqa.core.text import count
from bboxqa.formats.column_builder import ColumnsBuilder
from bboxqa.formats.columns import Columns
from bboxqa.formats.measured import measured
from bboxqa.formats.records import AnnotationFile, Category, Image, ReadSettings
from bboxqa.model.annotations import Source

STOPPING = ("T001", "T002", "T008", "T010", "T061")
Record = dict[str, Any]


class Where(NamedTuple):
    """The location of a record in the user's files."""

    member: str
    """The file inside the source; "" if the source is a single file."""
    at: str | int
    """A JSON pointer, or a line counted from 1."""


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANKS = b" \t\n\r"
RESULTS_LIST = "annotations"
"""The name given to the records of a top-level list of results."""


class Section(msgspec.Struct):
    """The positions of the records of one list, as offsets of some of them."""

    rows: list[int] = msgspec.field(default_factory=list)
    offsets: list[int] = msgspec.field(default_factory=list)
    """Record `rows[k]` begins at byte `offsets[k]`, or after the blanks there. The records between
    two of these are plain JSON.
    """
    n: int = 0


class RawDocument(msgspec.Struct):
    """The content of a file, and its syntactic irregularities."""

    name: str
    """The file as the user named it."""
    text: bytes
    """The text of the file in UTF-8, converted if the file has another encoding."""
    size: int
    """The size of the file in bytes."""
    top: Any = None
    """The document without its lists of records; of any JSON type."""
    images: Sequence[Any] = msgspec.field(default_factory=list)
    categories: list[Any] = msgspec.field(default_factory=list)
    """Records of any type."""
    annotations: Columns = msgspec.field(default_factory=lambda: ColumnsBuilder().done())
    sections: dict[str, Section] = msgspec.field(default_factory=dict)
    """Dict of str to Section, by the name of the list."""
    spans: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    """Dict of str to (int, int). By top-level key, the byte offsets at which its value begins and
    ends.
    """
    encoding: str = ""
    """The encoding if it is not plain UTF-8; else ""."""
    not_utf8: int | None = None
    """The offset of the first byte that is not UTF-8."""
    broken: list[tuple[int, str]] = msgspec.field(default_factory=list)
    """The byte offset and reason of each syntax error."""
    stopped: bool = False
    """Whether reading ended at the last syntax error."""
    trailing: int | None = None
    """The byte offset of text after the document."""
    not_finite: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """For each number that is infinite or NaN, the pointer to it and its name."""
    repeated: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """For each repeated key, the pointer to the object and the key."""
    origin: Any = None
    """The source that the document was translated from, which has no text: a `ToolOrigin` of
    `bboxqa.formats.translation.reading`; None for COCO JSON."""
    is_packed: bool = False
    """Whether the file is in an archive, to which no fixes are written."""

    @property
    def is_results(self) -> bool:
        """Whether the document is a list of results, as detectors write them."""
        return isinstance(self.top, list) and RESULTS_LIST in self.sections

    def shown(self, pointer: str) -> str:
        """Return a pointer as it applies to the file, in which a list of results has no name."""
        return pointer.removeprefix(f"/{RESULTS_LIST}") if self.is_results else pointer


def apart_note(n_apart: Mapping[str, int], done: str = "compared") -> str:
    """Return a note on the number of annotations of each shape, with which nothing is `done`."""
    by_number = sorted(n_apart.items(), key=lambda each: -each[1])
    *others, last = [count(number, shape) for shape, number in by_number]
    named = f"{', '.join(others)} and {last}" if others else last
    return f"{named} {'is' if sum(n_apart.values()) == 1 else 'are'} not {done}"


UNUSABLE = "has a value that cannot be used: see bboxqa validate"


def file_of_records(
    source: Source,
    images: list[Image],
    categories: list[Category],
    records: Sequence[dict[str, Any]],
    options: ReadSettings,
) -> AnnotationFile:
    """Return the file of annotations given as records with COCO's keys, such as of a plugin.

    Raises DatasetError if values of records cannot be used.
    """
    builder = ColumnsBuilder(options)
    builder.add(records)
    columns, notes = measured(Path(source.name), builder.done(), options)
    lists = {
        "images": msgspec.to_builtins(images),
        "categories": msgspec.to_builtins(categories),
        "annotations": records,
    }
    kept = lists if options.records else None
    return AnnotationFile(source, images, categories, columns, notes, lists=kept)
