"""The content of a file, and its syntactic irregularities."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bboxqa.formats.document.annotation_columns import AnnotationColumns, Kind
from bboxqa.formats.document.builder import AnnotationsBuilder
from bboxqa.formats.document.origin import Origin
from bboxqa.formats.windows import Text

if TYPE_CHECKING:
    from bboxqa.formats.document.positions import Locator

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""The byte order mark that some programs write at the beginning of UTF-8."""

RESULTS_LIST = "annotations"
"""The name given to the records of a top-level list of results."""


@dataclass(slots=True)
class Section:
    """The positions of the records of one list, as offsets of some of them."""

    rows: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    """Record `rows[k]` begins at byte `offsets[k]`, or after the blanks there."""
    n: int = 0
    """The number of records."""


@dataclass(slots=True)
class RawDocument:
    """The content of a file, and its syntactic irregularities."""

    name: str
    """The file as the user named it."""
    text: Text
    """The text of the file in UTF-8, converted if the file has another encoding."""
    size: int
    """The size of the file in bytes."""
    top: Any = None
    """The document without its lists of records; of any JSON type."""
    images: Sequence[Any] = field(default_factory=list)
    categories: list[Any] = field(default_factory=list)
    """Records of any type; with limited memory, images are decoded on access."""
    annotations: AnnotationColumns = field(default_factory=lambda: AnnotationsBuilder().done())
    sections: dict[str, Section] = field(default_factory=dict)
    """Dict of str to Section, by the name of the list."""
    spans: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Dict of str to (int, int, int). By top-level key, the byte offsets at which the key begins,
    its value begins and its value ends.
    """
    encoding: str = ""
    """The encoding if it is not plain UTF-8; else ""."""
    not_utf8: int | None = None
    """The offset of the first byte that is not UTF-8."""
    broken: list[tuple[int, str]] = field(default_factory=list)
    """The byte offset and reason of each syntax error."""
    stopped: bool = False
    """Whether reading ended at the last syntax error."""
    trailing: int | None = None
    """The byte offset of text after the document."""
    not_finite: list[tuple[str, str]] = field(default_factory=list)
    """For each number that is infinite or NaN, the pointer to it and its name."""
    repeated: list[tuple[str, str]] = field(default_factory=list)
    """For each repeated key, the pointer to the object and the key."""
    origin: Origin | None = None
    """The source that the document was translated from; None for COCO JSON."""
    is_packed: bool = False
    """Whether the file is in an archive, to which no fixes are written."""
    _locator: "Locator | None" = None

    def record(self, row: int) -> Any:
        """Return an annotation as in the file; None if it does not exist."""
        if self._locator is None:
            from bboxqa.formats.document.positions import Locator

            self._locator = Locator(self)
        return self._locator.value("annotations", row)

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
        """Return a pointer as it applies to the file, in which a list of results has no name."""
        return pointer.removeprefix(f"/{RESULTS_LIST}") if self.is_results else pointer

    def are_objects(self, name: str, start: int, stop: int) -> bool:
        """Return whether the records start:stop of a list are all objects."""
        if name == "annotations":
            kinds = self.annotations.record[start:stop]
            return len(kinds) == stop - start and bool((kinds == Kind.DICT).all())
        records = self.images if name == "images" else self.categories
        return all(type(record) is dict for record in records[start:stop])
