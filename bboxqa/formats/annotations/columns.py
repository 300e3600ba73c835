"""The annotations of one file as agreement needs them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray, TextArray
from bboxqa.formats.annotations.records import Category, Image
from bboxqa.model.annotations import Source
from bboxqa.model.file_places import ShownIds
from bboxqa.model.outlines import Segmentations
from bboxqa.model.shapes.keypoints import Keypoints


@dataclass(frozen=True, slots=True, eq=False)
class Authors:
    """The value of one key of each annotation, such as its annotator.

    Attributes
    ----------
    code : (N,) int32
        Index into `names`; -1 where the key is absent.
    names : tuple of str
        Distinct names.
    composed : frozenset of str
        The names that are lists or objects in the file.
    """

    code: IntArray
    names: tuple[str, ...]
    composed: frozenset[str] = frozenset()


class BoxForm(IntEnum):
    """How an annotation describes its rotated box."""

    UPRIGHT = 0
    """A box only."""
    RECTANGLE = 1
    """Four corners of a rectangle."""
    QUADRILATERAL = 2
    """Four corners of another shape."""
    OTHER = 3
    """A box with another outline or a mask."""
    ANGLE = 4
    """A box, and the angle in degrees by which it is rotated about its centre."""


@dataclass(frozen=True, slots=True, eq=False)
class RotatedColumns:
    """The rotated boxes of N annotations."""

    box: FloatArray
    """(N, 5) float64. Centre x and y, width, height, and angle in degrees."""
    form: ByteArray
    """(N,) uint8. A `BoxForm` per annotation."""


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
