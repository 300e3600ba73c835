"""Reliability data from units of annotations, and from dense tables."""

import numpy as np

from bboxqa.core.arrays import BoolArray, IntArray
from bboxqa.model.annotations import Annotations
from bboxqa.model.reliability import Cell, ReliabilityData
from bboxqa.model.units import UnitTable


def from_units(
    annotations: Annotations,
    units: UnitTable,
    assigned: BoolArray,
    n_categories: int,
    empty_images: IntArray | None = None,
) -> ReliabilityData:
    """Return the value of every unit by every assigned annotator, sorted by image.

    Parameters
    ----------
    units : UnitTable
        The unit of each annotation.
    assigned : (I, A) bool
        Who was asked to annotate which image.
    empty_images : (K,) int32, optional
        Images that get one more unit, which is missing for every assigned annotator.
    """
    image = units.image
    if empty_images is not None:
        image = np.concatenate([image, empty_images])
    asked_image, asked_annotator = np.nonzero(assigned)
    counts = np.bincount(asked_image, minlength=len(assigned))
    starts = np.cumsum(counts) - counts
    per_unit = counts[image]
    offsets = np.cumsum(per_unit) - per_unit
    unit = np.repeat(np.arange(len(image)), per_unit)
    place = np.arange(len(unit)) + np.repeat(starts[image] - offsets, per_unit)
    annotator = asked_annotator[place].astype(np.int32)
    # The rank of each annotation's author among the annotators of its image.
    n_annotators = assigned.shape[1]
    author = np.searchsorted(
        asked_image * n_annotators + asked_annotator,
        annotations.image.astype(np.int64) * n_annotators + annotations.annotator,
    )
    cell = offsets[units.unit] + author - starts[annotations.image]
    value = np.zeros(len(unit), np.int32)
    value[cell] = annotations.category
    state = np.full(len(unit), Cell.MISSING, np.uint8)
    state[cell] = Cell.CATEGORY
    return ReliabilityData(
        unit, annotator, value, state, image, n_values=n_categories, n_groups=len(assigned)
    )


def from_table(values: IntArray, assigned: BoolArray, n_values: int) -> ReliabilityData:
    """Return reliability data from a dense table in which each unit is a group of its own.

    `values`, (A, U), is the category that annotator a gave unit u, or -1 where it is missing;
    `assigned`, (A, U), is whether annotator a was asked about unit u.

    Examples
    --------
    >>> table = from_table(np.array([[0, 1], [0, -1]]), np.ones((2, 2), bool), 2)
    >>> table.state
    array([0, 0, 0, 1], dtype=uint8)
    """
    unit, annotator = np.nonzero(assigned.T)
    value = values.T[unit, annotator].astype(np.int32)
    return ReliabilityData(
        unit=unit,
        annotator=annotator.astype(np.int32),
        value=np.maximum(value, 0),
        state=np.where(value < 0, Cell.MISSING, Cell.CATEGORY).astype(np.uint8),
        group=np.arange(values.shape[1], dtype=np.int32),
        n_values=n_values,
        n_groups=values.shape[1],
    )
