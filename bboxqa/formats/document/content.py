"""The content of a file, and the irregularities of how it is written."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bboxqa.formats.document.annotation_columns import AnnotationColumns, Kind
from bboxqa.formats.document.builder import AnnotationsBuilder
from bboxqa.formats.document.origin import Origin
from bboxqa.formats.windows import Text

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Written by some programs at the beginning of UTF-8."""

RESULTS_LIST = "annotations"
"""The name under which the records of a list of results are kept, which has none in the file."""


@dataclass(slots=True)
class Section:
    """Where the records of one list are: offsets of some, from which the others are found."""

    rows: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    """Record `rows[k]` begins at byte `offsets[k]`, or after blanks there."""
    n: int = 0
    """The number of records."""

    def append(self, other: "Section") -> None:
        """Add the records of a section that follows in the same list."""
        self.rows += [self.n + row for row in other.rows]
        self.offsets += other.offsets
        self.n += other.n


@dataclass(slots=True)
class RawDocument:
    """The content of a file, and the irregularities of how it is written."""

    name: str
    """The file as the user named it."""
    text: Text
    """In UTF-8; converted where the file is in another encoding."""
    size: int
    """Of the file, in bytes."""
    top: Any = None
    """The document without its lists of records; of any json type."""
    images: Sequence[Any] = field(default_factory=list)
    categories: list[Any] = field(default_factory=list)
    """Records of any type; where memory is limited, images are decoded on access."""
    annotations: AnnotationColumns = field(default_factory=lambda: AnnotationsBuilder().done())
    sections: dict[str, Section] = field(default_factory=dict)
    """Dict of str to Section. By the name of the list."""
    spans: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Dict of str to (int, int, int). By top-level key: where the key begins, where its value
    begins and where it ends."""
    encoding: str = ""
    """The encoding, where it is not plain UTF-8; else empty."""
    not_utf8: int | None = None
    """The first byte found that is not UTF-8."""
    broken: list[tuple[int, str]] = field(default_factory=list)
    """Offset and reason of each syntax error."""
    stopped: bool = False
    """Whether reading ended at the last one."""
    trailing: int | None = None
    """Where text follows the document."""
    not_finite: list[tuple[str, str]] = field(default_factory=list)
    """Pointer to each number that is infinite or NaN, and its name."""
    repeated: list[tuple[str, str]] = field(default_factory=list)
    """Pointer to an object, and a key that it repeats."""
    memory: int | None = None
    """Limits memory, in bytes; larger columns are kept in temporary files."""
    origin: Origin | None = None
    """What the document was translated from; None for COCO json."""

    def note_not_utf8(self, offset: int) -> None:
        """Record the first byte that is not UTF-8."""
        if self.not_utf8 is None:
            self.not_utf8 = offset
            wrong = f"not UTF-8 (byte {offset:,} is 0x{self.text[offset]:02x})"
            self.encoding = self.encoding or wrong

    @property
    def is_results(self) -> bool:
        """Whether the document is a list of results, as detectors write them."""
        return isinstance(self.top, list) and RESULTS_LIST in self.sections

    def shown(self, pointer: str) -> str:
        """Return a pointer as it leads through the file, where a list of results has no name."""
        return pointer.removeprefix(f"/{RESULTS_LIST}") if self.is_results else pointer

    def are_objects(self, name: str, start: int, stop: int) -> bool:
        """Return whether the records start:stop of a list are all objects."""
        if name == "annotations":
            kinds = self.annotations.record[start:stop]
            return len(kinds) == stop - start and bool((kinds == Kind.DICT).all())
        records = self.images if name == "images" else self.categories
        return all(type(record) is dict for record in records[start:stop])
