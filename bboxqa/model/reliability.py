"""Reliability data, which is the value that each annotator gave each unit, and coincidences."""

from dataclasses import replace
from enum import IntEnum

import numpy as np

from bboxqa.core.arrays import ByteArray, FloatArray, IndexArray, IntArray, frozen_arrays


class Cell(IntEnum):
    """The state of a cell: what an annotator who was asked about a unit said."""

    CATEGORY = 0
    MISSING = 1


@frozen_arrays
class ReliabilityData:
    """A sparse matrix of units × annotators: one row per cell whose annotator was asked.

    If an annotator was not asked, the cell has no row. If the annotation is missing, the cell has a
    row with that `state`, and its `value` is meaningless.

    Attributes
    ----------
    unit : (M,) int64
        Sorted.
    annotator : (M,) int32
        Sorted within a unit; unique within it, except for repeated answers to a question.
    value : (M,) int32
        The category, 0 to ``n_values - 1``.
    state : (M,) uint8
        A `Cell` per row.
    group : (U,) int32
        The image of each unit.
    n_values, n_groups : int
        The number of categories and of images.
    weight : (U,) int64, optional
        The number of equal units that each unit stands for, such as the milliseconds of a stretch
        of time; None where each stands for itself.
    """

    unit: IndexArray
    annotator: IntArray
    value: IntArray
    state: ByteArray
    group: IntArray
    n_values: int
    n_groups: int
    weight: IndexArray | None = None

    def take(self, cells: IndexArray) -> "ReliabilityData":
        """Return the data of some cells only; the units stay the same."""
        names = ("unit", "annotator", "value", "state")
        return replace(self, **{name: getattr(self, name)[cells] for name in names})

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


@frozen_arrays
class Coincidences:
    """The sufficient statistics of a nominal alpha, per group (image).

    They are additive: the concatenated rows of two shards are the statistics of both together.

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
        The number of groups and of values.
    """

    group: IntArray
    value: IntArray
    marginal: FloatArray
    diagonal: FloatArray
    n_groups: int
    n_values: int
