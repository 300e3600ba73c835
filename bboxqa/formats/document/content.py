"""What a file holds, and what is odd about how it is written, as values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bboxqa.formats.document.annotation_columns import AnnotationColumns, Kind
from bboxqa.formats.document.builder import AnnotationsBuilder
from bboxqa.formats.windows import Text

__all__ = ["BYTE_ORDER_MARK", "RawDocument", "Section"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs put before UTF-8."""


@dataclass(slots=True)
class Section:
    """Where the records of one list stand: some of them, to find the others from.

    Attributes
    ----------
    rows, offsets : list of int
        Record `rows[k]` begins at or after byte `offsets[k]`, and right there but for blanks.
    n : int
        How many records there are.
    """

    rows: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    n: int = 0

    def append(self, other: "Section") -> None:
        """Add the records of a section that follows in the same list."""
        self.rows += [self.n + row for row in other.rows]
        self.offsets += other.offsets
        self.n += other.n


@dataclass(slots=True)
class RawDocument:
    """What a file holds, and what is odd about how it is written.

    Attributes
    ----------
    name : str
        The file as the user named it.
    text : bytes or mmap
        In UTF-8; where the file is not, this is what it was turned into.
    size : int
        Of the file, in bytes.
    top : Any
        The document without its lists of records: an object, or whatever it is instead.
    images, categories : sequence
        Their records, of any type; where memory is bounded, images are decoded when looked at.
    annotations : AnnotationColumns
    sections : dict of str to Section
        The lists that were there.
    spans : dict of str to (int, int, int)
        Top-level key to where the key begins, where its value does, and where that ends.
    encoding : str
        Why it is not plain UTF-8; empty where it is.
    not_utf8 : int or None
        The first byte found that is not UTF-8.
    broken : list of (int, str)
        Offset and reason of each place that is not json.
    stopped : bool
        Whether reading ended at the last of them.
    trailing : int or None
        Where something follows the document.
    not_finite : list of (str, str)
        Pointer to, and name of, each number that is infinite or none.
    repeated : list of (str, str)
        Pointer to an object, and a key that it has more than once.
    memory : int, optional
        Bytes to get by with; columns that take too much of it are in files.
    """

    name: str
    text: Text
    size: int
    top: Any = None
    images: Sequence[Any] = field(default_factory=list)
    categories: list[Any] = field(default_factory=list)
    annotations: AnnotationColumns = field(default_factory=lambda: AnnotationsBuilder().done())
    sections: dict[str, Section] = field(default_factory=dict)
    spans: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    encoding: str = ""
    not_utf8: int | None = None
    broken: list[tuple[int, str]] = field(default_factory=list)
    stopped: bool = False
    trailing: int | None = None
    not_finite: list[tuple[str, str]] = field(default_factory=list)
    repeated: list[tuple[str, str]] = field(default_factory=list)
    memory: int | None = None

    def note_not_utf8(self, offset: int) -> None:
        """Keep the first byte that is not UTF-8, and name it as the encoding if there is none."""
        if self.not_utf8 is None:
            self.not_utf8 = offset
            wrong = f"not UTF-8 (byte {offset:,} is 0x{self.text[offset]:02x})"
            self.encoding = self.encoding or wrong

    def are_objects(self, name: str, start: int, stop: int) -> bool:
        """Return whether some records of a list are all objects."""
        if name == "annotations":
            kinds = self.annotations.record[start:stop]
            return len(kinds) == stop - start and bool((kinds == Kind.DICT).all())
        records = self.images if name == "images" else self.categories
        return all(type(record) is dict for record in records[start:stop])
