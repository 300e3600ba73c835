"""The interface of translations, which convert the files of a tool to COCO records.

An annotation has `image_id`, `category_id` and `annotator`, and if known `bbox`, `segmentation`,
`iscrowd`, `score`, `keypoints`, `created_at`, `updated_at`, `lead_time`, `session`, `source` and
`attributes`. Without a `bbox`, it has the key `shape`, such as "polyline", and is counted but not
compared; `points`, if known, are its x and y in turn, and `label` or `category_id` is its label.
`joints` are the names of its key points in order; the Collector uses them to put the key points of
a category in one order. `own_id` is the id that the tool shows. `id` is given if all annotations
have a unique whole number; otherwise, annotations are numbered in order. The `annotators` of an
image were asked about it, even if they drew nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, TextArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.core.types import Steps
from bboxqa.formats.annotations.records import extent_of
from bboxqa.formats.document.origin import ToolDefect, Where
from bboxqa.formats.translation.source_files import SourceFiles

Record = dict[str, Any]

OWN_ID = "own_id"
"""The key of an annotation that holds the id shown by its tool."""
UNLABELLED = "(no label)"
"""The category of annotations without a label."""
UNNAMED = "(not named)"
"""The annotator of annotations that name nobody."""
BY_NOBODY = f"here by {UNNAMED!r}; where each file is one annotator, by that of the file"
"""The end of notes on such annotations: files are attributed after they were translated."""
SESSIONS = "--session-key session measures how far they agree with themselves"
"""The end of notes on images that someone annotated again."""


def tally_notes(tally: Mapping[str, int], words: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield a note for each count above 0, from rows of its key, its noun and what is said of it.

    Examples
    --------
    >>> list(tally_notes({"draft": 2}, [("draft", "draft", "left out"), ("empty", "mask", "…")]))
    ['2 drafts left out']
    """
    for key, noun, rest in words:
        if number := tally.get(key):
            yield f"{count(number, noun)} {rest}"


class BrokenTextError(DatasetError):
    """A file that is cut off, or does not have the text format that it seems to have."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The locations of annotations with one line each."""

    members: Sequence[str]
    """Names of files inside the source."""
    member: IndexArray
    """(N,) int64. Index into `members`."""
    line: IndexArray
    """(N,) int64. Line numbers, counted from 1."""

    def __len__(self) -> int:
        return len(self.line)

    def where(self, row: int) -> Where:
        """Return the location of an annotation."""
        return Where(self.members[self.member[row]], int(self.line[row]))


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Annotations with a box and few other keys, as columns."""

    image_id: IndexArray
    category_id: IndexArray
    """(N,) int64."""
    bbox: FloatArray
    """(N, 4) float64. x, y, width and height in pixels."""
    lines: Lines
    annotator: IndexArray
    """(N,) int64. Index into `annotators`; -1 where nobody is named."""
    annotators: Sequence[str] = ()
    own_ids: Sequence[str] | TextArray = ()
    """Empty where the tool shows none, as is each of an annotation without one.

    An array has at most `bboxqa.formats.translation.boxes.own_ids.LONGEST` characters each.
    """
    corners: FloatArray | None = None
    """(N, 4, 2) float64. Outlines of four points; None if they equal the boxes."""
    degrees: FloatArray | None = None
    """(N,) float64. The attribute `rotation`, NaN where missing; None if no box has it."""
    difficult: IndexArray | None = None
    """(N,) int64. The attribute `difficult`, 0 where missing; None if no box has it."""
    n_rotated: int = 0
    n_machine: int = 0
    """The number of annotations that a machine created first."""
    more: Callable[[], Sequence[Record]] | None = None
    """Returns the other keys of each annotation; None if there are none."""

    def __len__(self) -> int:
        return len(self.image_id)


def rings_of(boxes: Boxes) -> FloatArray:
    """Return the outlines of boxes as x and y of four points, (N, 8)."""
    if boxes.corners is not None:
        return boxes.corners.reshape(-1, 8)
    x, y, width, height = boxes.bbox.T
    right, bottom = x + width, y + height
    return np.stack([x, y, right, y, right, bottom, x, bottom], 1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The data requested from a translation besides boxes.

    Columns are made from `ReadOptions`, which lead to such a request; documents for rules and for
    conversions, which have no columns, make their own.
    """

    outlines: bool = True
    keypoints: bool = False
    """Whether annotations with key points but no box are compared."""
    sessions: bool = False
    """Whether to keep repeated work of an annotator on an image, with the key `session`."""
    in_full: bool = True
    """Whether all keys of annotations are requested, not only those of columns."""
    progress: Steps | None = None
    add_boxes: Callable[[Boxes], None] | None = None
    """Called with annotations as columns, which is much faster; None if full records are needed."""
    files: SourceFiles | None = None
    """The listed files of the source; None for a single file, or if not listed yet."""

    def files_of(self, path: Path) -> SourceFiles:
        """Return the files of the source."""
        return self.files or SourceFiles(path)

    def boxed(self, shape: Record) -> Record:
        """Return a shape with the box around its key points, if key points are compared."""
        if not self.keypoints or "bbox" in shape or "keypoints" not in shape:
            return shape
        extent = extent_of(shape["keypoints"])
        return shape if extent is None else {**shape, "bbox": extent}


class Unshown(NamedTuple):
    """Images that are left out, unless another file has some of the same key and name."""

    key: str
    images: Sequence[Record]
    note: str
    """The note on images that are left out."""


@dataclass(frozen=True, slots=True)
class Translated:
    """The result of a translation, apart from the annotations."""

    title: str
    """The format, such as "Label Studio JSON"."""
    images: Sequence[Record]
    categories: Sequence[Record]
    image_places: Sequence[Where]
    category_places: Sequence[Where]
    """The location of each image, and of the first use of each category."""
    defects: Sequence[ToolDefect] = ()
    notes: Sequence[str] = field(default_factory=list)
    """Notes on what was left out, and how the rest was read."""
    named_by: str = ""
    """How the format names annotators, as the end of the phrase "annotators by …"."""
    repeat_notes: Sequence[str] = ()
    """Notes on images that someone annotated again; a conversion lists these as losses."""
    nobody_notes: Sequence[str] = ()
    """Notes on annotations that name nobody; untrue where each file is by one annotator."""
    lists_images: bool = True
    """Whether the format has records of images, so that those without annotations are known."""
    unshown_images: AbstractSet[int] = frozenset()
    """The ids of images that the tool does not show."""
    task_of_frames: str | None = None
    """The task with the frames of a video that the source does not name; "" if it has no name."""
    shown_images: AbstractSet[tuple[str, str]] = frozenset()
    """Of records that show several images each, the key and the name of those that were shown."""
    unshown: Sequence[Unshown] = ()
    numbered_images: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """By name, the images that are named by the number of a task: what the task shows, as pairs of
    a key and a path.
    """
    numbered_advice: str = ""
    """How to name these images; "" if there are none."""


class Add(Protocol):
    """Called with annotations in the order of the file, a few thousand at a time."""

    def __call__(self, records: Sequence[Record], places: Sequence[Where], /) -> None:
        """Add annotations with their locations."""


class Translate(Protocol):
    """Translates a source to COCO records."""

    def __call__(self, path: Path, add: Add, wanted: Wanted, /) -> Translated:
        """Pass annotations to `add`, and return images, categories, notes and defects.

        Raises DatasetError if the files cannot be read at all. Single records with errors are left
        out and reported as defects.
        """
