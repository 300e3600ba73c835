"""Converting decoded records to columns, window by window."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import Literal

import numpy as np

from bboxqa.core.arrays import BoolArray, ColumnBuilder, FloatArray, IndexArray, TextArray
from bboxqa.formats.annotations.author_columns import Authors, AuthorsBuilder
from bboxqa.formats.annotations.box_numbers import BOX_LENGTHS, NumbersBuilder, TurnedNumbers
from bboxqa.formats.annotations.cvat_crowds import cvat_crowds
from bboxqa.formats.annotations.joint_columns import JointsBuilder
from bboxqa.formats.annotations.machine_marks import count_marks
from bboxqa.formats.annotations.outline_columns import OutlinesBuilder
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.annotations.records import (
    ID_EXPECTED,
    ID_KEYS,
    Annotation,
    Category,
    Image,
    OutlinedAnnotation,
    annotation_type,
    id_number,
    image_type,
    is_id,
)
from bboxqa.formats.annotations.rotated_columns import (
    Corners,
    RotatedBuilder,
    RotatedColumns,
    rotated_columns,
)
from bboxqa.formats.annotations.rotations import count_turned, rotation_problems
from bboxqa.formats.annotations.text_ids import TextIds
from bboxqa.model.annotations import Source
from bboxqa.model.file_places import ShownIds
from bboxqa.model.outlines import Segmentations
from bboxqa.model.shapes.keypoints import Keypoints


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The annotations of one file, in its order, with ids as in the file.

    Attributes
    ----------
    id, image_id, category_id : (N,) int64
    bbox : (N, 4) float64
        x, y, width, height in pixels.
    iscrowd : (N,) bool
    authors : dict of str to Authors
        By key: the keys that may name the annotator, and the keys of session and time if requested.
    segmentation : Segmentations or None
        None where outlines were not read.
    marks : Counter of str
        The number of annotations that a machine created first, by the key that says so.
    keypoints : Keypoints or None
        None where key points were not read.
    text_ids : (N,) str or None
        The ids as text, if some are not numbers; `id` then has numbers in their place.
    rotated : RotatedColumns or None
        None where rotated boxes were not read.
    numbers : TurnedNumbers or None
        The boxes of five numbers, until their layout is known; None where there are none.
    n_turned : int
        The number of annotations with an attribute that rotates them.
    n_odd_points : int
        The number of key points with a visibility below 0 or above 2.
    n_cvat_crowds : int
        The number of annotations with `iscrowd` 1 that are no crowds.
    """

    id: IndexArray
    image_id: IndexArray
    category_id: IndexArray
    bbox: FloatArray
    iscrowd: BoolArray
    authors: dict[str, Authors]
    segmentation: Segmentations | None
    marks: Counter[str]
    keypoints: Keypoints | None = None
    text_ids: TextArray | None = None
    rotated: RotatedColumns | None = None
    numbers: TurnedNumbers | None = None
    n_turned: int = 0
    n_odd_points: int = 0
    n_cvat_crowds: int = 0


