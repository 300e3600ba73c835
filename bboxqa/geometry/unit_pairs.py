"""The pairs of annotations within units, with their similarities."""

from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import pairs_within, radix_order
from bboxqa.geometry.candidates import similarity_of_pairs
from bboxqa.model.annotations import Dataset
from bboxqa.model.selection import select_annotations
from bboxqa.model.units import CandidatePairs, UnitTable


def unit_pairs(
    data: Dataset,
    units: UnitTable,
    known: CandidatePairs,
    similarity: str,
    *,
    all_touched: bool = False,
) -> CandidatePairs:
    """Return all pairs of annotations of the same unit, including pairs below the threshold.

    In a unit of three annotations, only two pairs have to reach the threshold; this function
    computes the similarity of the third.

    Parameters
    ----------
    data : Dataset
    units : UnitTable
        The unit of each annotation.
    known : CandidatePairs
        The pairs that reach the threshold.
    similarity : str
        One of `bboxqa.geometry.similarities.registry.names()`.
    all_touched : bool
        For `raster`: burn every pixel that a ring touches.
    """
    unit = units.unit
    size = np.bincount(unit, minlength=len(units))
    if len(known) == (size * (size - 1)).sum() // 2:
        return known
    order = radix_order(unit, len(units))
    left, right = (order[side] for side in pairs_within(unit[order]))
    key = left * len(unit) + right
    by_left = np.argsort(key)
    left, right, key = left[by_left], right[by_left], key[by_left]
    values = np.full(len(key), np.nan)
    values[np.searchsorted(key, known.left * len(unit) + known.right)] = known.similarity
    absent = np.flatnonzero(np.isnan(values))
    ends = np.unique(np.concatenate([left[absent], right[absent]]))
    part = replace(data, annotations=select_annotations(data.annotations, ends))
    values[absent] = similarity_of_pairs(
        part,
        similarity,
        np.searchsorted(ends, left[absent]),
        np.searchsorted(ends, right[absent]),
        all_touched=all_touched,
    )
    return CandidatePairs(left, right, values)
