"""The values that travel between packages: frozen holders of numpy arrays."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from bboxqa.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    IndexArray,
    IntArray,
    freeze,
)
from bboxqa.segmentation import SegmentationKind, Segmentations

__all__ = [
    "Annotations",
    "BoolArray",
    "ByteArray",
    "CandidatePairs",
    "Cell",
    "Coincidences",
    "Dataset",
    "FloatArray",
    "IndexArray",
    "IntArray",
    "ReliabilityData",
    "SegmentationKind",
    "Segmentations",
    "Source",
    "UnitTable",
]


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """N annotations as columns, ordered by image, then annotator.

    Attributes
    ----------
    id : (N,) int64
        The id in the file.
    image, annotator, category : (N,) int32
        Indices into the tables of the `Dataset`.
    bbox : (N, 4) float64
        Boxes as x, y, width, height in pixels.
    iscrowd : (N,) bool
        Marks a group of objects drawn as one.
    segmentation : Segmentations or None
        Outlines; None where they were not read.
    """

    id: IndexArray
    image: IntArray
    annotator: IntArray
    category: IntArray
    bbox: FloatArray
    iscrowd: BoolArray
    segmentation: Segmentations | None = None

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.id)

    def take(self, index: IndexArray) -> "Annotations":
        """Return the annotations at `index`, in that order."""
        return Annotations(
            id=self.id[index],
            image=self.image[index],
            annotator=self.annotator[index],
            category=self.category[index],
            bbox=self.bbox[index],
            iscrowd=self.iscrowd[index],
            segmentation=None if self.segmentation is None else self.segmentation.take(index),
        )


@dataclass(frozen=True, slots=True)
class Source:
    """An input file: its name as the user gave it, its size in bytes and its BLAKE2b digest.

    The digest is None where it was not asked for: a run that writes nothing has no use for it.
    """

    name: str
    size: int
    blake2b: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Images annotated by several annotators.

    Attributes
    ----------
    image_names : tuple of str
        One per image, sorted; the file name, or the id where there is none.
    image_size : (I, 2) int32
        Width and height in pixels; 0 where unknown.
    category_names, annotator_names : tuple of str
        Sorted by name; annotators that are all whole numbers are sorted by number.
    annotations : Annotations
        All annotations, ordered by image, then annotator.
    assigned : (I, A) bool
        Who was asked to annotate what.
    attribution : str
        How it was found who annotated what, in words.
    sources : tuple of Source
        The files that were read.
    notes : tuple of str
        What the reader of a result has to know about the data.
    """

    image_names: tuple[str, ...]
    image_size: IntArray
    category_names: tuple[str, ...]
    annotator_names: tuple[str, ...]
    annotations: Annotations
    assigned: BoolArray
    attribution: str = ""
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, slots=True, eq=False)
class CandidatePairs:
    """P pairs of annotations that may show one object: one image, two annotators.

    Attributes
    ----------
    left, right : (P,) int64
        Indices of annotations; ``left < right``, sorted by left, then right.
    iou : (P,) float64
        Their similarity.
    """

    left: IndexArray
    right: IndexArray
    iou: FloatArray

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.left)

    def take(self, index: IndexArray | BoolArray) -> "CandidatePairs":
        """Return the pairs at `index`, in that order."""
        return CandidatePairs(self.left[index], self.right[index], self.iou[index])


@dataclass(frozen=True, slots=True, eq=False)
class UnitTable:
    """Which annotations show one object.

    Attributes
    ----------
    unit : (N,) int64
        The unit of each annotation. No annotator appears twice in a unit.
    image : (U,) int32
        The image of each unit.
    """

    unit: IndexArray
    image: IntArray

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.image)


class Cell(IntEnum):
    """What an annotator said about a unit, where they were asked at all."""

    CATEGORY = 0
    MISSING = 1


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityData:
    """Units × annotators, sparse: one row per cell whose annotator was asked.

    An unassigned cell has no row. A missing cell has one, and says so in `state`; its `value`
    means nothing.

    Attributes
    ----------
    unit : (M,) int64
        Sorted.
    annotator : (M,) int32
        Sorted within a unit; no annotator twice, but for repeated answers to a question.
    value : (M,) int32
        The category, 0 to ``n_values - 1``.
    state : (M,) uint8
        A `Cell` per row.
    group : (U,) int32
        The image of each unit.
    n_values, n_groups : int
        How many categories and images there are.
    weight : (U,) int64, optional
        How many equal units each one stands for, as a stretch of time does for its milliseconds;
        None where each stands for itself.
    """

    unit: IndexArray
    annotator: IntArray
    value: IntArray
    state: ByteArray
    group: IntArray
    n_values: int
    n_groups: int
    weight: IndexArray | None = None

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def counted(self) -> IndexArray:
        """The cells that hold a category and count, (C,) int64."""
        drawn = self.state == Cell.CATEGORY
        return np.flatnonzero(
            drawn if self.weight is None else drawn & (self.weight > 0)[self.unit]
        )

    @property
    def units_alone(self) -> bool:
        """Whether each unit is one of its kind, and a group of its own."""
        if self.weight is not None or self.n_groups != len(self.group):
            return False
        return bool((np.bincount(self.group, minlength=self.n_groups) == 1).all())


@dataclass(frozen=True, slots=True, eq=False)
class Coincidences:
    """The sufficient statistics of a nominal alpha, per group (image).

    They add: concatenated rows of two shards are the statistics of both together.

    Attributes
    ----------
    group : (E,) int32
        Sorted.
    value : (E,) int32
        Sorted within a group. The value ``n_values - 1`` stands for a missing annotation
        where missing counts as a category.
    marginal : (E,) float64
        n_c, the pairable values c.
    diagonal : (E,) float64
        o_cc, the coincidences of c with itself.
    n_groups, n_values : int
        Their numbers.
    """

    group: IntArray
    value: IntArray
    marginal: FloatArray
    diagonal: FloatArray
    n_groups: int
    n_values: int

    def __post_init__(self) -> None:
        freeze(self)