class ColumnsBuilder:
    """Collects the columns of a file, and problems of values that cannot be used.

    `n_without_box` counts annotations with key points but no box, which are left out.

    Parameters
    ----------
    name : str
        The name of the file in problems.
    options : ReadOptions
        What to keep of each record.
    turned : bool
        Whether boxes may have five numbers, with an angle, or eight numbers, of four corners.
    crowds : bool
        Whether crowds may be single objects, as CVAT marks them.
    """

    def __init__(
        self, name: str, options: ReadOptions, *, turned: bool = False, crowds: bool = False
    ) -> None:
        self.name = name
        self.type = annotation_type(options, turned=turned, crowds=crowds)
        self.image_type = image_type(options.keys)
        self.box_lengths = BOX_LENGTHS if turned else BOX_LENGTHS[:1]
        self.problems: list[str] = []
        self.n_without_box = 0
        self._text_ids = TextIds()
        self._columns = {key: ColumnBuilder(np.int64) for key in ID_KEYS}
        self._columns["bbox"] = ColumnBuilder(np.float64, 4)
        self._columns["iscrowd"] = ColumnBuilder(np.bool_)
        self._authors = {key: AuthorsBuilder(key) for key in options.keys}
        self._marks: Counter[str] = Counter()
        self._n_turned = 0
        self._n_cvat_crowds = 0
        self.outlines = OutlinesBuilder(name, self.problems) if options.outlines else None
        self.joints = JointsBuilder(name, self.problems) if options.keypoints else None
        self._rotated = RotatedBuilder() if options.rotated else None
        self._numbers = NumbersBuilder(name, self.problems) if turned else None

    def add(self, records: Sequence[Annotation]) -> None:
        """Add the records of one window."""
        n = len(records)
        for key in ID_KEYS:
            self._columns[key].add(self._ids(records, key))
        bbox, quads = self._boxes(records)
        self._columns["bbox"].add(bbox)
        if self._rotated is not None:
            self._rotated.add(records, bbox, quads)
            self.problems += rotation_problems(self.name, records)
        crowd = np.fromiter(map(attrgetter("iscrowd"), records), np.bool_, n)
        if crowd.any():
            single = cvat_crowds(records, crowd)
            self._n_cvat_crowds += int(single.sum())
            crowd &= ~single
        self._columns["iscrowd"].add(crowd)
        for author in self._authors.values():
            author.add(records)
        self._marks += count_marks(records)
        self._n_turned += count_turned(records)
        if self.outlines is not None:
            self.outlines.add([r for r in records if isinstance(r, OutlinedAnnotation)])
        if self.joints is not None:
            self.joints.add(records)

    def _boxes(self, records: Sequence[Annotation]) -> tuple[FloatArray, Corners | None]:
        """Return the (N, 4) boxes of one window, and the boxes that are given by corners."""
        if self._numbers is not None:
            bbox, rows, points = self._numbers.add(records)
            return bbox, (rows, points)
        flat = chain.from_iterable([record.bbox for record in records])
        return np.fromiter(flat, np.float64, 4 * len(records)).reshape(-1, 4), None

    def _ids(self, records: Sequence[Annotation], column: str) -> IndexArray:
        values = list(map(attrgetter(column), records))
        if column == "id":
            self._text_ids.add(values)
        if set(map(type, values)) - {int}:
            self.problems += (
                f"{self.name}: annotation {records[place].id!r}: {column} is {value!r}; "
                f"expected {ID_EXPECTED}"
                for place, value in enumerate(values)
                if not is_id(value)
            )
            values = [id_number(value) for value in values]
        return np.fromiter(values, np.int64, len(values))

    def absorb(self, columns: Columns, problems: Sequence[str]) -> None:
        """Append the columns that another builder has collected from the next part of the file."""
        self._text_ids.absorb(len(columns.id), columns.text_ids)
        for name, column in self._columns.items():
            column.add(getattr(columns, name))
        for key, author in self._authors.items():
            author.absorb(columns.authors[key])
        self._marks += columns.marks
        self._n_turned += columns.n_turned
        self._n_cvat_crowds += columns.n_cvat_crowds
        if self.outlines is not None and columns.segmentation is not None:
            self.outlines.absorb(columns.segmentation)
        if self.joints is not None and columns.keypoints is not None:
            self.joints.absorb(columns.keypoints, columns.n_odd_points)
        if self._rotated is not None and columns.rotated is not None:
            self._rotated.add_columns(columns.rotated)
        if self._numbers is not None and columns.numbers is not None:
            self._numbers.absorb(columns.numbers)
        self.problems += problems

    def author_problems(self) -> Iterator[str]:
        """Yield problems with the names of annotators."""
        for author in self._authors.values():
            yield from (f"{self.name}: annotators {problem}" for problem in author.problems())

    def done(self) -> Columns:
        """Return the collected columns."""
        found = {name: column.done() for name, column in self._columns.items()}
        return Columns(
            **found,
            authors={key: author.done() for key, author in self._authors.items()},
            segmentation=None if self.outlines is None else self.outlines.done(),
            marks=self._marks,
            keypoints=None if self.joints is None else self.joints.done(),
            text_ids=self._text_ids.done(found["id"]),
            rotated=None if self._rotated is None else self._rotated.done(),
            numbers=None if self._numbers is None else self._numbers.done(),
            n_turned=self._n_turned,
            n_odd_points=0 if self.joints is None else self.joints.n_odd,
            n_cvat_crowds=self._n_cvat_crowds,
        )


@dataclass(frozen=True, slots=True, eq=False)
class AnnotationFile:
    """One file: its image and category records, and its annotations as columns."""

    source: Source
    images: list[Image]
    categories: list[Category]
    columns: Columns
    notes: tuple[str, ...] = ()
    """Notes on what was left out, and how the rest was read."""
    named_by: str = ""
    """How the format names annotators, such as "completed_by"; "" for COCO."""
    title: str = ""
    """The format, such as "YOLO labels"; "" for COCO."""
    lists_images: bool = True
    """Whether the format has records of images, so that those without annotations are known."""
    numbers_categories: bool = False
    """Whether the format has category names only, so that the reader has numbered them."""
    own_ids: ShownIds | None = None
    """(N,). What annotations are found by; None where these are the ids of the columns."""
    told_base: int | None = None
    """The coordinate of the first pixel, if the values of the file show it."""
    task_of_frames: str | None = None
    """The task with the frames of a video that the file does not name; "" if it has no name."""
    shown_images: AbstractSet[tuple[str, str]] = frozenset()
    """Of records that show several images each, the key and the name of those that were shown."""
    unshown: Sequence[tuple[str, Sequence[Image], str]] = ()
    """By key, images that nobody drew on, which are left out unless another file shows some of
    them, and the note on them. Of files that are read together, those that another file shows.
    """
    left_unshown: AbstractSet[tuple[str, str]] = frozenset()
    """Of files that are read together, the key and the name of those that no file shows."""
    numbered_images: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """By name, the images that are named by the number of a task: what the task shows, as pairs of
    a key and a path.
    """
    numbered_advice: str = ""
    """How to name these images; "" if there are none."""
    n_apart: Mapping[str, int] = field(default_factory=dict)
    """The number of annotations without a box by shape, such as "polyline"; not in `columns`."""
    records: Literal["annotations", "segments", "results"] = "annotations"
    """What the file lists: annotations; segments of panoptic COCO, whose outlines are in PNG files;
    or results, whose images and categories are those of another file, or known by id only.
    """
    n_below: int = 0
    """The number of results that are left out, since their score is too low."""
    nobody_notes: tuple[str, ...] = ()
    """Notes on annotations that name nobody; untrue where each file is by one annotator."""
    repeat_notes: tuple[str, ...] = ()
    """Notes on images that someone annotated again; a conversion lists these as losses."""

    @property
    def shown_ids(self) -> ShownIds:
        """The ids of annotations for messages, as text where the file or its tool uses text."""
        if self.own_ids is not None:
            return self.own_ids
        return self.columns.id if self.columns.text_ids is None else self.columns.text_ids


def with_rotated_boxes(file: AnnotationFile) -> AnnotationFile:
    """Return a file with its boxes as rotated boxes, if its format has none."""
    columns = file.columns
    if columns.rotated is not None:
        return file
    rotated = rotated_columns(columns.bbox, None)
    return replace(file, columns=replace(columns, rotated=rotated))
