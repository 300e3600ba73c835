"""The interface of translations: what a format makes of the files of a tool.

Records are those of COCO. An annotation has `image_id`, `category_id` and `annotator`, and where
they are known `bbox`, `segmentation`, `iscrowd`, `score`, `keypoints`, `created_at`, `updated_at`,
`lead_time`, `session`, `source` and `attributes`. `shape` names what it is, such as "polyline", if
it has no `bbox`: it is counted and not compared. `joints` are the names of its key points, in their
order, by which the Collector puts those of a category in one order. `own_id` is the id that the
tool shows. An `id` is given if all have one, whole and unique; else annotations are numbered in
their order. An image has `annotators`: who was asked about it, also those who drew nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.types import Steps
from bboxqa.formats.annotations.records import extent_of
from bboxqa.formats.document.origin import ToolDefect, Where
from bboxqa.formats.translation.source_files import SourceFiles

Record = dict[str, Any]


class BrokenTextError(DatasetError):
    """A file that is cut off, or is not the text that it seems to be."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Where annotations stand that have lines of their own."""

    members: Sequence[str]
    """Files below the source."""
    member: IndexArray
    """(N,) int64. Index into `members`."""
    line: IndexArray
    """(N,) int64. From 1 on."""

    def __len__(self) -> int:
        return len(self.line)

    def where(self, row: int) -> Where:
        """Return the place of an annotation."""
        return Where(self.members[self.member[row]], int(self.line[row]))


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Annotations with a box, of which little else is to be said, as columns."""

    image_id: IndexArray
    category_id: IndexArray
    """(N,) int64."""
    bbox: FloatArray
    """(N, 4) float64."""
    lines: Lines
    annotator: IndexArray
    """(N,) int64. Index into `annotators`; -1 where nobody is named."""
    annotators: Sequence[str] = ()
    own_ids: Sequence[str] = ()
    """Empty where the tool shows none, as is each of an annotation without one."""
    corners: FloatArray | None = None
    """(N, 4, 2) float64. Outlines of four points; None where they are the boxes."""
    degrees: FloatArray | None = None
    """(N,) float64. The attribute `rotation`, NaN without it; None where no box has it."""
    difficult: IndexArray | None = None
    """(N,) int64. The attribute `difficult`, 0 without it; None where no box has it."""
    n_rotated: int = 0
    n_machine: int = 0
    """How many a machine began."""
    more: Callable[[], Sequence[Record]] | None = None
    """Returns the other keys of each annotation; None where they have none."""

    def __len__(self) -> int:
        return len(self.image_id)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a translation besides boxes."""

    outlines: bool = True
    keypoints: bool = False
    """Whether annotations with key points but no box are compared."""
    sessions: bool = False
    """Whether to keep several annotations of an image by one annotator, by the key `session`."""
    in_full: bool = True
    """Whether all keys of annotations are wanted, not only those that columns have."""
    progress: Steps | None = None
    bounded: bool = False
    """Whether memory is limited, so that no second process is started."""
    add_boxes: Callable[[Boxes], None] | None = None
    """Takes annotations as columns, much faster; None where all records are wanted in full."""
    files: SourceFiles | None = None
    """Files of the source that are listed; None if it is one file, or they are not listed yet."""

    def files_of(self, path: Path) -> SourceFiles:
        """Return the files of the source."""
        return self.files or SourceFiles(path)

    def boxed(self, shape: Record) -> Record:
        """Return a shape with the box around its key points, if these are compared."""
        if not self.keypoints or "bbox" in shape or "keypoints" not in shape:
            return shape
        extent = extent_of(shape["keypoints"])
        return shape if extent is None else {**shape, "bbox": extent}


@dataclass(frozen=True, slots=True)
class Translated:
    """What is known once all annotations were translated."""

    title: str
    """The format, such as "Label Studio JSON"."""
    images: Sequence[Record]
    categories: Sequence[Record]
    image_places: Sequence[Where]
    category_places: Sequence[Where]
    """Where each image stands, and where each category is first used."""
    defects: Sequence[ToolDefect] = ()
    notes: Sequence[str] = field(default_factory=list)
    """Notes: what was left out, and how the rest was read."""
    named_by: str = ""
    """How the format names annotators, in words that continue "annotators by "."""
    told_base: int | None = None
    """The number of the first pixel, if the values of the source show it."""


class Add(Protocol):
    """Takes annotations in the order of the file, some thousand at a time."""

    def __call__(self, records: Sequence[Record], places: Sequence[Where], /) -> None:
        """Add annotations, and where each stands."""


class Translate(Protocol):
    """Translates a source."""

    def __call__(self, path: Path, add: Add, wanted: Wanted, /) -> Translated:
        """Hand annotations to `add`, and return what belongs to them.

        Raises DatasetError if the files cannot be read at all. What is wrong with single records
        is among the defects; those records are left out.
        """
