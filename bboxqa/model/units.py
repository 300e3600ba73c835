"""Pairs of compared annotations, the units that matching forms from them, and their values."""

from collections.abc import Sequence
from enum import IntEnum

import msgspec
import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    RowArrays,
)
from bboxqa.model.annotations import Dataset


class Cell(IntEnum):
    """The state of a cell: what an annotator who was asked about a unit said."""

    CATEGORY = 0
    MISSING = 1


class ReliabilityData(RowArrays, frozen=True, eq=False):
    """A sparse matrix of units × annotators: one row per cell whose annotator was asked.

    If an annotator was not asked, the cell has no row. If the annotation is missing, the cell has a
    row with that `state`, and its `value` is meaningless.
    """

    shared = frozenset({"group", "n_values", "n_groups", "weight"})
    unit: IndexArray
    """(M,) int64. Sorted."""
    annotator: IntArray
    """(M,) int32. Sorted within a unit; unique within it, except for repeated answers to a
    question."""
    value: IntArray
    """(M,) int32. The category, 0 to ``n_values - 1``."""
    state: ByteArray
    """(M,) uint8. A `Cell` per row."""
    group: IntArray
    """(U,) int32. The image of each unit."""
    n_values: int
    n_groups: int
    """The number of categories and of images."""
    weight: IndexArray | None = None
    """(U,) int64. The number of equal units that each unit stands for, such as the milliseconds of
    a stretch of time; None where each stands for itself."""

    @property
    def counted(self) -> IndexArray:
        """The cells that hold a category and have a weight, (C,) int64."""
        drawn = self.state == Cell.CATEGORY
        return np.flatnonzero(
            drawn if self.weight is None else drawn & (self.weight > 0)[self.unit]
        )

    @property
    def units_alone(self) -> bool:
        """Whether each unit has weight 1 and is a group of its own."""
        if self.weight is not None or self.n_groups != len(self.group):
            return False
        return bool((np.bincount(self.group, minlength=self.n_groups) == 1).all())


class Coincidences(FrozenArrays, frozen=True, eq=False):
    """The sufficient statistics of a nominal alpha, per group (image).

    They are additive: the concatenated rows of two shards are the statistics of both together.
    """

    group: IntArray
    """(E,) int32. Sorted."""
    value: IntArray
    """(E,) int32. Sorted within a group. The value ``n_values - 1`` stands for a missing annotation
    where missing counts as a category."""
    marginal: FloatArray
    """(E,) float64. n_c, the pairable values c."""
    diagonal: FloatArray
    """(E,) float64. o_cc, the coincidences of c with itself."""
    n_groups: int
    n_values: int
    """The number of groups and of values."""


class CandidatePairs(RowArrays, frozen=True, eq=False):
    """P pairs of annotations by two annotators in one image, which may show one object."""

    left: IndexArray
    right: IndexArray
    """(P,) int64. Indices of annotations; ``left < right``, sorted by left, then right."""
    similarity: FloatArray
    """(P,) float64. The similarity of each pair, by the measure of the settings."""


class UnitTable(FrozenArrays, frozen=True, eq=False):
    """Which annotations show one object."""

    unit: IndexArray
    """(N,) int64. The unit of each annotation. No annotator appears twice in a unit."""
    image: IntArray
    """(U,) int32. The image of each unit."""

    def __len__(self) -> int:
        return len(self.image)


def join_units(tables: Sequence[UnitTable], images: Sequence[int]) -> UnitTable:
    """Join the units of several parts; `images` are the first image of each part in the whole."""
    offsets = np.cumsum([0, *(len(table) for table in tables)])[:-1].tolist()
    return UnitTable(
        np.concatenate([t.unit + offset for t, offset in zip(tables, offsets, strict=True)]),
        np.concatenate([t.image + np.int32(n) for t, n in zip(tables, images, strict=True)]),
    )


class MatchedUnits(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """Annotations joined to units, with the similarities that joined them."""

    data: Dataset
    """The N annotations that were compared."""
    units: UnitTable
    """The unit of each annotation."""
    reliability: ReliabilityData
    """The category that each annotator gave each unit."""
    pairs: CandidatePairs
    """The pairs of annotations of one unit that reach the threshold. In a unit of three annotators,
    a pair below the threshold is absent."""
    objects: IndexArray
    """(N,) int64. The object of each annotation. Units that overlap loosely and share no annotator
    are one object, of which one box is badly placed. Units that share one annotator, who drew the
    object twice, are also one object; the second box is then an object of its own, with one
    annotation. Second boxes or halves of two annotators that match each other are objects of their
    own as well."""
    near: CandidatePairs
    """The pairs of annotations by two annotators that overlap at least loosely, inside units and
    between them."""
    own: CandidatePairs
    """The pairs of annotations by one annotator in one image that reach the threshold: objects
    drawn twice."""
    n_neighbours: IndexArray
    """(N,) int64. The number of annotations of the same annotator that overlap each annotation
    loosely."""
    is_model: BoolArray
    """(A,) bool. Which annotators are models, which have no vote on what annotators miss or add."""
    compared: str
    """The shapes that were compared, as named by the similarity: "boxes", "rotated boxes",
    "keypoints", or a kind of outline."""
    matcher: str
    threshold: float
    category_lenient: bool
    """How the units were matched."""
    missing: str
    """Whether a missing annotation is a value of its own."""
    bootstrap: int
    seed: int
    """How many times images are drawn for intervals, 0 for none, and the seed of the draws."""


class ReferenceMatches(msgspec.Struct, frozen=True, eq=False):
    """Annotations matched with those of a reference, annotator by annotator."""

    data: Dataset
    """The images of the reference that annotators were asked about. The last annotator is the
    reference, which was asked about all of them."""
    matched: CandidatePairs
    """Pairs of an annotation (left) and its object of the reference (right)."""
    placed: IndexArray
    """(P, 2) int64. The same pairs, and the pairs that overlap too little to match, but loosely:
    badly placed boxes."""
    beside: CandidatePairs
    """Other annotations (left) that loosely overlap an object (right) which their annotator drew
    with another box: the object was drawn twice, or in parts. Each annotation occurs once."""
    is_twice: BoolArray
    """(Q,) bool. Which annotations of `beside` match the object."""
    compared: str
    """The shapes that were compared, as in `MatchedUnits`."""
    bootstrap: int
    seed: int
    """How many times images are drawn for intervals, 0 for none, and the seed of the draws."""
